"""Define the fields of a query: their level, and the values they accept."""

from __future__ import annotations

from typing import Literal

from copilog.store.selection import NAME_FIELDS

Level = Literal["message", "turn", "conversation"]

# Text fields: the column of the full-text index that each searches.
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
PERIOD = "period"  # the field of converted dates: "since/until" as the archive writes times, or only one
# Other fields: the level that they are a fact of.
FIELDS: dict[str, Level] = {
    "role": "message",
    "in": "message",
    "tool": "turn",
    "file": "turn",
    "command": "turn",
    "exit": "turn",
    "has": "turn",
    **{name: "conversation" for name in NAME_FIELDS if name != "tool"},
    "is": "conversation",
    **dict.fromkeys(DATES, "conversation"),
}
NAMES = (*FIELDS, *TEXT_FIELDS)
# Kinds of document that a query can ask for; a session's files are found by `file:`.
DOCUMENTS = (
    "checkpoint", "summary", "memory", "plan", "research", "artifact", "todos", "reference", "skill", "backup",
    "changes", "table", "helper", "choice", "prediction", "unread", "draft", "prompt", "notes", "indexed",
)  # fmt: skip
# Fields with a fixed set of values.
VALUES: dict[str, tuple[str, ...]] = {
    "role": ("user", "assistant", "system", "tool", "document", "title"),
    "in": DOCUMENTS,
    "has": ("error", "command-error", "edit", "tool", "thinking"),
    "is": ("starred", "gone", "empty", "superseded"),
}
SUPERSEDED = ("is", "superseded")
EMPTY = ("is", "empty")


def level_of(name: str, value: str) -> Level:
    """Return the level of a field; of the values of `is:`, superseded is a fact of a turn."""
    return "turn" if (name, value) == SUPERSEDED else FIELDS.get(name, "conversation")
