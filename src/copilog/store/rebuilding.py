"""Rows that an earlier version made are made again, from the documents: no file needs to be there any more."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from copilog.store.database import transaction
from copilog.store.documents import stored_conversation
from copilog.store.entries import entry_of
from copilog.store.schema import ROWS_VERSION
from copilog.store.writing import replace_rows

Progress = Callable[[int, int], None]  # done, of all


def rebuild_rows(connection: sqlite3.Connection, progress: Progress | None = None) -> int:
    """Bring the rows of all conversations up to date, each in a transaction; returns how many were behind."""
    behind = [
        rowid
        for (rowid,) in connection.execute(
            "SELECT rowid FROM conversation WHERE rows_version < ? ORDER BY rowid", (ROWS_VERSION,)
        )
    ]
    for done, rowid in enumerate(behind):
        if progress is not None:
            progress(done, len(behind))
        with transaction(connection):
            conversation = stored_conversation(connection, rowid)
            if conversation is not None:
                replace_rows(connection, rowid, entry_of(conversation))
    return len(behind)
