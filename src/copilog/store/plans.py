"""Run a query: driven by the full-text index, or by reading all conversations.

The index drives the search if the query allows it; other conditions are checked on each row that it finds. Of very
many matches only titles and those stored last are ranked, as ranking reads more of the index than matching.
"""

from __future__ import annotations

import sqlite3
from typing import Literal, NamedTuple

from copilog.store.conditions import (
    Conditions,
    Sql,
    is_counted_message,
    leaves_of,
    levels_of,
    selects_empty,
    selects_superseded,
)
from copilog.store.query import And, Field, Node, Text
from copilog.store.query_fields import DOCUMENTS
from copilog.store.schema import MESSAGE_BITS
from copilog.store.selection import TOUCHED
from copilog.store.substrings import NOTHING, Match

Order = Literal["rank", "newest"]

MOST_RANKED = 3_000
MOST_TITLES_RANKED = 1_000
# The weight of a word in each column, in the order of the index.
WEIGHTS = {"title": 10.0, "user": 5.0, "answer": 3.0, "thinking": 1.0, "arguments": 1.0, "result": 0.5, "paths": 2.0}

_SCORE = f"-bm25(words, {', '.join(map(str, WEIGHTS.values()))})"
_OF_CONVERSATION = f"m.rowid >= c.rowid << {MESSAGE_BITS} AND m.rowid < (c.rowid + 1) << {MESSAGE_BITS}"
_IS_TITLE = (
    f"m.rowid = (SELECT max(rowid) FROM message WHERE rowid < (c.rowid + 1) << {MESSAGE_BITS}) AND m.role = 'title'"  # noqa: S608
)
# The number of a row that the index found. The plus prevents SQLite from looking rows up by alternatives of a query
# (`w.rowid IN (...) OR w.rowid IN (...)`): such a plan does not use the index for MATCH, and fails on its first row.
_FOUND = "+w.rowid"
_IS_FIRST_OF_TURN = (
    "m.role NOT IN ('title', 'document')"
    " AND NOT EXISTS (SELECT 1 FROM message AS b WHERE b.rowid = m.rowid - 1 AND b.turn IS m.turn)"
)


def has_superseded(connection: sqlite3.Connection) -> bool:
    """Return whether any turn in the archive is superseded."""
    sql = "SELECT 1 FROM turn INDEXED BY turn_superseded WHERE superseded IS NOT NULL LIMIT 1"
    return connection.execute(sql).fetchone() is not None


def has_empty(connection: sqlite3.Connection) -> bool:
    """Return whether any conversation in the archive is empty."""
    sql = "SELECT EXISTS (SELECT 1 FROM conversation WHERE is_empty AND is_empty = 1)"
    return bool(connection.execute(sql).fetchone()[0])


class Found(NamedTuple):
    """Rows with their scores, best first, and the number of all matches."""

    rows: list[tuple[int, float]]
    total: int
    is_exact: bool


class Plan:
    """The execution of a query: driven by the full-text index, or by reading all conversations."""

    def __init__(self, root: Node, conditions: Conditions, ahead: Text | None = None) -> None:
        """Plan a query; hits that also have the text `ahead` come first."""
        self.root = root
        self.levels = levels_of(root)
        conditions.is_for_superseded = selects_superseded(root)
        conditions.look_up_names(root)
        self.match: Match | None = conditions.match(root)
        # Conditions that the index cannot answer.
        self.rest: Sql | None = conditions.rest(root, "m.rowid" if self.match is None else _FOUND)
        self.leaves_out_superseded = has_superseded(conditions.connection) and not selects_superseded(root)
        self.leaves_out_empty = not selects_empty(root) and has_empty(conditions.connection)
        self.ahead: Plan | None = None
        if ahead is not None:
            self.ahead = Plan(ahead if _contains(ahead, root) else And((root, ahead)), conditions)

    def only_counted(self, row: str) -> str:
        """Return SQL that leaves out superseded turns and empty conversations, unless the query selects them."""
        empties = "SELECT rowid FROM conversation WHERE is_empty AND is_empty = 1"  # the first condition is the index's
        empty = f" AND ({row} >> {MESSAGE_BITS}) NOT IN ({empties})"
        counted = f" AND {is_counted_message(row)}" if self.leaves_out_superseded else ""
        return counted + (empty if self.leaves_out_empty else "")

    def notes(self) -> list[str]:
        is_slow = any(isinstance(leaf, Text) and leaf.kind != "words" for leaf in leaves_of(self.root))
        return (
            ["the index cannot answer this query: texts were read one by one, newest first"]
            if self.match is None and is_slow
            else []
        )

    def find(self, connection: sqlite3.Connection, order: Order, wanted: int) -> Found:
        if self.match is NOTHING:
            return Found([], 0, True)
        if self.match is None:
            found = self.read_all(connection, wanted)
            return found if order == "newest" else self.with_rows_ahead(connection, found)
        if order == "newest":
            return self.newest(connection, wanted)
        return self.ranked(connection, max(wanted, MOST_RANKED))

    def ranked(self, connection: sqlite3.Connection, most: int) -> Found:
        assert self.match is not None
        rows = self.scored(connection, self.match.text, most + 1)
        is_exact = len(rows) <= most
        if not is_exact:
            rows = rows[:most] + self.scored(connection, f"{{title}} : ({self.match.text})", MOST_TITLES_RANKED)
        rows += self.rows_ahead(connection, max((score for _, score, _ in rows), default=0.0))
        best: dict[int, tuple[float, str]] = {}
        for row, score, touched in rows:
            if row not in best or score > best[row][0]:
                best[row] = score, touched
        keys = [(score, touched, row >> MESSAGE_BITS, -row) for row, (score, touched) in best.items()]
        keys.sort(reverse=True)
        return self.counted(connection, [(-row, score) for score, _, _, row in keys], is_exact)

    def rows_ahead(self, connection: sqlite3.Connection, best: float) -> list[tuple[int, float, str]]:
        """Return the rows that come first, with scores above the best of all others."""
        if self.ahead is None or self.ahead.match in (None, NOTHING, self.match):
            return []
        assert self.ahead.match is not None
        rows = self.ahead.scored(connection, self.ahead.match.text, MOST_TITLES_RANKED)
        return [(row, best + score, touched) for row, score, touched in rows]

    def with_rows_ahead(self, connection: sqlite3.Connection, found: Found) -> Found:
        first = {row: score for row, score, _ in self.rows_ahead(connection, 1.0)}
        rows = sorted(first.items(), key=lambda item: (-item[1], -item[0]))
        rows += [(row, score) for row, score in found.rows if row not in first]
        return Found(rows, max(found.total, len(rows)), found.is_exact)

    def scored(self, connection: sqlite3.Connection, match: str, most: int) -> list[tuple[int, float, str]]:
        """Return rows from the last stored one backwards, with score and time."""
        touched = f"(SELECT ifnull({TOUCHED}, '') FROM conversation AS c WHERE c.rowid = w.rowid >> {MESSAGE_BITS})"  # noqa: S608
        source, parameters = self.driven(match)
        sql = f"SELECT w.rowid, {_SCORE}, {touched} FROM {source} ORDER BY w.rowid DESC LIMIT ?"  # noqa: S608
        return connection.execute(sql, (*parameters, most)).fetchall()

    def newest(self, connection: sqlite3.Connection, wanted: int) -> Found:
        """Return rows of the conversations with the latest activity, in their order."""
        assert self.match is not None
        source, parameters = self.driven(
            self.match.text, f"CROSS JOIN conversation AS c ON c.rowid = w.rowid >> {MESSAGE_BITS}"
        )
        sql = f"SELECT w.rowid FROM {source} ORDER BY {TOUCHED} DESC, c.rowid DESC, w.rowid LIMIT ?"  # noqa: S608
        rows = [(row, 0.0) for (row,) in connection.execute(sql, (*parameters, wanted + 1))]
        return self.counted(connection, rows[:wanted], len(rows) <= wanted)

    def read_all(self, connection: sqlite3.Connection, wanted: int) -> Found:
        """Find matches without the index."""
        source, parameters = self.undriven()
        sql = f"SELECT m.rowid FROM {source} ORDER BY {TOUCHED} DESC, c.rowid DESC, m.rowid LIMIT ?"  # noqa: S608
        rows = [(row, 0.0) for (row,) in connection.execute(sql, (*parameters, wanted + 1))]
        is_exact = len(rows) <= wanted
        return Found(rows[:wanted], len(rows), is_exact)

    def undriven(self) -> tuple[str, tuple[object, ...]]:
        """Return the text after FROM for a query without the index, and its parameters.

        A query without conditions on messages matches titles, or the first messages of turns.
        """
        assert self.rest is not None
        join = _OF_CONVERSATION
        if "message" not in self.levels:
            join = f"{_OF_CONVERSATION} AND {_IS_FIRST_OF_TURN}" if "turn" in self.levels else _IS_TITLE
        source = f"conversation AS c CROSS JOIN message AS m ON {join} WHERE {self.rest.text}"
        kind = document_wanted(self.root)
        if kind is not None:  # of DOCUMENTS; reading all rows would be slow
            source = (
                f"(SELECT DISTINCT conversation, message FROM conversation_document WHERE kind = '{kind}') AS e"  # noqa: S608
                " CROSS JOIN conversation AS c ON c.rowid = e.conversation"
                f" CROSS JOIN message AS m ON m.rowid = (e.conversation << {MESSAGE_BITS}) + e.message"
                f" WHERE {self.rest.text}"
            )
        source += self.only_counted("m.rowid")
        return source, self.rest.parameters

    def conversations(self, connection: sqlite3.Connection) -> list[int]:
        if self.match is NOTHING:
            return []
        if self.match is None:
            source, parameters = self.undriven()
            sql = f"SELECT DISTINCT c.rowid FROM {source}"  # noqa: S608
        else:
            source, parameters = self.driven(self.match.text)
            sql = f"SELECT DISTINCT w.rowid >> {MESSAGE_BITS} FROM {source}"  # noqa: S608
        return [rowid for (rowid,) in connection.execute(sql, parameters)]

    def has_any(self, connection: sqlite3.Connection) -> bool:
        """Return whether any row matches."""
        if self.match is NOTHING:
            return False
        source, parameters = self.undriven() if self.match is None else self.driven(self.match.text)
        sql = f"SELECT EXISTS (SELECT 1 FROM {source})"  # noqa: S608
        return bool(connection.execute(sql, parameters).fetchone()[0])

    def driven(self, match: str, join: str = "") -> tuple[str, tuple[object, ...]]:
        """Return the text after FROM for a query with the index, and its parameters."""
        source = f"words AS w {join}"
        if self.rest is None:
            return f"{source} WHERE words MATCH ?{self.only_counted(_FOUND)}", (match,)
        if "m." in self.rest.text:
            source += " CROSS JOIN message AS m ON m.rowid = w.rowid"
        where = f"words MATCH ? AND {self.rest.text}{self.only_counted(_FOUND)}"
        return f"{source} WHERE {where}", (match, *self.rest.parameters)

    def counted(self, connection: sqlite3.Connection, rows: list[tuple[int, float]], is_exact: bool) -> Found:
        """Return rows with the number of all matches, if the index can count them."""
        if is_exact:
            return Found(rows, len(rows), True)
        assert self.match is not None
        if self.rest is not None:
            return Found(rows, len(rows) + 1, False)
        source, parameters = self.driven(self.match.text)
        (total,) = connection.execute(f"SELECT count(*) FROM {source}", parameters).fetchone()  # noqa: S608
        return Found(rows, total, True)


def document_wanted(root: Node) -> str | None:
    """Return the kind of document that all hits of a query are in, if there is one."""
    items = root.items if isinstance(root, And) else (root,)
    kinds = (item.value for item in items if isinstance(item, Field) and item.name == "in")
    return next((kind for kind in kinds if kind in DOCUMENTS), None)


def _contains(ahead: Text, root: Node) -> bool:
    """Return whether a text is that of a query, or of all its words in their order."""
    items = root.items if isinstance(root, And) else (root,)
    texts = [item.value for item in items if isinstance(item, Text) and item.kind != "regex" and not item.column]
    return len(texts) == len(items) and " ".join(texts) == ahead.value
