"""List the conversations of the archive for the viewer: a row each, a page at a time, in a selectable order."""

# ruff: noqa: S608 - only internal names; user input goes into parameters

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from copilog.store.selection import TOUCHED, Selected, as_json, decode_names

PAGE_ROWS = 100

# Superseded turns were paid for, too.
_TOKENS = "(SELECT sum(ifnull(s.input, 0) + ifnull(s.output, 0)) FROM spend AS s WHERE s.conversation = c.rowid)"
_ESTIMATED = (
    "(SELECT sum(ifnull(s.input, 0) + ifnull(s.output, 0)) FROM spend AS s"
    " WHERE s.conversation = c.rowid AND s.method = 'estimated')"
)
_WORKING = "(SELECT sum(t.working_ms) FROM turn AS t WHERE t.conversation = c.rowid AND t.superseded IS NULL)"
_LAST_TURN = (
    "FROM turn AS t WHERE t.conversation = c.rowid AND t.superseded IS NULL"
    " ORDER BY t.branch_trace IS NOT NULL, t.position DESC LIMIT 1"
)

# The orders of the list; the last part of each makes it deterministic.
SORTS = {
    "newest": f"{TOUCHED} DESC, c.rowid DESC",
    "oldest": f"{TOUCHED} IS NULL, {TOUCHED}, c.rowid",
    "longest": f"{_WORKING} DESC, c.turns DESC, c.rowid DESC",
    "tokens": f"{_TOKENS} DESC, c.rowid DESC",
    "tools": "c.tool_calls DESC, c.rowid DESC",
    "title": "c.title COLLATE NOCASE, c.rowid",
}


class Row(msgspec.Struct, kw_only=True):
    """One conversation of the list. Values that were not recorded are None."""

    number: int  # rowid of the conversation in the archive
    id: str
    title: str
    workspace: str | None
    source: str
    application: str | None
    models: list[str]
    modes: list[str]
    agents: list[str]
    turns: int
    tool_calls: int
    edits: int
    failed_calls: int
    command_errors: int
    touched_at: str | None
    gone_at: str | None
    is_starred: bool
    labels: list[str]
    note: str | None
    tokens: int | None
    estimated: int  # estimated ones among the tokens, as they were not recorded
    working_ms: float | None
    status: str | None  # of the last turn
    error: str | None  # of the last turn


_COLUMNS = f"""
    c.rowid, c.id, c.title, c.workspace, c.source, c.application, c.models, c.modes, c.agents, c.turns, c.tool_calls,
    c.edits, c.failed_calls, c.command_errors, {TOUCHED}, c.gone_at, ifnull(a.is_starred, 0),
    (SELECT json_group_array(label) FROM (SELECT label FROM label WHERE label.id = c.id ORDER BY label)), a.note,
    {_TOKENS}, ifnull({_ESTIMATED}, 0), {_WORKING}, (SELECT t.status {_LAST_TURN}), (SELECT t.error {_LAST_TURN})
"""


def rows_of(selected: Selected, *, sort: str = "newest", offset: int = 0, limit: int = PAGE_ROWS) -> list[Row]:
    """Return a page of the selected conversations."""
    where, parameters = selected.where()
    # First only the numbers: the other values of rows are looked up for one page only.
    found = selected.connection.execute(
        f"SELECT c.rowid FROM conversation AS c WHERE {where} ORDER BY {SORTS[sort]} LIMIT ? OFFSET ?",
        [*parameters, limit, offset],
    )
    return rows_numbered(selected.connection, [number for (number,) in found])


def rows_numbered(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Row]:
    """Return rows by their numbers, in that order."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM json_each(?) AS listed JOIN conversation AS c ON c.rowid = listed.value"
        " LEFT JOIN annotation AS a ON a.id = c.id ORDER BY listed.key",
        (as_json(numbers),),
    )
    return [_row(values) for values in found]


def rows_among(selected: Selected, ids: Sequence[str]) -> dict[str, Row]:
    """Return the rows of these conversations that the selection includes."""
    where, parameters = selected.where()
    found = selected.connection.execute(
        f"SELECT c.rowid FROM conversation AS c WHERE c.id IN (SELECT value FROM json_each(?)) AND {where}",
        [as_json(ids), *parameters],
    )
    return {row.id: row for row in rows_numbered(selected.connection, [number for (number,) in found])}


def _row(values: Sequence[Any]) -> Row:
    named = dict(zip(Row.__struct_fields__, values, strict=True))
    for name in ("models", "modes", "agents", "labels"):
        named[name] = decode_names(named[name])
    named["is_starred"] = bool(named["is_starred"])
    return Row(**named)
