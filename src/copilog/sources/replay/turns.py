"""Convert a group of a debug export to a turn: agent, outcome, times, cost, and the calls that started sub-agents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from copilog import tags
from copilog.fields import Json, rest
from copilog.model import (
    Message,
    Mode,
    Notice,
    Round,
    Skill,
    Status,
    SubAgent,
    Text,
    Thinking,
    Timing,
    ToolCall,
    Turn,
    TurnError,
    Unknown,
)
from copilog.sources.replay.entries import MARKDOWN, Remark, Request, Servers, parsed, starts_subagent, subagent_name
from copilog.sources.replay.groups import Group, SubRun
from copilog.sources.replay.messages import MessageMaker
from copilog.sources.replay.runs import Run, Sent

# The tool call that started a sub-agent's run: the log does not record it, so it is found by task, name and time.


class Call(NamedTuple):
    """A call that may have started a sub-agent."""

    id: str
    run: Run
    arguments: dict[str, Any]
    agent: str | None
    description: str | None
    time: datetime | None  # when its result came back


def calls_in(run: Run) -> list[Call]:
    """Return the calls of a run that started sub-agents."""
    found: dict[str, Call] = {}
    for step in run.steps:
        for call in step.message.calls if step.message else []:
            if starts_subagent(call.name) and call.id not in run.tools:
                found[call.id] = Call(call.id, run, parsed(call.arguments), None, None, None)
    for tool in run.tools.values():
        if starts_subagent(tool.name) or "subAgentInvocationId" in tool.metadata:
            agent, description = tool.metadata.get("agentName"), tool.metadata.get("description")
            found[tool.id] = Call(
                tool.id,
                run,
                parsed(tool.arguments),
                agent if isinstance(agent, str) else None,
                description if isinstance(description, str) else None,
                tool.time,
            )
    return list(found.values())


def link(subruns: list[SubRun], calls: list[Call]) -> dict[int, Call]:
    """Return the call of each run, by the index of the run in the list; runs without such a call are left out."""
    found: dict[int, Call] = {}
    taken: set[str] = set()
    earlier: set[int] = set()
    inside = {id(subrun.run) for subrun in subruns}
    for position, subrun in enumerate(subruns):
        open_to_it = [
            call for call in calls if call.id not in taken and (id(call.run) not in inside or id(call.run) in earlier)
        ]
        best = max(open_to_it, key=lambda call: _likeness(subrun, call), default=None)
        if best is not None and _likeness(subrun, best) > 0:
            found[position] = best
            taken.add(best.id)
        earlier.add(id(subrun.run))
    return found


def _likeness(subrun: SubRun, call: Call) -> int:
    """Return a score of how likely a call started a run; 0 if it cannot have."""
    ends = [request.ended_at for request in subrun.run.requests if request.ended_at is not None]
    if call.time is not None and ends and call.time < max(ends):
        return 0
    points = 1
    task, user_text = call.arguments.get("prompt") or call.arguments.get("query"), subrun.run.first_user_text()
    if isinstance(task, str) and task.strip() and user_text and (task.strip() in user_text or user_text in task):
        points += 8
    description = call.description or call.arguments.get("description")
    if subrun.label and description == subrun.label:
        points += 4
    agent = subagent_name(subrun.base)
    if agent is not None and agent in (call.agent, call.arguments.get("agentName")):
        points += 2
    return points


# A turn of an export: agent, outcome, times, cost, and result.


LOCATIONS = {1: "panel", 2: "terminal", 3: "notebook", 4: "editor", 5: "panel", 7: "panel"}
MODES = {5: "edit", 7: "agent"}
OUTCOMES: dict[str | None, Status] = {
    "success": "complete",
    "truncated": "failed",
    "failure": "failed",
    "canceled": "cancelled",
}


def turn_from(draft: Draft, index: int, maker: MessageMaker, servers: Servers) -> tuple[Turn, list[Message]]:
    """Return a turn and its messages."""
    turn = Turn(index=index, pointer=draft.pointer)
    nested = [(call_id, subrun) for call_id, subruns in draft.subruns.items() for subrun in subruns]
    messages = maker.messages(draft.run, index, dict(draft.subruns), None)
    _add_label(draft, messages, index)
    messages += [_remark_message(remark, index) for group in draft.groups for remark in group.remarks]
    messages += [_failure_message(request, index) for request in draft.run.requests[:-1] if request.reason]
    messages += [_failed_entry_message(error, index) for group in draft.groups for error in group.errors]
    requests = draft.run.requests
    turn.rounds = _rounds(draft.run, None)
    turn.usage = [request.usage for request in requests if request.usage is not None]
    for call_id, subrun in nested:
        turn.rounds += _rounds(subrun.run, call_id)
        turn.usage += _nested_usage(subrun, call_id)
        _complete_subagent_call(messages, call_id, subrun)
    _read_requests(turn, draft)
    turn.skills = _skills(draft)
    turn.extra = rest(_extra(draft, servers))
    if draft.orphan is not None:
        turn.is_system_initiated = True
        turn.system_label = draft.orphan.base
    return turn, messages


def location_of(draft: Draft) -> str | None:
    """Return the location in VS Code of the turn."""
    found = (LOCATIONS.get(request.location or 0) for request in draft.run.requests)
    return next((location for location in found if location is not None), None)


def _add_label(draft: Draft, messages: list[Message], index: int) -> None:
    """Add the label of the group as the user's prompt, if no message contains it."""
    own = [message for message in messages if message.role == "user" and message.parent_call_id is None]
    if draft.orphan is not None or any(isinstance(part, Text) for message in own for part in message.parts):
        return
    label = next((group.label for group in draft.groups if group.label), None)
    if label is None:
        return
    first = next((place for place, message in enumerate(messages) if message.role in ("assistant", "tool")), None)
    asked = Message(role="user", parts=[Text(text=label, native="label")], turn=index)
    messages.insert(len(messages) if first is None else first, asked)


def _remark_message(remark: Remark, index: int) -> Message:
    if remark.kind != MARKDOWN:
        return Message(role="system", parts=[Unknown(type=f"log:{remark.kind}", raw=remark.raw)], turn=index)
    data = {"name": remark.name, **{key: value for key, value in remark.raw.items() if key not in ("kind", "type")}}
    notice = Notice(topic="log", text=remark.text or "", native=MARKDOWN, data=data)
    return Message(role="system", parts=[notice], turn=index, created_at=remark.time)


def _failure_message(request: Request, index: int) -> Message:
    """Return the message of a request that failed, and was made again."""
    notice = Notice(topic="model-call-failure", text=request.reason or "", data={"name": request.name.full})
    return Message(role="system", parts=[notice], turn=index, created_at=request.ended_at)


def _failed_entry_message(error: Json, index: int) -> Message:
    """Return the message of an entry that the extension could not write, with the error."""
    text = error.get("error")
    notice = Notice(topic="export-error", text=text if isinstance(text, str) else "", data=error)
    return Message(role="system", parts=[notice], turn=index)


# --- requests ---------------------------------------------------------------------------------------------------


def _rounds(run: Run, call_id: str | None) -> list[Round]:
    step_of = {id(step.request): step for step in run.steps if step.request is not None}
    rounds: list[Round] = []
    for request in run.requests:
        step = step_of.get(id(request))
        made = Round(
            id=request.id,
            text=request.text or "",
            call_ids=step.call_ids() if step else [],
            started_at=request.started_at,
            model=request.model.name if request.model else None,
        )
        made.extra = rest(
            {**_remaining_fields(request), **({"parent_call_id": call_id} if call_id else {}), **request.extra}
        )
        rounds.append(made)
    return rounds


def _remaining_fields(request: Request) -> Json:
    """Return the fields of a request that a round lacks."""
    details: Json = {
        "name": request.name.full,
        "retry": request.name.retry,
        "outcome": request.outcome,
        "reason": request.reason,
        "ended_at": request.ended_at.isoformat() if request.ended_at else None,
        "elapsed_ms": request.elapsed_ms,
        "first_token_ms": request.first_token_ms,
        "resolved_model": request.model.resolved if request.model else None,
        "our_request_id": request.our_id,
        "request_id": request.service_id,
        "server_request_id": request.server_id,
    }
    return _without_none(details)


def _without_none(values: Json) -> Json:
    return {key: value for key, value in values.items() if value is not None}


def _nested_usage(subrun: SubRun, call_id: str) -> list[Any]:
    found = [request.usage for request in subrun.run.requests if request.usage is not None]
    for usage in found:
        usage.extra = {**(usage.extra or {}), "parent_call_id": call_id}
    return found


def _complete_subagent_call(messages: list[Message], call_id: str, subrun: SubRun) -> None:
    """Set the fields of a sub-agent's call that its run shows: the agent's name, the model, the time."""
    calls = (part for message in messages for part in message.parts if isinstance(part, ToolCall))
    call = next((part for part in calls if part.id == call_id), None)
    if call is None:
        return
    call.subagent = call.subagent or SubAgent()
    first = subrun.run.requests[0] if subrun.run.requests else None
    call.subagent.name = call.subagent.name or subagent_name(subrun.base)
    if first is not None:
        call.subagent.model = first.model.name if first.model else None
        call.subagent.started_at = first.started_at
    group = _without_none({"prompt": subrun.label, **subrun.extra})
    if group:
        call.subagent.extra = {**(call.subagent.extra or {}), "group": group}


def _read_requests(turn: Turn, draft: Draft) -> None:
    """Fill in the totals of a turn's requests; the outcome of the last one is that of the turn."""
    requests = draft.run.requests
    times = [request.ended_at for request in requests] + [tool.time for tool in draft.run.tools.values()]
    turn.timing = Timing(
        started_at=min((request.started_at for request in requests if request.started_at), default=None),
        completed_at=max((time for time in times if time is not None), default=None),
        first_progress_ms=requests[0].first_token_ms if requests else None,
        elapsed_ms=requests[0].elapsed_ms if len(requests) == 1 and not draft.run.tools else None,
    )
    if not requests:
        return
    last = requests[-1]
    turn.response_id = next((request.our_id for request in reversed(requests) if request.our_id), None)
    turn.model = next((request.model for request in reversed(requests) if request.model), None)
    turn.mode = _mode(draft)
    turn.status = OUTCOMES.get(last.outcome)
    step = next((step for step in draft.run.steps if step.request is last), None)
    if turn.status == "complete" and step is not None and step.call_ids():
        turn.status = None  # the log ends while tools are running
    if turn.status == "failed":
        is_cut = last.outcome == "truncated"
        message = "the answer was cut off at its greatest length" if is_cut else last.reason or ""
        flags = ["incomplete"] if is_cut else []
        turn.error = TurnError(message=message, code="length" if is_cut else None, flags=flags)


def _mode(draft: Draft) -> Mode | None:
    """Return the mode that the prompt names, else the one that belongs to the location."""
    kinds = (MODES.get(request.location or 0) for request in draft.run.requests)
    kind = next((kind for kind in kinds if kind is not None), None)
    prompts = [message.text for message in draft.run.prompts if "<modeInstructions>" in message.text]
    name = next((name for text in prompts if (name := tags.mode_name(text))), None)
    if name is not None:
        return Mode(kind=kind, name=name, evidence="prompt text")
    return Mode(kind=kind, evidence="location") if kind else None


def _skills(draft: Draft) -> list[Skill]:
    """Return the skills that were loaded, each once."""
    found: dict[str, Skill] = {}
    for tool in draft.run.tools.values():
        name, uri = tool.metadata.get("skill"), tool.metadata.get("skillUri")
        evidence = "toolMetadata"
        if not isinstance(name, str) and tool.name == "skill":
            name, evidence = parsed(tool.arguments).get("skill"), "tool call"
        if isinstance(name, str) and name not in found:
            file = uri if isinstance(uri, str) else None
            found[name] = Skill(name=name, file=file, is_loaded=True, evidence=evidence)
    return list(found.values())


def _extra(draft: Draft, servers: Servers) -> Json:
    requests = draft.run.requests
    names = dict.fromkeys(name for request in requests for name in request.tools)
    tools = [
        {"name": name, "server": server} if (server := servers.of_tool(name)) else {"name": name} for name in names
    ]
    extra: Json = {
        "groups": [named for group in draft.groups if (named := _without_none({"prompt": group.label, **group.extra}))],
        "tools": tools,
        "request_ids": _unique([request.service_id for request in requests]),
        "server_request_ids": _unique([request.server_id for request in requests]),
    }
    if not draft.groups and draft.orphan is None:
        extra["from_history"] = True
    if draft.orphan is not None:
        extra["groups"] = [_without_none({"prompt": draft.orphan.label, **draft.orphan.extra})]
    return {key: value for key, value in extra.items() if value}


def _unique(values: list[str | None]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value))


def thinking_of(messages: list[Message], request_id: str | None) -> str | None:
    """Return the model's thinking before an answer."""
    parts = (part for message in messages if message.id == request_id and request_id for part in message.parts)
    return "\n".join(part.text for part in parts if isinstance(part, Thinking) and part.text) or None


@dataclass(slots=True, eq=False)
class Draft:
    """A turn under construction. One that is only in the history of a later request has no groups."""

    run: Run
    user_text: str | None
    pointer: str
    groups: list[Group] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    subruns: dict[str, list[SubRun]] = field(default_factory=dict)  # by the call that started them
    orphan: SubRun | None = None  # the turn is the run of a sub-agent whose caller is not in the file

    @property
    def opening(self) -> Sent | None:
        """Return the first request's messages, as far as they are recorded."""
        return next((sent for sent in self.sent if sent.own), None)

    @property
    def our_ids(self) -> set[str]:
        return {request.our_id for request in self.run.requests if request.our_id}
