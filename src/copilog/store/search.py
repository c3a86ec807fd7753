"""Search the archive: return the best messages that match a query.

The full-text index drives the search if the query allows it; other conditions are checked on each row that it
finds. Otherwise all messages are read, newest conversations first, and a note says so. Of very many matches
only titles and those stored last are ranked, as ranking reads more of the index than matching.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.store import frames
from copilog.store.conditions import (
    Conditions,
    Sql,
    functions_in,
    is_counted_message,
    leaves_of,
    levels_of,
    selects_empty,
    selects_superseded,
)
from copilog.store.indexing import has_pending
from copilog.store.query import And, Node, Query, QueryError, Text, parse, regex_fault
from copilog.store.schema import MESSAGE_BITS
from copilog.store.snippets import Matcher, matchers_for, snippet_of
from copilog.store.substrings import NOTHING, Match

Order = Literal["rank", "newest"]

MOST_RANKED = 3_000
MOST_TITLES_RANKED = 1_000
# The weight of a word in each column, in the order of the index.
WEIGHTS = {"title": 10.0, "user": 5.0, "answer": 3.0, "thinking": 1.0, "arguments": 1.0, "result": 0.5, "paths": 2.0}
BY_WEIGHT = tuple(sorted(WEIGHTS, key=lambda column: -WEIGHTS[column]))
FIELD_NAMES = {"paths": "path"}

_SCORE = f"-bm25(words, {', '.join(map(str, WEIGHTS.values()))})"
_TOUCHED = "coalesce(c.updated_at, c.started_at)"
_OF_CONVERSATION = f"m.rowid >= c.rowid << {MESSAGE_BITS} AND m.rowid < (c.rowid + 1) << {MESSAGE_BITS}"
_IS_TITLE = (
    f"m.rowid = (SELECT max(rowid) FROM message WHERE rowid < (c.rowid + 1) << {MESSAGE_BITS}) AND m.role = 'title'"  # noqa: S608
)
# The number of a row that the index found. The plus prevents SQLite from looking rows up by alternatives of a query
# (`w.rowid IN (...) OR w.rowid IN (...)`): such a plan does not use the index for MATCH, and fails on its first row.
_FOUND = "+w.rowid"
_IS_FIRST_OF_TURN = (
    "m.role <> 'title' AND NOT EXISTS (SELECT 1 FROM message AS b WHERE b.rowid = m.rowid - 1 AND b.turn IS m.turn)"
)


class Hit(msgspec.Struct, kw_only=True):
    """A matching message or title. `highlights` are ranges in the snippet."""

    id: str  # "<conversation>#<position>", stable while the conversation is unchanged
    conversation: str
    title: str
    workspace: str | None
    updated_at: str | None
    position: int
    turn: int | None  # index of the turn
    role: str
    field: str  # user, answer, ...: the column of the snippet
    snippet: str
    highlights: list[tuple[int, int]]
    score: float
    superseded: str | None = None  # the reason why its turn no longer counts
    open: str  # the command that shows the message


class Group(msgspec.Struct, kw_only=True):
    """The hits in one conversation, best first."""

    conversation: str
    title: str
    workspace: str | None
    updated_at: str | None
    hits: list[Hit]


class SearchResult(msgspec.Struct, kw_only=True):
    """The hits of a search. Counts that are not exact are lower bounds."""

    query: str
    hits: list[Hit]
    total: int  # messages
    total_is_exact: bool
    conversations: int
    conversations_is_exact: bool
    notes: list[str] = []

    def groups(self) -> list[Group]:
        """Return the hits by conversation, the conversation of the best hit first."""
        groups: dict[str, Group] = {}
        for hit in self.hits:
            if hit.conversation not in groups:
                groups[hit.conversation] = Group(
                    conversation=hit.conversation,
                    title=hit.title,
                    workspace=hit.workspace,
                    updated_at=hit.updated_at,
                    hits=[],
                )
            groups[hit.conversation].hits.append(hit)
        return list(groups.values())

    def arrow(self) -> Any:
        """Return the hits as a pyarrow.Table."""
        return frames.arrow(frames.columns_of_rows(self.hits))

    def polars(self) -> Any:
        """Return the hits as a polars.DataFrame."""
        return frames.polars(frames.columns_of_rows(self.hits))

    def pandas(self) -> Any:
        """Return the hits as a pandas.DataFrame."""
        return frames.pandas(frames.columns_of_rows(self.hits))


def search(
    connection: sqlite3.Connection,
    query: str | Query,
    *,
    limit: int = 50,
    offset: int = 0,
    regex: str | None = None,
    order: Order = "rank",
    per_conversation: int | None = None,
    utc: bool = False,
) -> SearchResult:
    """Find messages. `regex` is a further condition, or the only one if the query is empty; `utc` applies to dates.

    `per_conversation` is the maximum of hits of one conversation. A query that does not parse raises QueryError.
    """
    if isinstance(query, str) and query.strip():
        query = parse(query, zone=UTC if utc else None)
    text, root = _with_regex(query, regex)
    is_behind = has_pending(connection)
    plan = _Plan(root, Conditions(connection, can_look_up=not is_behind))
    wanted = offset + limit
    if per_conversation is not None:
        wanted = max(wanted, MOST_RANKED)
    with functions_in(connection):
        found = plan.find(connection, order, wanted)
    page = _page(found.rows, offset, limit, per_conversation)
    matchers = matchers_for(leaf for leaf in leaves_of(root, only_wanted=True) if isinstance(leaf, Text))
    return SearchResult(
        query=text,
        hits=list(_hits(connection, page, matchers)),
        total=found.total,
        total_is_exact=found.is_exact,
        conversations=len({row >> MESSAGE_BITS for row, _ in found.rows}),
        conversations_is_exact=found.total == len(found.rows) and found.is_exact,
        notes=[
            *plan.notes(),
            *(["some conversations are not in the index yet; `copilog scan` adds them"] if is_behind else []),
        ],
    )


def conversations_with(connection: sqlite3.Connection, query: str | Query) -> list[int]:
    """Return the numbers of all conversations in which some message matches the query."""
    root = (parse(query) if isinstance(query, str) else query).root
    plan = _Plan(root, Conditions(connection, can_look_up=not has_pending(connection)))
    with functions_in(connection):
        return plan.conversations(connection)


def _with_regex(query: str | Query, regex: str | None) -> tuple[str, Node]:
    if regex is None:
        query = parse(query) if isinstance(query, str) else query
        return query.text, query.root
    wrong = regex_fault(regex)
    if wrong is not None:
        raise QueryError(f"{regex} is not a valid regular expression: {wrong}")
    condition = Text("regex", regex)
    if isinstance(query, str) and not query.strip():
        return "", condition
    query = parse(query) if isinstance(query, str) else query
    return query.text, And((query.root, condition))


def has_superseded(connection: sqlite3.Connection) -> bool:
    """Return whether any turn in the archive is superseded."""
    sql = "SELECT 1 FROM turn INDEXED BY turn_superseded WHERE superseded IS NOT NULL LIMIT 1"
    return connection.execute(sql).fetchone() is not None


class Found(NamedTuple):
    """Rows with their scores, best first, and the number of all matches."""

    rows: list[tuple[int, float]]
    total: int
    is_exact: bool


class _Plan:
    """The execution of a query: driven by the full-text index, or by reading all conversations."""

    def __init__(self, root: Node, conditions: Conditions) -> None:
        self.root = root
        self.levels = levels_of(root)
        conditions.is_for_superseded = selects_superseded(root)
        conditions.look_up_names(root)
        self.match: Match | None = conditions.match(root)
        # Conditions that the index cannot answer.
        self.rest: Sql | None = conditions.rest(root, "m.rowid" if self.match is None else _FOUND)
        self.leaves_out_superseded = has_superseded(conditions.connection) and not selects_superseded(root)
        self.leaves_out_empty = not selects_empty(root)

    def only_counted(self, row: str) -> str:
        """Return SQL that leaves out superseded turns and empty conversations, unless the query selects them."""
        empty = f" AND ({row} >> {MESSAGE_BITS}) NOT IN (SELECT rowid FROM conversation WHERE is_empty)"  # noqa: S608
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
            return self.read_all(connection, wanted)
        if order == "newest":
            return self.newest(connection, wanted)
        return self.ranked(connection, max(wanted, MOST_RANKED))

    def ranked(self, connection: sqlite3.Connection, most: int) -> Found:
        assert self.match is not None
        rows = self.scored(connection, self.match.text, most + 1)
        is_exact = len(rows) <= most
        if not is_exact:
            rows = rows[:most] + self.scored(connection, f"{{title}} : ({self.match.text})", MOST_TITLES_RANKED)
        best: dict[int, tuple[float, str]] = {}
        for row, score, touched in rows:
            if row not in best or score > best[row][0]:
                best[row] = score, touched
        ordered = sorted(best.items(), key=lambda item: (item[1], item[0] >> MESSAGE_BITS, -item[0]), reverse=True)
        return self.counted(connection, [(row, score) for row, (score, _) in ordered], is_exact)

    def scored(self, connection: sqlite3.Connection, match: str, most: int) -> list[tuple[int, float, str]]:
        """Return rows from the last stored one backwards, with score and time."""
        touched = f"(SELECT ifnull({_TOUCHED}, '') FROM conversation AS c WHERE c.rowid = w.rowid >> {MESSAGE_BITS})"  # noqa: S608
        source, parameters = self.driven(match)
        sql = f"SELECT w.rowid, {_SCORE}, {touched} FROM {source} ORDER BY w.rowid DESC LIMIT ?"  # noqa: S608
        return connection.execute(sql, (*parameters, most)).fetchall()

    def newest(self, connection: sqlite3.Connection, wanted: int) -> Found:
        """Return rows of the conversations with the latest activity, in their order."""
        assert self.match is not None
        source, parameters = self.driven(
            self.match.text, f"CROSS JOIN conversation AS c ON c.rowid = w.rowid >> {MESSAGE_BITS}"
        )
        sql = f"SELECT w.rowid FROM {source} ORDER BY {_TOUCHED} DESC, c.rowid DESC, w.rowid LIMIT ?"  # noqa: S608
        rows = [(row, 0.0) for (row,) in connection.execute(sql, (*parameters, wanted + 1))]
        return self.counted(connection, rows[:wanted], len(rows) <= wanted)

    def read_all(self, connection: sqlite3.Connection, wanted: int) -> Found:
        """Find matches without the index."""
        source, parameters = self.undriven()
        sql = f"SELECT m.rowid FROM {source} ORDER BY {_TOUCHED} DESC, c.rowid DESC, m.rowid LIMIT ?"  # noqa: S608
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


def _page(
    rows: list[tuple[int, float]], offset: int, limit: int, per_conversation: int | None
) -> list[tuple[int, float]]:
    if per_conversation is None:
        return rows[offset : offset + limit]
    seen: dict[int, int] = {}
    kept = []
    for row, score in rows:
        conversation = row >> MESSAGE_BITS
        seen[conversation] = seen.get(conversation, 0) + 1
        if seen[conversation] <= per_conversation:
            kept.append((row, score))
    return kept[offset : offset + limit]


def _hits(connection: sqlite3.Connection, rows: Iterable[tuple[int, float]], matchers: list[Matcher]) -> Iterator[Hit]:
    columns = ", ".join(f"m.{column}" for column in BY_WEIGHT)
    sql = (
        f"SELECT c.id, c.title, c.workspace, {_TOUCHED}, m.position, m.turn, m.role, t.superseded, {columns}"  # noqa: S608
        " FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation"
        " LEFT JOIN turn AS t ON t.conversation = m.conversation AND t.position = m.turn WHERE m.rowid = ?"
    )
    for row, score in rows:
        record = connection.execute(sql, (row,)).fetchone()
        if record is None:  # another process has removed it
            continue
        conversation, title, workspace, updated_at, position, turn, role, superseded, *texts = record
        snippet = snippet_of(dict(zip(BY_WEIGHT, texts, strict=True)), matchers)
        yield Hit(
            id=f"{conversation}#{position}",
            conversation=conversation,
            title=title,
            workspace=workspace,
            updated_at=updated_at,
            position=position,
            turn=turn,
            role=role,
            field=FIELD_NAMES.get(snippet.field, snippet.field),
            snippet=snippet.text,
            highlights=snippet.highlights,
            score=round(score, 6),
            superseded=superseded,
            open=_open_command(conversation, turn, superseded),
        )


def _open_command(conversation: str, turn: int | None, superseded: str | None) -> str:
    command = f"copilog show {shlex.quote(conversation)}"
    if turn is None:
        return command
    return f"{command} --turn {turn + 1}" + (" --superseded" if superseded else "")
