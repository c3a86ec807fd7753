"""Part of an outline at a time, for a page that is read without scripts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from copilog.model import Conversation
from copilog.view.turns import framed_outline, outline_of


@dataclass(slots=True, kw_only=True)
class OutlinePage:
    """Consecutive turns, and links to all others."""

    entries: list[Any]  # OutlineEntry, and frames around some
    others: list[tuple[int, str]]  # a turn, text


def outline_page(conversation: Conversation, turn: int | None, most: int) -> OutlinePage:
    """Return all turns, if there are not too many; else those around the named turn."""
    entries = outline_of(conversation)
    numbers = [entry.turn for entry in entries]
    starts = range(0, len(numbers), most)
    first = numbers.index(turn) // most * most if turn in numbers else None
    if len(starts) <= 1:
        first = 0
    return OutlinePage(
        entries=framed_outline(conversation, entries[first : first + most]) if first is not None else [],
        others=[
            (numbers[start], f"Turns {numbers[start] + 1} to {numbers[start : start + most][-1] + 1}")
            for start in starts
            if start != first
        ],
    )
