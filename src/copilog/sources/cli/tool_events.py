"""Events of tools and of the sub-agents that some of them start, with the results that tools return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from copilog.fields import (
    Json,
    put_back,
    rest,
    strings_at,
    take_dict,
    take_int,
    take_list,
    take_number,
    take_str,
    text_from,
)
from copilog.model import AnyPart, Place, ResultItem, TodoList, ToolCall, ToolResult
from copilog.sources.cli.attachments import Assets, bytes_from_base64
from copilog.sources.cli.event import Event, ms_between, notes_in, with_more
from copilog.sources.cli.lifecycle import notice
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.tool_calls import Call, CallStatus, mark_started, read_start, started_call
from copilog.sources.cli.tool_parts import file_edits, is_diff, is_writer, parts_at_start, with_recorded
from copilog.sources.cli.turns import RESUMED, correct_by_tool, subagent_from

# Tools: requested by a user or a host, started, ended; and the sub-agents that some of them are.


def user_requested(reader: Reader, event: Event) -> None:
    """Read that the user ran a tool."""
    known = reader.calls.get(_call_id(event))
    if known is None:
        known = _new_call(reader, event, "user", origin="user")
    known.part.origin = "user"
    _keep(known.part, event)


def execution_start(reader: Reader, event: Event) -> None:
    call_id = _call_id(event)
    if reader.deltas.waiting:
        reader.deltas.complete(reader, "call", call_id)
    call = reader.calls.get(call_id)
    if call is None:
        call = _new_call(reader, event, "assistant")
    else:
        reader.agents.parent_of(event)
        del event.data["toolCallId"]
        had_arguments = call.arguments is not None
        read_start(event, call)
        if not had_arguments:
            _insert(call, parts_at_start(call))
    mark_started(event, call)
    if call.terminal is not None:
        call.terminal.started_at = event.at


def execution_complete(reader: Reader, event: Event) -> None:
    data = event.data
    call_id = _call_id(event)
    streamed = reader.deltas.complete(reader, "output", call_id) if reader.deltas.waiting else ""
    parent = reader.agents.parent_of(event)
    call = reader.calls.get(call_id)
    take_str(data, "toolCallId")
    interaction = reader.started_interaction(event)
    turn = reader.turns.of(interaction)
    outcome = outcome_from(reader, event, call_id or "")
    if streamed.strip() not in outcome.result.text:  # the result has the beginning of long output, or the end
        outcome.result.display = "\n".join(text for text in (outcome.result.display, streamed) if text)
    model = take_str(data, "model")
    message = reader.add(event, "tool", [outcome.result], turn=turn, parent=parent)
    message.model = model if model != RESUMED else None
    if call is not None:
        if interaction is None:
            message.turn = call.message.turn
        message.parent_call_id = parent or call.message.parent_call_id
        correct_by_tool(call.message, model)
        _end_call(reader, call, outcome, event)
    elif outcome.exits:
        end_terminal(None, outcome)
    outcome.result.extra = with_more(outcome.result.extra, data)
    if event.rest:
        message.extra = {"envelope": event.rest}
    if turn is not None and event.at is not None and message.parent_call_id is None:
        turn.timing.completed_at = event.at


def _end_call(reader: Reader, call: Call, outcome: Outcome, event: Event) -> None:
    call.end(outcome.status, event.at)
    if call.terminal is not None or outcome.exits:
        end_terminal(call, outcome)
    else:
        call.part.exit_code = outcome.exit_code
    if outcome.status == "complete":
        edits = file_edits(call, outcome.detail or outcome.result.text) if is_writer(call) else []
        if edits and outcome.result.display is not None and is_diff(outcome.result.display):
            outcome.result.display = None  # the edits hold it
        _insert(call, with_recorded(call, edits, event.data.get("fileEdits")))
    else:  # a list of things to do was not taken over
        call.message.parts = [part for part in call.message.parts if not _is_list_of(part, call.part.id)]
    if call.part.subagent is not None:
        call.part.subagent.result = outcome.result.text or None
    if event.data.pop("isUserRequested", None) is True:
        call.part.origin = "user"
    reader.calls.close(call)


def _is_list_of(part: AnyPart, call_id: str) -> bool:
    return isinstance(part, TodoList) and part.call_id == call_id


def external_requested(reader: Reader, event: Event) -> None:
    """Read that the host program is to run a tool."""
    data = event.data
    request_id = take_str(data, "requestId")
    call = reader.calls.get(_call_id(event))
    if call is None:
        call = _new_call(reader, event, "assistant", origin="external")
    else:
        reader.agents.parent_of(event)
        take_str(data, "toolCallId")
        read_start(event, call)
    call.part.origin = "external"
    if request_id is not None:
        data["requestId"] = request_id
    _keep(call.part, event)
    reader.calls.await_host(request_id, call.part.id)


def external_completed(reader: Reader, event: Event) -> None:
    request_id = take_str(event.data, "requestId")
    call = reader.calls.answered_by_host(request_id)
    if call is None:
        event.data["requestId"] = request_id
        notice(reader, event, "external-tool", "requestId")
        return
    event.data["host_elapsed_ms"] = ms_between(call.started_at, event.at)
    _keep(call.part, event)


def _call_id(event: Event) -> str | None:
    value = event.data.get("toolCallId")
    return value if isinstance(value, str) and value else None


def _new_call(reader: Reader, event: Event, role: str, origin: str | None = None) -> Call:
    """Return a call without a request in any message."""
    parent = reader.agents.parent_of(event)
    part, arguments = started_call(event, origin)
    part.id = part.id or f"{event.id or event.line}"
    parts: list[AnyPart] = [part]
    if role == "user":
        message = reader.add(event, "user", parts, parent=parent)
    else:
        message = reader.add(event, "assistant", parts, parent=parent)
        reader.models.set_model_of(message, None, None)
    call = reader.calls.add(part, message, arguments)
    message.parts += parts_at_start(call)
    return call


def _insert(call: Call, parts: Sequence[AnyPart]) -> None:
    """Insert parts directly after their call."""
    if not parts:
        return
    others, asked = call.message.parts, call.part
    at = next(index for index, part in enumerate(others) if part is asked) + 1
    while at < len(others) and getattr(others[at], "call_id", None) == asked.id:
        at += 1
    others[at:at] = parts


def _keep(part: ToolCall, event: Event) -> None:
    left = event.extra()
    if left:
        part.extra = with_more(part.extra, left)


# --- sub-agents -------------------------------------------------------------------------------------------------


def subagent_started(reader: Reader, event: Event) -> None:
    call_id = _call_id(event)
    reader.agents.learn(event.agent_id, call_id)
    model = event.data.get("model")
    if call_id is not None and isinstance(model, str) and model:
        reader.models.of_agents[call_id] = model
    call = reader.calls.get(call_id)
    if call is None:
        notice(reader, event, "subagent-started", "agentDisplayName")
        return
    take_str(event.data, "toolCallId")
    call.part.subagent = subagent_from(event, call.arguments)
    reader.agents.running[call.part.id] = call.part


def subagent_configured(reader: Reader, event: Event) -> None:
    """Read the settings of a sub-agent: its model, its reasoning effort, whether it takes further messages."""
    call_id = reader.agents.parent_of(event)
    part = reader.agents.running.get(call_id or "")
    if part is None or part.subagent is None:
        notice(reader, event, "subagent-configured", "model")
        return
    model = event.data.get("model")
    if call_id is not None and isinstance(model, str) and model:
        reader.models.of_agents[call_id] = model
        part.subagent.model = part.subagent.model or model
    if part.subagent.model == model:
        del event.data["model"]
    part.subagent.extra = with_more(part.subagent.extra, event.extra() or {})


def subagent_ended(reader: Reader, event: Event) -> None:
    """Read the end of a sub-agent. In the background, it comes long after the end of its call."""
    call_id = _call_id(event)
    reader.agents.learn(event.agent_id, call_id)
    call = reader.calls.get(call_id)
    part = reader.agents.running.pop(call_id or "", None) or (call.part if call else None)
    if part is None:
        notice(reader, event, event.type.replace(".", "-"), "agentDisplayName")
        return
    data = event.data
    take_str(data, "toolCallId")
    if part.subagent is None:
        part.subagent = subagent_from(event, call.arguments if call else None)
        part.subagent.started_at = None
    subagent = part.subagent
    for key, known in (("agentName", subagent.name), ("agentDisplayName", subagent.description)):
        if data.get(key) == known:
            data.pop(key, None)
    subagent.model = take_str(data, "model") or subagent.model
    subagent.elapsed_ms = take_number(data, "durationMs") or ms_between(subagent.started_at, event.at)
    if event.type == "subagent.failed":
        data["failed"] = True
        error = data.get("error")
        if error and (text := text_from(error)):
            part.notes = {**part.notes, "sub-agent failed": text}
    part.notes = part.notes | notes_in({"modelOverrideReason": data.get("modelOverrideReason")})
    subagent.extra = with_more(subagent.extra, data)


# The result of a tool: as the model got it, as the user saw it, and everything that is not text.


DENIALS = ("denied", "rejected")
OBJECTS = ("structuredContent", "citableSources")  # of a result, beside its text
INTERRUPTED = "interrupted"  # written when a session is resumed whose program was killed
FAILURES = ("failed", "denied")
CONTENT_TYPES = frozenset({"text", "terminal", "shell_exit", "image", "audio", "resource_link", "resource"})


class Outcome(msgspec.Struct, gc=False):
    """How a call ended, and its result."""

    result: ToolResult
    status: CallStatus
    detail: str | None = None
    exits: list[Json] = []  # shells that ended
    exit_code: int | None = None  # as recorded beside the result


def outcome_from(reader: Reader, event: Event, call_id: str) -> Outcome:
    """Take the outcome out of the data of an end."""
    data = event.data
    success = data.pop("success", None)
    raw = data.pop("result", None)
    error = take_dict(data, "error")
    exit_code = _recorded_exit_code(data)
    is_exit_alone = success is False and exit_code is not None and (error is None or "code" not in error)
    if is_exit_alone:
        data["success"] = False  # for a command that the user ran, this only repeats its end and its exit code
    status = "complete" if success is True or is_exit_alone else _status_of(success, raw, error)
    result = ToolResult(call_id=call_id, origin="model", is_error=status in FAILURES)
    made = Outcome(result, status, exit_code=exit_code)
    if isinstance(raw, dict):
        _read_result(reader, event, raw, made)
        if raw:
            data["result"] = raw
    elif raw is not None:
        result.text = text_from(raw) or ""  # a bare text in old logs
    if error is not None:
        message = take_str(error, "message")
        if not result.text and message is not None:
            result.text = message
        elif message is not None and message not in result.text:
            if result.display is None:
                result.display = message
            else:
                result.items.append(ResultItem(text=message))
        put_back(data, "error", error)
    if success is not None and not isinstance(success, bool):
        data["success"] = success
    return made


def _recorded_exit_code(data: Json) -> int | None:
    """Return the exit code that newer releases record beside the result. The data keeps it."""
    telemetry = data.get("toolTelemetry")
    metrics = telemetry.get("metrics") if isinstance(telemetry, dict) else None
    for holder, key in ((data.get("shellExecution"), "exitCode"), (metrics, "exit_code")):
        code = holder.get(key) if isinstance(holder, dict) else None
        if type(code) is int:
            return code
        if isinstance(code, float) and code.is_integer():
            return int(code)
    return None


def _status_of(success: Any, result: Any, error: Json | None) -> CallStatus:
    """Return how a call ended that did not report success."""
    if error is not None and error.get("code") == INTERRUPTED:
        return "cancelled"
    if error is not None:
        return "denied" if error.get("code") in DENIALS else "failed"
    if result is None:
        return "cancelled"  # an end without any data: the call was aborted
    return "failed" if success is False else "complete"


def _read_result(reader: Reader, event: Event, raw: Json, made: Outcome) -> None:
    result = made.result
    content = raw.pop("content", None)
    result.text = content if isinstance(content, str) else text_from(content) or ""
    if not raw:
        return  # as with most tools
    detail = take_str(raw, "detailedContent")
    if detail is not None and detail != result.text:
        made.detail = result.display = detail
    elif detail is not None:
        made.detail = detail
    contents, binaries = take_list(raw, "contents"), take_list(raw, "binaryResultsForLlm")
    if contents:
        _read_contents(reader, event, contents, made)
    result.items += [ResultItem(text=text) for key in OBJECTS if (text := strings_at(raw, key))]
    if binaries:
        for _, block in reader.count_parts(binaries, event, "/data/result/binaryResultsForLlm"):
            result.items.append(_binary_item(block, reader.assets))


def _read_contents(reader: Reader, event: Event, contents: list[Any], made: Outcome) -> None:
    for _, block in reader.count_parts(contents, event, "/data/result/contents"):
        kind = block.get("type")
        if kind in ("shell_exit", "terminal"):
            made.exits.append(block)  # the terminal takes it
        else:
            if not isinstance(kind, str) or kind not in CONTENT_TYPES:
                reader.ledger.parts.count_unknown(f"content:{kind}")
            made.result.items.append(_content_item(block, reader.assets))


def _content_item(block: Json, assets: Assets) -> ResultItem:
    """Return one typed block. The content of a type without a description goes to `extra`."""
    kind = block.get("type")
    if kind in ("text", "image", "audio"):
        del block["type"]
    if kind == "resource":
        inner = take_dict(block, "resource") or {}
        item = ResultItem(mime_type=take_str(inner, "mimeType"), text=take_str(inner, "text"))
        item.data = bytes_from_base64(inner, "blob")
        item.place = _location_in_block(inner, "uri")
        put_back(block, "resource", inner)
    else:
        keys = ("text", "title", "description") if kind == "resource_link" else ("text",)
        lines = [take_str(block, key) for key in keys]
        item = ResultItem(mime_type=take_str(block, "mimeType"), text="\n".join(filter(None, lines)) or None)
        item.data = bytes_from_base64(block, "data") or assets.take(block)
        item.place = _location_in_block(block, "uri")
    item.extra = rest(block)
    return item


def _binary_item(block: Json, assets: Assets) -> ResultItem:
    """Return bytes for the model: inline, stored elsewhere in the log, or left out."""
    item = ResultItem(mime_type=take_str(block, "mimeType"))
    item.data = bytes_from_base64(block, "data") or assets.take(block)
    item.extra = rest(block)
    return item


def _location_in_block(block: Json, key: str) -> Place | None:
    uri = take_str(block, key)
    return Place(uri=uri, name=take_str(block, "name")) if uri is not None else None


def end_terminal(call: Call | None, outcome: Outcome) -> None:
    """Give a terminal its output and exit code; without a terminal these stay with the result."""
    terminal, result = call.terminal if call is not None else None, outcome.result
    if terminal is not None:
        terminal.output = outcome.detail if outcome.detail is not None else result.text
    output = result.text if terminal is None else terminal.output or ""
    more = _texts_of_shells(outcome.exits, output, are_moved=terminal is not None)
    if terminal is None:
        result.items += [ResultItem(text=text) for text in more]
    elif more:
        terminal.notes = {**terminal.notes, "shown in the terminal": "\n".join(more)}
    left: list[Json] = []
    for block in outcome.exits:
        if terminal is not None:
            exit_code = take_int(block, "exitCode")
            terminal.exit_code = exit_code if terminal.exit_code is None else terminal.exit_code
            terminal.cwd = take_str(block, "cwd") or terminal.cwd
            terminal.is_output_cut = block.pop("outputTruncated", False) is True or terminal.is_output_cut
        left.append(block)
    if terminal is not None and terminal.exit_code is None:
        terminal.exit_code = outcome.exit_code
    if left:
        result.extra = {**(result.extra or {}), "shells": left}


def _texts_of_shells(shells: list[Json], output: str, *, are_moved: bool) -> list[str]:
    """Return the texts of blocks of shells that neither the output nor another block has; take them out if moved."""
    found: list[str] = []
    for block in shells:
        for key in ("text", "outputPreview"):
            text = block.get(key)
            if isinstance(text, str):
                if not any(text.strip() in other for other in (output, *found)):
                    found.append(text)
                if are_moved:
                    del block[key]
    return [text for text in found if not any(text is not other and text.strip() in other for other in found)]
