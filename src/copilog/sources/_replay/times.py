"""Times as the extension writes them: ISO text, sometimes milliseconds."""

from __future__ import annotations

from datetime import UTC, datetime

from copilog.sources._vscode.take import Json, time_from_ms


def moment(value: object) -> datetime | None:
    """A time in UTC; None for what is none."""
    if not isinstance(value, str):
        return time_from_ms(value)
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def take_moment(obj: Json, key: str) -> datetime | None:
    """Take a time out of an object; anything that is none stays where it is."""
    found = moment(obj.get(key))
    if found is not None:
        del obj[key]
    return found
