"""Tools: asked for by a user or a host, started, ended; and the sub-agents that some of them are."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.model import AnyPart, ToolCall
from copilog.sources._cli.agents import subagent_from
from copilog.sources._cli.calls import Call, mark_started, read_start, started_call
from copilog.sources._cli.event import Event, ms_between, with_more
from copilog.sources._cli.models import RESUMED, correct_by_tool
from copilog.sources._cli.notices import notice
from copilog.sources._cli.reader import Reader
from copilog.sources._cli.results import Outcome, end_terminal, outcome_from
from copilog.sources._cli.told import notes_in
from copilog.sources._cli.tool_parts import file_edits, is_diff, is_writer, parts_at_start, with_recorded
from copilog.sources._vscode.take import take_number, take_str, text_from


def user_requested(reader: Reader, event: Event) -> None:
    """The user ran a tool."""
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
    interaction = reader.known_interaction(event)
    turn = reader.turns.of(interaction)
    outcome = outcome_from(reader, event, call_id or "")
    if streamed.strip() not in outcome.result.text:  # of long output the result has the beginning, or the end
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
            outcome.result.display = None  # the edits have it
        _insert(call, with_recorded(call, edits, event.data.get("fileEdits")))
    if call.part.subagent is not None:
        call.part.subagent.result = outcome.result.text or None
    if event.data.pop("isUserRequested", None) is True:
        call.part.origin = "user"
    reader.calls.close(call)


def external_requested(reader: Reader, event: Event) -> None:
    """The program around the agent is to run a tool."""
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
    """A call that no message asked for."""
    parent = reader.agents.parent_of(event)
    part, arguments = started_call(event, origin)
    part.id = part.id or f"{event.id or event.line}"
    parts: list[AnyPart] = [part]
    if role == "user":
        message = reader.add(event, "user", parts, parent=parent)
    else:
        message = reader.add(event, "assistant", parts, parent=parent)
        reader.models.give_to(message, None, None)
    call = reader.calls.add(part, message, arguments)
    message.parts += parts_at_start(call)
    return call


def _insert(call: Call, parts: Sequence[AnyPart]) -> None:
    """Put parts right behind the call that they belong to."""
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
    """How a sub-agent works: its model, its reasoning effort, whether it takes further messages."""
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
    """A sub-agent completed or failed; one in the background does so long after its call ended."""
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
