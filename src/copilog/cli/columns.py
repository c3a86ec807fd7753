"""Column widths of a table, and which columns fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

GAP = 2  # between columns
NARROW = 12  # the narrowest that a text may become
LEAST_BAR, WIDEST_BAR = 6, 16
# Columns that are left out first in a narrow window; after these, the rightmost ones.
FIRST_TO_GO = (
    "url", "cache_read", "calls", "spread", "cache_share", "unanswered_requests", "estimated_input",
    "estimated_dollars", "total_ms", "failure_rate", "evidence", "path", "first_p95_ms", "first_median_ms", "retries",
    "denied", "automatic", "by_user", "computed_credits", "credits", "premium_requests", "estimated_output",
)  # fmt: skip


class Column(NamedTuple):
    """The width that a column needs, and how narrow it may become."""

    name: str
    texts: Sequence[str]  # its heading first
    is_fixed: bool  # a number or a time, which would be wrong if it were cut

    @property
    def widest(self) -> int:
        return max(map(cell_len, self.texts))

    @property
    def narrowest(self) -> int:
        return self.widest if self.is_fixed else min(self.widest, NARROW)


class Layout(NamedTuple):
    widths: dict[str, int]  # the columns that fit, in their order
    left_out: list[str]
    bar: int  # the length of the longest bar; 0 if there is no room for bars


def laid_out(columns: Sequence[Column], room: int | None) -> Layout:
    """Return the widths of the columns that fit: texts get narrower first, then columns are left out."""
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
    """Return the text cut to a width; of a path, the end is shown."""
    if cell_len(text) <= width:
        return text
    if not keeps_end:
        return set_cell_size(text, width - 1).rstrip() + "…"
    while cell_len(text) > width - 1:
        text = text[1:]
    return "…" + text
