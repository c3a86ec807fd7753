"""Whether a stream satisfies its invariants: which model field belongs to which last role, and which events match.

The invariants are those that were observed in telemetry and that extraction relies on. Coverage is information: how
many snapshots find their mode and their session's model, and which conversations miss turns (R-11, R-13, R-16, R-18).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from copilog.diagnostics import Ledger
from copilog.telemetry.checks import MOST_PLACES, CheckedRecord, RecordPosition, ReportBytesRead, read_through
from copilog.telemetry.collect import WHOLE_RUN, engine_model
from copilog.telemetry.events import (
    CONTEXT,
    MODEL_EVENTS,
    SNAPSHOT,
    TEXT_EVENTS,
    Event,
    event_of,
    model_option,
    prop,
    text_prop,
)
from copilog.telemetry.facts import Facts, same_model, take_fact
from copilog.telemetry.inputs import InputFile
from copilog.telemetry.messages import is_cut, payload_of, read_messages
from copilog.telemetry.shapes import shape_of_snapshot
from copilog.telemetry.turns import Gap, Turns

ASSISTANT, REQUEST = "aA", "uUtT"  # letters of last messages


class Violation(NamedTuple):
    """One record where an invariant does not hold, and what it has instead."""

    spot: RecordPosition
    found: str


class Invariant(msgspec.Struct):
    """A statement about the data, on how many events it could be checked, and where it does not hold.

    An optional one is only reported: a session may name another model, and extraction marks the conflict.
    """

    code: str
    statement: str
    must_hold: bool = True
    checked: int = 0
    broken: int = 0
    first: list[Violation] = []

    def check(self, spot: RecordPosition, breach: str | None) -> None:
        self.checked += 1
        if breach is not None:
            self.break_at(spot, breach)

    def break_at(self, spot: RecordPosition, breach: str, times: int = 1) -> None:
        self.broken += times
        if len(self.first) < MOST_PLACES:
            self.first.append(Violation(spot, breach))


class Coverage(msgspec.Struct):
    """How much of the snapshots other events explain."""

    snapshots: int = 0
    without_conversation_id: int = 0
    cut: int = 0  # the end of their messages is missing, so that the last role is unknown
    mode_by_request_id: int = 0
    mode_by_message_id: int = 0
    mode_by_turn_alone: int = 0
    without_mode: int = 0
    session_model_by_request_id: int = 0
    session_model_by_message_id: int = 0
    without_session_model: int = 0
    conversations: int = 0
    turns: int = 0
    turns_without_mode: int = 0
    turns_without_message_id: int = 0
    conversations_with_gaps: int = 0
    first_gaps: list[Gap] = []


class ModelCorrelation(msgspec.Struct):
    """The results for the data."""

    invariants: list[Invariant]
    coverage: Coverage
    files: list[Ledger]

    @property
    def is_broken(self) -> bool:
        return any(invariant.broken for invariant in self.invariants if invariant.must_hold)


class _Request(NamedTuple):
    """The common fields of the snapshots of one request, by which other events are found."""

    conversation: str
    request_id: str | None
    message_id: str | None
    model: str | None
    is_subagent: bool


def check_model_correlation(files: Sequence[InputFile], heard: ReportBytesRead | None = None) -> ModelCorrelation:
    """Read all events of some files, and return which invariants hold."""
    checker = _Checker()
    books = read_through(files, checker.take, heard)
    checker.compare_with_sessions()
    return ModelCorrelation(list(checker.invariants()), checker.coverage, books)


class _Checker:
    def __init__(self) -> None:
        self.coverage = Coverage()
        self._one_field = Invariant("one-model-field", "baseModel and request.option.model are never on one snapshot")
        self._answers = Invariant(
            "assistant-base-model", "baseModel is there if and only if the last role is assistant"
        )
        self._requests = Invariant(
            "request-option-model", "request.option.model is there if and only if the last role is user or tool"
        )
        self._sessions = Invariant(
            "session-model", "the session names the model that the engine names, else model_conflict", must_hold=False
        )
        self._facts = Facts()
        self._turns = Turns()
        self._conversations: set[str] = set()
        self._seen: dict[_Request, tuple[int, RecordPosition]] = {}  # how many snapshots, and the first of them

    def invariants(self) -> Iterator[Invariant]:
        yield from (self._one_field, self._answers, self._requests, self._sessions)

    def take(self, met: CheckedRecord) -> str | None:
        event = event_of(met.record)
        if event is None:
            return "other_event"
        if event.base == SNAPSHOT:
            self._check_fields(event, met.spot)
            return self._take_snapshot(event, met.spot)
        if event.base in MODEL_EVENTS:
            return "model_event"
        if event.base == CONTEXT:
            return "context_event"
        seq = met.file, met.spot.offset
        why_no_fact = take_fact(self._facts, event, seq, WHOLE_RUN)
        # A text of the model has no mode, but proves that there was a turn.
        is_turn = event.base in TEXT_EVENTS and self._turns.take(event, seq)
        return None if is_turn else why_no_fact

    def _check_fields(self, event: Event, spot: RecordPosition) -> None:
        has_base = prop(event.properties, "baseModel") is not None
        has_option = model_option(event.properties) is not None
        if has_base or has_option:
            self._one_field.check(spot, "both" if has_base and has_option else None)

    def _take_snapshot(self, event: Event, spot: RecordPosition) -> str | None:
        properties = event.properties
        letters = shape_of_snapshot(properties, "full", False).letters
        if not letters:
            return "no_messages"
        self.coverage.snapshots += 1
        payload = payload_of(properties)
        may_be_cut = isinstance(payload.value, str) and is_cut(payload.value, payload.has_gap)
        if may_be_cut and read_messages(properties).truncated:
            self.coverage.cut += 1
            model = None
        else:
            self._check_last_role(event, letters[-1], spot)
            model, _ = engine_model(letters[-1], properties)
        self._remember(event, model, spot)
        return None

    def _check_last_role(self, event: Event, last: str, spot: RecordPosition) -> None:
        is_answer, is_request = last in ASSISTANT, last in REQUEST
        has_base = prop(event.properties, "baseModel") is not None
        has_option = model_option(event.properties) is not None
        role = {"a": "assistant", "u": "user", "t": "tool", "s": "system"}.get(last.lower(), "another")
        if is_answer or has_base:
            breach = f"last role {role}, {'baseModel' if has_base else 'no baseModel'}"
            self._answers.check(spot, breach if is_answer != has_base else None)
        if is_request or (has_option and is_answer):
            breach = f"last role {role}, {'request.option.model' if has_option else 'no request.option.model'}"
            self._requests.check(spot, breach if is_request != has_option else None)

    def _remember(self, event: Event, model: str | None, spot: RecordPosition) -> None:
        """Store the fields needed to look a snapshot's request up once all events are read."""
        properties = event.properties
        conversation = text_prop(properties, "conversationId")
        if conversation is None:
            self.coverage.without_conversation_id += 1
            return
        self._conversations.add(conversation)
        is_subagent = (text_prop(properties, "subType") or "").startswith("subagent")
        ids = text_prop(properties, "headerRequestId"), text_prop(properties, "messageId")
        request = _Request(conversation, *ids, model, is_subagent)
        count, first = self._seen.get(request, (0, spot))
        self._seen[request] = count + 1, first

    # --- after all events were read -----------------------------------------------------------------------------

    def compare_with_sessions(self) -> None:
        """Compare with the models in sessions, and count the snapshots that match."""
        for request, (count, first) in self._seen.items():
            self._count_mode(request, count)
            self._compare_with_session(request, count, first)
        coverage = self.coverage
        coverage.conversations = len(self._conversations | self._turns.conversations.keys())
        coverage.turns, coverage.turns_without_mode, coverage.turns_without_message_id = self._turns.counts()
        for gap in self._turns.gaps():
            coverage.conversations_with_gaps += 1
            if len(coverage.first_gaps) < MOST_PLACES:
                coverage.first_gaps.append(gap)

    def _count_mode(self, request: _Request, count: int) -> None:
        coverage, facts = self.coverage, self._facts
        if facts.mode_of(WHOLE_RUN, request.request_id, None):
            coverage.mode_by_request_id += count
        elif facts.mode_of(WHOLE_RUN, None, request.message_id):
            coverage.mode_by_message_id += count
        elif facts.turn_modes(WHOLE_RUN, request.conversation) and not request.is_subagent:
            coverage.mode_by_turn_alone += count
        else:
            coverage.without_mode += count

    def _compare_with_session(self, request: _Request, count: int, first: RecordPosition) -> None:
        coverage, facts, conversation = self.coverage, self._facts, request.conversation
        model = facts.session_model(WHOLE_RUN, conversation, request.request_id, None)
        if model is not None:
            coverage.session_model_by_request_id += count
        else:
            model = facts.session_model(WHOLE_RUN, conversation, None, request.message_id)
            if model is None:
                coverage.without_session_model += count
                return
            coverage.session_model_by_message_id += count
        if request.model is None:
            return
        self._sessions.checked += count
        if not same_model(model, request.model):
            self._sessions.break_at(first, f"session {model}, engine {request.model}", count)
