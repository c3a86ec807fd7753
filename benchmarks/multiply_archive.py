"""A larger archive of the same kind: every row so many times, each copy some weeks earlier and under other ids.

Documents and the full-text index stay as they are: no figure needs them.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

MESSAGE_BITS = 20  # a message's number is that of its conversation, and so many bits for its position
DAYS_APART = 30
IDS = {"id", "native_id", "request_id"}
NOT_COPIED = {"document", "chapter", "annotation", "label", "tombstone", "unit", "meta", "file", "problem", "word"}


def multiply(archive: Path, larger: Path, times: int) -> None:
    """Write an archive with so many times the rows of another."""
    unfinished = larger.with_name(larger.name + ".part")
    with closing(sqlite3.connect(archive)) as source:
        source.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copyfile(archive, unfinished)
    with closing(sqlite3.connect(unfinished, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -65536")
        (step,) = connection.execute("SELECT max(rowid) FROM conversation").fetchone()
        statements = [_copy_of(connection, table) for table in _tables(connection)]
        connection.execute("BEGIN")
        for number in range(1, times):
            values = {"number": number, "step": step, "days": f"-{number * DAYS_APART} days"}
            for statement in statements:
                connection.execute(statement, values)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    unfinished.rename(larger)


def _tables(connection: sqlite3.Connection) -> list[str]:
    """The tables whose rows belong to a conversation, itself first."""
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    names = [name for (name,) in rows if name not in NOT_COPIED]
    return ["conversation", *(name for name in names if "conversation" in _columns(connection, name))]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _copy_of(connection: sqlite3.Connection, table: str) -> str:
    """The statement that copies a table's first rows, those that were there before any copy."""
    columns = _columns(connection, table)
    owner = "rowid" if table == "conversation" else "conversation"
    values = ", ".join(_value(table, column) for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM {table} WHERE {owner} <= :step"


def _value(table: str, column: str) -> str:
    if column == "rowid" and table == "message":
        return f"rowid + ((:number * :step) << {MESSAGE_BITS})"
    if column in ("rowid", "conversation"):
        return f"{column} + :number * :step"
    if column in IDS:
        return f"{column} || '+' || :number"
    if column == "at" or column.endswith("_at"):
        return f"strftime('%Y-%m-%dT%H:%M:%fZ', {column}, :days)"
    return f'"{column}"'
