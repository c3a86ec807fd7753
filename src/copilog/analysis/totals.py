"""How much there is."""

from __future__ import annotations

from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.figures import CountRow, TotalsSection
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.sequences import CHOSEN_CALLS
from copilog.store.schema import MESSAGE_BITS

CHOSEN_MESSAGES = f"""
    temp.chosen AS v CROSS JOIN message AS f
      ON f.rowid >= v.conversation << {MESSAGE_BITS} AND f.rowid < v.conversation + 1 << {MESSAGE_BITS}
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = v.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
"""


def totals(chosen: Chosen) -> TotalsSection:
    """Conversations, and what of them lies in the period."""
    (workspaces,) = chosen.connection.execute("SELECT count(DISTINCT workspace) FROM temp.chosen").fetchone()
    (edits,) = chosen.connection.execute(f"SELECT count(*) FROM ({COUNTED_EDITS})").fetchone()  # noqa: S608
    sources = chosen.connection.execute(
        "SELECT source, count(*) FROM temp.chosen GROUP BY source ORDER BY count(*) DESC, source"
    )
    messages, tool_calls = _messages_and_calls(chosen)
    return TotalsSection(
        conversations=chosen.conversations,
        turns=chosen.turns,
        messages=messages,
        tool_calls=tool_calls,
        edits=edits,
        workspaces=workspaces,
        sources=[CountRow(name=name, times=times) for name, times in sources],
    )


def _messages_and_calls(chosen: Chosen) -> tuple[int, int]:
    """Conversations have been counted when they were stored; parts of them have not."""
    if chosen.is_whole:
        messages, calls = chosen.connection.execute(
            "SELECT total(c.messages), total(c.tool_calls) FROM temp.chosen AS v"
            " JOIN conversation AS c ON c.rowid = v.conversation"
        ).fetchone()
        return int(messages), int(calls)
    (messages,) = chosen.connection.execute(
        f"SELECT count(*) FROM {CHOSEN_MESSAGES} WHERE +f.role <> 'title'"  # noqa: S608 - of our own
    ).fetchone()
    (calls,) = chosen.connection.execute(f"SELECT count(*) FROM {CHOSEN_CALLS}").fetchone()  # noqa: S608
    return messages, calls
