"""Names that are one although they are spelled differently: agents and skills are known without regard to case."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable


class Spellings:
    """How names were spelled, and how often."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def key(self, name: str, times: int = 1) -> str:
        """What all spellings of a name have in common."""
        key = name.casefold()
        self._counts[key][name] += times
        return key

    def shown(self, key: str) -> str:
        """The spelling that occurs most."""
        counts = self._counts.get(key)
        return most_common(counts)[0] if counts else key


def most_common(counts: Counter[str]) -> list[str]:
    """Texts by how often they occur; where that is equal, by the text."""
    return [text for text, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def in_order(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (name.casefold(), name))
