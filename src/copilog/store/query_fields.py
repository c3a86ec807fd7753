"""The fields of a query: what they hold for, which values they take, and dates as people type them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Literal

Level = Literal["message", "turn", "conversation"]

# Text fields: the column of the full-text index that each one looks into.
TEXT_FIELDS: dict[str, str] = {
    "title": "title",
    "user": "user",
    "answer": "answer",
    "thinking": "thinking",
    "arguments": "arguments",
    "result": "result",
    "path": "paths",
}
# Other fields: what they are a fact of.
FIELDS: dict[str, Level] = {
    "role": "message",
    "tool": "turn",
    "file": "turn",
    "has": "turn",
    "workspace": "conversation",
    "source": "conversation",
    "model": "conversation",
    "mode": "conversation",
    "agent": "conversation",
    "skill": "conversation",
    "label": "conversation",
    "is": "conversation",
    "before": "conversation",
    "after": "conversation",
}
NAMES = (*FIELDS, *TEXT_FIELDS)
# Fields that know their values.
VALUES: dict[str, tuple[str, ...]] = {
    "role": ("user", "assistant", "system", "tool", "title"),
    "has": ("error", "command-error", "edit", "tool", "thinking"),
    "is": ("starred", "gone", "superseded"),
}
SUPERSEDED = ("is", "superseded")
DATES = ("before", "after")
DATE_HINT = "write 2026-03-01, 2026-03, 2026-03-01T14:30, 7d, 12h, today or yesterday"

_AGO = re.compile(r"(\d{1,6})\s*(m|h|d|w)", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?", re.ASCII)


def level_of(name: str, value: str) -> Level:
    """What a field holds for: of all that a conversation may be, superseded is a fact of a turn."""
    return "turn" if (name, value) == SUPERSEDED else FIELDS[name]


def moment_of(text: str, now: datetime) -> datetime:
    """The moment that a date begins with, in local time where it has no zone; ValueError when it is no date."""
    text = text.strip().lower()
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if text == "today":
            return midnight
        if text == "yesterday":
            return midnight - timedelta(days=1)
        if ago := _AGO.fullmatch(text):
            return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        if date := _DATE.fullmatch(text):
            return datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1)).astimezone()
        moment = datetime.fromisoformat(text.upper())  # T and Z must be capitals
        return moment if moment.tzinfo else moment.astimezone()
    except (OverflowError, OSError) as error:  # a year that no clock knows
        raise ValueError(str(error)) from None


def as_stored(moment: datetime) -> str:
    """A moment as the archive writes it: `2026-05-04T06:45:00.123Z`."""
    try:
        return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError as error:
        raise ValueError(str(error)) from None
