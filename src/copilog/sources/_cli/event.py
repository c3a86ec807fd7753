"""One event: its envelope, taken off, and its data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from copilog.errors import BadRecord
from copilog.sources._cli.event_types import ALIASES
from copilog.sources._vscode.take import Json

_from_iso = datetime.fromisoformat


class Envelope(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event as nearly all are, decoded in one go. What is otherwise goes through a dictionary."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    data: Json = msgspec.field(default_factory=dict)
    id: str | None = None
    timestamp: str | None = None
    parent_id: Any = msgspec.field(name="parentId", default=None)
    agent_id: str | None = msgspec.field(name="agentId", default=None)
    ephemeral: bool = False


decode_envelope = msgspec.json.Decoder(Envelope).decode


class Event(msgspec.Struct, gc=False):
    """One event of a log, and where it stands. `rest` is what the envelope held beyond what is known."""

    native: str
    type: str
    data: Json
    id: str | None
    agent_id: str | None
    at: datetime | None
    stamp: str | None  # the text of `at`
    is_ephemeral: bool
    rest: Json | None
    line: int
    offset: int
    size: int

    def extra(self, left: Json | None = None) -> Json | None:
        """What is left of the data, and of the envelope, after all that is understood was taken."""
        left = self.data if left is None else left
        if self.rest:
            left = {**left, "envelope": self.rest}
        return left or None


def event_from_envelope(envelope: Envelope, line: int, offset: int, size: int) -> Event:
    """The same as from a dictionary, in a third of the time: the hottest place of all, see bench_events.py."""
    native, stamp = envelope.type, envelope.timestamp
    at, rest = None, None
    if stamp is not None:
        at = time_from_iso(stamp)
        if at is None:
            stamp, rest = None, {"timestamp": stamp}
    return Event(
        native,
        ALIASES.get(native, native),
        envelope.data,
        envelope.id,
        envelope.agent_id,
        at,
        stamp,
        envelope.ephemeral,
        rest,
        line,
        offset,
        size,
    )


def event_from_object(raw: Json, line: int, offset: int, size: int) -> Event:
    """The event that an object is, whatever else it may hold. Takes the object apart."""
    take = raw.pop
    native = take("type", None)
    if not isinstance(native, str) or not native:
        raise BadRecord("an object without a type, so no event")
    take("parentId", None)  # names the event before; the order of the lines says the same
    event_id, agent_id, stamp = take("id", None), take("agentId", None), take("timestamp", None)
    ephemeral, data = take("ephemeral", None), take("data", None)
    at = time_from_iso(stamp)
    # What is not what it should be goes back, so that it is not lost. None is nothing.
    for key, value, is_sound in (
        ("id", event_id, isinstance(event_id, str)),
        ("agentId", agent_id, isinstance(agent_id, str)),
        ("timestamp", stamp, at is not None),
        ("ephemeral", ephemeral, isinstance(ephemeral, bool)),
        ("data", data, isinstance(data, dict)),
    ):
        if value is not None and not is_sound:
            raw[key] = value
    return Event(
        native,
        ALIASES.get(native, native),
        data if isinstance(data, dict) else {},
        event_id if isinstance(event_id, str) else None,
        agent_id if isinstance(agent_id, str) else None,
        at,
        stamp if at is not None else None,
        ephemeral is True,
        raw or None,
        line,
        offset,
        size,
    )


def with_more(extra: Json | None, more: Json) -> Json | None:
    """What was kept, and what there is to keep beyond that; where there is but one of them, it is given back itself."""
    if not extra:
        return more or None
    return {**extra, **more} if more else extra


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
        moment = _from_iso(value)
        zone = moment.tzinfo
        if zone is UTC:
            return moment
        return moment.replace(tzinfo=UTC) if zone is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def ms_between(start: datetime | None, end: datetime | None) -> float | None:
    """Milliseconds from one time to another; None when one is unknown or they run backwards."""
    if start is None or end is None:
        return None
    seconds = (end - start).total_seconds()
    return seconds * 1000 if seconds >= 0 else None
