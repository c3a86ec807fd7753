"""One file with everything of an archive that cannot be made again: compressed, with checksums, added to in place.

The file is a SQLite database of pieces. Each conversation is a piece, so that a later backup writes only what changed;
what users added is one, and so is every part of a file. The manifest has the digest of all others.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from copilog.errors import UsageError
from copilog.store.checksums import differences
from copilog.store.file_names import on_disk, spelled
from copilog.store.packing import pack, unpack
from copilog.store.salvaging import Known, Salvaged
from copilog.store.times import now

APPLICATION_ID = 0x434F5042  # "COPB"
_CHUNK = 16 << 20  # of a raw file
_SCHEMA = """
    CREATE TABLE piece (
        kind TEXT NOT NULL,                -- conversation, part, user, source; manifest
        key TEXT NOT NULL,
        state TEXT NOT NULL,               -- what is equal is not read again
        digest BLOB NOT NULL,              -- of kind, key, state and data
        data BLOB NOT NULL,
        PRIMARY KEY (kind, key)
    )"""
_USER_TABLES = ("annotation", "label", "tombstone", "origin", "survival")
_MANIFEST = "manifest"
_encode = msgspec.msgpack.Encoder().encode


class Made(msgspec.Struct):
    """What a backup has, and how much of it was written this time."""

    conversations: int = 0
    files: int = 0
    written: int = 0
    unreadable: list[str] = []  # raw files
    damaged: list[str] = []  # conversations that differ from their checksums: an earlier backup of them stays


def create(
    archive: sqlite3.Connection,
    draft: Path,
    former: Path | None,
    *,
    with_sources: bool = False,
    most_bytes_of_gone: int | None = None,
) -> Made:
    """Write a backup to a draft; unchanged pieces of the former one are kept. Raw files stay that are gone since.

    With `most_bytes_of_gone`, only conversations whose files are gone are backed up, the latest first, up to that size.
    """
    if former is not None:
        shutil.copyfile(former, draft)
    made = Made()
    with closing(sqlite3.connect(draft)) as backup, backup:
        if former is None:
            backup.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            backup.execute(_SCHEMA)
        archive.execute("BEGIN")  # one state of the archive
        try:
            kept = _put_conversations(archive, backup, made, most_bytes_of_gone)
            kept |= _put_parts(archive, backup, made)
            _put(backup, "user", "", "", _user_data(archive), made)
            for kind, key in backup.execute("SELECT kind, key FROM piece WHERE kind IN ('conversation', 'part')"):
                if (kind, key) not in kept:
                    backup.execute("DELETE FROM piece WHERE kind = ? AND key = ?", (kind, key))
            if with_sources:
                _put_sources(archive, backup, made)
        finally:
            archive.execute("ROLLBACK")
        made.files = len({key.partition(":")[2] for (key,) in _keys(backup, "source")})
        manifest = _encode([now(), made.conversations, made.files, _digest_of_all(backup)])
        _put(backup, _MANIFEST, "", "", manifest, Made())
    with closing(sqlite3.connect(draft, isolation_level=None)) as backup:
        backup.execute("VACUUM")
    return made


def faults_of(path: Path) -> list[str]:
    """Return what is wrong with a backup: pieces that differ from their checksums, or are missing."""
    found: list[str] = []
    try:
        with _opened(path) as backup:
            found += [text for (text,) in backup.execute("PRAGMA integrity_check") if text != "ok"]
            rowids = [rowid for (rowid,) in backup.execute("SELECT rowid FROM piece")]
            for rowid in rowids:
                row = backup.execute("SELECT kind, key, state, data, digest FROM piece WHERE rowid = ?", (rowid,))
                kind, key, state, data, digest = row.fetchone()
                if _digest(kind, key, state, data) != digest:
                    found.append(f"{kind} {key} differs from its checksum")
            (manifest,) = backup.execute("SELECT data FROM piece WHERE kind = ?", (_MANIFEST,)).fetchone() or (None,)
            if manifest is None:
                found.append("the manifest is missing")
            elif msgspec.msgpack.decode(manifest)[3] != _digest_of_all(backup):
                found.append("pieces are missing, or were replaced")
    except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError, msgspec.DecodeError) as error:
        found.append(f"cannot be read: {error}")
    return found


def read_backup(path: Path) -> Salvaged:
    """Return what a backup holds, as what a new archive is filled with."""
    found = Salvaged()
    with _opened(path) as backup:
        rows = backup.execute("SELECT key, data, state, digest FROM piece WHERE kind = 'conversation' ORDER BY key")
        for number, (name, data, state, digest) in enumerate(rows, 1):
            if _digest("conversation", name, state, data) != digest:
                found.known[number] = Known(name, "", None, None)  # lost
                continue
            title, stored_at, gone_at, document, chapters = msgspec.msgpack.decode(data)
            found.known[number] = Known(name, title, stored_at, gone_at)
            found.documents[number] = [document]
            if chapters:
                found.chapters[number] = {position: [(digest, packed)] for position, digest, packed in chapters}
        for name, data in backup.execute("SELECT key, data FROM piece WHERE kind = 'part'"):
            whole, signature, document = msgspec.msgpack.decode(data)
            found.parts[name] = (whole, signature, document)
        (data,) = backup.execute("SELECT data FROM piece WHERE kind = 'user'").fetchone()
        tables = msgspec.msgpack.decode(unpack(data))
        found.annotations = {name: (star, note, at) for name, star, note, at in tables["annotation"]}
        found.labels = {(name, label) for name, label in tables["label"]}
        found.tombstones = dict(tables["tombstone"])
        found.origins = {(name, kind, home) for name, kind, home in tables["origin"]}
        found.survival = {tuple(row) for row in tables["survival"]}
    return found


def sources_in(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the raw files of a backup: each path, with the pieces of its content in their order."""
    with _opened(path) as backup:
        keys = [key for (key,) in _keys(backup, "source")]
        for key in sorted(keys, key=lambda key: (key.partition(":")[2], key)):
            (data,) = backup.execute("SELECT data FROM piece WHERE kind = 'source' AND key = ?", (key,)).fetchone()
            yield on_disk(key.partition(":")[2]), unpack(data)


def is_backup(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(100)
    return head.startswith(b"SQLite format 3\x00") and int.from_bytes(head[68:72], "big") == APPLICATION_ID


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file() or not is_backup(path):
        raise UsageError(f"{path}: is not a backup that copilog wrote")
    with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro&immutable=1", uri=True)) as backup:
        yield backup


# --- pieces -----------------------------------------------------------------------------------------------------


def _put_conversations(
    archive: sqlite3.Connection, backup: sqlite3.Connection, made: Made, most_bytes_of_gone: int | None
) -> set[tuple[str, str]]:
    kept: set[tuple[str, str]] = set()
    rows = archive.execute(
        "SELECT c.rowid, id, title, stored_at, gone_at, hex(checksum.digest) FROM conversation AS c"
        " LEFT JOIN checksum ON kind = 'document' AND key = c.rowid ORDER BY gone_at DESC, id"
    ).fetchall()
    if most_bytes_of_gone is not None:
        rows = _latest_of_gone(archive, rows, most_bytes_of_gone)
    keys = (("document", row[0]) for row in rows)
    damaged = {key for _, key, _ in differences(archive, keys)}
    for rowid, name, title, stored_at, gone_at, checksum in rows:
        kept.add(("conversation", name))
        if rowid in damaged:
            made.damaged.append(name)
            continue
        made.conversations += 1
        state = f"{checksum} {stored_at} {gone_at}" if checksum else ""
        if state and _state_of(backup, "conversation", name) == state:
            continue
        document = archive.execute("SELECT data FROM document WHERE conversation = ?", (rowid,)).fetchone()
        chapters = archive.execute(
            "SELECT position, digest, data FROM chapter WHERE conversation = ? ORDER BY position", (rowid,)
        ).fetchall()
        if document is not None:
            data = _encode([title, stored_at, gone_at, document[0], chapters])
            _put(backup, "conversation", name, state, data, made)
    return kept


def _latest_of_gone(archive: sqlite3.Connection, rows: list[Any], most_bytes: int) -> list[Any]:
    """Return the rows of conversations whose files are gone, as far as their documents fit."""
    chosen: list[Any] = []
    size = 0
    query = (
        "SELECT (SELECT sum(length(data)) FROM document WHERE conversation = ?1)"
        " + (SELECT coalesce(sum(length(data)), 0) FROM chapter WHERE conversation = ?1)"
    )
    for row in rows:
        if row[4] is None:
            break  # the others are not gone, either
        (added,) = archive.execute(query, row[:1]).fetchone()
        size += added or 0
        if size <= most_bytes:
            chosen.append(row)
    return chosen


def _put_parts(archive: sqlite3.Connection, backup: sqlite3.Connection, made: Made) -> set[tuple[str, str]]:
    kept: set[tuple[str, str]] = set()
    for name, *values in archive.execute("SELECT id, whole, signature, data FROM part"):
        kept.add(("part", name))
        _put(backup, "part", name, "", _encode(values), made)
    return kept


def _user_data(archive: sqlite3.Connection) -> bytes:
    tables = {table: archive.execute(f"SELECT * FROM {table}").fetchall() for table in _USER_TABLES}  # noqa: S608
    return pack(_encode(tables))


def _put_sources(archive: sqlite3.Connection, backup: sqlite3.Connection, made: Made) -> None:
    """Put the files that the archive was made from, in pieces that fit into memory."""
    for (name,) in archive.execute("SELECT path FROM file WHERE gone_at IS NULL AND modified_ns <> 0").fetchall():
        path = Path(on_disk(name))
        try:
            with path.open("rb") as file:
                status = path.stat()
                state = f"{status.st_size} {status.st_mtime_ns}"
                if _state_of(backup, "source", f"000000:{spelled(str(path))}") == state:
                    continue
                backup.execute("DELETE FROM piece WHERE kind = 'source' AND substr(key, 8) = ?", (spelled(str(path)),))
                number = 0
                while (data := file.read(_CHUNK)) or not number:
                    _put(backup, "source", f"{number:06}:{spelled(str(path))}", state, pack(data), made)
                    number += 1
        except OSError:
            made.unreadable.append(str(path))


def _put(backup: sqlite3.Connection, kind: str, key: str, state: str, data: bytes, made: Made) -> None:
    digest = _digest(kind, key, state, data)
    row = backup.execute("SELECT digest FROM piece WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    if row is None or row[0] != digest:
        backup.execute("INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?, ?)", (kind, key, state, digest, data))
        made.written += 1


def _state_of(backup: sqlite3.Connection, kind: str, key: str) -> str | None:
    row = backup.execute("SELECT state FROM piece WHERE kind = ? AND key = ?", (kind, key)).fetchone()
    return None if row is None else str(row[0])


def _keys(backup: sqlite3.Connection, kind: str) -> Iterable[tuple[Any, ...]]:
    return backup.execute("SELECT key FROM piece WHERE kind = ? ORDER BY key", (kind,))


def _digest(kind: str, key: str, state: str, data: bytes) -> bytes:
    return blake2b(_encode([kind, key, state, data]), digest_size=16).digest()


def _digest_of_all(backup: sqlite3.Connection) -> bytes:
    rows = backup.execute("SELECT kind, key, digest FROM piece WHERE kind <> ? ORDER BY kind, key", (_MANIFEST,))
    return blake2b(b"".join(map(_encode, rows)), digest_size=16).digest()
