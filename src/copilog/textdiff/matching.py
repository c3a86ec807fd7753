"""The lines that two texts have in common: the runs of equal lines that a diff is made from."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from operator import lt

# difflib is quadratic at best; above this product of lengths the lines that are unique on both sides cut it down.
LINES_SQUARED_LIMIT = 200_000


Match = tuple[int, int, int]  # a line of the old text, one of the new, and how many are equal from there on


def matches(old: list[str], new: list[str], *, may_anchor: bool = True) -> list[Match]:
    """Return runs of equal lines, ascending. They are not always the longest possible."""
    head = _equal_lines(old, new)
    found: list[Match] = [(0, 0, head)] if head else []
    tail = _equal_lines(old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head < old_end and head < new_end:
        old_middle, new_middle = old[head:old_end], new[head:new_end]
        inner: Sequence[Match] = ()
        if set(old_middle).isdisjoint(new_middle):
            pass
        elif len(old_middle) * len(new_middle) <= LINES_SQUARED_LIMIT:
            inner = SequenceMatcher(None, old_middle, new_middle).get_matching_blocks()
        elif may_anchor:
            inner = _matches_between_anchors(old_middle, new_middle)
        found += [(head + old_at, head + new_at, lines) for old_at, new_at, lines in inner if lines]
    if tail:
        found.append((old_end, new_end, tail))
    return found


def _equal_lines(one: list[str], other: list[str]) -> int:
    """Return how many lines two lists have in common at their beginning. Slices are compared first, which is fast."""
    end = min(len(one), len(other))
    at, step = 0, 64
    while at < end and one[at : at + step] == other[at : at + step] and at + step <= end:
        at += step
    while at < end and one[at] == other[at]:
        at += 1
    return at


# --- lines that occur once --------------------------------------------------------------------------------------


def _matches_between_anchors(old: list[str], new: list[str]) -> list[Match]:
    """Match the lines that occur once on both sides, then the lines between each two of them."""
    found: list[Match] = []
    old_at = new_at = row = 0  # what is done, and how many lines before it match
    for old_index, new_index in [*_anchors(old, new), (len(old), len(new))]:
        if old_index > old_at or new_index > new_at:
            if old[old_at:old_index] == new[new_at:new_index]:  # lines that occur more than once, and did not change
                row += old_index - old_at
            else:
                if row:
                    found.append((old_at - row, new_at - row, row))
                found += _matches_in_gap(old, new, old_at, old_index, new_at, new_index)
                row = 0
        row += 1
        old_at, new_at = old_index + 1, new_index + 1
    if row > 1:  # the last one was no line but the end
        found.append((old_at - row, new_at - row, row - 1))
    return found


def _matches_in_gap(
    old: list[str], new: list[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> list[Match]:
    old_gap, new_gap = old[old_at:old_end], new[new_at:new_end]
    if not old_gap or not new_gap or (len(old_gap) == len(new_gap) == 1 and old_gap != new_gap):  # mostly
        return []
    gap = matches(old_gap, new_gap, may_anchor=False)
    return [(old_at + old_offset, new_at + new_offset, lines) for old_offset, new_offset, lines in gap]


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """Return the longest ascending sequence of lines that occur exactly once on both sides."""
    old_counts, new_counts = Counter(old), Counter(new)
    new_places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [
        (index, new_places[line]) for index, line in enumerate(old) if line in new_places and old_counts[line] == 1
    ]
    places = [place for _, place in pairs]
    if all(map(lt, places, places[1:])):  # mostly, as nothing was moved
        return pairs
    return _longest_ascending(pairs)


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest sequence of pairs that ascends in the second number, by patience sorting."""
    tops: list[int] = []
    piles: list[int] = []  # the pair on top of each pile
    before: list[int] = []  # for each pair, the top of the pile to its left
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            piles.append(index)
        else:
            tops[pile] = value
            piles[pile] = index
    row = []
    at = piles[-1] if piles else -1
    while at >= 0:
        row.append(pairs[at])
        at = before[at]
    return row[::-1]
