"""Read rows of other programs' databases as plain objects, whichever columns a release has."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from copilog import sqliteio
from copilog.diagnostics import Ledger
from copilog.fields import Json
from copilog.model import TodoItem
from copilog.sqliteio import quoted


class Row(NamedTuple):
    """One row without its empty columns, and its name in diagnostics."""

    name: str
    values: Json


def read_rows(
    connection: sqlite3.Connection,
    table: str,
    columns: list[str],
    ledger: Ledger,
    *,
    only: tuple[str, str] | None = None,
    order: tuple[str, ...] = (),
) -> Iterator[Row]:
    """Yield the rows of a table, ordered by those of the given columns that it has.

    `only` is a column and the value that it must have. Raise UnreadableDatabase if the database is damaged.
    """
    rest = f"WHERE {quoted(only[0])} = ?" if only is not None else ""
    known = [quoted(name) for name in order if name in columns]
    if known:
        rest += f" ORDER BY {', '.join(known)}"

    def left_out(row: str, reason: str) -> None:
        ledger.note(sqliteio.TOO_LARGE, reason, "error", table=table, row=row)

    is_text_broken = False
    params = (only[1],) if only else ()
    rows = sqliteio.rows_of(connection, table, columns, rest, params, left_out=left_out)
    for number, raw in enumerate(rows, start=1):
        values: Json = {}
        for column, value in zip(columns, raw, strict=True):
            plain, is_broken = _plain(value)
            is_text_broken = is_text_broken or is_broken
            if plain is not None:
                values[column] = plain
        yield Row(str(values.get("id", number)), values)
    if is_text_broken:
        ledger.note("invalid-utf8", f"the table {table} holds text that is not UTF-8", "info")


def count_rows(connection: sqlite3.Connection, table: str) -> int:
    [(count,)] = sqliteio.query(connection, f"SELECT count(*) FROM {quoted(table)}")  # noqa: S608 - the name is quoted
    return int(count)


def _plain(value: Any) -> tuple[Any, bool]:
    """Return a value as JSON, and whether it was text with broken bytes. Text and blobs both come as bytes."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8"), False
        except UnicodeDecodeError:
            return value.decode("utf-8", errors="replace"), True
    if isinstance(value, float) and not math.isfinite(value):
        return None, False
    return value, False


def take_integer(row: Json, key: str) -> int | None:
    """Take an integer, also one that SQLite stored as a float; any other value stays."""
    value = row.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    del row[key]
    return value


def item_from(todo: Json) -> TodoItem:
    """Return one item of a to-do list, whose fields are those of VS Code."""
    title, number = todo.get("title"), todo.get("id")
    status, description = todo.get("status"), todo.get("description")
    return TodoItem(
        id=str(number) if isinstance(number, str | int) else None,
        title=title if isinstance(title, str) else "",
        status=status if isinstance(status, str) else None,
        description=description if isinstance(description, str) else None,
    )
