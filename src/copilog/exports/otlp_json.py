"""Make spans in the JSON encoding of OTLP: ids as hex digits, 64-bit numbers as text, attributes as typed values."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

Json = dict[str, Any]

INTERNAL, CLIENT = 1, 3
OK, ERROR = 1, 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = 1000
_LARGEST = (1 << 63) - 1


class Span(msgspec.Struct):
    """One operation; times are nanoseconds since 1970."""

    trace: str
    id: str
    name: str
    kind: int
    start: int
    end: int = 0
    parent: str | None = None
    attributes: Json = {}
    events: list[tuple[str, int, Json]] = []
    status: int = 0
    status_message: str | None = None

    def as_json(self) -> Json:
        made: Json = {"traceId": self.trace, "spanId": self.id}
        if self.parent is not None:
            made["parentSpanId"] = self.parent
        made |= {
            "name": self.name,
            "kind": self.kind,
            "startTimeUnixNano": str(self.start),
            "endTimeUnixNano": str(max(self.start, self.end)),
            "attributes": attributes(self.attributes),
        }
        if self.events:
            made["events"] = [
                {"timeUnixNano": str(at), "name": name, "attributes": attributes(values)}
                for name, at, values in self.events
            ]
        if self.status:
            made["status"] = {"code": self.status, **({"message": self.status_message} if self.status_message else {})}
        return made


def attributes(values: Json) -> list[Json]:
    """Return a list of attributes, without those that are None."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Any) -> Json:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and abs(value) <= _LARGEST:
        return {"intValue": str(value)}
    if isinstance(value, int | float):
        return {"doubleValue": float(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}


def trace_id(*names: object) -> str:
    """Return the id of a trace, 16 bytes as hex digits: the same for the same names."""
    return _digest(names)[:32]


def span_id(*names: object) -> str:
    """Return the id of a span, 8 bytes as hex digits: the same for the same names."""
    return _digest(names)[:16]


def _digest(names: tuple[object, ...]) -> str:
    return hashlib.sha256("\0".join(map(repr, names)).encode()).hexdigest()


class Clock:
    """Gives times that always increase, so that their order is that of the conversation.

    A time that is missing, or earlier than the one before it, is a microsecond after that.
    """

    def __init__(self) -> None:
        self.now = _MICROSECOND  # 0 means unknown in OTLP

    def at(self, moment: datetime | None) -> int:
        self.now = max(self.now + _MICROSECOND, nanoseconds(moment))
        return self.now

    def not_before(self, moment: datetime | None) -> int:
        """Return a time that may equal the last one, as that of the prompt with which a turn begins."""
        self.now = max(self.now, nanoseconds(moment))
        return self.now


def nanoseconds(moment: datetime | None) -> int:
    """Return a time as nanoseconds since 1970; 0 for none."""
    return (moment - _EPOCH) // timedelta(microseconds=1) * _MICROSECOND if moment is not None else 0
