"""What a conversation of the archive was charged: its rows of `spend`, by turn, without those billed elsewhere."""

from __future__ import annotations

import sqlite3

from copilog.derive.charges import Charge
from copilog.model import Usage
from copilog.store.billed import IS_BILLED
from copilog.store.schema import UNANSWERED

_NAMES = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits")
_SUMS = ", ".join(f"sum(s.{name})" for name in _NAMES)
_CHARGES = f"""
    SELECT s.turn, coalesce(t.status IN {UNANSWERED}, 0), t.superseded IS NOT NULL,
           max(s.method = 'spread' AND coalesce(s.credits, s.premium_requests) IS NOT NULL), {_SUMS}
    FROM conversation AS c JOIN spend AS s ON s.conversation = c.rowid
    LEFT JOIN turn AS t ON t.conversation = s.conversation AND t.position = s.turn
    WHERE c.id = ? AND s.method <> 'estimated' AND {IS_BILLED} GROUP BY s.turn ORDER BY s.turn
"""  # noqa: S608 - constants only


def charges_of(connection: sqlite3.Connection, conversation_id: str) -> list[Charge]:
    """Return what each turn was charged, superseded ones included; estimates are no charge.

    Turns that another conversation has as well, and is billed for, are left out, so that no two conversations show
    the same cost.
    """
    return [
        Charge(turn, Usage(**dict(zip(_NAMES, sums, strict=True))), bool(unanswered), bool(superseded), bool(spread))
        for turn, unanswered, superseded, spread, *sums in connection.execute(_CHARGES, (conversation_id,))
    ]
