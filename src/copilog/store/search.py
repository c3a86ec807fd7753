"""Search the archive: return the best messages that match a query.

What the query means is decided first (`reading`), then it is run (`plans`); where few messages have all its words,
conversations with some of them follow (`widening`).
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

import msgspec

from copilog.model import turn_number
from copilog.store import frames, plans
from copilog.store.conditions import Conditions, functions_in
from copilog.store.conversation_ranks import best_rows
from copilog.store.indexing import has_pending
from copilog.store.plans import WEIGHTS, Found, Order, Plan
from copilog.store.query import And, Field, Node, Not, Query, QueryError, Text, regex_fault
from copilog.store.query_fields import PERIOD
from copilog.store.reading import Meant, Reading, meaning_of, texts_in
from copilog.store.schema import MESSAGE_BITS
from copilog.store.selection import NAME_FIELDS, TOUCHED, Selection
from copilog.store.snippets import Matcher, matchers_for, snippet_of
from copilog.store.times import text_of
from copilog.store.widening import FEW, NOT_WIDENED, Widened, widened

BY_WEIGHT = tuple(sorted(WEIGHTS, key=lambda column: -WEIGHTS[column]))
FIELD_NAMES = {"paths": "path"}
DOCUMENT = "document"  # the role of a row that has only a document
SHOWN_ALONE = ("checkpoint", "summary")  # kinds of document that a message has, and nothing else


class Hit(msgspec.Struct, kw_only=True):
    """A matching message or title. `highlights` are ranges in the snippet."""

    id: str  # "<conversation>#<position>", stable while the conversation is unchanged
    conversation: str
    title: str
    workspace: str | None
    updated_at: str | None
    position: int
    turn: int | None  # from 0; deprecated, until 0.3
    number: int | None = None  # of the turn, from 1
    role: str
    field: str  # user, answer, ...: the column of the snippet
    snippet: str
    highlights: list[tuple[int, int]]
    score: float
    superseded: str | None = None  # the reason why its turn no longer counts
    document: str | None = None  # the kind of document that has the text
    document_title: str | None = None  # or its path
    document_position: int | None = None  # among the documents of the conversation
    open: str  # the command that shows the message

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


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
    reading: Reading = "query"  # text: the hits have the query as it was typed
    widened: int = 0  # the last so many are of conversations that have some of the words
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
    query: str | Query | Meant,
    *,
    limit: int = 50,
    offset: int = 0,
    regex: str | None = None,
    order: Order = "rank",
    per_conversation: int | None = None,
    utc: bool = False,
    reading: Reading | None = None,
) -> SearchResult:
    """Find messages. `regex` is a further condition, or the only one if the query is empty; `utc` applies to dates.

    `per_conversation` is the maximum of hits of one conversation. A query that does not parse raises QueryError.
    Without a `reading`, a query that some message has literally is text, and a search that finds little is widened.
    """
    if isinstance(query, str) and (query.strip() or regex is None):
        query = meaning_of(connection, query, reading, UTC if utc else None)
    meant = _with_regex(query, regex)
    is_behind = has_pending(connection)
    conditions = Conditions(connection, can_look_up=not is_behind)
    plan = Plan(meant.query.root, conditions, meant.ahead)
    wanted = offset + limit
    if per_conversation is not None:
        wanted = max(wanted, plans.MOST_RANKED)
    with functions_in(connection):
        found = plan.find(connection, order, wanted)
        also = _widened(connection, meant, conditions, found)
    found = _with_widened(connection, found, also)
    page = _page(found.rows, offset, limit, per_conversation)
    texts = [text for text in texts_in(meant.query.root) if text.value not in also.silent]
    matchers = matchers_for([*texts, *(Text("words", form) for form in also.forms)])
    return SearchResult(
        query=meant.query.text,
        reading=meant.reading,
        widened=len(also.conversations),
        hits=list(_hits(connection, page, matchers)),
        total=found.total,
        total_is_exact=found.is_exact,
        conversations=len({row >> MESSAGE_BITS for row, _ in found.rows}),
        conversations_is_exact=found.total == len(found.rows) and found.is_exact,
        notes=[
            *([meant.note] if meant.note else []),
            *_notes_on(also, found),
            *plan.notes(),
            *(["some conversations are not in the index yet; `copilog scan` adds them"] if is_behind else []),
        ],
    )


def search_in(
    connection: sqlite3.Connection, selection: Selection, query: str, *, reading: Reading | None = None, **options: Any
) -> SearchResult:
    """Find messages, with the fields of a selection as if they were in the query, whatever its reading."""
    meant = meaning_of(connection, query, reading, selection.zone)
    fields = list(_fields_of(selection))
    if fields:
        meant = meant.with_root(And((meant.query.root, *fields)))
    return search(connection, meant, utc=selection.utc, **options)


def _fields_of(selection: Selection) -> Iterator[Node]:
    for name in NAME_FIELDS:
        if (value := getattr(selection, name)) is not None:
            yield Field(name, value)
    for name, field in (("starred", "is"), ("gone", "is"), ("error", "has"), ("edit", "has")):
        if (is_so := getattr(selection, name)) is not None:
            yield Field(field, name) if is_so else Not(Field(field, name))
    if selection.since is not None or selection.until is not None:
        since, until = (text_of(day) if day is not None else "" for day in (selection.since, selection.until))
        yield Field(PERIOD, f"{since}/{until}")


def conversations_with(connection: sqlite3.Connection, query: str | Query | Meant) -> list[int]:
    """Return the numbers of all conversations in which some message matches the query."""
    meant = meaning_of(connection, query) if isinstance(query, str) else _with_regex(query, None)
    conditions = Conditions(connection, can_look_up=not has_pending(connection))
    with functions_in(connection):
        found = Plan(meant.query.root, conditions).conversations(connection)
        also = widened(connection, meant, conditions, set(found))
    return [*found, *(each.conversation for each in also.conversations)]


def _with_regex(query: str | Query | Meant, regex: str | None) -> Meant:
    """Return the query with a further condition, which is the only one of an empty query."""
    if isinstance(query, Query):
        query = Meant(query=query)
    if regex is None:
        assert isinstance(query, Meant)
        return query
    wrong = regex_fault(regex)
    if wrong is not None:
        raise QueryError(f"{regex} is not a valid regular expression: {wrong}")
    condition = Text("regex", regex)
    if isinstance(query, str):
        return Meant(query=Query("", condition))
    return query.with_root(And((query.query.root, condition)))


# --- widening -------------------------------------------------------------------------------------------------------


def _widened(connection: sqlite3.Connection, meant: Meant, conditions: Conditions, found: Found) -> Widened:
    known: set[int] = set()
    if not found.is_exact or not meant.may_widen:
        return NOT_WIDENED
    for row, _ in found.rows:
        known.add(row >> MESSAGE_BITS)
        if len(known) == FEW:
            return NOT_WIDENED
    return widened(connection, meant, conditions, known)


def _with_widened(connection: sqlite3.Connection, found: Found, also: Widened) -> Found:
    """Return the hits and after them one of each further conversation, with scores below all others."""
    if not also.conversations:
        return found
    rows = best_rows(connection, [each.conversation for each in also.conversations], also.words)
    least = min((score for _, score in found.rows), default=1.0)
    most = also.conversations[0].score
    added = [
        (row, 0.99 * least * each.score / most)
        for row, each in zip(rows, also.conversations, strict=True)
        if row is not None
    ]
    return Found([*found.rows, *added], found.total + len(added), found.is_exact)


def _notes_on(also: Widened, found: Found) -> list[str]:
    if not also.conversations:
        return []
    exact = len(found.rows) - len(also.conversations)
    have = f"only {exact:,} {'message has' if exact == 1 else 'messages have'}" if exact > 0 else "no message has"
    return [f"{have} all of these words: the search was widened to conversations with some of them; +word insists"]


# --- hits -----------------------------------------------------------------------------------------------------------


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
        f"SELECT c.id, c.title, c.workspace, {TOUCHED}, m.position, m.turn, m.role, t.superseded, {columns}"  # noqa: S608
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
            **_document_at(connection, row, role),
        )


def _document_at(connection: sqlite3.Connection, row: int, role: str) -> dict[str, Any]:
    """Return which document a row has the text of; a to-do list is only a part of its message."""
    sql = (
        "SELECT kind, coalesce(title, path), position FROM conversation_document"
        " WHERE conversation = ? AND message = ? ORDER BY position"
    )
    found = connection.execute(sql, (row >> MESSAGE_BITS, row & ((1 << MESSAGE_BITS) - 1)))
    for kind, title, position in found:
        if role == DOCUMENT or kind in SHOWN_ALONE:
            return {"document": kind, "document_title": title, "document_position": position}
    return {}


def _open_command(conversation: str, turn: int | None, superseded: str | None) -> str:
    command = f"copilog show {shlex.quote(conversation)}"
    if turn is None:
        return command
    return f"{command} --turn {turn_number(turn)}" + (" --superseded" if superseded else "")
