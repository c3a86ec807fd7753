"""What the program itself had to say: one notice for each event that is neither talk nor tool."""

from __future__ import annotations

from copilog.model import Message, Notice, Unknown
from copilog.sources._cli.event import Event
from copilog.sources._cli.reader import Reader
from copilog.sources._cli.told import notes_in

# The topic of each event that is a notice and nothing else, and the field of its data that reads as text.
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
    """A message that holds one notice: a text, and all the rest as data."""
    parent = reader.agents.parent_of(event)
    text = event.data.pop(text_key, "") if isinstance(event.data.get(text_key), str) else ""
    notes = notes_in(event.data, text)
    part = Notice(topic=topic, text=text, notes=notes, data=event.extra(), native=event.native)
    return reader.add(event, "system", [part], parent=parent)


def plain_notice(reader: Reader, event: Event) -> str | None:
    """An event that is a notice and nothing else. A signal of the moment that says nothing is passed over."""
    if event.is_ephemeral and not event.data and not event.rest:
        return EMPTY_SIGNAL
    topic, text_key = TOPICS.get(event.type, ("", ""))
    notice(reader, event, topic or _topic_of(event.type), text_key)
    return None


def rewind(reader: Reader, event: Event) -> str | None:
    """The conversation was rewound: turns that begin with a removed event no longer count. Only streams say so."""
    first, removed = event.data.get("upToEventId"), event.data.get("eventIds")
    names = {name for name in removed if isinstance(name, str)} if isinstance(removed, list) else set()
    is_removed = False
    for turn in reader.turns.all:
        is_removed = is_removed or (turn.request_id is not None and turn.request_id == first)
        if is_removed or turn.request_id in names:
            turn.superseded = "removed"
    return plain_notice(reader, event)


def streaming_progress(reader: Reader, event: Event) -> str:  # noqa: ARG001
    """How many bytes have come so far."""
    return PROGRESS


def unknown(reader: Reader, event: Event) -> None:
    """An event of a type that nobody has described yet, kept as it came."""
    reader.ledger.meet_unknown(event.native)
    parent = reader.agents.parent_of(event)
    part = Unknown(type=event.native, raw=event.data, native=event.native)
    reader.add(event, "system", [part], parent=parent, extra={"envelope": event.rest} if event.rest else None)


def _topic_of(event_type: str) -> str:
    return event_type.removeprefix("session.").replace(".", "-").replace("_", "-")
