"""Billing months: their first days, and a forecast. The status line imports this module, so it imports little."""

from __future__ import annotations

from datetime import date, timedelta
from typing import NamedTuple


class Forecast(NamedTuple):
    """The pace of a billing month so far, and what it adds up to at the month's end."""

    pace: float | None  # by day, today included
    days_left: int  # after today
    total: float | None  # at the end of the month


def month_of(day: date, first: int) -> tuple[date, date]:
    """Return the first day of the billing month that a day is in, and that of the next one."""
    since = day.replace(day=first)
    if since > day:
        since = (since.replace(day=1) - timedelta(days=1)).replace(day=first)
    until = (since.replace(day=1) + timedelta(days=32)).replace(day=first)
    return since, until


def days_before(since: date, until: date) -> date:
    """Return the first day of the period right before one, and as long; `until` is the day after the last one."""
    return since - (until - since)


def forecast_of(used: float | None, today: date, first: int) -> Forecast:
    """Return the pace of the billing month so far, and what it adds up to at its end."""
    since, until = month_of(today, first)
    elapsed, length = (today - since).days + 1, (until - since).days
    pace = used / elapsed if used is not None else None
    return Forecast(pace, length - elapsed, pace * length if pace is not None else None)
