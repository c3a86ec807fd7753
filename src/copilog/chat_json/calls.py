"""Write tool calls, with what VS Code shows of them: terminals, to-do lists, sub-agents, inputs and outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

from copilog.chat_json.parts import own_part_json
from copilog.chat_json.values import (
    bytes_json,
    markdown_json,
    ms_of,
    number_json,
    path_json,
    place_json,
    put_notes,
    value_of_text,
    with_texts,
)
from copilog.derive.notes import PREVIEW, SHOWN_INPUT
from copilog.fields import Json
from copilog.model import (
    AnyPart,
    Approval,
    Confirmation,
    Notice,
    ResultItem,
    SubAgent,
    Terminal,
    TodoList,
    ToolCall,
    ToolResult,
)

RESOURCE = "vscode-chat-response-resource:"
SUFFIX = "__vscode-"  # what the extension adds to the ids of calls
KIND = "toolInvocationSerialized"
APPROVALS = {"denied": 0, "not-needed": 1, "setting": 2, "granted": 3, "user": 4, "skipped": 5}
DETAIL_KEYS = {"setting": "id", "granted": "scope", "user": "selectedButton", "not-needed": "reason"}
LABELS = {"internal": "Built-In", "external": "External"}
TERMINAL_NOTES = {
    "intention": "intention",
    "recommended instead": "alternativeRecommendation",
    "reason to leave the sandbox": "requestUnsandboxedExecutionReason",
    "reason for network access": "requestAllowNetworkReason",
}
TODO_STATES = {"done": "completed", "pending": "not-started", "in_progress": "in-progress", "blocked": "not-started"}
TELLING = ("description", "path", "file_path", "filePath", "command", "pattern", "query", "url", "skill", "question")
LONGEST_LINE = 100
SUBAGENT_NOTES = {"agent": "agentDisplayName", "activity": "activityDescription", "last activity": "activity"}


class Called(NamedTuple):
    """A call, and what belongs to it."""

    call: ToolCall
    beside: AnyPart | None = None  # a terminal, a to-do list, ...
    result: ToolResult | None = None
    run_id: str | None = None  # of the sub-agent that made the call
    is_recorded: bool = False  # the extension's record has its arguments


def shown_id(call: ToolCall) -> str:
    """Return the id that VS Code gave a call."""
    return call.native_ids[0] if call.native == KIND and call.native_ids else call.id


def recorded_id(call: ToolCall) -> str:
    """Return the id that the model gave a call."""
    return next((name for name in call.native_ids if name.partition(SUFFIX)[0] == call.id), call.id)


# --- calls that VS Code recorded ------------------------------------------------------------------------------------


def own_call_json(called: Called) -> Json:
    """Return a call that was read from VS Code's JSON, as it was there."""
    call = called.call
    if call.native != KIND:
        return {"kind": call.native, **(call.extra or {}), "toolName": call.name}
    left = {key: value for key, value in (call.extra or {}).items() if key != "toolCallRounds"}
    made: Json = {"kind": KIND, **left, "toolId": call.tool_id or "", "toolCallId": shown_id(call)}
    made = with_texts(made, generatedTitle=call.title)
    if call.status != "unknown":
        made.setdefault("isComplete", True)
    if "isConfirmed" not in left and call.approval is not None and call.approval.kind in APPROVALS:
        made["isConfirmed"] = approval_json(call.approval)
    if call.origin is not None:
        made["source"] = _own_source(call, left.get("source"))
    if (origin := call.notes.get("origin")) is not None:
        made["originMessage"] = markdown_json(origin, left.get("originMessage"))
    run_id = call.subagent.run_id if call.subagent is not None else None
    if (run_id := run_id or called.run_id) is not None and "fromSubAgent" not in left:
        made.setdefault("subAgentInvocationId", run_id)
    data = _own_data(called, left.get("toolSpecificData"))
    if data is not None:
        made["toolSpecificData"] = data
    details = _own_details(called, left.get("resultDetails"), data)
    return made if details is None else {**made, "resultDetails": details}


def approval_json(approval: Approval) -> Json:
    made: Json = {"type": APPROVALS.get(approval.kind, 1), **(approval.extra or {})}
    key = DETAIL_KEYS.get(approval.kind)
    if key is not None and approval.detail is not None:
        made[key] = markdown_json(approval.detail, made.get(key))
    return made


def _own_source(call: ToolCall, left: Any) -> Json:
    made = {"type": call.origin, **(left if isinstance(left, dict) else {})}
    if call.origin in LABELS:
        made.setdefault("label", LABELS[call.origin])
    elif call.server is not None and call.origin == "mcp" and "label" in made:
        made["serverLabel"] = call.server
    elif call.server is not None:
        made["label"] = call.server
    return made


def _own_data(called: Called, left: Any) -> Json | None:
    call, beside = called.call, called.beside
    held = dict(left) if isinstance(left, dict) else None
    if beside is not None:
        return _own_beside(beside, call)
    if call.subagent is not None:
        made = {"kind": "subagent", **subagent_json(call.subagent), **(call.subagent.extra or {})}
        notes = {key: call.notes[name] for name, key in SUBAGENT_NOTES.items() if name in call.notes}
        return {**made, **{key: text for key, text in notes.items() if key not in made}}
    if held is None or called.is_recorded:
        return held
    if held.get("kind") == "input" and "rawInput" not in held and call.arguments is not None:
        return {**held, "rawInput": value_of_text(call.arguments)}
    return held


def _own_beside(part: AnyPart, call: ToolCall) -> Json | None:
    left = part.extra or {}
    if isinstance(part, Terminal):
        made = {"kind": "terminal", **terminal_json(part, left)}
        rule = call.approval.rule if call.approval is not None else None
        if rule is not None:
            made["autoApproveInfo"] = markdown_json(rule, left.get("autoApproveInfo"))
        return made
    if isinstance(part, TodoList):
        return {"kind": "todoList", **left, "todoList": [*todos_json(part), *left.get("todoList", [])]}
    if isinstance(part, Confirmation):
        return {"kind": part.native, **left}
    if isinstance(part, Notice):
        made = {"kind": part.native, **left}
        keys = {"sessionCreated": "label", "automationConfigured": "automationName"}
        made = with_texts(made, fullTitle=part.notes.get("title"))
        key = keys.get(part.native or "")
        return {**made, key: part.text} if key is not None and part.text else made
    return own_part_json(part)


def _own_details(called: Called, left: Any, data: Json | None) -> Any:
    """Return the output as VS Code shows it, if the model has it."""
    call, result = called.call, called.result
    is_input = data is not None and data.get("kind") in ("input", "simpleToolInvocation")
    given = call.notes.get(SHOWN_INPUT)
    if given is None and not called.is_recorded and not is_input:
        given = call.arguments
    if result is not None and result.places and (data is None or data.get("kind") != "resources"):
        return left if isinstance(left, list) else [place_json(place) for place in result.places]
    shown = result.display if result is not None else None
    items: list[ResultItem] = []
    if result is not None and result.origin == "display":
        is_borrowed = call.subagent is not None and call.subagent.result == result.text
        shown = None if is_borrowed or "resultError" in (call.extra or {}) else result.text or None
        items = result.items
    elif result is not None:
        items = [item for item in result.items if is_shown(item)]
    flags = call.extra or {}
    is_error = result is not None and result.is_error and "resultError" not in flags and not has_error_flag(result)
    if shown is None and not items and given is None and left is None and not is_error:
        return None
    made: Json = dict(left) if isinstance(left, dict) else {}
    if (given := given if given is not None else call.arguments) is not None:
        made["input"] = given
    texts: list[Json] = [] if shown is None else [{"type": "embed", "isText": True, "value": shown}]
    held = made.get("output")
    made["output"] = [*texts, *(item_json(item) for item in items), *(held if isinstance(held, list) else [])]
    return with_texts(made, isError=is_error or None)


def has_error_flag(result: ToolResult) -> bool:
    """Return whether the result for the model has a flag of failure."""
    return (result.extra or {}).get("hasError") is True


def is_shown(item: ResultItem) -> bool:
    """Return whether a piece of a result is from VS Code's own record: results for the model hold no resources."""
    return item.place is not None and (item.place.uri or "").startswith(RESOURCE)


def item_json(item: ResultItem) -> Json:
    """Return one piece of a tool's output."""
    made: Json = dict(item.extra or {})
    if item.place is not None:
        made = {"type": "ref", "uri": place_json(item.place), **made}
    elif item.data is not None:
        made = {"type": "embed", "value": bytes_json(item.data)["$base64"], "isText": False, **made}
    else:
        made = {"type": "embed", "value": item.text or "", "isText": True, **made}
    return with_texts(made, mimeType=item.mime_type)


# --- what VS Code shows of some tools -------------------------------------------------------------------------------


def terminal_json(part: Terminal, left: Json) -> Json:
    line = dict(left.get("commandLine") or {})
    line = with_texts(line, original=part.original or part.command, toolEdited=part.edited_by_tool)
    line = with_texts(line, userEdited=part.edited_by_user)
    overrides = left.get("presentationOverrides")
    if part.shown is not None and not (isinstance(overrides, dict) and overrides.get("commandLine") == part.shown):
        line["forDisplay"] = part.shown
    made: Json = {**left, "commandLine": line, "language": part.language or "bash"}
    if part.is_background:
        made["isBackground"] = True
    put_notes(made, part.notes, TERMINAL_NOTES)
    if part.cwd is not None:
        made.setdefault("cwd", path_json(part.cwd))
    state = dict(left.get("terminalCommandState") or {})
    started = ms_of(part.started_at) if part.started_at is not None else None
    elapsed = number_json(part.elapsed_ms) if part.elapsed_ms is not None else None
    state = with_texts(state, exitCode=part.exit_code, timestamp=started, duration=elapsed)
    output = with_texts(dict(left.get("terminalCommandOutput") or {}), text=part.output)
    output = with_texts(output, truncated=part.is_output_cut or None, fullOutputPreview=part.notes.get(PREVIEW))
    made |= {"terminalCommandState": state} if state else {}
    return made | ({"terminalCommandOutput": output} if output else {})


def todos_json(part: TodoList) -> list[Json]:
    made: list[Json] = []
    for number, item in enumerate(part.items, 1):
        name: int | str = number if item.id is None else int(item.id) if item.id.isdecimal() else item.id
        state = TODO_STATES.get(item.status or "", item.status or "not-started")
        todo = {"id": name, "title": item.title, "status": state}
        made.append(with_texts(todo, description=item.description))
    return made


def subagent_json(helper: SubAgent) -> Json:
    return with_texts(
        {},
        description=helper.description,
        agentName=helper.name,
        prompt=helper.prompt,
        result=helper.result,
        modelName=helper.model,
        startedAt=ms_of(helper.started_at) if helper.started_at is not None else None,
        duration=number_json(helper.elapsed_ms) if helper.elapsed_ms is not None else None,
    )


# --- calls of other programs ----------------------------------------------------------------------------------------


def call_json(called: Called) -> Json:
    """Return a call of another program as VS Code would have recorded it."""
    call, result = called.call, called.result
    made: Json = {
        "kind": KIND,
        "toolId": call.tool_id or call.name,
        "toolCallId": call.id,
        "invocationMessage": call.message or call.title or _said(call),
        "isComplete": True,
        "isConfirmed": approval_json(call.approval or Approval(kind="not-needed")),
        "source": _source(call),
    }
    kind = call.outcome.kind if call.outcome is not None else call.status
    if kind in ("denied", "skipped"):
        made["isConfirmed"] = {"type": APPROVALS[kind]}
    is_error = kind == "failed" or (result is not None and result.is_error)
    made = with_texts(made, resultError=True if is_error else None, generatedTitle=call.title)
    if call.is_hidden:
        made["presentation"] = "hidden"
    made = with_texts(made, subAgentInvocationId=called.run_id)
    data = _data(called)
    if data is not None:
        made["toolSpecificData"] = data
    if data is None or data["kind"] in ("todoList", "subagent"):
        made["resultDetails"] = _details(call, result, is_error)
    return made


def _said(call: ToolCall) -> str:
    """Return the name of a tool with its most informative argument."""
    given = value_of_text(call.arguments) if call.arguments else None
    values = [given.get(key) for key in TELLING] if isinstance(given, dict) else []
    argument = next((value for value in values if isinstance(value, str) and value.strip()), "")
    line = argument.strip().partition("\n")[0]
    return f"{call.name}: {line[:LONGEST_LINE]}" if line else call.name


def _source(call: ToolCall) -> Json:
    if call.origin == "mcp":
        name = call.server or "MCP"
        return {"type": "mcp", "label": name, "serverLabel": name, "collectionId": "", "definitionId": name}
    return {"type": "internal", "label": LABELS["internal"]}


def _data(called: Called) -> Json | None:
    call, beside, result = called.call, called.beside, called.result
    if call.subagent is not None:
        helper = subagent_json(call.subagent)
        if result is not None and result.text:
            helper.setdefault("result", result.text)
        return {"kind": "subagent", **helper}
    if isinstance(beside, TodoList):
        return {"kind": "todoList", "todoList": todos_json(beside)}
    if isinstance(beside, Terminal):
        made = terminal_json(beside, {})
        if beside.output is None and result is not None and result.text:
            made["terminalCommandOutput"] = {"text": result.text}
        return {"kind": "terminal", **made}
    return None


def unwritten_of(called: Called) -> str:
    """Return which form of a result is not written, in words: as the model received it, or as the user saw it."""
    call, beside, result = called.call, called.beside, called.result
    if result is None or not result.display:
        return ""
    if call.subagent is not None or isinstance(beside, TodoList | Terminal):  # written in place of what was shown
        output = beside.output if isinstance(beside, Terminal) else None
        is_written = any(result.display.strip() in text for text in (result.text, output or ""))
        return "" if is_written else "results as the user saw them"
    if called.run_id is not None and result.text.strip() not in result.display:
        return "results of sub-agents as the model received them"
    return ""


def _details(call: ToolCall, result: ToolResult | None, is_error: bool) -> Json:
    output: list[Json] = []
    if result is not None and (result.display or result.text):
        output.append({"type": "embed", "isText": True, "value": result.display or result.text})
    if result is not None:
        output += [item_json(item) for item in result.items if item.text or item.data or item.place]
    made = {"input": call.arguments or "", "output": output}
    return {**made, "isError": True} if is_error else made
