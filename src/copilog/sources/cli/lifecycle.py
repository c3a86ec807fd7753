"""Events about the session itself: how it began, what changed, how it ended, and notices of the program."""

from __future__ import annotations

from typing import Any

from copilog.derive.forks import FORK_NOTICE, child_in, parent_in
from copilog.fields import Json, rest, take_dict, take_str, take_strings
from copilog.model import CustomAgent, Message, Mode, Notice, Relation, Skill, TurnError, Unknown, Workspace
from copilog.model.recorded_names import USAGE_RECORD
from copilog.sources.cli.event import Event, notes_in, take_iso
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.turns import is_of_subagent
from copilog.sources.cli.usage import OF_CALL
from copilog.sources.cli.user_messages import add_skill, mode_named

# Messages of the program itself: one notice for each event that is neither a message nor a tool call.


# The topic of each event that becomes a notice and nothing else, and the field of its data that is its text.
TOPICS: dict[str, tuple[str, str]] = {
    "assistant.fusion_phase_completed": ("fusion-phase", "content"),
    "assistant.fusion_phase_failed": ("fusion-phase-failed", "errorMessage"),
    "assistant.intent": ("intent", "intent"),
    "model.call_failure": ("model-call-failure", "errorMessage"),
    "session.autopilot_objective_changed": ("objective", "status"),
    "session.canvas.recorded": ("canvas", "title"),
    "session.canvas.removed": ("canvas-removed", ""),
    "session.compaction_start": ("compaction-start", ""),
    "session.context_cleared": ("context-cleared", "initialMessage"),
    "session.completion_receipt": ("completion-receipt", "stopReason"),
    "session.fusion_completed": ("fusion-completed", "outcome"),
    "session.fusion_handoff": ("fusion-handoff", "message"),
    "session.fusion_resolved": ("fusion", "pattern"),
    "session.fusion_route_failed": ("fusion-route-failed", "errorMessage"),
    "session.mcp_server_status_changed": ("mcp-servers", "serverName"),
    "session.mcp_servers_loaded": ("mcp-servers", ""),
    "session.mode_notice_delivered": ("mode-notice", "content"),
    "session.permission_recovery": ("permission-recovery", "reason"),
    "session.plan_changed": ("plan", "operation"),
    "session.remote_steerable_changed": ("remote-control", ""),
    "session.schedule_cancelled": ("schedule-cancelled", ""),
    "session.schedule_created": ("schedule", "prompt"),
    "session.schedule_rearmed": ("schedule-rearmed", ""),
    "session.session_limits_changed": ("limits", ""),
    "session.snapshot_rewind": ("rewind", ""),
    "session.task_complete": ("task-complete", "summary"),
    "session.truncation": ("truncation", ""),
    "session.warning": ("warning", "message"),
    "session.workspace_file_changed": ("workspace-file", "path"),
    "system.notification": ("notification", "content"),
    "tool.execution_progress": ("progress", "progressMessage"),
    "tool_search.activated": ("tool-search", "strategy"),
}
EMPTY_SIGNAL = "empty-signal"
PROGRESS = "progress"


def notice(reader: Reader, event: Event, topic: str, text_key: str = "") -> Message:
    """Add a message with one notice: a text, and all other data."""
    parent = reader.agents.parent_of(event)
    text = event.data.pop(text_key, "") if isinstance(event.data.get(text_key), str) else ""
    notes = notes_in(event.data, text)
    part = Notice(topic=topic, text=text, notes=notes, data=event.extra(), native=event.native)
    return reader.add(event, "system", [part], parent=parent)


def plain_notice(reader: Reader, event: Event) -> str | None:
    """Read an event that is a notice and nothing else. A short-lived signal without text is ignored."""
    if event.is_ephemeral and not event.data and not event.rest:
        return EMPTY_SIGNAL
    topic, text_key = TOPICS.get(event.type, ("", ""))
    notice(reader, event, topic or _topic_of(event.type), text_key)
    return None


def rewind(reader: Reader, event: Event) -> str | None:
    """Read a rewind: turns that begin with a removed event no longer count. Only streams record it."""
    first, removed = event.data.get("upToEventId"), event.data.get("eventIds")
    names = {name for name in removed if isinstance(name, str)} if isinstance(removed, list) else set()
    is_removed = False
    for turn in reader.turns.all:
        is_removed = is_removed or (turn.request_id is not None and turn.request_id == first)
        if is_removed or turn.request_id in names:
            turn.superseded = "removed"
    return plain_notice(reader, event)


def streaming_progress(reader: Reader, event: Event) -> str:  # noqa: ARG001
    """Read how many bytes have come so far."""
    return PROGRESS


def unknown(reader: Reader, event: Event) -> None:
    """Read an event of a type without a description, and store it unchanged."""
    reader.ledger.count_unknown(event.native)
    parent = reader.agents.parent_of(event)
    part = Unknown(type=event.native, raw=event.data, native=event.native)
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)


def _topic_of(event_type: str) -> str:
    return event_type.removeprefix("session.").replace(".", "-").replace("_", "-")


# The session itself: where and how it began, what was changed in it, how the program ended.


ERROR_FLAGS = {"quota": ["quota-exceeded"], "rate_limit": ["rate-limited"], "context_limit": ["incomplete"]}

FORK, FORKED_AS = "fork", "forked-as"  # the relation of a fork to its parent, and of a parent to its fork


# --- beginning and end ------------------------------------------------------------------------------------------


def session_start(reader: Reader, event: Event) -> None:
    data, facts = event.data, reader.facts
    if facts.header:
        notice(reader, event, "session-start")
        return
    facts.session_id = take_str(data, "sessionId")
    facts.started_at = take_iso(data, "startTime")
    _enter_context(reader, data.get("context"))
    _select_model(reader, data, "session.start")
    parent_id = data.get("detachedFromSpawningParentSessionId")
    if isinstance(parent_id, str) and parent_id:
        facts.is_detached = True
        reason = "a session that the program started by itself"
        facts.relations.append(Relation(kind="subagent", other_id=f"cli:{parent_id}", reason=reason))
    facts.header = event.extra() or {"sessionId": facts.session_id}


def session_resume(reader: Reader, event: Event) -> None:
    """Read that the program was started again: what was running before is cut off."""
    reader.cut_off()
    reader.meter.resume()
    reader.turns.pause()
    reader.facts.is_ended = False
    _enter_context(reader, event.data.get("context"))
    _select_model(reader, event.data, "session.resume")
    notice(reader, event, "resume")


def session_shutdown(reader: Reader, event: Event) -> None:
    """Read that the program ended by itself, with its totals."""
    reader.cut_off()
    reader.meter.shut_down(event.data)
    text_key = "errorReason" if isinstance(event.data.get("errorReason"), str) else ""
    message = notice(reader, event, "shutdown", text_key)
    if reader.turns.current is not None:
        message.turn = reader.turns.current.index
    reader.turns.pause()
    reader.facts.is_ended = True


def stream_result(reader: Reader, event: Event) -> None:
    """Read the last line of a captured stream. It has no data: all fields are beside the type."""
    event.data, event.rest = event.rest or {}, None
    facts = reader.facts
    facts.session_id = facts.session_id or take_str(event.data, "sessionId")
    usage = event.data.get("usage")
    reader.meter.result = usage if isinstance(usage, dict) else None
    facts.is_stream = facts.is_ended = True
    notice(reader, event, "result")


def session_error(reader: Reader, event: Event) -> None:
    """Read a failure of the model or the service: the turn failed, unless it was over, or an answer still comes."""
    turn = reader.turns.current
    message, kind = event.data.get("message"), event.data.get("errorType")
    if turn is not None and event.agent_id is None and not reader.turns.is_finished(turn):
        turn.status = "failed"
        turn.error = TurnError(
            message=message if isinstance(message, str) else "",
            code=kind if isinstance(kind, str) else None,
            flags=list(ERROR_FLAGS.get(kind, [])) if isinstance(kind, str) else [],
        )
        turn.timing.completed_at = event.at or turn.timing.completed_at
    notice(reader, event, "error", "message")


def abort(reader: Reader, event: Event) -> None:
    """Read that the user, or a limit, ended the turn. Streamed text is given up when the next prompt comes."""
    turn = reader.turns.current
    reader.calls.interrupt()
    if turn is not None and event.agent_id is None:
        turn.status = "cancelled"
        turn.timing.completed_at = event.at or turn.timing.completed_at
    notice(reader, event, "abort", "reason")


def session_handoff(reader: Reader, event: Event) -> None:
    """Read that the session continues one that ran elsewhere."""
    other = event.data.get("remoteSessionId")
    if isinstance(other, str) and other:
        relation = Relation(kind="continuation", other_id=f"cli:{other}", reason="handed over from elsewhere")
        reader.facts.relations.append(relation)
    notice(reader, event, "handoff", "summary")


def session_info(reader: Reader, event: Event) -> None:
    """Read a message of the program to the user, such as that the session was forked, in the logs of both."""
    if event.data.get("infoType") == FORK_NOTICE and isinstance(text := event.data.get("message"), str):
        _read_fork(reader, text)
    notice(reader, event, "info", "message")


def _read_fork(reader: Reader, text: str) -> None:
    """Note the parent of a fork, whose events are all those so far, or the forks of a parent."""
    facts = reader.facts
    copied, made = parent_in(text, facts.session_id), child_in(text)
    if copied is not None:
        parent = f"cli:{copied}"
        facts.relations = [relation for relation in facts.relations if relation.kind not in (FORK, FORKED_AS)]
        facts.relations.append(Relation(kind=FORK, other_id=parent, reason="forked with /fork"))
        for turn in reader.turns.all:
            turn.copied_from = parent
        reader.meter.fork()
    elif made is not None:
        facts.relations.append(Relation(kind=FORKED_AS, other_id=f"cli:{made}", reason="forked with /fork"))


# --- changes ----------------------------------------------------------------------------------------------------


def context_changed(reader: Reader, event: Event) -> None:
    _enter_context(reader, event.data)
    notice(reader, event, "context", "cwd")


def _enter_context(reader: Reader, context: Any) -> None:
    """Set the folder that the session works in; the last one counts."""
    if not isinstance(context, dict):
        return
    made = workspace_from(dict(context))
    known = reader.facts.workspace
    if known is None or made.folder is not None:
        reader.facts.workspace = made


def workspace_from(context: Json) -> Workspace:
    """Return the workspace from the context of an event. Takes fields out of the context."""
    made = Workspace(
        folder=take_str(context, "cwd"),
        kind="folder",
        repository=take_str(context, "repository"),
        branch=take_str(context, "branch"),
        commit=take_str(context, "headCommit"),
    )
    for native, name in (("gitRoot", "git_root"), ("hostType", "host_type")):
        value = take_str(context, native)
        if value is not None:
            context[name] = value
    made.extra = rest(context)
    return made


def model_change(reader: Reader, event: Event) -> None:
    _select_model(reader, event.data, "session.model_change")
    notice(reader, event, "model-change", "newModel")


def model_deselected(reader: Reader, event: Event) -> None:
    """Read that the model is not available any more, and no other was selected yet."""
    reader.models.deselect()
    notice(reader, event, "model-deselected", "previousModel")


def _select_model(reader: Reader, data: Json, source: str) -> None:
    model: Any = data.get("newModel", data.get("selectedModel"))
    effort = data.get("reasoningEffort")
    reader.models.select(model if isinstance(model, str) else None, source, effort if isinstance(effort, str) else None)


def auto_mode_resolved(reader: Reader, event: Event) -> None:
    model = event.data.get("chosenModel")
    reader.models.resolve(model if isinstance(model, str) else None)
    notice(reader, event, "model-resolution", "chosenModel")


def tools_updated(reader: Reader, event: Event) -> None:
    """Read the first event of a captured stream that names the model, as such a stream has no beginning."""
    model = event.data.get("model")
    if reader.models.selected is None and isinstance(model, str):
        reader.models.select(model, "session.tools_updated")
    notice(reader, event, "tools-updated")


def mode_changed(reader: Reader, event: Event) -> None:
    mode = event.data.get("newMode")
    if isinstance(mode, str):
        level = reader.mode.permission_level if reader.mode else None
        reader.mode = mode_named(mode, level, "session.mode_changed")
    notice(reader, event, "mode-change", "newMode")


def permissions_changed(reader: Reader, event: Event) -> None:
    """Read who has to allow tools, in either of two shapes."""
    data = event.data
    level: Any = data.get("mode", data.get("allowAllPermissionMode"))
    if level is None and data.get("allowAllPermissions") is True:
        level = "allow-all"
    mode = reader.mode or Mode()
    reader.mode = Mode(
        kind=mode.kind,
        id=mode.id,
        name=mode.name,
        permission_level=level if isinstance(level, str) else None,
        evidence=mode.evidence or "session.permissions_changed",
    )
    notice(reader, event, "permissions-change")


def usage_checkpoint(reader: Reader, event: Event) -> None:
    reader.meter.checkpoint = event.data
    notice(reader, event, "usage")


def model_usage(reader: Reader, event: Event) -> None:
    """Read the tokens and the cost of one call of the model, in a captured stream."""
    reader.meter.add_call(event.data, reader.turns.current, OF_CALL)


def usage_record(reader: Reader, event: Event) -> None:
    """Read the usage of one model call, in logs since 1.0.102. One written late by a resume is of the last turn."""
    parent = reader.agents.parent_of(event)
    usage = take_dict(event.data, "usage")
    if usage is None:
        notice(reader, event, "usage")
        return
    if event.stamp is not None:
        usage["created_at"] = event.stamp
    if event.data or event.rest:
        usage["record"] = event.extra()
    turn = reader.turns.current or (reader.turns.all[-1] if reader.turns.all else None)
    reader.meter.add_call(usage, turn, USAGE_RECORD, parent)


def title_changed(reader: Reader, event: Event) -> None:
    title = event.data.get("title")
    if isinstance(title, str) and title:
        reader.facts.title = title
    notice(reader, event, "title", "title")


# --- agents and skills ------------------------------------------------------------------------------------------


def agent_selected(reader: Reader, event: Event) -> None:
    """Read that the main agent becomes a custom one. In a sub-agent (since 1.0.89) the event only names its agent."""
    if is_of_subagent(event):
        notice(reader, event, "agent-selected", "agentName")
        return
    data = dict(event.data)
    agent = CustomAgent(
        name=take_str(data, "agentName"), tools=take_strings(data, "tools"), evidence="subagent.selected"
    )
    agent.extra = rest(data)
    _set_custom_agent(reader, agent)
    notice(reader, event, "agent-selected", "agentName")


def agent_deselected(reader: Reader, event: Event) -> None:
    if not is_of_subagent(event):
        _set_custom_agent(reader, None)
    notice(reader, event, "agent-deselected")


def _set_custom_agent(reader: Reader, agent: CustomAgent | None) -> None:
    reader.custom_agent = agent
    turn = reader.turns.current
    if turn is not None and not reader.turns.is_answered(turn):
        turn.custom_agent = agent


def skills_loaded(reader: Reader, event: Event) -> None:
    """Read the skills that the model may use."""
    skills = event.data.get("skills")
    for skill in skills if isinstance(skills, list) else ():
        name = skill.get("name") if isinstance(skill, dict) else None
        if isinstance(name, str):
            _offer(reader, _skill(name, skill, is_loaded=False, evidence="session.skills_loaded"))
    notice(reader, event, "skills-loaded")


def offer_invoked(reader: Reader, event: Event) -> None:
    """Read that a skill was loaded in this turn."""
    name = event.data.get("name")
    if isinstance(name, str):
        trigger = event.data.get("trigger")
        evidence = f"skill.invoked ({trigger})" if isinstance(trigger, str) else "skill.invoked"
        _offer(reader, _skill(name, event.data, is_loaded=True, evidence=evidence))


def _skill(name: str, data: Json, *, is_loaded: bool, evidence: str) -> Skill:
    path, description = data.get("path"), data.get("description")
    return Skill(
        name=name,
        file=path if isinstance(path, str) else None,
        description=description if isinstance(description, str) else None,
        is_loaded=is_loaded,
        evidence=evidence,
    )


def _offer(reader: Reader, skill: Skill) -> None:
    turn = reader.turns.current
    if turn is None:
        reader.offered_skills.append(skill)
    else:
        add_skill(turn, skill)
