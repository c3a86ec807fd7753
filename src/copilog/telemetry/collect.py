"""One pass over a range of bytes: events to evidence (phase 1, and the part of phase 2 that needs no other event)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from copilog.errors import BadFile, BadRecord
from copilog.intake.files import opened
from copilog.jsonio import decode_strictly
from copilog.telemetry import model_events
from copilog.telemetry.events import (
    CONTEXT,
    MODEL_EVENTS,
    SNAPSHOT,
    Event,
    Json,
    Place,
    event_of,
    has_request_option,
    instant_of,
    model_option,
    prop,
    text_prop,
    timestamp_of,
)
from copilog.telemetry.evidence import (
    BadPosition,
    Closing,
    Evidence,
    RecordCounts,
    Snapshot,
    add_closing,
    add_context,
    add_snapshot,
)
from copilog.telemetry.facts import EARLIEST, take_fact
from copilog.telemetry.inputs import Part
from copilog.telemetry.json_values import malformed
from copilog.telemetry.messages import Retention
from copilog.telemetry.records import decode_record, records
from copilog.telemetry.scan import PROPERTIES
from copilog.telemetry.shapes import Shape, ShapeCache, shape_of_snapshot

WHOLE_RUN = -1


class Reading(msgspec.Struct, frozen=True):
    """The options that decide how events are read."""

    compat: bool = False
    correlate: bool = True
    recovery: bool = False
    require_system_first: bool = True

    @property
    def retention(self) -> Retention:
        if not self.correlate:
            return "plain"
        return "compat" if self.compat else "full"

    def scope(self, file: int) -> int:
        """Return the scope of facts: the run, or with --compat only their file (R-14)."""
        return file if self.compat else WHOLE_RUN


def collect(task: tuple[Part, Reading]) -> Evidence:
    """Return the evidence of one part."""
    part, reading = task
    evidence = Evidence()
    books = evidence.books[part.file.index, part.start] = RecordCounts()
    try:
        _collect(part, reading, evidence, books)
    except BadFile as error:  # the file or its disk is gone
        books.seen += 1
        books.reject(BadPosition(part.start, None, error.code, str(error)))
    return evidence


def _collect(part: Part, reading: Reading, evidence: Evidence, books: RecordCounts) -> None:
    """Run the hot loop, which benchmarks/bench_extract.py measures."""
    file = part.file.index
    ignored = books.ignored
    collector = Collector(evidence, reading, file)
    take = collector.take
    offset, line = part.start, -1
    data: bytes | None = None
    for offset, line, data, error in records(part, reading.recovery):
        books.seen += 1
        try:
            if data is None:
                raise error or malformed("cannot be read")
            try:
                record = decode_strictly(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                record = None
            if type(record) is not dict:
                record, _ = decode_record(data, reading.recovery)
            event = event_of(record)
            why_not = "other_event" if event is None else take(event, (file, offset, len(data)))
        except BadRecord as bad:
            books.reject(BadPosition(offset, line, bad.code, str(bad)))
            continue
        if why_not is None:
            books.used += 1
        else:
            ignored[why_not] = ignored.get(why_not, 0) + 1
    books.lines = line + 1 + _blank_lines(part, offset + len(data or b""))


def _blank_lines(part: Part, start: int) -> int:
    """Return how many lines begin after the last record of a part, as the line numbers of later parts depend on it."""
    if part.file.kind != "lines" or start >= part.end:
        return 0
    with opened(Path(part.file.path)) as file:
        file.seek(max(start - 1, part.file.start))  # the byte before shows whether a line begins there
        return file.read(part.end - 1 - file.tell()).count(b"\n") + (start == part.file.start)


class Collector:
    """Collects events as evidence. Each `take` returns the reason if the event is not usable."""

    def __init__(self, evidence: Evidence, reading: Reading, file: int) -> None:
        self.evidence = evidence
        self.reading = reading
        self.scope = reading.scope(file)
        self.shape_cache = ShapeCache()

    def take(self, event: Event, place: Place) -> str | None:
        if event.base == SNAPSHOT:
            return self._take_snapshot(event, place)
        if event.base in MODEL_EVENTS:
            if self.reading.compat:
                return "model_event"
            return model_events.take(self.evidence.pieces, event, place, self.reading.retention)
        if event.base == CONTEXT:
            return self._take_context(event, place)
        if not self.reading.correlate:
            return "not_correlated"
        return take_fact(self.evidence.facts, event, place[:2], self.scope)

    def _take_context(self, event: Event, place: Place) -> str | None:
        conversation = text_prop(event.properties, "conversationId")
        if conversation is None:
            return "no_conversation_id"
        names = [name for name in PROPERTIES if prop(event.properties, name) is not None]
        for name in names:
            add_context(self.evidence, conversation, name, place)
        return None if names else "no_context"

    def _take_snapshot(self, event: Event, place: Place) -> str | None:
        properties = event.properties
        conversation = text_prop(properties, "conversationId")
        if conversation is None:
            return "no_conversation_id"
        reading = self.reading
        shape = shape_of_snapshot(properties, reading.retention, reading.recovery, self.shape_cache, conversation)
        if not shape.letters:
            return "no_messages"
        return self.add(conversation, event, place, shape)

    def add(
        self, conversation: str, event: Event, place: Place, shape: Shape, *, is_rebuilt: bool = False, **more: Any
    ) -> str | None:
        """Add a snapshot as a candidate, as a closing answer, or as both."""
        snapshot = snapshot_from(conversation, event, place, shape, is_rebuilt=is_rebuilt, **more)
        if self.reading.compat:
            snapshot = msgspec.structs.replace(snapshot, is_subagent=False)
        key = key_of(snapshot, event.properties)
        is_candidate = not self.reading.require_system_first or shape.letters.startswith("s")
        if is_candidate:
            add_snapshot(self.evidence, key, snapshot)
        if self.reading.compat or is_rebuilt or not is_answer(shape, event.properties):
            return None if is_candidate else "not_system_first"
        closing = Closing(
            snapshot.instant,
            -place[0],
            -place[1],
            place[2],
            snapshot.request_id,
            snapshot.message_id,
            text_prop(event.properties, "baseModel"),
        )
        add_closing(self.evidence, key, closing, snapshot.call_id)
        return None


def snapshot_from(
    conversation: str,
    event: Event,
    place: Place,
    shape: Shape,
    *,
    is_rebuilt: bool = False,
    is_incomplete: bool = False,
) -> Snapshot:
    properties = event.properties
    instant = instant_of(timestamp_of(event))
    model, is_base_model = engine_model(shape.letters[-1], properties)
    return Snapshot(
        *place,
        EARLIEST if instant is None else instant,
        conversation,
        shape.letters,
        shape.others,
        text_prop(properties, "headerRequestId"),
        text_prop(properties, "messageId"),
        text_prop(properties, "modelCallId"),
        model,
        is_base_model,
        is_subagent=(text_prop(properties, "subType") or "").startswith("subagent"),
        is_rebuilt=is_rebuilt,
        is_incomplete=is_incomplete,
    )


def engine_model(last_letter: str, properties: Json) -> tuple[str | None, bool]:
    """Return the model of the last message, and whether the answer named it (R-17)."""
    if last_letter in "aA" and (base := text_prop(properties, "baseModel")):
        return base, True
    return model_option(properties), False


def is_answer(shape: Shape, properties: Json) -> bool:
    """Return whether the event is the output of a call: one message of the assistant, and no options of a request."""
    return shape.letters in ("a", "A") and not has_request_option(properties)


def key_of(snapshot: Snapshot, properties: Json) -> str:
    """Return the key of a conversation; each sub-agent has a key of its own (R-24)."""
    if not snapshot.is_subagent:
        return snapshot.conversation
    run = text_prop(properties, "parentToolCallId") or snapshot.message_id or snapshot.request_id or ""
    return f"{snapshot.conversation}#{run}"
