"""Find texts that nearly repeat an earlier one, among any number of texts, with a few kilobytes for each.

A text is a set of runs of five words. It is sketched by the smallest hash of each of 64 shares of the set (MinHash with
one permutation); the share of equal values estimates how many runs two texts have in common. Only texts that agree in
four neighbouring values are compared, so that time grows with the number of texts, not with its square.
"""

from __future__ import annotations

import re
from array import array
from zlib import crc32

NEARLY_ALL = 0.8  # of the runs of words that two texts have together
RUN = 5
SHARES = 64
ROWS = 4  # values that must agree before two texts are compared
MOST_CHARACTERS = 1 << 18  # of a text, from its beginning

# Words in pieces, marks, and letters of scripts without blanks one by one.
_WORD = re.compile(r"[a-z0-9_]{1,16}|[^\W_]|[^\w\s]")
_LIMIT = (1 << 61) - 1


class NearDuplicates:
    """The texts so far."""

    def __init__(self) -> None:
        self._sketches: list[array[int]] = []
        self._first_with: dict[int, int] = {}  # the first sketch with these neighbouring values

    def has_like(self, text: str) -> bool:
        """Return whether a text nearly repeats one of those before; if not, remember it."""
        sketch = sketch_of(text)
        bands = [hash((start, *sketch[start : start + ROWS])) for start in range(0, SHARES, ROWS)]
        candidates = {self._first_with[band] for band in bands if band in self._first_with}
        if any(likeness(sketch, self._sketches[number]) >= NEARLY_ALL for number in candidates):
            return True
        for band in bands:
            self._first_with.setdefault(band, len(self._sketches))
        self._sketches.append(sketch)
        return False


def sketch_of(text: str) -> array[int]:
    """Return the sketch of a text: the same for the same words in any run of the program."""
    words = [crc32(word.encode()) for word in _WORD.findall(_valid(text[:MOST_CHARACTERS]).lower())]
    runs = set(map(hash, zip(*(words[start:] for start in range(RUN)), strict=False))) or {hash(tuple(words))}
    smallest = array("Q", [_LIMIT]) * SHARES
    for run in runs:
        value, share = divmod(run & _LIMIT, SHARES)
        smallest[share] = min(smallest[share], value)
    return _filled(smallest)


def _filled(smallest: array[int]) -> array[int]:
    """Give each share that is empty the value of the next one, moved by the distance."""
    known = [share for share in range(SHARES) if smallest[share] != _LIMIT]
    filled = array("Q", smallest)
    for share in range(SHARES):
        if smallest[share] == _LIMIT:
            distance = next(step for step in range(1, SHARES + 1) if (share + step) % SHARES in known)
            filled[share] = smallest[(share + distance) % SHARES] + distance * _LIMIT // SHARES
    return filled


def likeness(one: array[int], other: array[int]) -> float:
    """Return the estimated share of the runs of words that two sketched texts have in common."""
    return sum(mine == theirs for mine, theirs in zip(one, other, strict=True)) / SHARES


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
