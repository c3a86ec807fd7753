"""Sum the usage of selected conversations, as `copilog stats` does."""

from __future__ import annotations

from typing import NamedTuple

from copilog.analysis.breakdowns import Tallies
from copilog.analysis.figures import SpendRow
from copilog.analysis.selection import Selection, choose
from copilog.store.archive import Archive

TOKENS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "estimated_input", "estimated_output",
)  # fmt: skip


class Total(NamedTuple):
    """Sums over conversations."""

    conversations: int
    with_tokens: int  # of them, those with recorded tokens
    whole: SpendRow
    models: list[SpendRow]

    @property
    def is_estimated(self) -> bool:
        return self.whole.estimated_input is not None or self.whole.estimated_output is not None


def total_usage(archive: Archive, selection: Selection) -> Total:
    """Return the usage of the selected turns, superseded ones included, which were charged as well."""
    chosen = choose(archive, selection)
    tallies = Tallies(["total", "model", "conversation"], None, None)
    tallies.add_all(chosen)
    recorded = [row for row in tallies.rows("conversation") if row.input is not None or row.output is not None]
    whole = next(iter(tallies.rows("total")), SpendRow(name="total"))
    models = [row for row in tallies.rows("model") if any(getattr(row, name) is not None for name in TOKENS)]
    return Total(chosen.conversations, min(len(recorded), chosen.conversations), whole, models)
