"""Compare the content of archives, and check that an archive is sound."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

from copilog.store.schema import VIEWS

# Times of storing are not part of the content; that a file is gone is part of it, but not since when.
_LEFT_OUT = ("stored_at", "scanned_at")
_OTHERS = (
    "SELECT * FROM annotation",
    "SELECT * FROM label",
    "SELECT id FROM tombstone",
    "SELECT c.id, m.title FROM message AS m JOIN conversation AS c ON c.rowid = m.conversation WHERE m.role = 'title'",
    "SELECT term, doc, cnt FROM term",  # the searchable texts
    "SELECT id FROM conversation WHERE NOT is_indexed",
)


def fingerprint(connection: sqlite3.Connection) -> str:
    """Return a digest of an archive's content; equal for archives that were made in different ways."""
    digest = blake2b(digest_size=16)
    for query in (*(_query_of(connection, view) for view in VIEWS), *_OTHERS):
        digest.update(query.encode())
        rows = sorted(
            blake2b(repr(row).encode("utf-8", "replace"), digest_size=16).digest() for row in connection.execute(query)
        )
        digest.update(b"".join(rows))
    return digest.hexdigest()


def check(connection: sqlite3.Connection) -> list[str]:
    """Return the faults of the file or its full-text index; empty for a sound archive.

    FTS5 checks its index only if it may write, so a read-only connection has only its tables checked.
    """
    found = [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    for table in ("words", "word_part"):
        try:
            with connection:
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_READONLY:
                continue
            found.append(f"the full-text index {table} does not fit its texts: {error}")
    return found


def _query_of(connection: sqlite3.Connection, view: str) -> str:
    names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (view,))]
    columns = [f"{name} IS NULL" if name == "gone_at" else name for name in names if name not in _LEFT_OUT]
    return f"SELECT {', '.join(columns)} FROM {view}"  # noqa: S608 - names of our own
