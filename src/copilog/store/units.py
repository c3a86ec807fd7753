"""What a scan has seen: units that were read, in which state, and the files that a quick look compares."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from copilog.store.database import transaction
from copilog.store.file_names import as_on_disk, spelled

Known = TypeVar("Known")


class Unit(NamedTuple):
    """What was read as one, the state it was in, and the conversations that came of it."""

    signature: str
    ids: list[str]


class FileState(NamedTuple):
    """What tells whether a file has changed."""

    size: int
    modified_ns: int


def known_units(connection: sqlite3.Connection, root: str) -> dict[str, Unit]:
    rows = connection.execute("SELECT key, signature, ids FROM unit WHERE root = ?", (spelled(root),))
    return _by_name_on_disk({key: Unit(signature, msgspec.json.decode(ids)) for key, signature, ids in rows})


def count_units(connection: sqlite3.Connection, root: str) -> tuple[int, int]:
    """How many conversations came of all units of a root, and how many messages those have."""
    named = "SELECT value FROM unit, json_each(unit.ids) WHERE unit.root = ?1"
    root = spelled(root)
    (conversations,) = connection.execute(f"SELECT count(*) FROM ({named})", (root,)).fetchone()  # noqa: S608
    # The sign sees to it that parts are gone through, of which there are few as a rule, and not all that was named.
    stored = f"{named} UNION ALL SELECT whole FROM part WHERE +id IN ({named})"  # noqa: S608
    counted = f"SELECT coalesce(sum(messages), 0) FROM conversation WHERE id IN ({stored})"  # noqa: S608
    (messages,) = connection.execute(counted, (root,)).fetchone()
    return conversations, messages


def take_over_units(connection: sqlite3.Connection, root: str, former: str) -> None:
    """Let a root have the units that earlier versions remembered under another name: that of the folders in it.

    `former` is what they would call it now; when folders came and went, they called it otherwise.
    """
    if connection.execute("SELECT 1 FROM unit WHERE root = ? LIMIT 1", (root,)).fetchone():
        return
    within = tuple(f"{path}{os.sep}" for path in root.splitlines())
    for (old,) in connection.execute("SELECT DISTINCT root FROM unit").fetchall():
        folders = old.splitlines()
        is_list_within = len(folders) > 1 and all(f"{folder}{os.sep}".startswith(within) for folder in folders)
        if old == former or is_list_within:
            with transaction(connection):
                connection.execute("UPDATE OR REPLACE unit SET root = ? WHERE root = ?", (root, old))
                connection.execute("UPDATE file SET root = ? WHERE root = ?", (root, old))


def put_unit(connection: sqlite3.Connection, root: str, key: str, unit: Unit) -> None:
    """Remember that a unit is stored, all of it; called when its conversations are."""
    values = (spelled(key), spelled(root), unit.signature, msgspec.json.encode(unit.ids).decode())
    with transaction(connection):
        connection.execute("INSERT OR REPLACE INTO unit (key, root, signature, ids) VALUES (?, ?, ?, ?)", values)


def forget_units(connection: sqlite3.Connection, root: str, keys: Iterable[str]) -> None:
    with transaction(connection):
        connection.executemany(
            "DELETE FROM unit WHERE root = ? AND key = ?", [(spelled(root), spelled(key)) for key in keys]
        )


def read_again(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Forget that a conversation was read, so that the next scan reads its files, though they are as they were."""
    named = "EXISTS (SELECT 1 FROM json_each(unit.ids) WHERE value = ?)"
    rows = connection.execute(f"SELECT DISTINCT root FROM unit WHERE {named}", (conversation_id,)).fetchall()  # noqa: S608
    connection.execute(f"DELETE FROM unit WHERE {named}", (conversation_id,))  # noqa: S608
    connection.executemany("UPDATE file SET modified_ns = -1 WHERE root = ?", rows)


def ids_of_all_units(connection: sqlite3.Connection) -> set[str]:
    """Conversations that some file still holds, or a part of them."""
    rows = connection.execute("SELECT ids FROM unit")
    return with_wholes(connection, (name for (ids,) in rows for name in msgspec.json.decode(ids)))


def wholes(connection: sqlite3.Connection) -> dict[str, str]:
    """Of all that was read as a conversation and is a part of one now, which that is."""
    return dict(connection.execute("SELECT id, whole FROM part").fetchall())


def with_wholes(connection: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Ids under which something was read, and those of the conversations that it is a part of now."""
    named = set(ids)
    return named | {whole for part, whole in wholes(connection).items() if part in named}


def known_states(connection: sqlite3.Connection, root: str) -> dict[str, tuple[int, int]]:
    """How all files of a root were that are not gone: as plain tuples, made quickly, and equal to a `FileState`."""
    rows = connection.execute(
        "SELECT path, size, modified_ns FROM file WHERE root = ? AND gone_at IS NULL", (spelled(root),)
    )
    return _by_name_on_disk({path: (size, modified_ns) for path, size, modified_ns in rows})


def put_states(
    connection: sqlite3.Connection, root: str, states: Mapping[str, FileState], gone: Iterable[str], now: str
) -> None:
    """Remember how files were; the books of those that were read are kept beside."""
    root = spelled(root)
    rows = [(spelled(path), state.size, state.modified_ns, root, now) for path, state in states.items()]
    with transaction(connection):
        connection.executemany(
            "INSERT INTO file (path, size, modified_ns, root, scanned_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET size = excluded.size, modified_ns = excluded.modified_ns, "
            "root = excluded.root, scanned_at = excluded.scanned_at, gone_at = NULL",
            rows,
        )
        connection.executemany("UPDATE file SET gone_at = ? WHERE path = ?", [(now, spelled(path)) for path in gone])


def _by_name_on_disk(known: dict[str, Known]) -> dict[str, Known]:
    for name, on_disk in as_on_disk(known).items():
        known[on_disk] = known.pop(name)
    return known
