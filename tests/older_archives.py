"""Archives as earlier versions made them: the same rows in the tables of then."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from copilog.store.migrations import MIGRATIONS
from copilog.store.schema import APPLICATION_ID


def make_older(path: Path, version: int) -> None:
    """Give an archive the tables of an earlier version of the schema, with what these have room for."""
    made = path.with_name(f"{path.name}.older")
    with closing(sqlite3.connect(made)) as older:
        for migration in MIGRATIONS[:version]:
            older.executescript(migration)
        older.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        older.execute(f"PRAGMA user_version = {version}")
        older.execute("ATTACH ? AS newer", [str(path)])
        tables = older.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0").fetchall()
        with older:
            for (table,) in tables:
                _copy(older, table)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    made.replace(path)


def _copy(older: sqlite3.Connection, table: str) -> None:
    columns = [
        {row[1] for row in older.execute(f"PRAGMA {schema}.table_info({table})")} for schema in ("main", "newer")
    ]
    shared = ", ".join(f'"{name}"' for name in sorted(columns[0] & columns[1]))
    older.execute(f"DELETE FROM main.{table}")
    older.execute(f"INSERT INTO main.{table} ({shared}) SELECT {shared} FROM newer.{table}")
