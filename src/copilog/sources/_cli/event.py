"""One event: its envelope, taken off, and its data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from copilog.errors import BadRecord
from copilog.sources._cli.event_types import ALIASES
from copilog.sources._vscode.take import Json


class Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event as nearly all are, decoded in one go. What is otherwise goes through a dictionary."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    data: Json | None = None
    id: str | None = None
    timestamp: str | None = None
    parent_id: Any = msgspec.field(name="parentId", default=None)
    agent_id: str | None = msgspec.field(name="agentId", default=None)
    ephemeral: bool | None = None


decode_envelope = msgspec.json.Decoder(Envelope).decode


class Event:
    """One event of a log. `rest` is what the envelope held beyond what is known; `place` is where it stands."""

    __slots__ = (
        "agent_id",
        "at",
        "data",
        "id",
        "is_ephemeral",
        "line",
        "native",
        "offset",
        "rest",
        "size",
        "stamp",
        "type",
    )

    def __init__(self, raw: Json, line: int = 0, offset: int = 0, size: int = 0) -> None:
        take = raw.pop
        native = take("type", None)
        if not isinstance(native, str) or not native:
            raise BadRecord("an object without a type, so no event")
        self.native = native
        self.type = ALIASES.get(native, native)
        self.line, self.offset, self.size = line, offset, size
        take("parentId", None)  # names the event before; the order of the lines says the same
        event_id, agent_id, at, data = (
            take("id", None),
            take("agentId", None),
            take("timestamp", None),
            take("data", None),
        )
        ephemeral = take("ephemeral", None)
        self.is_ephemeral = ephemeral is True
        self.id: str | None = event_id if isinstance(event_id, str) else None
        self.agent_id: str | None = agent_id if isinstance(agent_id, str) else None
        self.at = time_from_iso(at)
        self.stamp = at if self.at is not None else None
        self.data: Json = data if isinstance(data, dict) else {}
        self.rest: Json = raw
        # What is not what it should be goes back, so that it is not lost. None is nothing.
        if event_id is not None and self.id is None:
            raw["id"] = event_id
        if agent_id is not None and self.agent_id is None:
            raw["agentId"] = agent_id
        if at is not None and self.at is None:
            raw["timestamp"] = at
        if ephemeral is not None and not isinstance(ephemeral, bool):
            raw["ephemeral"] = ephemeral
        if data is not None and not isinstance(data, dict):
            raw["data"] = data

    @classmethod
    def from_envelope(cls, envelope: Envelope, line: int, offset: int, size: int) -> Event:
        """The same as from a dictionary, in half the time: the hottest place of all, see bench_events.py."""
        event = cls.__new__(cls)
        event.native = native = envelope.type
        event.type = ALIASES.get(native, native)
        event.line, event.offset, event.size = line, offset, size
        event.is_ephemeral = envelope.ephemeral is True
        event.id, event.agent_id = envelope.id, envelope.agent_id
        stamp = envelope.timestamp
        event.at = at = time_from_iso(stamp)
        event.stamp = stamp if at is not None else None
        event.data = envelope.data if envelope.data is not None else {}
        event.rest = {} if stamp is None or at is not None else {"timestamp": stamp}
        return event

    def extra(self, left: Json | None = None) -> Json | None:
        """What is left of the data, and of the envelope, after all that is understood was taken."""
        left = self.data if left is None else left
        if self.rest:
            left = {**left, "envelope": self.rest}
        return left or None


def looks_like_event(value: Any) -> bool:
    """Whether a value found in the middle of a damaged line is an event, and not a part of one."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "result":
        return "sessionId" in value
    return isinstance(value.get("data"), dict) and ("id" in value or "timestamp" in value)


def take_iso(obj: Json, key: str) -> datetime | None:
    """A time as text; what is no time stays where it is."""
    moment = time_from_iso(obj.get(key))
    if moment is not None:
        del obj[key]
    return moment


def time_from_iso(value: object) -> datetime | None:
    """A time from ISO 8601 text, taken for UTC where it does not say; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def ms_between(start: datetime | None, end: datetime | None) -> float | None:
    """Milliseconds from one time to another; None when one is unknown or they run backwards."""
    if start is None or end is None or end < start:
        return None
    return (end - start).total_seconds() * 1000
