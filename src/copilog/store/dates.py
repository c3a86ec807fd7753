"""Parse dates as users type them. Each names a period: `since` begins at its start, and `until` ends at its end.

2026  2026-05  2026-05-04  2026/05/04  2026-05-04T14  2026-05-04 14:30     a year, a month, a day, an hour, a minute
today  yesterday  last week  last month  may                               days in a row
12h  7d  2w  3mo  1y                                                       a point in time, that long ago
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple

from copilog.errors import UsageError

DATE_HINT = "write 2026, 2026-05, 2026-05-04, 2026-05-04T14:30, today, last week, may, 7d, 12h, 2w, 3mo or 1y"

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_SHORTEST_MONTH = 3  # letters: jan, feb, mar
_AGO = re.compile(r"(\d{1,6})\s*(min|h|d|w|mo|m|y)", re.ASCII)
_DATE = re.compile(
    r"(\d{4})(?:([-/])(\d{1,2})(?:\2(\d{1,2})"
    r"(?:[t ](\d{1,2})(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s?(z|[+-]\d\d:?\d\d)?)?)?)?",
    re.ASCII,
)
_TINY = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
_STEPS = (timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1), timedelta(milliseconds=1))


class Period(NamedTuple):
    """From `start` to before `end`, both in UTC; both are equal for a date that names a point in time."""

    start: datetime
    end: datetime


def period_of(text: str, now: datetime | None = None, zone: tzinfo | None = None) -> Period:
    """Return the period that a date names in a time zone, which is that of the system if none is given.

    Raise UsageError if the text is not a date.
    """
    now = (now or datetime.now(UTC)).astimezone(zone)
    plain = " ".join(text.strip().lower().split())
    try:
        if ago := _AGO.fullmatch(plain):
            at = _ago(int(ago[1]), ago[2], now, zone)
            return Period(at, at)
        if (days := _named_days(plain, now.date())) is not None:
            return _period(datetime.combine(days[0], time()), datetime.combine(days[1], time()), zone)
        if parsed := _DATE.fullmatch(plain):
            return _parsed(parsed, zone)
    except (ValueError, OverflowError, OSError):  # no such day, or a year out of range
        pass
    raise UsageError(f"{text!r} is not a date; {DATE_HINT}")


def since_and_until(
    since: str | None, until: str | None, now: datetime | None = None, zone: tzinfo | None = None
) -> tuple[datetime | None, datetime | None]:
    """Return the start and the end of a selection."""
    return (
        period_of(since, now, zone).start if since is not None else None,
        period_of(until, now, zone).end if until is not None else None,
    )


def _ago(number: int, unit: str, now: datetime, zone: tzinfo | None) -> datetime:
    """Return a time before now. Hours and minutes have a length; days and longer units keep the time of day."""
    if unit == "m":
        raise UsageError(
            f"'{number}m' could be minutes or months; write {number}min for minutes, or {number}mo for months"
        )
    if unit in ("h", "min"):
        return (now - timedelta(**{{"h": "hours", "min": "minutes"}[unit]: number})).astimezone(UTC)
    if unit in ("d", "w"):
        day = now.date() - timedelta(days=number * (7 if unit == "w" else 1))
    else:
        day = _months_before(now.date(), number * (12 if unit == "y" else 1))
    return _instant(datetime.combine(day, now.time().replace(fold=0)), zone)


def _months_before(day: date, number: int) -> date:
    """Return the same day of an earlier month, or its last day if it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 - number, 12)
    length = (_next_month(date(year, month + 1, 1)) - date(year, month + 1, 1)).days
    return date(year, month + 1, min(day.day, length))


def _next_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)


def _named_days(plain: str, today: date) -> tuple[date, date] | None:
    """Return the first day of a period that has a name, and the day after its last."""
    day, month = timedelta(days=1), today.replace(day=1)
    if plain == "today":
        return today, today + day
    if plain == "yesterday":
        return today - day, today
    if plain in ("last week", "last-week"):
        monday = today - timedelta(days=today.weekday())
        return monday - timedelta(days=7), monday
    if plain in ("last month", "last-month"):
        return _months_before(month, 1), month
    if len(plain) < _SHORTEST_MONTH or not any(name.startswith(plain) for name in MONTHS):
        return None
    number = next(number for number, name in enumerate(MONTHS, start=1) if name.startswith(plain))
    first = date(today.year - (number > today.month), number, 1)
    return first, _next_month(first)


def _parsed(parsed: re.Match[str], zone: tzinfo | None) -> Period:
    year, month, day = int(parsed[1]), int(parsed[3] or 1), int(parsed[4] or 1)
    first = date(year, month, day)
    if parsed[5] is not None:
        return _parsed_time(parsed, first, zone)
    try:
        if parsed[4] is not None:
            end = first + timedelta(days=1)
        else:
            end = _next_month(first) if parsed[3] is not None else date(year + 1, 1, 1)
    except (OverflowError, ValueError):  # the last year of all
        return Period(_instant(datetime.combine(first, time()), zone), _LAST)
    return _period(datetime.combine(first, time()), datetime.combine(end, time()), zone)


def _parsed_time(parsed: re.Match[str], day: date, zone: tzinfo | None) -> Period:
    """Return the hour, minute, second or millisecond that a text names."""
    hour, minute, second = (int(parsed[number] or 0) for number in (5, 6, 7))
    fraction = (parsed[8] or "0")[:3].ljust(3, "0")
    start = datetime.combine(day, time(hour, minute, second, int(fraction) * 1000))
    named = sum(parsed[number] is not None for number in (6, 7, 8))
    if parsed[9] is not None:
        zone = UTC if parsed[9] == "z" else _offset(parsed[9])
    return _period(start, start + _STEPS[named], zone)


def _offset(text: str) -> timezone:
    length = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return timezone(-length if text[0] == "-" else length)


def _period(first: datetime, end: datetime, zone: tzinfo | None) -> Period:
    """Return the period between two local times.

    When clocks are set back, a time may occur twice: a period begins at the first and ends with the last.
    """
    start = _instant(first, zone)
    return Period(start, max(start, _instant((end - _TINY).replace(fold=1), zone) + _TINY))


def _instant(local: datetime, zone: tzinfo | None) -> datetime:
    """Return the UTC time of a local one; `astimezone` treats skipped times differently from time zones."""
    if local.date() == date.max:  # the same day in UTC, as there is none after it
        return local.replace(tzinfo=UTC)
    return _EPOCH + timedelta(microseconds=round(local.replace(tzinfo=zone).timestamp() * 1e6))
