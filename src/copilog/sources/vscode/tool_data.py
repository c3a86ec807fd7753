"""Read what VS Code stores about a call: `toolSpecificData` by kind of tool, `resultDetails`, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from copilog.derive.notes import APP, PREVIEW
from copilog.fields import (
    Json,
    is_same_json,
    json_text,
    put_back,
    rest,
    strings_at,
    take_bool,
    take_dict,
    take_int,
    take_list,
    take_markdown,
    take_notes,
    take_number,
    take_str,
    take_time,
    texts_at,
)
from copilog.model import (
    AnyPart,
    Confirmation,
    Notice,
    Place,
    ResultItem,
    SubAgent,
    Terminal,
    TodoItem,
    TodoList,
    ToolCall,
    ToolResult,
)
from copilog.sources.tool_results import bytes_from, fields_beside_content, readable_text, result_content
from copilog.sources.vscode.parts import pull_request
from copilog.sources.vscode.question_parts import labels_of
from copilog.uris import paths_at, take_location, uri_to_path

# The output of a tool that VS Code itself stored: `resultDetails` in its shapes, and the error.


class Output(msgspec.Struct, gc=False):
    """The output as far as it is available; `text` is None until a field provides it."""

    text: str | None = None
    origin: str = "display"
    is_borrowed: bool = False  # the text belongs to another part, and need not be repeated
    items: list[ResultItem] = []
    places: list[Place] = []
    is_error: bool = False
    given: str | None = None  # the input of the tool, as shown

    def offer(self, text: str | None, origin: str) -> None:
        """Take the text of another part as output, if there is no better one."""
        if self.text is None and text is not None:
            self.text = text
            self.origin = origin
            self.is_borrowed = True


def output_from(item: Json) -> Output:
    """Read the locations that a tool found, or its input and output, or binary data."""
    output = Output()
    if "resultError" not in item and "resultDetails" not in item:
        return output
    error = item.get("resultError")
    if error is not None and error is not False:
        output.is_error = True
        output.text = error if isinstance(error, str) else None
    details = item.get("resultDetails")
    if isinstance(details, list):
        output.places = take_places(item, "resultDetails")
    elif isinstance(details, dict):
        output.given = take_str(details, "input")
        output.is_error = take_bool(details, "isError") or output.is_error
        _read_entries(details, output)
        _read_server_output(details.get("mcpOutput"), output)
        if not details:
            del item["resultDetails"]
    return output


def take_places(obj: Json, key: str) -> list[Place]:
    """Take the locations of the list under a key; the list stays if an item has other fields, or is not a location."""
    values = obj.get(key)
    if not isinstance(values, list):
        return []
    places: list[Place] = []
    is_complete = True
    for value in values:
        holder = {"place": value}
        place = take_location(holder, "place")
        if place is not None:
            places.append(place)
        is_complete = is_complete and not holder
    if is_complete:
        del obj[key]
    return places


def _read_entries(details: Json, output: Output) -> None:
    value = details.pop("output", None)
    if isinstance(value, str):
        output.text = value
        return
    texts: list[str] = []
    left: list[Any] = []
    for entry in value if isinstance(value, list) else [value]:
        if isinstance(entry, dict):
            text, made = _entry(entry)
            if text is not None:
                texts.append(text)
            if made is not None:
                output.items.append(made)
        elif entry is not None:
            left.append(entry)
    put_back(details, "output", left)
    if texts:
        output.text = "\n".join(texts)


def _read_server_output(value: object, output: Output) -> None:
    """Add the text that an MCP server sent and that is not among the entries."""
    if not isinstance(value, dict):
        return
    structured = value.get("structuredContent")
    texts = [texts_at(value.get("content"), "text"), (json_text(structured) if structured else None) or ""]
    for text in texts:
        if not text or text in (output.text or "") or is_same_json(text, output.text):
            continue
        if output.text is None:
            output.text = text
        else:
            output.items.append(ResultItem(text=text))


def _entry(entry: Json) -> tuple[str | None, ResultItem | None]:
    """Return the text of one entry, and an item if it is not text or has other fields."""
    kind = entry.pop("type", None)
    made = ResultItem(mime_type=take_str(entry, "mimeType"))
    text: str | None = None
    if kind == "ref":
        made.place = take_location(entry, "uri")
    elif kind == "data":
        made.data = bytes_from(entry.get("base64Data"))
        if made.data is not None:
            del entry["base64Data"]
    elif isinstance(entry.get("value"), str):
        text = entry.pop("value")
        is_text = entry.get("isText") is True
        made.data = None if is_text else bytes_from(text)
        if made.data is not None:
            text = readable_text(made.mime_type, made.data)
        if is_text or made.data is not None:  # else it should be base64, and is not
            take_bool(entry, "isText")
    if text is not None:
        made.data = None
    if kind not in ("ref", "data", "embed") and kind is not None:
        entry["type"] = kind
    made.extra = rest(entry)
    says_nothing = made.data is None and made.place is None and made.extra is None
    return text, None if says_nothing and made.mime_type in (None, "text/plain") else made


def result_of(recorded: Any, output: Output, call_id: str) -> ToolResult | None:
    """Return a result: as the model received it if that was recorded, else as VS Code showed it."""
    if recorded is None and output.text is None and not output.items and not output.places and not output.is_error:
        return None
    result = ToolResult(
        call_id=call_id,
        text=output.text or "",
        origin=output.origin,
        is_error=output.is_error,
        items=output.items,
        places=output.places,
    )
    if recorded is not None:
        text, items = result_content(recorded)
        if output.text is not None and output.text != text and not output.is_borrowed:
            result.display = output.text
        result.origin = "model"
        result.text = text
        result.items = [*items, *output.items]
        result.extra = fields_beside_content(recorded)
        if result.extra is not None and result.extra.get("hasError") is True:
            result.is_error = True
    return result


# What VS Code stores about a call by the kind of tool (`toolSpecificData`): terminals, todo lists, sub-agents. Each
# reader takes the fields that it understands; the others go to the part that it made, or stay with the call.


TERMINAL_NOTES = {
    "intention": "intention",
    "alternativeRecommendation": "recommended instead",
    "requestUnsandboxedExecutionReason": "reason to leave the sandbox",
    "requestAllowNetworkReason": "reason for network access",
}
CONFIRMATION_NOTES = {
    "commandLine": "command to be confirmed",
    "cwdLabel": "folder to be confirmed",
    "cdPrefix": "change of folder to be confirmed",
}
SANDBOX_NOTES = {
    "missingSandboxDependencies": "missing for the sandbox",
    "sandboxRemediations": "remedies for the sandbox",
    "sandboxPrerequisiteFailure": "why there is no sandbox",
}
SUBAGENT_NOTES = {"agentDisplayName": "agent", "activityDescription": "activity", "activity": "last activity"}
SpecificReader = Callable[[Json, ToolCall, Output], "AnyPart | None"]


def part_from(item: Json, call: ToolCall, output: Output) -> tuple[AnyPart | None, str | None]:
    """Return the part that goes beside a call, and the kind of its data if there is no reader for it."""
    data = item.get("toolSpecificData")
    if not isinstance(data, dict):
        return None, None
    kind = data.get("kind")
    reader = READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return None, f"tool-data:{kind if isinstance(kind, str) else type(kind).__name__}"
    part = reader(data, call, output)
    if part is not None:
        del data["kind"]
        part.native = kind
        part.position = call.position
        part.extra = data or None
        del item["toolSpecificData"]
        return part, None
    if data.keys() <= {"kind"}:
        del item["toolSpecificData"]
    return None, None


def _terminal(data: Json, call: ToolCall, output: Output) -> AnyPart | None:
    line = data.get("commandLine")
    line = line if isinstance(line, dict) else {}
    versions = [line.get(key) for key in ("userEdited", "toolEdited", "original")]
    versions.append(data.get("command"))  # the form of early releases
    executed = next((command for command in versions if isinstance(command, str)), None)
    if executed is None:
        return None
    original = take_str(line, "original")
    overrides = data.get("presentationOverrides")
    shown = overrides.get("commandLine") if isinstance(overrides, dict) else None
    displayed = take_str(line, "forDisplay")
    shown = shown if isinstance(shown, str) else displayed
    state = take_dict(data, "terminalCommandState") or {}
    printed = take_dict(data, "terminalCommandOutput") or {}
    part = Terminal(
        call_id=call.id,
        command=executed,
        original=take_str(data, "command") if original is None else original,
        edited_by_tool=take_str(line, "toolEdited"),
        edited_by_user=take_str(line, "userEdited"),
        shown=shown if shown != executed else None,
        output=take_str(printed, "text"),
        is_output_cut=take_bool(printed, "truncated") or False,
        exit_code=take_int(state, "exitCode"),
        cwd=_folder(data.get("cwd")),
        language=take_str(data, "language"),
        is_background=take_bool(data, "isBackground") or False,
        started_at=take_time(state, "timestamp"),
        elapsed_ms=take_number(state, "duration"),
    )
    part.notes = take_notes(data, TERMINAL_NOTES)
    if displayed and displayed not in (shown, *versions):
        part.notes["command as displayed"] = displayed
    part.notes |= {name: text for key, name in SANDBOX_NOTES.items() if (text := strings_at(data, key))}
    for key, name in CONFIRMATION_NOTES.items():
        asked = texts_at(data.get("confirmation"), key)
        if asked and not any(asked in version for version in versions if isinstance(version, str)):
            part.notes[name] = asked
    if (preview := take_str(printed, "fullOutputPreview")) and preview not in (part.output or ""):
        part.notes[PREVIEW] = preview
    if data.get("commandLine") == {}:
        del data["commandLine"]
    rule = take_markdown(data, "autoApproveInfo")
    if call.approval is not None:
        call.approval.rule = rule
    elif rule is not None:
        data["autoApproveInfo"] = rule
    put_back(data, "terminalCommandState", state)
    put_back(data, "terminalCommandOutput", printed)
    output.offer(part.output, "terminal")
    return part


def _folder(value: object) -> str | None:
    path = uri_to_path(value)
    return value if path is None and isinstance(value, str) else path


def _todo_list(data: Json, call: ToolCall, output: Output) -> AnyPart | None:  # noqa: ARG001
    items = take_list(data, "todoList")
    if items is None:
        return None
    todos: list[TodoItem] = []
    left: list[Any] = []
    for item in items:
        todo = _todo(item) if isinstance(item, dict) else None
        if todo is not None:
            todos.append(todo)
        if todo is None or item:
            left.append(item)
    put_back(data, "todoList", left)
    return TodoList(call_id=call.id, items=todos)


def _todo(item: Json) -> TodoItem | None:
    title = take_str(item, "title")
    if title is None:
        return None
    number = take_int(item, "id")
    return TodoItem(
        id=take_str(item, "id") if number is None else str(number),
        title=title,
        status=take_str(item, "status"),
        description=take_str(item, "description"),
    )


def _subagent(data: Json, call: ToolCall, output: Output) -> None:
    call.subagent = SubAgent(
        name=_first(data, "agentName", "agentDisplayName"),
        description=take_str(data, "description"),
        prompt=take_str(data, "prompt"),
        result=take_str(data, "result"),
        model=_first(data, "modelName", "modelId"),
        started_at=take_time(data, "startedAt"),
        elapsed_ms=take_number(data, "duration"),
    )
    call.notes |= take_notes(data, SUBAGENT_NOTES)
    output.offer(call.subagent.result, "display")
    call.subagent.extra = {key: value for key, value in data.items() if key != "kind"} or None
    data.clear()


def _first(data: Json, *keys: str) -> str | None:
    """Take the first of some fields that has a text; the others stay."""
    return next((text for key in keys if (text := take_str(data, key)) is not None), None)


def _input(data: Json, call: ToolCall, output: Output) -> None:  # noqa: ARG001
    if page := texts_at(data.get("mcpAppData"), "html"):
        call.notes[APP] = page
    raw = data.get("rawInput")
    if raw is None or call.arguments is not None:
        return
    call.arguments = raw if isinstance(raw, str) else json_text(raw)
    if call.arguments is not None:
        del data["rawInput"]


def _simple(data: Json, call: ToolCall, output: Output) -> None:
    given, shown = take_str(data, "input"), take_str(data, "output")
    if call.arguments is None:
        call.arguments = given
    elif given is not None:
        output.given = "\n".join(filter(None, (output.given, given)))
    if output.text is None:
        output.text = shown
    elif shown and shown not in output.text:
        output.items.append(ResultItem(text=shown))


def _resources(data: Json, call: ToolCall, output: Output) -> None:  # noqa: ARG001
    output.places += take_places(data, "values")


def _pull_request(data: Json, call: ToolCall, output: Output) -> AnyPart:  # noqa: ARG001
    return pull_request(data)


def _extensions(data: Json, call: ToolCall, output: Output) -> AnyPart:  # noqa: ARG001
    names = data.get("extensions")
    texts = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    return Notice(topic="extensions", text=", ".join(texts))


def _asks(data: Json, call: ToolCall, output: Output) -> AnyPart:  # noqa: ARG001
    options = data.get("options")
    items = data.get("modifiedFiles")
    files = "\n".join(filter(None, (paths_at(items, "uri", "originalUri"), texts_at(items, "title", "description"))))
    return Confirmation(
        type="confirmation",
        options=labels_of(options) if isinstance(options, list) else [],
        notes={"files": files} if files else {},
    )


def _notice(topic: str, key: str | None = None) -> SpecificReader:
    def read(data: Json, call: ToolCall, output: Output) -> AnyPart:  # noqa: ARG001
        text = take_str(data, key) if key else None
        return Notice(topic=topic, text=text or "", notes=take_notes(data, {"fullTitle": "title"}))

    return read


READERS: dict[str, SpecificReader] = {
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
    "sessionCreated": _notice("session-created", "label"),
    "generatedImage": _notice("generated-image"),
    "automationConfigured": _notice("automation", "automationName"),
    "automationConfiguration": _notice("automation"),
    "search": _notice("search"),
}
