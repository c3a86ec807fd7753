"""How many lines of conversations are still in a repository, as last measured; stored by id, as annotations are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from copilog.store.database import transaction


class Measured(NamedTuple):
    """How much of a conversation's lines is in a repository."""

    id: str
    added: int | None
    still_there: int
    files: int


def store_survival(
    connection: sqlite3.Connection,
    repository: str,
    measured_at: str,
    coverage: tuple[int, int],
    rows: Iterable[Measured],
) -> None:
    """Replace the measurements of a repository; `coverage` is the number of files compared, and of files known."""
    with transaction(connection):
        connection.execute("DELETE FROM survival WHERE repository = ?", (repository,))
        connection.executemany(
            "INSERT INTO survival (repository, id, added, still_there, files, measured_at, files_compared, files_known)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(repository, row.id, row.added, row.still_there, row.files, measured_at, *coverage) for row in rows],
        )
