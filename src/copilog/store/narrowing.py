"""Which conversations the viewer lists, as SQL.

A name that some conversation has is meant exactly, so that a number and the list behind it agree. Any other is looked
for within names, without regard to case.
"""

# ruff: noqa: S608 - names of our own; what people write goes into parameters

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from copilog.derive import agent_key
from copilog.errors import UsageError
from copilog.remembering import remembered
from copilog.store.query import And, Field, Node, Or, Query, parse
from copilog.store.schema import is_counted
from copilog.store.search import conversations_with
from copilog.store.times import text_of

TOUCHED = "coalesce(c.updated_at, c.started_at)"
# Filters by a column that holds a name, or a JSON list of names; then those by a table of names.
SINGLE = {"workspace": "workspace", "source": "source"}
LISTED = {"model": "models", "mode": "modes", "agent": "agents", "skill": "skills"}
IN_TABLES = ("tool", "label")
FLAGS = {
    "starred": "c.id IN (SELECT id FROM annotation WHERE is_starred)",
    "error": "c.errors > 0",
    "edit": "c.edits > 0",
}
# Filters that hold for whole conversations in queries as well: a tool must be called in the very turn there.
IN_QUERIES = (*SINGLE, *LISTED, "label")
MOST_NAMES_IN_QUERY = 20
# What stands for having no name.
NO_NAME = {"workspace": "(no workspace)", "model": "(unknown model)", "agent": "(no agent)"}

_WITHOUT_CASE = ("mode", "skill")  # are the same in capitals and in small letters
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)

Key = Callable[[str], str]  # what all spellings of a name have in common


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which conversations."""

    workspace: str | None = None
    source: str | None = None
    model: str | None = None
    mode: str | None = None
    agent: str | None = None
    skill: str | None = None
    tool: str | None = None
    label: str | None = None
    starred: bool = False
    error: bool = False
    edit: bool = False
    month: str | None = None  # "2026-03": touched last in that month
    since: datetime | None = None  # touched then or later, or with a turn that began then or later
    until: datetime | None = None
    query: str | None = None  # in the language of search: it holds for some message


class Condition(NamedTuple):
    """One filter that is set, on `conversation AS c`."""

    name: str
    sql: str
    parameters: tuple[Any, ...] = ()


class Narrowed:
    """The wanted conversations of an archive. QueryError where the query does not parse.

    `model_key` gives what all names of one model have in common.
    """

    def __init__(self, connection: sqlite3.Connection, wanted: Wanted, model_key: Key = str.casefold) -> None:
        self.connection = connection
        self.wanted = wanted
        self.model_key = model_key
        self.meant: dict[str, list[str]] = {}  # the names that each filter stands for
        self.conditions: list[Condition] = [
            *(self._named(name) for name in (*SINGLE, *LISTED) if getattr(wanted, name) is not None),
            *(self._in_table(name) for name in IN_TABLES if getattr(wanted, name) is not None),
            *(Condition(name, sql) for name, sql in FLAGS.items() if getattr(wanted, name)),
            *_in_time(wanted),
        ]
        self.found: list[int] = []  # the numbers of the conversations that the query holds for
        if wanted.query is not None:
            self.found = conversations_with(connection, wanted.query)
            sql = "c.rowid IN (SELECT value FROM json_each(?))"
            self.conditions.append(Condition("query", sql, (as_json(self.found),)))

    def where(self) -> tuple[str, list[Any]]:
        """All filters together, and their parameters. Empty conversations never pass."""
        text = " AND ".join(["NOT c.is_empty", *(f"({condition.sql})" for condition in self.conditions)])
        return text, [value for condition in self.conditions for value in condition.parameters]

    def narrowed_query(self) -> Query:
        """The query, with those filters that search knows too, so that it ranks little that is refused afterwards."""
        assert self.wanted.query is not None
        query = parse(self.wanted.query)
        also: list[Node] = []
        for name, names in self.meant.items():
            if name not in IN_QUERIES or not 0 < len(names) <= MOST_NAMES_IN_QUERY:
                continue
            fields = tuple(Field(name, one) for one in names)
            also.append(Or(fields) if len(fields) > 1 else fields[0])
        if self.wanted.starred:
            also.append(Field("is", "starred"))
        return Query(query.text, And((query.root, *also))) if also else query

    def key_for(self, name: str) -> Key:
        """What is the same for all spellings of a name."""
        if name == "agent":
            return agent_key
        return self.model_key if name == "model" else str.casefold if name in _WITHOUT_CASE else str

    def _named(self, name: str) -> Condition:
        column = SINGLE.get(name) or LISTED[name]
        rows = self.connection.execute(f"SELECT DISTINCT ifnull({column}, '') FROM conversation")
        lists = {text: names_in(name, text) for (text,) in rows}
        meant = set(self._meant(name, {one for names in lists.values() for one in names}))
        is_nameless = getattr(self.wanted, name) == NO_NAME.get(name)
        passing = [text for text, names in lists.items() if meant.intersection(names) or (is_nameless and not names)]
        return Condition(name, f"ifnull(c.{column}, '') IN (SELECT value FROM json_each(?))", (as_json(passing),))

    def _in_table(self, name: str) -> Condition:
        if name == "tool":
            of_this_name = f"SELECT conversation FROM tool_call AS t WHERE name = ? AND {is_counted('t')}"
            # To know all names takes as long as the rest of the page.
            if self.connection.execute(f"{of_this_name} LIMIT 1", (self.wanted.tool,)).fetchone() is not None:
                return Condition(name, f"c.rowid IN ({of_this_name})", (self.wanted.tool,))
            calls = f"FROM tool_call AS t WHERE {is_counted('t')}"
            met = self.connection.execute(f"SELECT DISTINCT name {calls}")
            sql = f"c.rowid IN (SELECT conversation {calls} AND name IN (SELECT value FROM json_each(?)))"
        else:
            met = self.connection.execute("SELECT DISTINCT label FROM label")
            sql = "c.id IN (SELECT id FROM label WHERE label IN (SELECT value FROM json_each(?)))"
        return Condition(name, sql, (as_json(self._meant(name, [one for (one,) in met])),))

    def _meant(self, name: str, met: Iterable[str]) -> list[str]:
        """Of the names there are, those that somebody means."""
        met = list(met)
        value: str = getattr(self.wanted, name)
        key = self.key_for(name)
        wanted, folded = key(value), value.casefold()
        exact = [one for one in met if one == value or (wanted and key(one) == wanted)]
        self.meant[name] = exact or [one for one in met if folded in one.casefold()]
        return self.meant[name]


def _in_time(wanted: Wanted) -> list[Condition]:
    conditions = []
    if wanted.month is not None:
        first, end = month_period(wanted.month)
        conditions.append(Condition("month", f"{TOUCHED} >= ? AND {TOUCHED} < ?", (text_of(first), text_of(end))))
    bounds = [
        (sign, text_of(moment)) for sign, moment in ((">=", wanted.since), ("<", wanted.until)) if moment is not None
    ]
    if bounds:  # as figures have it: what was touched in the period, or has a turn that began in it
        touched = " AND ".join(f"{TOUCHED} {sign} ?" for sign, _ in bounds)
        began = " AND ".join(f"started_at {sign} ?" for sign, _ in bounds)
        sql = f"({touched}) OR c.rowid IN (SELECT conversation FROM turn WHERE superseded IS NULL AND {began})"
        conditions.append(Condition("period", sql, tuple(text for _, text in bounds) * 2))
    return conditions


def month_period(month: str) -> tuple[datetime, datetime]:
    """When a month begins and ends, in local time; UsageError where it is none."""
    match = _MONTH.fullmatch(month)
    try:
        year, number = (int(match[1]), int(match[2])) if match else (0, 0)
        end = datetime(year + number // 12, number % 12 + 1, 1).astimezone()
        return datetime(year, number, 1).astimezone(), end
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{month} is no month; write one as 2026-03") from None


def names_in(name: str, text: str | None) -> list[str]:
    """The names that a filter's column holds."""
    return decode_names(text or "") if name in LISTED else [text] if text else []


@remembered(4096)
def decode_names(text: str) -> list[str]:
    """The names in a JSON list as the archive keeps it. The list is shared: nobody may change it."""
    return _decode(text) if text and text != "[]" else []


_decode = msgspec.json.Decoder(list[str]).decode


def as_json(values: Iterable[Any]) -> str:
    """Values for `json_each`."""
    return msgspec.json.encode(list(values)).decode()
