"""Compute checksums of what is stored, and find what differs from them: a wrong bit that SQLite does not notice.

What is written loses its checksum by a trigger, and gets the new one when a scan, or the archive, is finished.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from copilog.store.checksum_tables import COVERED, OF_CONVERSATION, PASSING, STATE
from copilog.store.database import transaction

_BATCH = 500
_DIGEST_BYTES = 16
_TABLE = b"\0table\0"
_UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError)
# What cannot be made again from anything comes first.
_MISSING = (
    "SELECT kind, key FROM checksum INDEXED BY checksum_missing WHERE digest IS NULL "
    "ORDER BY kind <> 'user', kind <> 'part', key LIMIT ?"
)
_encode = msgspec.msgpack.Encoder().encode


class Difference(NamedTuple):
    """What differs from its checksum, or cannot be read."""

    kind: str
    key: int | str
    reason: str


def seal(connection: sqlite3.Connection, seconds: float | None = None) -> int:
    """Store the checksums of what was written since the last time; return how many. What is damaged has none."""
    end = None if seconds is None else time.monotonic() + seconds
    sealed = 0
    passed: set[tuple[str, int | str]] = set()
    with _bytes_as_they_are(connection):
        while end is None or time.monotonic() < end:
            rows = connection.execute(_MISSING, (_BATCH + len(passed),)).fetchall()
            missing = [each for kind, key in rows if (each := (_text(kind), _key(key))) not in passed]
            if not missing:
                break
            with transaction(connection):
                for kind, key in missing:
                    if end is not None and time.monotonic() >= end:
                        break
                    passed.add((kind, key))
                    with _ignoring_damage():
                        _put(connection, kind, key)
                        sealed += 1
                        passed.discard((kind, key))
    return sealed


def differences(
    connection: sqlite3.Connection, keys: Iterator[tuple[str, int | str]] | None = None
) -> Iterator[Difference]:
    """Yield what differs from its checksum, of everything or of some keys."""
    with _bytes_as_they_are(connection):
        chosen = keys if keys is not None else _all_keys(connection)
        for kind, key in chosen:
            try:
                row = connection.execute(
                    "SELECT digest FROM checksum WHERE kind = ? AND key = ?", (kind, key)
                ).fetchone()
                if row is None or row[0] is None:
                    continue
                found = _digest(connection, kind, key)
            except _UNREADABLE as error:
                yield Difference(kind, key, f"cannot be read: {error}")
                continue
            if found is None:
                yield Difference(kind, key, "is missing")
            elif found != row[0]:
                yield Difference(kind, key, "differs from its checksum")


def digest_of_document(data: bytes, chapters: list[tuple[int, bytes]]) -> bytes:
    """Return the checksum of a document with the positions and digests of its chapters."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for rows in ([(data,)], chapters):
        digest.update(_TABLE)
        for row in rows:
            digest.update(_encode(row))
    return digest.digest()


def is_sealed(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM checksum INDEXED BY checksum_missing WHERE digest IS NULL LIMIT 1"
    return connection.execute(query).fetchone() is None


def sample_keys(connection: sqlite3.Connection, start: int) -> Iterator[tuple[str, int | str]]:
    """Yield what was stored for conversations, from one on, then what the user added."""
    rows = connection.execute("SELECT rowid FROM conversation WHERE rowid >= ? ORDER BY rowid", (start,))
    for (rowid,) in rows:
        yield from ((kind, rowid) for kind in OF_CONVERSATION)


def _all_keys(connection: sqlite3.Connection) -> Iterator[tuple[str, int | str]]:
    """Yield all keys, as far as they can be read."""
    with _ignoring_damage():
        for kind, key in connection.execute("SELECT kind, key FROM checksum ORDER BY kind, key").fetchall():
            yield _text(kind), _key(key)


def _put(connection: sqlite3.Connection, kind: str, key: int | str) -> None:
    digest = _digest(connection, kind, key)
    if digest is None:
        connection.execute("DELETE FROM checksum WHERE kind = ? AND key = ?", (kind, key))
    else:
        connection.execute("UPDATE checksum SET digest = ? WHERE kind = ? AND key = ?", (digest, kind, key))


def _digest(connection: sqlite3.Connection, kind: str, key: int | str) -> bytes | None:
    """Return the digest of what is stored; None if nothing is."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    count = 0
    for query in _queries(connection, kind):
        digest.update(_TABLE)
        for row in connection.execute(query, (key,)):
            digest.update(_encode(row))
            count += 1
    if kind == "document":
        _check_chapters(connection, key)
    is_kept = count or kind in ("messages", "rows", "spend")  # a conversation may have none of them
    return digest.digest() if is_kept else None


def _check_chapters(connection: sqlite3.Connection, key: int | str) -> None:
    """Raise if a chapter is not what its own digest says: unchanged chapters are not written again."""
    for position, digest, data in connection.execute(
        "SELECT position, digest, data FROM chapter WHERE conversation = ? ORDER BY position", (key,)
    ):
        if blake2b(data, digest_size=len(digest)).digest() != digest:
            raise sqlite3.DatabaseError(f"chapter {position} differs from its checksum")


def _queries(connection: sqlite3.Connection, kind: str) -> Iterator[str]:
    if kind == "document":
        yield "SELECT data FROM document WHERE conversation = ?"
        yield "SELECT position, digest FROM chapter WHERE conversation = ? ORDER BY position"
    elif kind == "part":
        yield "SELECT whole, signature, data FROM part WHERE id = ?"
    elif kind == "user":
        yield "SELECT is_starred, note, changed_at FROM annotation WHERE id = ?"
        yield "SELECT label FROM label WHERE id = ? ORDER BY label"
        yield "SELECT removed_at FROM tombstone WHERE id = ?"
    elif kind == "state":
        yield f"SELECT {', '.join(STATE)} FROM conversation WHERE rowid = ?"  # noqa: S608 - names of our own
    else:
        if kind == "rows":
            columns = connection.execute("SELECT name FROM pragma_table_info('conversation')").fetchall()
            own = [name for (column,) in columns if (name := _text(column)) not in (*STATE, *PASSING)]
            yield f"SELECT {', '.join(own)} FROM conversation WHERE rowid = ?"  # noqa: S608
        for table in COVERED[kind]:
            if table == "message":
                yield "SELECT * FROM message WHERE rowid >= ?1 << 20 AND rowid < (?1 + 1) << 20 ORDER BY rowid"
            else:
                key = "message, position" if table == "tool_call" else "position"
                yield f"SELECT * FROM {table} WHERE conversation = ? ORDER BY {key}"  # noqa: S608


@contextmanager
def _bytes_as_they_are(connection: sqlite3.Connection) -> Iterator[None]:
    """Read texts as bytes, as damaged ones may not be text."""
    before = connection.text_factory
    connection.text_factory = bytes
    try:
        yield
    finally:
        connection.text_factory = before


@contextmanager
def _ignoring_damage() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError:  # a lock, a full disk
        raise
    except _UNREADABLE:
        pass


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _key(value: bytes | str | int) -> int | str:
    return value if isinstance(value, int) else _text(value)
