"""The events of a stream: how many of each name, what they are used for, where and when they occur."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from copilog.diagnostics import Ledger
from copilog.telemetry.checks import CheckedRecord, RecordPosition, ReportBytesRead, read_through
from copilog.telemetry.events import (
    CONTEXT,
    MODEL_EVENTS,
    SESSION_MESSAGE,
    SESSION_RESPONSE,
    SNAPSHOT,
    TEXT_EVENTS,
    Event,
    Json,
    event_of,
    instant_of,
    properties_of,
    raw_name_of,
    timestamp_of,
)
from copilog.telemetry.inputs import InputFile

# Base name -> what an extraction reads from it.
SERVES = {
    SNAPSHOT: "messages and models",
    **dict.fromkeys(TEXT_EVENTS, "modes of turns"),
    SESSION_MESSAGE: "models of earlier messages",
    SESSION_RESPONSE: "models of earlier messages",
    CONTEXT: "context",
    **dict.fromkeys(MODEL_EVENTS, "messages, in pieces"),
}


class EventType(msgspec.Struct):
    """All events of one full name. `serves` is None for those that an extraction does not use."""

    name: str
    base: str
    serves: str | None
    first: RecordPosition
    count: int = 0
    bytes: int = 0
    earliest: str | None = None  # times as written
    latest: str | None = None


class BaseName(msgspec.Struct):
    """All events of one base name, under any prefix."""

    base: str
    serves: str | None
    count: int = 0
    bytes: int = 0
    prefixes: dict[str, int] = {}  # "" if there is no prefix


class EventTypes(msgspec.Struct):
    """The inventory, most frequent first."""

    names: list[EventType]
    bases: list[BaseName]
    files: list[Ledger]


def count_event_types(
    files: Sequence[InputFile], contains: str | None = None, heard: ReportBytesRead | None = None
) -> EventTypes:
    """Count the events whose full name contains a text, in any letter case; all without one."""
    counter = _Counter(contains.lower() if contains else "")
    books = read_through(files, counter.take, heard)
    names = sorted(counter.types.values(), key=lambda each: (-each.count, each.name))
    return EventTypes(names, _by_base(names), books)


def _by_base(names: list[EventType]) -> list[BaseName]:
    bases: dict[str, BaseName] = {}
    for each in names:
        base = bases.setdefault(each.base, BaseName(each.base, each.serves))
        base.count += each.count
        base.bytes += each.bytes
        base.prefixes[each.name.removesuffix(each.base)] = each.count
    return sorted(bases.values(), key=lambda base: (-base.count, base.base))


class _Counter:
    def __init__(self, contains: str) -> None:
        self.types: dict[str, EventType] = {}
        self._contains = contains
        self._spans: dict[str, tuple[int, int]] = {}

    def take(self, met: CheckedRecord) -> str | None:
        event = event_of(met.record)
        # An event may be recognised under either name; only the recognised one is its base name.
        name = event.name if event is not None else raw_name_of(met.record)
        if name is None:
            return "no_name"
        if self._contains not in name.lower():
            return "other_name"
        known = self.types.get(name)
        if known is None:
            base = name[name.rfind("/") + 1 :]
            known = self.types[name] = EventType(name, base, SERVES.get(base), met.spot)
        known.count += 1
        known.bytes += met.length
        self._extend_span(known, _time_of(met.record, event))
        return None

    def _extend_span(self, known: EventType, time: str | None) -> None:
        """Extend the time span to this event."""
        instant = instant_of(time)
        if instant is None:
            return
        first, last = self._spans.get(known.name, (instant, instant))
        if known.earliest is None or instant < first:
            known.earliest = time
        if known.latest is None or instant > last:
            known.latest = time
        self._spans[known.name] = min(first, instant), max(last, instant)


def _time_of(record: Json, event: Event | None) -> str | None:
    """Return when an event happened, recognised or not."""
    if event is not None:
        return timestamp_of(event)
    for value in (properties_of(record).get("timestamp"), record.get("time"), record.get("timestamp")):
        if isinstance(value, str) and value:
            return value
    return None
