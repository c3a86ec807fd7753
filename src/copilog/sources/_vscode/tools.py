"""One tool call of a response, with all that VS Code keeps about it: approval, terminal, todos, sub-agent, output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from copilog import jsonio
from copilog.model import (
    AnyPart,
    Approval,
    Confirmation,
    Notice,
    Place,
    Reference,
    ResultItem,
    SubAgent,
    Terminal,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
)
from copilog.sources._vscode.places import place_from, with_named_links
from copilog.sources._vscode.promptx import bytes_from, result_content
from copilog.sources._vscode.rounds import RecordedCall, RecordedCalls, clean_id
from copilog.sources._vscode.take import (
    Json,
    markdown_text,
    rest,
    take_bool,
    take_dict,
    take_int,
    take_list,
    take_markdown,
    take_number,
    take_str,
    take_time,
    time_from_ms,
)
from copilog.sources._vscode.uris import uri_to_path, uri_to_string

ApprovalKind = Literal["denied", "not-needed", "setting", "granted", "user", "skipped", "unknown"]
APPROVALS: dict[int, ApprovalKind] = {
    0: "denied",
    1: "not-needed",
    2: "setting",
    3: "granted",
    4: "user",
    5: "skipped",
}


class Invocation:
    """What came of one tool part: the call, the parts that go with it, its result, and the sub-agent run it is of."""

    __slots__ = ("call", "parts", "recorded", "result", "run_id", "unknown_data")

    def __init__(self, call: ToolCall, run_id: str | None, recorded: RecordedCall | None) -> None:
        self.call = call
        self.parts: list[AnyPart] = [call]
        self.result: ToolResult | None = None
        self.run_id = run_id
        self.recorded = recorded
        self.unknown_data: str | None = None  # a kind of tool data that nobody has described yet


def invocation_from(item: Json, position: int, recorded_calls: RecordedCalls) -> Invocation:
    """Read one `toolInvocationSerialized` and pair it with what the extension recorded."""
    native_id = take_str(item, "toolCallId") or ""
    tool_id = take_str(item, "toolId") or ""
    recorded = recorded_calls.match(native_id, tool_id)
    call_id = recorded.id if recorded else clean_id(native_id)
    call = ToolCall(
        id=call_id or f"part-{position}",
        name=recorded.name if recorded else tool_id,
        arguments=recorded.arguments if recorded else None,
        tool_id=tool_id or None,
        native="toolInvocationSerialized",
        position=position,
        native_ids=[name for name in (native_id, recorded.native_id if recorded else "") if name and name != call_id],
    )
    if recorded:
        call.round_id = recorded.round.id
        call.started_at = recorded.round.started_at
    made = Invocation(call, take_str(item, "subAgentInvocationId"), recorded)
    _read_display(item, call)
    _read_approval(item, call)
    _read_origin(item, call)
    output = _read_output(item, call)
    specific = item.get("toolSpecificData")
    if isinstance(specific, dict):
        _read_specific(specific, made, output, position)
        if not specific:
            del item["toolSpecificData"]
    made.result = _result_of(recorded_calls.result_of(recorded, native_id), output, call)
    call.status = _status_of(item, call, made.result)
    call.extra = rest(item)
    return made


def call_from_record(recorded: RecordedCall, recorded_calls: RecordedCalls) -> Invocation:
    """A call that only the extension recorded, such as one of a hidden tool."""
    recorded.is_placed = True
    call = ToolCall(
        id=recorded.id,
        name=recorded.name,
        arguments=recorded.arguments,
        round_id=recorded.round.id,
        started_at=recorded.round.started_at,
        native="toolCallRounds",
        native_ids=[recorded.native_id] if recorded.native_id != recorded.id else [],
    )
    made = Invocation(call, None, recorded)
    made.result = _result_of(recorded_calls.result_of(recorded, recorded.native_id), _Output(), call)
    call.status = "complete" if made.result else "unknown"
    return made


# --- the call ---------------------------------------------------------------------------------------------------


def _read_display(item: Json, call: ToolCall) -> None:
    message = markdown_text(item.get("pastTenseMessage")) or markdown_text(item.get("invocationMessage"))
    call.message = with_named_links(message) if message else None
    call.title = take_str(item, "generatedTitle")
    call.is_hidden = item.get("presentation") in ("hidden", "hiddenAfterComplete")


def _read_approval(item: Json, call: ToolCall) -> None:
    value = item.get("isConfirmed")
    if isinstance(value, bool):
        del item["isConfirmed"]
        call.approval = Approval(kind="user" if value else "denied")
    elif isinstance(value, dict):
        number = value.get("type")
        if not isinstance(number, int) or number not in APPROVALS:
            call.approval = Approval(kind="unknown")
            return
        del item["isConfirmed"], value["type"]
        detail = next(
            (text for key in ("id", "scope", "selectedButton", "reason") if (text := take_markdown(value, key))), None
        )
        call.approval = Approval(kind=APPROVALS[number], detail=detail, extra=rest(value))
    else:
        call.approval = Approval(kind="unknown")


def _read_origin(item: Json, call: ToolCall) -> None:
    source = item.get("source")
    if not isinstance(source, dict):
        return
    origin = take_str(source, "type")
    call.origin = origin
    if origin == "mcp":
        call.server = take_str(source, "serverLabel") or take_str(source, "label")
    else:
        label = take_str(source, "label")
        call.server = label if origin == "extension" else None
    if not source:
        del item["source"]


def _status_of(
    item: Json, call: ToolCall, result: ToolResult | None
) -> Literal["complete", "failed", "denied", "skipped", "unknown"]:
    error = item.get("resultError")
    if call.approval and call.approval.kind == "denied":
        return "denied"
    if call.approval and call.approval.kind == "skipped":
        return "skipped"
    if error or (result is not None and result.is_error):
        if result is not None:
            result.is_error = True
        return "failed"
    return "complete" if take_bool(item, "isComplete") else "unknown"


# --- its output -------------------------------------------------------------------------------------------------


class _Output:
    """What VS Code itself kept of a tool's output."""

    __slots__ = ("is_error", "items", "places", "text")

    def __init__(self) -> None:
        self.text: str | None = None
        self.items: list[ResultItem] = []
        self.places: list[Place] = []
        self.is_error = False


def _read_output(item: Json, call: ToolCall) -> _Output:
    """Read `resultDetails`: places found, or input and output, or binary data."""
    output = _Output()
    details = item.get("resultDetails")
    error = item.get("resultError")
    if isinstance(error, str):
        output.text = error
        output.is_error = True
    if isinstance(details, list):
        output.places = [place for entry in details if (place := place_from(entry)) is not None]
        if len(output.places) == len(details):
            del item["resultDetails"]
    elif isinstance(details, dict):
        given = take_str(details, "input")
        if call.arguments is None:
            call.arguments = given
        elif given is not None:
            details["input"] = given
        output.is_error = take_bool(details, "isError") or output.is_error
        _read_output_items(take_any(details, "output"), output)
        if not details:
            del item["resultDetails"]
    return output


def take_any(obj: Json, key: str) -> Any:
    return obj.pop(key, None)


def _read_output_items(value: object, output: _Output) -> None:
    if isinstance(value, str):
        output.text = value
        return
    entries = value if isinstance(value, list) else [value]
    texts: list[str] = []
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        made = _output_item(entry)
        output.items.append(made)
        if made.text is not None:
            texts.append(made.text)
    if texts:
        output.text = "\n".join(texts)
        output.items = [made for made in output.items if made.text is None]


def _output_item(entry: Json) -> ResultItem:
    kind = take_str(entry, "type")
    mime = take_str(entry, "mimeType")
    made = ResultItem(mime_type=mime)
    if kind == "data":
        made.data = bytes_from(take_any(entry, "base64Data"))
    elif kind == "ref":
        made.place = place_from(entry.get("uri"))
    else:
        value = entry.get("value")
        is_text = entry.get("isText")
        if isinstance(value, str):
            del entry["value"]
            made.data = None if is_text else bytes_from(value)
            made.text = value if made.data is None else None
    made.extra = rest(entry)
    return made


def _result_of(recorded: Any, output: _Output, call: ToolCall) -> ToolResult | None:
    """What came back: as the model saw it where that was recorded, else as VS Code showed it."""
    if recorded is None and output.text is None and not output.items and not output.places and not output.is_error:
        return None
    result = ToolResult(call_id=call.id, is_error=output.is_error, items=output.items, places=output.places)
    if recorded is not None:
        result.origin = "model"
        result.text, items = result_content(recorded)
        result.items = [*items, *output.items]
        if output.text is not None and output.text != result.text:
            result.display = output.text
    else:
        result.origin = "display"
        result.text = output.text or ""
    return result


# --- details by kind of tool ------------------------------------------------------------------------------------


def _read_specific(specific: Json, made: Invocation, output: _Output, position: int) -> None:
    kind = specific.get("kind")
    reader = SPECIFIC.get(kind) if isinstance(kind, str) else None
    if reader is not None:
        reader(specific, made, output, position)
    else:
        made.unknown_data = f"tool-data:{kind}"


def _terminal(data: Json, made: Invocation, output: _Output, position: int) -> None:
    line = take_dict(data, "commandLine") or {}
    original = take_str(line, "original")
    if original is None:
        original = take_str(data, "command")  # the form of early releases
    by_user, by_tool = take_str(line, "userEdited"), take_str(line, "toolEdited")
    executed = by_user or by_tool or original
    if executed is None:
        if line:
            data["commandLine"] = line
        return
    overrides = data.get("presentationOverrides")
    shown = overrides.get("commandLine") if isinstance(overrides, dict) else None
    shown = shown if isinstance(shown, str) else take_str(line, "forDisplay")
    del data["kind"]
    state = take_dict(data, "terminalCommandState") or {}
    printed = take_dict(data, "terminalCommandOutput") or {}
    text = take_str(printed, "text")
    cwd = data.get("cwd")
    part = Terminal(
        call_id=made.call.id,
        command=executed,
        original=original,
        edited_by_tool=by_tool,
        edited_by_user=by_user,
        shown=shown if shown != executed else None,
        output=text,
        is_output_cut=take_bool(printed, "truncated") or False,
        exit_code=take_int(state, "exitCode"),
        cwd=uri_to_path(cwd) if cwd is not None else None,
        language=take_str(data, "language"),
        is_background=take_bool(data, "isBackground") or False,
        started_at=take_time(state, "timestamp"),
        elapsed_ms=take_number(state, "duration"),
        native="terminal",
        position=position,
    )
    for key, left in (("commandLine", line), ("terminalCommandState", state), ("terminalCommandOutput", printed)):
        if left:
            data[key] = left
    if text is not None and output.text is None:
        output.text = text
    _attach(part, data, made)


def _todo_list(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    items = take_list(data, "todoList")
    if items is None:
        return
    del data["kind"]
    todos = [
        TodoItem(
            id=str(item["id"]) if "id" in item else None,
            title=str(item.get("title", "")),
            status=item.get("status") if isinstance(item.get("status"), str) else None,
            description=item.get("description") if isinstance(item.get("description"), str) else None,
        )
        for item in items
        if isinstance(item, dict)
    ]
    _attach(TodoList(call_id=made.call.id, items=todos, native="todoList", position=position), data, made)


def _subagent(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    del data["kind"]
    made.call.subagent = SubAgent(
        run_id=made.run_id,
        name=take_str(data, "agentName") or take_str(data, "agentDisplayName"),
        description=take_str(data, "description"),
        prompt=take_str(data, "prompt"),
        result=take_str(data, "result"),
        model=take_str(data, "modelName") or take_str(data, "modelId"),
        started_at=time_from_ms(take_number(data, "startedAt")),
        elapsed_ms=take_number(data, "duration"),
    )
    if made.call.subagent.result is not None and output.text is None:
        output.text = made.call.subagent.result
    made.call.subagent.extra = dict(data) or None
    data.clear()
    made.run_id = None  # the call itself belongs to its caller; the calls below carry the run's id


def _input(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    raw = data.get("rawInput")
    if raw is None:
        return
    if made.call.arguments is None:
        made.call.arguments = raw if isinstance(raw, str) else jsonio.encode(raw)
        del data["rawInput"], data["kind"]


def _simple(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    del data["kind"]
    given = take_str(data, "input")
    if made.call.arguments is None:
        made.call.arguments = given
    elif given is not None:
        data["input"] = given
    text = take_str(data, "output")
    if output.text is None:
        output.text = text
    elif text is not None:
        data["output"] = text


def _resources(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    values = data.get("values")
    if isinstance(values, list):
        output.places += [place for value in values if (place := place_from(value)) is not None]
        del data["values"], data["kind"]


def _pull_request(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    del data["kind"]
    uri = data.get("uri")
    place = Place(uri=uri_to_string(uri), name=take_str(data, "title"))
    _attach(Reference(text="", type="pull-request", place=place, native="pullRequest", position=position), data, made)


def _extensions(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    names = data.get("extensions")
    text = ", ".join(str(name) for name in names) if isinstance(names, list) else ""
    del data["kind"]
    _attach(Notice(topic="extensions", text=text, native="extensions", position=position), data, made)


def _asks(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
    native = take_str(data, "kind")
    options = data.get("options")
    labels = [_option_label(option) for option in options] if isinstance(options, list) else []
    _attach(Confirmation(type="confirmation", options=labels, native=native, position=position), data, made)


def _option_label(option: object) -> str:
    if isinstance(option, dict):
        return str(option.get("label", option.get("id", "")))
    return str(option)


def _says(topic: str, key: str | None) -> SpecificReader:
    def read(data: Json, made: Invocation, output: _Output, position: int) -> None:  # noqa: ARG001
        native = take_str(data, "kind")
        text = take_str(data, key) if key else None
        _attach(Notice(topic=topic, text=text or "", native=native, position=position), data, made)

    return read


def _attach(part: AnyPart, data: Json, made: Invocation) -> None:
    """Put a part beside the call; it takes over what is left of the data."""
    part.extra = dict(data) or None
    data.clear()
    made.parts.append(part)


SpecificReader = Callable[[Json, Invocation, _Output, int], None]

SPECIFIC: dict[str, SpecificReader] = {
    "terminal": _terminal,
    "todoList": _todo_list,
    "subagent": _subagent,
    "input": _input,
    "simpleToolInvocation": _simple,
    "resources": _resources,
    "pullRequest": _pull_request,
    "extensions": _extensions,
    "modifiedFilesConfirmation": _asks,
    "agentFeedbackReviewConfirmation": _asks,
    "sessionCreated": _says("session-created", "label"),
    "generatedImage": _says("generated-image", None),
    "automationConfigured": _says("automation", "automationName"),
    "automationConfiguration": _says("automation", None),
    "search": _says("search", None),
}
