"""Make a new archive of what can be read of a damaged one.

Only what cannot be made again is looked for: documents with their chapters, parts of joined conversations, and what
users added. All rows and the index are made anew from these. Records are recognised by their shape, so that the tables
need not be readable.
"""

from __future__ import annotations

import re
import sqlite3
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.derive import conclude
from copilog.errors import CopilogError
from copilog.intake.folders import is_gone
from copilog.model import Conversation
from copilog.store.checksums import digest_of_document
from copilog.store.database import transaction
from copilog.store.documents import conversation_from
from copilog.store.entries import Entry, entry_of
from copilog.store.file_names import on_disk
from copilog.store.pages import PagedFile, Record
from copilog.store.times import now
from copilog.store.writing import put

_PACKED = b"\x28\xb5\x2f\xfd"  # how everything that zstd packed begins
_ID = re.compile(r"[a-z][a-z0-9-]*:\S", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_ORIGINS = ("machine", "roots", "path", "named")
_CONVERSATION = {"id": 1, "title": 4, "digest": 24, "stored_at": 29, "gone_at": 30}  # columns by position


class Known(NamedTuple):
    """What the row of a conversation says of it."""

    id: str
    title: str
    stored_at: str | None
    gone_at: str | None


class Lost(msgspec.Struct, frozen=True):
    """A conversation, or something else, that could not be read."""

    id: str | None
    title: str | None
    reason: str


class Salvaged(msgspec.Struct):
    """What was found in a damaged archive, by the numbers or ids of the conversations."""

    documents: dict[int, list[bytes]] = {}
    chapters: dict[int, dict[int, list[tuple[bytes, bytes]]]] = {}
    known: dict[int, Known] = {}
    checksums: dict[int, bytes | None] = {}
    parts: dict[str, tuple[str, str, bytes]] = {}
    annotations: dict[str, tuple[int, str | None, str]] = {}
    labels: set[tuple[str, str]] = set()
    tombstones: dict[str, str] = {}
    origins: set[tuple[str, str, str | None]] = set()
    survival: set[tuple[Any, ...]] = set()
    with_user_data: set[str] = set()
    damaged_pages: int = 0


def read_damaged(path: Path) -> Salvaged:
    """Read everything of a damaged archive that cannot be made again."""
    found = Salvaged()
    try:
        with PagedFile(path) as pages:
            for record in pages.records():
                _add(found, record)
            found.damaged_pages = len(pages.damaged) + pages.cut
    except OSError as error:
        raise CopilogError(f"{path}: cannot be read: {error.strerror or error}") from None
    return found


def _add(found: Salvaged, record: Record) -> None:
    rowid, values = record
    match values:
        case (None, bytes(data)) if rowid is not None and data.startswith(_PACKED):
            found.documents.setdefault(rowid, []).append(data)
        case (int(conversation), int(position), bytes(digest), bytes(data)) if (
            rowid is not None and data[:4] == _PACKED
        ):
            found.chapters.setdefault(conversation, {}).setdefault(position, []).append((digest, data))
        case (str(part), str(whole), str(signature), bytes(data)) if rowid is not None:
            found.parts[part] = (whole, signature, data)
        case ("document", int(key), digest) if rowid is None and (digest is None or isinstance(digest, bytes)):
            found.checksums[key] = digest
        case ("user", str(key), _) if rowid is None:
            found.with_user_data.add(key)
        case (str(name), 0 | 1 as star, str() | None as note, str(changed_at)) if rowid is None and _ID.match(name):
            found.annotations[name] = (star, note, changed_at)
        case (str(name), str(removed_at)) if rowid is None and _ID.match(name) and _TIME.fullmatch(removed_at):
            found.tombstones[name] = removed_at
        case (str(name), str(label)) if rowid is None and _ID.match(name):
            found.labels.add((name, label))
        case (str(name), str(kind), str() | None as home) if rowid is None and kind in _ORIGINS:
            found.origins.add((name, kind, home))
        case (str(), str(name), _, int(), int(), str(), int(), int()) if rowid is None and _ID.match(name):
            found.survival.add(values)
        case _ if rowid is not None and len(values) > max(_CONVERSATION.values()):
            _add_known(found, rowid, values)


def _add_known(found: Salvaged, rowid: int, values: tuple[Any, ...]) -> None:
    row = {name: values[place] for name, place in _CONVERSATION.items()}
    if values[0] is None and isinstance(row["id"], str) and _ID.match(row["id"]) and isinstance(row["digest"], bytes):
        found.known[rowid] = Known(row["id"], str(row["title"]), row["stored_at"], row["gone_at"])


def fill(connection: sqlite3.Connection, found: Salvaged) -> tuple[list[str], list[Lost]]:
    """Put what was found into a new archive; return the ids of its conversations, and what is lost or doubtful."""
    put_user_data(connection, found)
    kept: list[str] = []
    lost: list[Lost] = []
    for rowid in sorted(found.documents.keys() | found.known.keys() | found.checksums.keys() | found.chapters.keys()):
        known = found.known.get(rowid)
        conversation, is_whole = _conversation(found, rowid)
        if known is not None and known.id in found.tombstones:
            continue
        if conversation is None:
            name = known.id if known is not None else f"conversation number {rowid}"
            lost.append(Lost(name, known.title if known is not None else None, "its document cannot be read"))
            continue
        entry = _entry(conversation)
        if entry is None:
            lost.append(Lost(conversation.id, conversation.title, "its messages do not fit together"))
            continue
        with transaction(connection):
            if put(connection, entry, "") not in ("new", "changed"):
                continue  # it was removed, or is an older copy
            _put_times(connection, entry.id, known, [on_disk(trace.path) for trace in entry.traces])
        kept.append(entry.id)
        if not is_whole:
            lost.append(Lost(entry.id, entry.row.title, "was read, but differs from its checksum"))
    named = found.annotations.keys() | {name for name, _ in found.labels} | found.tombstones.keys()
    unread = sorted(found.with_user_data - named)
    lost += [Lost(name, None, "its star, labels and note cannot be read") for name in unread]
    if found.damaged_pages:
        pages = f"{found.damaged_pages:,} damaged or missing {'page' if found.damaged_pages == 1 else 'pages'}"
        lost.append(Lost(None, None, f"{pages} may have held more, of which nothing is left"))
    return kept, lost


def put_user_data(connection: sqlite3.Connection, found: Salvaged) -> None:
    """Put what users added, tombstones, parts and origins into a new archive."""
    with transaction(connection):
        for table, rows in (
            ("annotation", [(name, *values) for name, values in found.annotations.items()]),
            ("label", found.labels),
            ("tombstone", found.tombstones.items()),
            ("part", [(name, *values) for name, values in found.parts.items() if _is_part(values[2])]),
            ("origin", found.origins),
            ("survival", found.survival),
        ):
            for row in rows:
                marks = ", ".join("?" * len(row))
                connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)  # noqa: S608


def _entry(conversation: Conversation) -> Entry | None:
    """Return the rows of a conversation; None if it lacks a piece that they need."""
    try:
        conclude(conversation)
        return entry_of(conversation)
    except Exception:  # noqa: BLE001 - what is read of damaged bytes may contradict itself
        return None


def _put_times(connection: sqlite3.Connection, name: str, known: Known | None, paths: list[str]) -> None:
    gone_at = known.gone_at if known is not None else None
    if gone_at is None and paths and all(map(is_gone, paths)):
        gone_at = now()
    stored_at = known.stored_at if known is not None else None
    connection.execute(
        "UPDATE conversation SET stored_at = coalesce(?, stored_at), gone_at = ? WHERE id = ?",
        (stored_at, gone_at, name),
    )


def _conversation(found: Salvaged, rowid: int) -> tuple[Conversation | None, bool]:
    """Return a conversation that can be read, and whether it is as its checksum says."""
    checksum = found.checksums.get(rowid)
    readable: Conversation | None = None
    for data in found.documents.get(rowid, ()):
        chapters, is_whole = _chapters(found, rowid)
        if checksum is not None:
            is_whole &= digest_of_document(data, [(position, digest) for position, digest, _ in chapters]) == checksum
        try:
            conversation = conversation_from(data, [packed for *_, packed in chapters])
        except Exception:  # noqa: BLE001, S112 - damaged bytes fail in any way
            continue
        if is_whole:
            return conversation, True
        readable = readable or conversation
    return readable, False


def _chapters(found: Salvaged, rowid: int) -> tuple[list[tuple[int, bytes, bytes]], bool]:
    """Return the chapters of a conversation, and whether all of them are there and undamaged."""
    chapters: list[tuple[int, bytes, bytes]] = []
    is_whole = True
    by_position = found.chapters.get(rowid, {})
    for position in range(max(by_position, default=-1) + 1):
        candidates = by_position.get(position, [])
        sound = [each for each in candidates if blake2b(each[1], digest_size=len(each[0]) or 1).digest() == each[0]]
        if sound:
            chapters.append((position, *sound[0]))
        else:
            is_whole = False
    return chapters, is_whole


def _is_part(data: bytes) -> bool:
    if not data:
        return True  # of a removed conversation
    try:
        head, *chapters = msgspec.msgpack.decode(data, type=list[bytes])
        conversation_from(head, chapters)
    except Exception:  # noqa: BLE001 - damaged bytes fail in any way
        return False
    return True
