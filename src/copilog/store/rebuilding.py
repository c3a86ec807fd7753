"""Rebuild outdated rows from the stored documents: the files are not needed.

Rows are outdated if an earlier version made them, or if they list an abandoned call as running.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

from copilog.derive import conclude
from copilog.derive.running import STILL_RUNNING
from copilog.store.database import transaction
from copilog.store.documents import stored_conversation
from copilog.store.entries import entry_of
from copilog.store.schema import ROWS_VERSION
from copilog.store.times import time_text
from copilog.store.writing import replace_rows

Progress = Callable[[int, int], None]  # done, total


def rebuild_rows(connection: sqlite3.Connection, progress: Progress | None = None) -> int:
    """Rebuild the rows of all outdated conversations, each in a transaction; return their number."""
    behind = [
        rowid
        for (rowid,) in connection.execute(
            "SELECT rowid FROM conversation WHERE rows_version < ?1 OR ("
            " coalesce(updated_at, '') < ?2"
            " AND rowid IN (SELECT conversation FROM tool_call WHERE outcome = 'running'))"
            " ORDER BY rowid",
            (ROWS_VERSION, time_text(datetime.now(UTC) - STILL_RUNNING)),
        )
    ]
    for done, rowid in enumerate(behind):
        if progress is not None:
            progress(done, len(behind))
        with transaction(connection):
            conversation = stored_conversation(connection, rowid)
            if conversation is not None:
                conclude(conversation)
                replace_rows(connection, rowid, entry_of(conversation))
    return len(behind)
