"""Moments as people type them: 2026-03-01, 2026-03-01T14:30, 7d, yesterday."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import click

AGO = re.compile(r"^(\d+)\s*(m|h|d|w)$")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def as_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """An option's value as a moment; dates without a zone are in local time."""
    if value is None:
        return None
    try:
        return parse_moment(value, datetime.now(UTC))
    except (ValueError, OverflowError):
        hint = "write 2026-03-01, 2026-03-01T14:30, 7d, 12h, today or yesterday"
        raise click.BadParameter(f"{value!r} is no date; {hint}", ctx, param) from None


def parse_moment(text: str, now: datetime) -> datetime:
    """A moment from text; raise ValueError when it is none."""
    text = text.strip().lower()
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "today":
        return midnight
    if text == "yesterday":
        return midnight - timedelta(days=1)
    ago = AGO.match(text)
    if ago:
        return now - timedelta(**{UNITS[ago[2]]: int(ago[1])})
    moment = datetime.fromisoformat(text.upper())  # T and Z must be capitals
    return moment if moment.tzinfo else moment.astimezone()


def when(moment: datetime | None, now: datetime | None = None) -> str:
    """A moment for people: the time today, the day this year, else the date."""
    if moment is None:
        return "-"
    local = moment.astimezone()
    today = (now or datetime.now(UTC)).astimezone()
    if local.date() == today.date():
        return local.strftime("today %H:%M")
    if local.year == today.year:
        return local.strftime("%d %b %H:%M")
    return local.strftime("%Y-%m-%d")
