"""How wide the columns of a table are, and which of them there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

GAP = 2  # between columns
NARROW = 12  # what a text is not made narrower than, however little room there is
LEAST_BAR, WIDEST_BAR = 6, 16
# What is given up first where a window is narrow; after that, whatever stands further to the right.
FIRST_TO_GO = (
    "url", "cache_read", "estimated_input", "estimated_dollars", "total_ms", "failure_rate", "evidence", "path",
    "first_p95_ms", "first_median_ms", "retries", "denied", "automatic", "by_user", "credits",
    "premium_requests", "estimated_output",
)  # fmt: skip


class Column(NamedTuple):
    """A column as it would like to be."""

    name: str
    texts: Sequence[str]  # its heading first
    is_fixed: bool  # a number or a time, which would say something else if it were cut

    @property
    def widest(self) -> int:
        return max(map(cell_len, self.texts))

    @property
    def narrowest(self) -> int:
        return self.widest if self.is_fixed else min(self.widest, NARROW)


class Layout(NamedTuple):
    widths: dict[str, int]  # of the columns that there is room for, in their order
    left_out: list[str]
    bar: int  # how long the longest bar is; 0: there is no room for bars


def laid_out(columns: Sequence[Column], room: int | None) -> Layout:
    """All columns as wide as they like, if there is room; else texts get narrower, then columns are left out."""
    if room is None:
        return Layout({column.name: column.widest for column in columns}, [], WIDEST_BAR)
    kept = list(columns)
    for name in (*FIRST_TO_GO, *(column.name for column in reversed(columns[1:]))):
        if len(kept) == 1 or _needed(kept) <= room:
            break
        kept = [column for column in kept if column.name != name or column is columns[0]]
    widths = {column.name: column.narrowest for column in kept}
    spare = room - _needed(kept)
    wishes = {column.name: column.widest for column in kept}
    while spare > 0 and (growing := [name for name in widths if widths[name] < wishes[name]]):
        for name in growing[:spare]:
            widths[name] += 1
        spare -= min(spare, len(growing))
    left_out = [column.name for column in columns if column.name not in widths]
    bar = min(spare - GAP, WIDEST_BAR)
    return Layout(widths, left_out, bar if bar >= LEAST_BAR and not left_out else 0)


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.narrowest for column in columns) + GAP * (len(columns) - 1)


def cut(text: str, width: int, *, keeps_end: bool = False) -> str:
    """A text that fits; of a path the end is what matters."""
    if cell_len(text) <= width:
        return text
    if not keeps_end:
        return set_cell_size(text, width - 1).rstrip() + "…"
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text
