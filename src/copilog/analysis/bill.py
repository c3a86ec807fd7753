"""The turns that were paid for: those that count, and superseded ones, which the provider charged as well.

    billed        conversations with usage, also those without any turn that counts
    billed_turn   their turns in the period, with day and outcome; and turn -1, to which usage without a turn belongs

All figures of spending, and no others, are made of these turns; so their sums are what GitHub charged. A turn that
several conversations have is in the bill of one of them (`store.billed`).
"""

from __future__ import annotations

import sqlite3

from copilog.analysis.chosen_tables import NO_TURN, execute, put_turns
from copilog.store.billed import is_repeated
from copilog.store.schema import UNANSWERED, turn_at
from copilog.store.selection import Selection

UNDONE = "undone"  # the outcome of superseded turns, and of turns whose edits were undone

_OF_EDITS = """
    SELECT f.conversation, f.turn, sum(f.fate = 'undone') AS undone, sum(f.fate IN ('kept', 'changed')) AS kept
    FROM temp.chosen AS w CROSS JOIN file_edit AS f ON f.conversation = w.conversation
    WHERE f.fate IS NOT NULL AND f.is_counted GROUP BY 1, 2
"""
# The outcome of each turn that counts; NULL where nothing says so. A turn whose edits were undone in part is undone if
# more of them were undone than kept.
_COUNTED = f"""
    INSERT INTO temp.billed_turn
    SELECT c.conversation, c.turn, c.day,
           CASE WHEN t.status IN {UNANSWERED} THEN t.status
                WHEN coalesce(e.undone, 0) > coalesce(e.kept, 0) THEN '{UNDONE}'
                WHEN after.is_retry THEN 'asked again'
                WHEN e.kept THEN 'kept' END,
           t.status IN {UNANSWERED}, t.git_repository
    FROM temp.chosen_turn AS c
    LEFT JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
    LEFT JOIN turn AS after ON after.conversation = c.conversation AND after.position = c.turn + 1 AND c.turn >= 0
    LEFT JOIN ({_OF_EDITS}) AS e ON e.conversation = c.conversation AND e.turn = c.turn
"""  # noqa: S608 - constants only
_SUPERSEDED = f"""
    SELECT t.conversation, t.position AS turn, {turn_at("b.at")} AS at,
           t.status IN {UNANSWERED} AS unanswered, t.git_repository
    FROM turn AS t INDEXED BY turn_superseded
    CROSS JOIN temp.billed AS b ON b.conversation = t.conversation
    JOIN conversation AS c ON c.rowid = t.conversation
    WHERE t.superseded IS NOT NULL AND NOT {is_repeated("temp.billed")}
    UNION ALL
    SELECT conversation, {NO_TURN}, at, NULL, NULL FROM temp.billed
    WHERE conversation NOT IN (SELECT conversation FROM temp.chosen)
"""  # noqa: S608 - constants only


def fill_bill(connection: sqlite3.Connection, selection: Selection) -> None:
    """Fill `billed_turn` for the selection whose conversations and turns are chosen already."""
    execute(connection, _COUNTED)
    outcome = f"iif(turn = {NO_TURN}, NULL, '{UNDONE}')"
    put_turns(
        connection,
        selection,
        "billed_turn",
        f"conversation, turn, substr(clock, 4), {outcome}, unanswered, git_repository",
        _SUPERSEDED,
    )
