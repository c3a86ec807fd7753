"""Compare the content of archives, and check that an archive is sound."""

from __future__ import annotations

import itertools
import random
import sqlite3
import time
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple

from copilog.store.checksums import Difference, differences, sample_keys
from copilog.store.indexing import has_pending
from copilog.store.schema import VIEWS

SAMPLE_SECONDS = 0.05  # of the check after each scan that has read something

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


class Fault(NamedTuple):
    """Damage of an archive: what is damaged, of which conversation or user data, and how it shows."""

    what: str  # file, index, a kind of checksum
    id: str | None  # of a conversation
    title: str | None
    reason: str

    def __str__(self) -> str:
        of = f" of {self.id}" if self.id is not None else ""
        title = f" ({self.title})" if self.title else ""
        return f"{_NAMES.get(self.what, self.what)}{of}{title} {self.reason}"


_NAMES = {
    "file": "the file:",
    "index": "the full-text index",
    "document": "the document",
    "messages": "the searchable messages",
    "rows": "the rows",
    "spend": "the rows of what was used",
    "state": "the times",
    "part": "the part",
    "user": "the star, labels, note or tombstone",
}


def check(connection: sqlite3.Connection) -> list[str]:
    """Return the faults of an archive as texts; empty for a sound one."""
    return [str(fault) for fault in faults(connection)]


def faults(connection: sqlite3.Connection) -> list[Fault]:
    """Return the faults of the file, of what has a checksum, and of the full-text index.

    FTS5 checks its index only if it may write, so a read-only connection has only its tables checked.
    """
    found = [Fault("file", None, None, text) for text in _integrity(connection)]
    try:
        found += [_fault_of(connection, difference) for difference in differences(connection)]
    except sqlite3.DatabaseError as error:
        found.append(Fault("file", None, None, f"the checksums cannot be read: {error}"))
    for table, depth in (("words", int(_is_indexed(connection))), ("word_part", 0)):  # 1: with the texts themselves
        try:
            with connection:
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', ?)", (depth,))  # noqa: S608
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
                found.append(Fault("index", None, None, f"{table} does not fit its texts: {error}"))
    return found


def sampled_fault(connection: sqlite3.Connection, seconds: float = SAMPLE_SECONDS) -> Fault | None:
    """Check conversations from a random one on, for a moment; return the first fault. Nothing is written."""
    end = time.monotonic() + seconds
    try:
        (last,) = connection.execute("SELECT max(rowid) FROM conversation").fetchone()
        keys = sample_keys(connection, random.randrange(1, (last or 1) + 1))  # noqa: S311 - no secret
        timed = itertools.takewhile(lambda _: time.monotonic() < end, keys)
        difference = next(differences(connection, timed), None)
    except sqlite3.DatabaseError as error:
        return Fault("file", None, None, str(error))
    return None if difference is None else _fault_of(connection, difference)


def _is_indexed(connection: sqlite3.Connection) -> bool:
    try:
        return not has_pending(connection)
    except sqlite3.DatabaseError:
        return False


def _integrity(connection: sqlite3.Connection) -> list[str]:
    try:
        return [text for (text,) in connection.execute("PRAGMA integrity_check") if text != "ok"]
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        return [str(error)]


def _fault_of(connection: sqlite3.Connection, difference: Difference) -> Fault:
    """Name the conversation by its id and title, as far as they can be read."""
    kind, key, reason = difference
    column = "rowid" if isinstance(key, int) else "id"
    name: str | None = f"conversation number {key}" if isinstance(key, int) else key
    title = None
    with suppress(sqlite3.DatabaseError, UnicodeDecodeError):
        row = connection.execute(f"SELECT id, title FROM conversation WHERE {column} = ?", (key,)).fetchone()  # noqa: S608
        name, title = map(_readable, row) if row is not None else (name, title)
    return Fault(kind, name, title, reason)


def _readable(text: str | bytes | None) -> str | None:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def _query_of(connection: sqlite3.Connection, view: str) -> str:
    names = [name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (view,))]
    columns = [f"{name} IS NULL" if name == "gone_at" else name for name in names if name not in _LEFT_OUT]
    return f"SELECT {', '.join(columns)} FROM {view}"  # noqa: S608 - names of our own
