"""Times as commands print them."""

from __future__ import annotations

from datetime import UTC, datetime


def when(moment: datetime | None, now: datetime | None = None) -> str:
    """Return a time for display: the time if it is today, the day if it is this year, else the date."""
    if moment is None:
        return "-"
    local = moment.astimezone()
    today = (now or datetime.now(UTC)).astimezone()
    if local.date() == today.date():
        return local.strftime("today %H:%M")
    if local.year == today.year:
        return local.strftime("%d %b %H:%M")
    return local.strftime("%Y-%m-%d")
