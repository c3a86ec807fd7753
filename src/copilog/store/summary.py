"""What a list shows of each conversation, and how the list is narrowed down."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

import msgspec

from copilog.jsonio import whole_characters
from copilog.store.times import moment_from, text_of

LISTS = ("models", "modes", "agents", "skills", "marks", "labels", "paths")
FLAGS = ("is_empty", "is_starred")
TIMES = ("started_at", "updated_at", "stored_at", "gone_at")


class Summary(msgspec.Struct, kw_only=True):
    """One conversation as the view `conversations` has it."""

    id: str
    native_id: str | None = None
    title: str
    title_origin: str | None = None
    source: str
    application: str | None = None
    assistant: str | None = None
    location: str | None = None
    workspace: str | None = None
    repository: str | None = None
    branch: str | None = None
    started_at: datetime | None = None
    updated_at: datetime | None = None
    turns: int = 0
    messages: int = 0
    tool_calls: int = 0
    edits: int = 0
    errors: int = 0  # turns and calls that failed
    failed_calls: int = 0
    command_errors: int = 0  # commands that ended with an exit code other than 0
    models: list[str] = []
    modes: list[str] = []
    agents: list[str] = []
    skills: list[str] = []
    marks: list[str] = []
    is_empty: bool = False
    is_starred: bool = False
    note: str | None = None
    labels: list[str] = []
    paths: list[str] = []
    stored_at: datetime | None = None
    gone_at: datetime | None = None


class Filters(msgspec.Struct, kw_only=True, frozen=True):
    """Which conversations a list shows. Texts are compared without regard to case."""

    workspace: str | None = None  # in the folder's name
    source: str | None = None  # of any trace
    model: str | None = None  # in the name of a model that was used
    mode: str | None = None  # the name of a mode or a custom agent
    since: datetime | None = None  # touched then or later
    until: datetime | None = None  # touched before
    starred: bool | None = None
    label: str | None = None
    text: str | None = None  # in the title or the note
    include_empty: bool = False
    include_gone: bool = True


def list_summaries(
    connection: sqlite3.Connection, filters: Filters, limit: int | None = None, offset: int = 0
) -> list[Summary]:
    """The conversations that pass, newest first."""
    where, values = conditions_of(connection, filters)
    names = ", ".join(Summary.__struct_fields__)
    rows = connection.execute(
        f"SELECT {names} FROM conversations {where} "  # noqa: S608 - names of our own
        "ORDER BY coalesce(updated_at, started_at) DESC, id LIMIT ? OFFSET ?",
        (*values, -1 if limit is None else limit, offset),
    )
    return [_summary_of(row) for row in rows]


def count_summaries(connection: sqlite3.Connection, filters: Filters) -> int:
    """How many pass."""
    where, values = conditions_of(connection, filters)
    (count,) = connection.execute(f"SELECT count(*) FROM conversations {where}", values).fetchone()  # noqa: S608
    return int(count)


def summaries_of(connection: sqlite3.Connection, ids: list[str]) -> dict[str, Summary]:
    """Those of these ids that are stored."""
    names = ", ".join(Summary.__struct_fields__)
    rows = connection.execute(
        f"SELECT {names} FROM conversations WHERE id IN (SELECT value FROM json_each(?))",  # noqa: S608
        (msgspec.json.encode(ids).decode(),),
    )
    return {row[0]: _summary_of(row) for row in rows}


def _summary_of(row: tuple[Any, ...]) -> Summary:
    values = list(row)
    for index in _LISTS_AT:
        text = values[index]
        values[index] = _decode_list(text) if text != "[]" else []
    for index in _FLAGS_AT:
        values[index] = bool(values[index])
    for index in _TIMES_AT:
        values[index] = moment_from(values[index])
    return Summary(**dict(zip(Summary.__struct_fields__, values, strict=True)))


_decode_list = msgspec.json.Decoder(list[str]).decode
_LISTS_AT, _FLAGS_AT, _TIMES_AT = (
    [Summary.__struct_fields__.index(name) for name in names] for names in (LISTS, FLAGS, TIMES)
)


def conditions_of(connection: sqlite3.Connection, filters: Filters) -> tuple[str, list[Any]]:
    """The WHERE of a list. Case is folded by Python, as SQLite knows only that of ASCII."""
    connection.create_function("folded", 1, _folded, deterministic=True)
    wanted: list[tuple[str, Any]] = []
    if filters.workspace is not None:
        wanted.append(("instr(folded(workspace), ?)", filters.workspace.casefold()))
    if filters.source is not None:
        wanted.append(("id IN (SELECT conversation FROM traces WHERE traces.source = ?)", filters.source))
    if filters.model is not None:
        wanted.append(("instr(folded(models), ?)", filters.model.casefold()))
    if filters.mode is not None:
        condition = "EXISTS (SELECT 1 FROM json_each(modes) WHERE folded(value) = ?)"
        wanted.append((condition, filters.mode.casefold()))
    if filters.since is not None:
        wanted.append(("coalesce(updated_at, started_at) >= ?", text_of(filters.since)))
    if filters.until is not None:
        wanted.append(("coalesce(updated_at, started_at) < ?", text_of(filters.until)))
    if filters.starred is not None:
        wanted.append(("is_starred = ?", int(filters.starred)))
    if filters.label is not None:
        wanted.append(("id IN (SELECT id FROM label WHERE folded(label) = ?)", filters.label.casefold()))
    if filters.text is not None:
        wanted.append(("instr(folded(title) || char(10) || folded(coalesce(note, '')), ?)", filters.text.casefold()))
    conditions = [condition for condition, _ in wanted]
    if not filters.include_empty:
        conditions.append("NOT is_empty")
    if not filters.include_gone:
        conditions.append("gone_at IS NULL")
    where = " AND ".join(f"({condition})" for condition in conditions)
    # A terminal may hand over any bytes.
    values = [whole_characters(value) if isinstance(value, str) else value for _, value in wanted]
    return f"WHERE {where}" if where else "", values


def _folded(text: str | None) -> str | None:
    return None if text is None else text.casefold()
