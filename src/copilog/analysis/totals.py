"""How much there is."""

from __future__ import annotations

from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.figures import CountRow, TotalsSection
from copilog.analysis.selection import Chosen


def totals(chosen: Chosen) -> TotalsSection:
    """Conversations, and what of them lies in the period."""
    (workspaces,) = chosen.connection.execute("SELECT count(DISTINCT workspace) FROM temp.chosen").fetchone()
    (edits,) = chosen.connection.execute(f"SELECT count(*) FROM ({COUNTED_EDITS})").fetchone()  # noqa: S608
    sources = chosen.connection.execute(
        "SELECT source, count(*) FROM temp.chosen GROUP BY source ORDER BY count(*) DESC, source"
    )
    return TotalsSection(
        conversations=chosen.conversations,
        turns=chosen.turns,
        messages=_count(chosen, "message", "f.role <> 'title'"),
        tool_calls=_count(chosen, "tool_call"),
        edits=edits,
        workspaces=workspaces,
        sources=[CountRow(name=name, times=times) for name, times in sources],
    )


def _count(chosen: Chosen, table: str, condition: str = "1") -> int:
    (count,) = chosen.connection.execute(
        f"SELECT count(*) FROM {table} AS f JOIN temp.chosen_turn AS c"  # noqa: S608 - names of our own
        f" ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, -1) WHERE {condition}"
    ).fetchone()
    return int(count)
