"""The fields of a query: what they hold for, and which values they take."""

from __future__ import annotations

from typing import Literal

from copilog.store.selection import NAME_FIELDS

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
# Dates: since and until are those of every selection; `before` ends where its period begins.
DATES = ("since", "until", "after", "before")
PERIOD = "period"  # the field that dates become: "since/until" as the archive writes times, of which one may be missing
# Other fields: what they are a fact of.
FIELDS: dict[str, Level] = {
    "role": "message",
    "tool": "turn",
    "file": "turn",
    "has": "turn",
    **{name: "conversation" for name in NAME_FIELDS if name != "tool"},
    "is": "conversation",
    **dict.fromkeys(DATES, "conversation"),
}
NAMES = (*FIELDS, *TEXT_FIELDS)
# Fields that know their values.
VALUES: dict[str, tuple[str, ...]] = {
    "role": ("user", "assistant", "system", "tool", "title"),
    "has": ("error", "command-error", "edit", "tool", "thinking"),
    "is": ("starred", "gone", "empty", "superseded"),
}
SUPERSEDED = ("is", "superseded")
EMPTY = ("is", "empty")


def level_of(name: str, value: str) -> Level:
    """What a field holds for: of all that a conversation may be, superseded is a fact of a turn."""
    return "turn" if (name, value) == SUPERSEDED else FIELDS.get(name, "conversation")
