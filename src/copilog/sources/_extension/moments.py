"""Times in the spellings that Copilot's stores use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.sources._vscode.take import Json, time_from_ms

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_NANOSECOND = 253_402_300_799 * 10**9


def moment_from(value: object) -> datetime | None:
    """A time from ISO 8601 text, from SQLite's own text, which is UTC and does not say so, or from milliseconds."""
    if not isinstance(value, str):
        return time_from_ms(value)
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def take_moment(obj: Json, key: str) -> datetime | None:
    """A time; what is no time stays where it is."""
    moment = moment_from(obj.get(key))
    if moment is not None:
        del obj[key]
    return moment


def moment_from_nanoseconds(value: object) -> datetime | None:
    """A time from nanoseconds since 1970, as a number or as text."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 25:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _LAST_NANOSECOND:
        return None
    return EPOCH + timedelta(microseconds=value // 1000)


def moment_from_pair(value: object) -> datetime | None:
    """A time from a pair of seconds and nanoseconds."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    seconds, nanoseconds = value
    if type(seconds) is not int or type(nanoseconds) is not int:
        return None
    return moment_from_nanoseconds(seconds * 10**9 + nanoseconds)


def ms_between(start: datetime | None, end: datetime | None) -> float | None:
    """Milliseconds from one time to another; None when one is unknown or they run backwards."""
    if start is None or end is None or end < start:
        return None
    return (end - start) / timedelta(milliseconds=1)
