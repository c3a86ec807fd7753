"""Frames around what is drawn: branches where they begin, and superseded turns, folded.

A window may begin and end anywhere, so each window has complete frames of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

from copilog.derive import in_reading_order, is_counted
from copilog.model import Branch, Conversation, Turn, turn_number
from copilog.view.terminal_text import clean_line
from copilog.view.wording import branch_key, branch_title, counted, sizes_of, superseded_text


@dataclass(slots=True, kw_only=True)
class BranchFrame:
    """The turns of a copy that continued separately."""

    kind: ClassVar[str] = "branch"
    title: str
    size: str
    trace: str
    items: list[Any]


@dataclass(slots=True, kw_only=True)
class SupersededFrame:
    """Superseded turns."""

    kind: ClassVar[str] = "superseded"
    words: str
    items: list[Any]
    is_open: bool = False


class Framed(NamedTuple):
    """An item to draw, with its turn."""

    item: Any
    turn: int | None


class Frames:
    """The frames around the turns of a conversation."""

    def __init__(self, conversation: Conversation) -> None:
        placed = in_reading_order(conversation)
        self.order = [each.turn for each in placed]
        self._branches = {each.turn.index: each.branches for each in placed if each.branches}
        self._superseded = {each.turn.index: each.turn for each in placed if not is_counted(each.turn)}
        self._sizes = sizes_of(each for each in placed if is_counted(each.turn))
        self._firsts: dict[tuple[int | None, str], int] = {}
        for each in placed:
            if each.branches:
                self._firsts.setdefault(branch_key(each.branches[-1]), each.turn.index)

    def around(self, items: Iterable[Framed], opened: int | None = None) -> Iterator[Any]:
        """Yield the items in their frames; the folded frame with turn `opened` is open."""
        if not self._branches and not self._superseded:
            return (each.item for each in items)
        return self._in_branches(items, 0, opened)

    def _in_branches(self, items: Iterable[Framed], depth: int, opened: int | None) -> Iterator[Any]:
        def key(each: Framed) -> tuple[int | None, str] | None:
            branches = self._branches_of(each)
            return branch_key(branches[depth]) if len(branches) > depth else None

        for found, group in groupby(items, key):
            if found is None:
                yield from self._folded(group, opened)
                continue
            inner = list(group)
            branch = self._branches_of(inner[0])[depth]
            is_continued = inner[0].turn != self._firsts[found] or inner[0].item.kind == "continued"
            yield BranchFrame(
                title=branch_title(branch) + (", continued" if is_continued else ""),
                size=counted(self._sizes[found], "turn"),
                trace=clean_line(branch.trace),
                items=list(self._in_branches(inner, depth + 1, opened)),
            )

    def _branches_of(self, each: Framed) -> Sequence[Branch]:
        return self._branches.get(each.turn, ()) if each.turn is not None else ()

    def _folded(self, items: Iterable[Framed], opened: int | None) -> Iterator[Any]:
        for is_superseded, group in groupby(items, lambda each: each.turn in self._superseded):
            if not is_superseded:
                yield from (each.item for each in group)
                continue
            inner = list(group)
            indexes = dict.fromkeys(each.turn for each in inner)
            turns = [self._superseded[index] for index in indexes if index is not None]
            yield SupersededFrame(
                words=folded_label(turns),
                items=[each.item for each in inner],
                is_open=opened is not None and opened in indexes,
            )


def folded_label(turns: Sequence[Turn]) -> str:
    """Return the label of a folded block: `Turn 2 no longer counts (removed)`."""
    words = superseded_text(turns)
    return words.replace("1 turn", f"Turn {turn_number(turns[0].index)}", 1) if len(turns) == 1 else words
