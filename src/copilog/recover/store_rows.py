"""Read and replace one row of VS Code's key-value store, `state.vscdb`, in one transaction; other rows stay."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from copilog.errors import UsageError
from copilog.sources.vscode.state_rows import TABLE
from copilog.sqliteio import open_copy, query

WAIT_SECONDS = 2.0
_SELECT = f"SELECT typeof(value) = 'text', CAST(value AS BLOB) FROM {TABLE} WHERE key = ?"  # noqa: S608


class Value(NamedTuple):
    """The value of a row as it is stored, so that it can be put back to the byte, also if it is no UTF-8."""

    data: bytes
    is_text: bool


def value_in(path: Path, key: str) -> Value | None:
    """Return the value of a row as it is stored, from a private copy of the store."""
    with open_copy(path) as snapshot:
        return _stored(next(query(snapshot.connection, _SELECT, (key,)), None))


def replace_value(path: Path, key: str, old: Value | None, new: Value | None) -> None:
    """Replace a row. Raise UsageError if another program has changed it, or has the store locked."""
    with _writing(path) as connection:
        if _stored(connection.execute(_SELECT, (key,)).fetchone()) != old:
            raise UsageError(f"{path}: its row {key} has changed meanwhile; nothing was written")
        if new is None:
            connection.execute(f"DELETE FROM {TABLE} WHERE key = ?", (key,))  # noqa: S608
            return
        made = "CAST(? AS TEXT)" if new.is_text else "?"
        if old is None:
            connection.execute(f"INSERT INTO {TABLE} (value, key) VALUES ({made}, ?)", (new.data, key))  # noqa: S608
        else:
            connection.execute(f"UPDATE {TABLE} SET value = {made} WHERE key = ?", (new.data, key))  # noqa: S608


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        uri = f"{path.resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise UsageError(f"{path}: cannot be written: {error}; nothing was changed") from None


def _stored(row: tuple[Any, ...] | None) -> Value | None:
    return None if row is None else Value(row[1] or b"", bool(row[0]))
