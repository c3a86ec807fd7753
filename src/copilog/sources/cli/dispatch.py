"""Read the events of a log one by one, and give each to the function that handles its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.intake.file_notes import FileNotes
from copilog.intake.records import JsonLines
from copilog.model import (
    Message,
)
from copilog.sources.cli import answers, confirmation_events, enclosures, lifecycle, tool_events, user_messages
from copilog.sources.cli.event import (
    KNOWN,
    PASSING,
    PERSISTED,
    RECENT,
    RESULT,
    STREAMED,
    Envelope,
    Event,
    decode_envelope,
    event_from_envelope,
    event_from_object,
    is_event_object,
    is_known,
)
from copilog.sources.cli.reader import Reader
from copilog.sources.cli.streamed import DEFERRED

# From records to events: a record that is not an event is bad, and a duplicate event is read once.


class Records:
    """The events of one log, in order. Damage before an event is in the ledger when the event is yielded."""

    def __init__(self, path: Path, ledger: Ledger, remarks: FileNotes) -> None:
        self._ledger = ledger
        self._remarks = remarks
        self._lines = JsonLines(path, ledger, is_event_object, decode=decode_envelope, remarks=remarks)
        self._is_damaged = False

    @property
    def is_damaged(self) -> bool:
        return self._is_damaged or self._lines.is_damaged

    def __iter__(self) -> Iterator[Event]:
        seen: set[int] = set()
        twice = 0
        first_twice: Event | None = None
        for value, line, offset, size in self._lines:
            if type(value) is Envelope:
                event = event_from_envelope(value, line, offset, size)
            else:
                try:
                    event = event_from_object(value, line, offset, size)
                except BadRecord as error:
                    self._is_damaged = True
                    self._ledger.reject(error.code, str(error), line=line, offset=offset)
                    continue
            if not event.is_ephemeral and event.id is not None:
                # The same id alone is not enough: some writers number from 1 again.
                key = hash((event.id, event.native, event.stamp, event.size))
                if key in seen:
                    twice += 1
                    first_twice = first_twice or event
                    self._ledger.ignore("duplicate-event")
                    continue
                seen.add(key)
            yield event
        if first_twice is not None:
            reason = f"{twice} events stand in the log twice; each is read once"
            self._remarks.note("duplicate-event", reason, "info", line=first_twice.line, offset=first_twice.offset)


# The function for each event type, and the loop that calls it.


# A handler returns None for an event that is used, else the reason to ignore it.
Handler = Callable[[Reader, Event], str | None]


def _delta(reader: Reader, event: Event) -> str:
    return reader.deltas.add(reader, event)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(PERSISTED | PASSING | RECENT, lifecycle.plain_notice),
    **dict.fromkeys(STREAMED, _delta),
    **{name: confirmation_events.user_question for name in PASSING if name.endswith((".requested", ".queued"))},
    **{name: confirmation_events.question_answered for name in PASSING if name.endswith(".completed")},
    "abort": lifecycle.abort,
    "assistant.message": answers.assistant_message,
    "assistant.reasoning": answers.assistant_reasoning,
    "assistant.streaming_delta": lifecycle.streaming_progress,
    "assistant.turn_end": answers.turn_end,
    "assistant.turn_start": answers.turn_start,
    "assistant.usage": lifecycle.model_usage,
    "external_tool.completed": tool_events.external_completed,
    "external_tool.requested": tool_events.external_requested,
    "hook.end": confirmation_events.hook_end,
    "hook.start": confirmation_events.hook_start,
    "human_response.recorded": confirmation_events.human_response,
    "model.call_start": answers.model_call_start,
    "model.messages_snapshot": user_messages.messages_sent,
    "model.model_call_success": user_messages.messages_sent,
    "permission.completed": confirmation_events.permission_completed,
    "permission.requested": confirmation_events.permission_requested,
    RESULT: lifecycle.stream_result,
    "session.auto_mode_resolved": lifecycle.auto_mode_resolved,
    "session.binary_asset": enclosures.binary_asset,
    "session.compaction_complete": enclosures.compaction_complete,
    "session.compaction_start": enclosures.compaction_start,
    "session.context_changed": lifecycle.context_changed,
    "session.error": lifecycle.session_error,
    "session.handoff": lifecycle.session_handoff,
    "session.info": lifecycle.session_info,
    "session.mode_changed": lifecycle.mode_changed,
    "session.model_change": lifecycle.model_change,
    "session.model_deselected": lifecycle.model_deselected,
    "session.permissions_changed": lifecycle.permissions_changed,
    "session.resume": lifecycle.session_resume,
    "session.shutdown": lifecycle.session_shutdown,
    "session.skills_loaded": lifecycle.skills_loaded,
    "session.snapshot_rewind": lifecycle.rewind,
    "session.start": lifecycle.session_start,
    "session.title_changed": lifecycle.title_changed,
    "session.tools_updated": lifecycle.tools_updated,
    "session.usage_checkpoint": lifecycle.usage_checkpoint,
    "session.usage_record": lifecycle.usage_record,
    "skill.context_delivered": enclosures.skill_context,
    "skill.context_delivered_ref": enclosures.skill_context,
    "skill.invoked": enclosures.skill_invoked,
    "skill.invoked_ref": enclosures.skill_invoked,
    "subagent.completed": tool_events.subagent_ended,
    "subagent.configured": tool_events.subagent_configured,
    "subagent.deselected": lifecycle.agent_deselected,
    "subagent.failed": tool_events.subagent_ended,
    "subagent.selected": lifecycle.agent_selected,
    "subagent.started": tool_events.subagent_started,
    "system.message": user_messages.system_message,
    "tool.execution_complete": tool_events.execution_complete,
    "tool.execution_start": tool_events.execution_start,
    "tool.user_requested": tool_events.user_requested,
    "user.message": user_messages.user_message,
}


def messages_from(reader: Reader, *, keeps_turns: bool) -> Iterator[Message]:
    """Yield the messages of a log, a turn or a part of one at a time.

    Yielded messages are not held any more, though a much later event may still complete one of them.
    `keeps_turns`: the reader needs all turns and totals at the end.
    """
    return chain.from_iterable(_batches_from(reader, keeps_turns=keeps_turns))


def _batches_from(reader: Reader, *, keeps_turns: bool) -> Iterator[list[Message]]:
    """Loop over all events. Attributes that are used in each pass are held in local variables."""
    records = Records(reader.path, reader.ledger, reader.remarks)
    ledger, facts, turns, handlers = reader.ledger, reader.facts, reader.turns.all, HANDLERS
    first_at = last_at = None
    known_turns = 0
    for event in records:
        if facts.first_event is None:
            facts.first_event = event
            facts.is_stream = event.is_ephemeral
        at, name = event.at, event.type
        if at is not None:
            if last_at is None:
                first_at = last_at = at
            elif at > last_at:
                last_at = at
        handler = handlers.get(name)
        if handler is None:
            handler = lifecycle.plain_notice if is_known(name) else lifecycle.unknown
        reason = handler(reader, event)
        if reason is None:
            ledger.used += 1
        elif reason is not DEFERRED:
            ledger.ignore(reason)
        if len(turns) > known_turns:
            known_turns = len(turns)
            yield reader.ready_before_turn()
            if not keeps_turns:
                reader.drop_past()
        elif name == "assistant.turn_end":
            yield reader.ready(at_turn_end=False)
    facts.first_at, facts.last_at, facts.is_damaged = first_at, last_at, records.is_damaged
    yield reader.finish()


assert set(HANDLERS) <= KNOWN
