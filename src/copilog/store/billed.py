"""Which turns are paid for elsewhere: SQL for the rows of `turn`, named `t`, of conversations, named `c`.

Several conversations may have the same turn: a fork, an import and an export repeat those of another conversation. Only
one of them has it in figures. Superseded turns, which only the bill has, leave it to the others.
"""

from __future__ import annotations

from copilog.store.schema import SHORTEST_UNIQUE_ID

# The same turn has the same id and time. Without a time the id must be a long one: short ones may count from one.
_SAME = f"""
    o.request_id = t.request_id AND o.started_at IS t.started_at AND o.conversation <> t.conversation
    AND (t.started_at IS NOT NULL OR length(t.request_id) >= {SHORTEST_UNIQUE_ID})
"""
_EARLIER = """
    (theirs.started_at IS NULL, coalesce(theirs.started_at, ''), theirs.rowid)
    < (c.started_at IS NULL, coalesce(c.started_at, ''), c.rowid)
"""
_HAS_USAGE = "EXISTS (SELECT 1 FROM spend AS s WHERE s.conversation = o.conversation AND s.turn = o.position)"

ALL = "(SELECT rowid AS conversation, id FROM conversation)"


def is_repeated(among: str = ALL) -> str:
    """Return SQL that holds for a superseded turn that another one of these conversations has in the bill.

    That is the same turn where it counts, unless its usage is here (the copy in a fork of VS Code has none); the turn
    that this one was copied from; or the same superseded turn of a conversation that began earlier.
    """
    return f"""(EXISTS (
        SELECT 1 FROM turn AS o JOIN {among} AS b ON b.conversation = o.conversation
        JOIN conversation AS theirs ON theirs.rowid = o.conversation
        WHERE {_SAME} AND iif(o.superseded IS NULL, {_HAS_USAGE}, {_EARLIER})
    ) OR EXISTS (
        SELECT 1 FROM turn AS o INDEXED BY turn_original JOIN {among} AS b ON b.conversation = o.conversation
        WHERE o.copied_from = c.id AND o.prompt IS t.prompt AND o.superseded IS NULL AND {_HAS_USAGE}
    ) OR EXISTS (
        SELECT 1 FROM {among} AS parent JOIN turn AS o ON o.conversation = parent.conversation
        WHERE parent.id = t.copied_from AND o.prompt IS t.prompt
    ))"""  # noqa: S608 - constants only


def counts_elsewhere(among: str = ALL) -> str:
    """Return SQL that holds for a turn that counts, but is measured in another one of these conversations."""
    return f"""(EXISTS (
        SELECT 1 FROM turn AS o JOIN {among} AS b ON b.conversation = o.conversation
        JOIN conversation AS theirs ON theirs.rowid = o.conversation
        WHERE {_SAME} AND o.superseded IS NULL AND {_EARLIER}
    ) OR EXISTS (
        SELECT 1 FROM {among} AS parent JOIN turn AS o ON o.conversation = parent.conversation
        WHERE parent.id = t.copied_from AND o.prompt IS t.prompt AND o.superseded IS NULL
    ))"""  # noqa: S608 - constants only


IS_BILLED = f"NOT iif(t.superseded IS NULL, {counts_elsewhere()}, {is_repeated()})"  # among all conversations
