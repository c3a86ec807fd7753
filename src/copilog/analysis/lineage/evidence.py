"""What speaks for a conversation having made something, and how much that is worth.

| Strength | Means |
|---|---|
| strong | nothing that was looked at speaks against it |
| medium | likely, but something else would look the same |
| weak | possible, and no more than that |

Each piece of evidence says how much it allows at most; what counts is the least of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Literal

import msgspec

Strength = Literal["strong", "medium", "weak"]
STRENGTHS: tuple[Strength, ...] = ("weak", "medium", "strong")  # ascending


class Evidence(msgspec.Struct, kw_only=True):
    """One thing that speaks for it, or against."""

    kind: str  # edit, snapshot, tool-call, mention, place, text, time, fate, reference, commit, head
    text: str  # in a few words
    strength: Strength  # what it allows at most
    turn: int | None = None  # from 0, as in the model
    at: str | None = None


class Origin(msgspec.Struct, kw_only=True):
    """A conversation, as it is shown beside what it made."""

    conversation: str  # its id
    title: str
    source: str
    workspace: str | None = None
    at: str | None = None  # when it was last touched
    turn: int | None = None  # where to look first
    strength: Strength
    evidence: list[Evidence] = []


def rank_of(strength: Strength) -> int:
    return STRENGTHS.index(strength)


def weakest(strengths: Iterable[Strength]) -> Strength:
    """What is left of a chain of evidence; strong when nothing was said against it."""
    return min(strengths, key=rank_of, default="strong")


def strongest(strengths: Iterable[Strength]) -> Strength:
    return max(strengths, key=rank_of, default="weak")


def span_in_words(span: timedelta) -> str:
    """How long something is, in its largest unit: "40 minutes", "3 days"."""
    seconds = abs(span.total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        number = int(seconds // length)
        if number:
            return f"{number:,} {unit}{'' if number == 1 else 's'}"
    return "less than a minute"
