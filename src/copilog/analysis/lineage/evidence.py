"""Define the evidence that a conversation made something, and its strength.

| Strength | Means |
|---|---|
| strong | no check contradicts it |
| medium | likely, but something else would look the same |
| weak | possible, but not likely |

Each piece of evidence has the maximum strength that it allows; the lowest of them counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Literal

import msgspec

from copilog.model import turn_number

Strength = Literal["strong", "medium", "weak"]
STRENGTHS: tuple[Strength, ...] = ("weak", "medium", "strong")  # ascending


class Evidence(msgspec.Struct, kw_only=True):
    """One piece of evidence for or against a conversation."""

    kind: str  # edit, snapshot, tool-call, mention, place, text, time, fate, reference, commit, head
    text: str  # a short description
    strength: Strength  # the most that it allows
    turn: int | None = None  # from 0; deprecated, until 0.3
    number: int | None = None  # of the turn, from 1
    at: str | None = None

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


class Origin(msgspec.Struct, kw_only=True):
    """A conversation, as it is shown as the origin of something; the turn is where to look first."""

    conversation: str  # its id
    title: str
    source: str
    workspace: str | None = None
    at: str | None = None  # the time of its last activity
    turn: int | None = None  # from 0; deprecated, until 0.3
    number: int | None = None  # of the turn, from 1
    strength: Strength
    evidence: list[Evidence] = []

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


def rank_of(strength: Strength) -> int:
    return STRENGTHS.index(strength)


def weakest(strengths: Iterable[Strength]) -> Strength:
    """Return the strength of a chain of evidence; strong if nothing limits it."""
    return min(strengths, key=rank_of, default="strong")


def strongest(strengths: Iterable[Strength]) -> Strength:
    return max(strengths, key=rank_of, default="weak")


def duration_text(span: timedelta) -> str:
    """Return a duration in its largest unit: "40 minutes", "3 days"."""
    seconds = abs(span.total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        number = int(seconds // length)
        if number:
            return f"{number:,} {unit}{'' if number == 1 else 's'}"
    return "less than a minute"
