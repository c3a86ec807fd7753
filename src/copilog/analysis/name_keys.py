"""Compare names of agents and skills, which may differ in case and are still the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable


class Spellings:
    """The spellings of names, and how often each occurs."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def key(self, name: str, times: int = 1) -> str:
        """Return what all spellings of a name have in common."""
        key = name.casefold()
        self._counts[key][name] += times
        return key

    def shown(self, key: str) -> str:
        """Return the most frequent spelling."""
        counts = self._counts.get(key)
        return most_common(counts)[0] if counts else key


def most_common(counts: Counter[str]) -> list[str]:
    """Return texts by frequency, and equally frequent ones by text."""
    return [text for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.casefold(), name))
