"""Count what exported files do not contain, so that nothing vanishes without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

UNCOUNTED_TURNS = "turns that no longer count"  # undone, removed, replaced


class LeftOut(NamedTuple):
    """A kind of thing that a format cannot carry: how often it was there, and in how many conversations."""

    what: str  # as a reader would call it, in the plural: "pictures", "turns that were undone"
    number: int
    conversations: int
    details: tuple[str, ...] = ()  # which values of it, as a reader would call them

    @property
    def words(self) -> str:
        """Return it as people read it."""
        several = f" in {self.conversations:,} conversations" if self.conversations > 1 else ""
        details = f": {', '.join(self.details)}" if self.details else ""
        return f"{self.number:,} {self.what}{several}{details}"


class Omissions:
    """Collects what is left out while conversations are written."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._conversations: dict[str, set[str]] = {}
        self._details: dict[str, set[str]] = {}

    def add(self, conversation_id: str, what: str, count: int = 1, detail: str = "") -> None:
        """Count something of a conversation that is not in the file."""
        if count > 0:
            self._counts[what] = self._counts.get(what, 0) + count
            self._conversations.setdefault(what, set()).add(conversation_id)
            if detail:
                self._details.setdefault(what, set()).add(detail)

    def __iter__(self) -> Iterator[LeftOut]:
        """Yield what was left out, the most frequent first."""
        for what, count in sorted(self._counts.items(), key=lambda item: (-item[1], item[0])):
            yield LeftOut(what, count, len(self._conversations[what]), tuple(sorted(self._details.get(what, ()))))
