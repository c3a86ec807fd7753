"""The temporary tables of a selection, and the SQL with which they are filled."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import UTC
from typing import Any

from copilog.store.selection import Selection
from copilog.store.times import text_of

NO_TURN = -1
TABLES = ("chosen", "chosen_turn", "billed", "billed_turn", "renamed")
OF_CONVERSATION = "conversation, id, title, workspace, repository, branch, source, at"


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a selection, empty."""
    of_conversation = (
        "conversation INTEGER PRIMARY KEY, id TEXT, title TEXT, workspace TEXT, repository TEXT, branch TEXT,"
        " source TEXT, at TEXT"
    )
    connection.executescript(
        "".join(f"DROP TABLE IF EXISTS temp.{table};" for table in TABLES)
        + f"""
        CREATE TEMP TABLE chosen ({of_conversation});
        CREATE TEMP TABLE billed ({of_conversation}, is_listed INTEGER);
        CREATE TEMP TABLE chosen_turn (
            conversation INTEGER, turn INTEGER, at TEXT, day TEXT, hour INTEGER, weekday INTEGER, is_turn INTEGER,
            PRIMARY KEY (conversation, turn)
        ) WITHOUT ROWID;
        CREATE TEMP TABLE billed_turn (
            conversation INTEGER, turn INTEGER, day TEXT, outcome TEXT, is_unanswered INTEGER, repository TEXT,
            PRIMARY KEY (conversation, turn)
        ) WITHOUT ROWID;
        CREATE TEMP TABLE renamed (old_name TEXT PRIMARY KEY, new_name TEXT NOT NULL) WITHOUT ROWID;
        """
    )


def put_turns(connection: sqlite3.Connection, selection: Selection, table: str, columns: str, turns: str) -> None:
    """Insert the turns of a query (conversation, turn, at, is_turn) into a table, those of the selected period.

    `columns` may use them and `clock`, the local time as weekday, hour, and day.
    """
    period, parameters = period_of(selection)
    zone = "" if selection.zone is UTC else ", 'localtime'"
    # SQLite counts weekdays from Sunday. Without MATERIALIZED, it would read the clock once for each column.
    execute(
        connection,
        f"""
        INSERT INTO temp.{table}
        WITH found AS ({turns}),
        timed AS MATERIALIZED (SELECT *, strftime('%w%H%Y-%m-%d', at{zone}) AS clock FROM found {period})
        SELECT {columns} FROM timed
        """,  # noqa: S608 - of our own
        parameters,
    )


def period_of(selection: Selection) -> tuple[str, list[Any]]:
    """Return the SQL for the period of a selection, and its parameters; empty without one."""
    wanted = [
        (f"at {sign} ?", text_of(moment))
        for sign, moment in ((">=", selection.since), ("<", selection.until))
        if moment is not None
    ]
    where = " AND ".join(condition for condition, _ in wanted)
    return (f"WHERE {where}" if where else ""), [value for _, value in wanted]


def execute(connection: sqlite3.Connection, sql: str, parameters: Sequence[Any] = ()) -> None:
    """Change temporary tables."""
    execute_many(connection, sql, [tuple(parameters)])


def execute_many(connection: sqlite3.Connection, sql: str, rows: list[tuple[Any, ...]]) -> None:
    """Change temporary tables, without a transaction, for which Python would lock the archive."""
    level = connection.isolation_level
    connection.isolation_level = None
    try:
        connection.executemany(sql, rows)
    finally:
        connection.isolation_level = level
