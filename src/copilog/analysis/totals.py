"""Totals: numbers of conversations, turns, messages, tool calls, edits and workspaces."""

from __future__ import annotations

from copilog.analysis.edits import COUNTED_EDITS
from copilog.analysis.facts import CHOSEN_CALLS, DISTINCT, Amount, SqlTable
from copilog.analysis.figures import CountRow, TotalsSection
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.store.schema import MESSAGE_BITS

CHOSEN_MESSAGES = f"""
    temp.chosen AS v CROSS JOIN message AS f
      ON f.rowid >= v.conversation << {MESSAGE_BITS} AND f.rowid < v.conversation + 1 << {MESSAGE_BITS}
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = v.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
"""


CONVERSATIONS = SqlTable(
    name="totals",
    amounts={
        "conversations": Amount("1", "Conversations"),
        "workspaces": Amount("c.workspace", "Conversations in workspaces", DISTINCT),
    },
    source="temp.chosen AS c",
    turn="NULL",
)
SOURCES = SqlTable(
    name="totals.sources",
    amounts={"times": Amount("1", "Conversations")},
    keys=("name",),
    by=("c.source",),
    of=" from {}",
    source="temp.chosen AS c",
    turn="NULL",
)
TURNS = SqlTable(
    name="totals", amounts={"turns": Amount("1", "Turns")}, source="temp.chosen_turn AS c", where="c.is_turn"
)
MESSAGES = SqlTable(
    name="totals",
    amounts={"messages": Amount("1", "Messages")},
    source=CHOSEN_MESSAGES,
    where="+f.role NOT IN ('title', 'document')",
)
TOOL_CALLS = SqlTable(name="totals", amounts={"tool_calls": Amount("1", "Tool calls")}, source=CHOSEN_CALLS)
ALL_EDITS = SqlTable(name="totals", amounts={"edits": Amount("1", "Edits")}, source=f"({COUNTED_EDITS}) AS c")


def totals(chosen: Chosen) -> TotalsSection:
    """Return the number of conversations, and the numbers of their turns, messages, calls and edits in the period."""
    ((_, workspaces),) = CONVERSATIONS.grouped(chosen)
    messages, tool_calls = _messages_and_calls(chosen)
    return TotalsSection(
        conversations=chosen.conversations,
        turns=chosen.turns,
        messages=messages,
        tool_calls=tool_calls,
        **ALL_EDITS.sums(chosen)[0],
        workspaces=workspaces,
        sources=[CountRow(**row) for row in SOURCES.sums(chosen, order="times DESC, 1")],
    )


def _messages_and_calls(chosen: Chosen) -> tuple[int, int]:
    """Return the numbers of messages and tool calls. For complete conversations, the archive has stored counts."""
    if chosen.is_whole:
        messages, calls = chosen.connection.execute(
            "SELECT total(c.messages), total(c.tool_calls) FROM temp.chosen AS v"
            " JOIN conversation AS c ON c.rowid = v.conversation"
        ).fetchone()
        return int(messages), int(calls)
    ((messages,),) = MESSAGES.grouped(chosen)
    ((calls,),) = TOOL_CALLS.grouped(chosen)
    return messages, calls
