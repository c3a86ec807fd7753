"""List summaries of conversations."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

import msgspec

from copilog.store.selection import TOUCHED, Selection, where
from copilog.store.times import timestamp_from

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


def list_summaries(
    connection: sqlite3.Connection, selection: Selection, limit: int | None = None, offset: int = 0
) -> list[Summary]:
    """Return the conversations of a selection, newest first."""
    condition, values = where(connection, selection)
    names = ", ".join(Summary.__struct_fields__)
    # The index of times finds the ids; the other fields of a summary are looked up for this page only.
    page = f"SELECT c.id FROM conversation AS c WHERE {condition} ORDER BY {TOUCHED} DESC, c.id LIMIT ? OFFSET ?"  # noqa: S608
    rows = connection.execute(
        f"SELECT {names} FROM conversations WHERE id IN ({page}) ORDER BY coalesce(updated_at, started_at) DESC, id",  # noqa: S608
        (*values, -1 if limit is None else limit, offset),
    )
    return [_summary_of(row) for row in rows]


def count_summaries(connection: sqlite3.Connection, selection: Selection) -> int:
    """Return the number of conversations in a selection."""
    condition, values = where(connection, selection)
    (count,) = connection.execute(f"SELECT count(*) FROM conversation AS c WHERE {condition}", values).fetchone()  # noqa: S608
    return int(count)


def summaries_of(connection: sqlite3.Connection, ids: list[str]) -> dict[str, Summary]:
    """Return the summaries of these ids, as far as they are stored."""
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
        values[index] = timestamp_from(values[index])
    return Summary(**dict(zip(Summary.__struct_fields__, values, strict=True)))


_decode_list = msgspec.json.Decoder(list[str]).decode
_LISTS_AT, _FLAGS_AT, _TIMES_AT = (
    [Summary.__struct_fields__.index(name) for name in names] for names in (LISTS, FLAGS, TIMES)
)
