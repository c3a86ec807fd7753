"""Tokens by day and method: recorded, spread over the turns of a session, or estimated."""

from __future__ import annotations

from copilog.analysis.figures import Figures
from copilog.analysis.selection import NO_TURN, Chosen


class MethodRow(Figures, kw_only=True):
    """Tokens of a local day, by method. `day` is None for tokens without a time."""

    day: str | None
    recorded: int = 0
    spread: int = 0
    estimated: int = 0


def tokens_by_method(chosen: Chosen) -> list[MethodRow]:
    """Return the sum of input and output of the billed turns, in the order of days. It matches `tokens.by_day`."""
    chosen.note_bill()
    rows: dict[str | None, MethodRow] = {}
    found = chosen.connection.execute(
        f"""
        SELECT t.day, s.method, sum(coalesce(s.input, 0) + coalesce(s.output, 0)) AS tokens
        FROM temp.billed AS c
        CROSS JOIN spend AS s ON s.conversation = c.conversation
        CROSS JOIN temp.billed_turn AS t ON t.conversation = s.conversation AND t.turn = coalesce(s.turn, {NO_TURN})
        GROUP BY t.day, s.method ORDER BY t.day IS NULL, t.day
        """  # noqa: S608 - a number of our own
    )
    for day, method, tokens in found:
        row = rows.setdefault(day, MethodRow(day=day))
        setattr(row, method, tokens)
    return list(rows.values())
