"""Record the state of a scan: units that were read, and the states of files that a quick look compares."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from copilog.store.database import transaction
from copilog.store.file_names import on_disk, spelled

Known = TypeVar("Known")

MACHINE = "this machine"  # the name of the scope of this machine's default folders


class Unit(NamedTuple):
    """The state of a unit when it was read, and the conversations that were read from it."""

    signature: str
    ids: list[str]


class FileState(NamedTuple):
    """The size and time of a file, which show whether it has changed."""

    size: int
    modified_ns: int


class RecordedUnits(Mapping[str, Unit]):
    """The units of a root, by their keys, looked up in the archive, as there may be very many."""

    def __init__(self, connection: sqlite3.Connection, root: str) -> None:
        self._connection = connection
        self._root = spelled(root)

    def __getitem__(self, key: str) -> Unit:
        query = "SELECT signature, ids FROM unit WHERE root = ? AND key = ?"
        row = self._connection.execute(query, (self._root, spelled(key))).fetchone()
        if row is None:
            raise KeyError(key)
        return Unit(row[0], msgspec.json.decode(row[1]))

    def __iter__(self) -> Iterator[str]:
        rows = self._connection.execute("SELECT key FROM unit WHERE root = ?", (self._root,))
        return (on_disk(key) for (key,) in rows)

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM unit WHERE root = ?", (self._root,)).fetchone()
        return int(count)

    def keys_of(self, ids: Iterable[str]) -> set[str]:
        """Return the keys of the units that some of these conversations were read from."""
        query = (
            "SELECT DISTINCT unit.key FROM unit, json_each(unit.ids) AS named WHERE unit.root = ? "
            "AND named.value IN (SELECT value FROM json_each(?))"
        )
        rows = self._connection.execute(query, (self._root, msgspec.json.encode(list(ids)).decode()))
        return {on_disk(key) for (key,) in rows}


def recorded_units(connection: sqlite3.Connection, root: str) -> dict[str, Unit]:
    """Return all units of a root, if they are few."""
    rows = connection.execute("SELECT key, signature, ids FROM unit WHERE root = ?", (spelled(root),))
    return _by_name_on_disk({key: Unit(signature, msgspec.json.decode(ids)) for key, signature, ids in rows})


def count_units(connection: sqlite3.Connection, root: str, others: Iterable[str] = ()) -> tuple[int, int]:
    """Count the conversations of all units of a root, except `others`, and their messages."""
    named = (
        "SELECT named.value AS id FROM unit, json_each(unit.ids) AS named "
        "WHERE unit.root = ?1 AND unit.key NOT IN (SELECT value FROM json_each(?2))"
    )
    given = (spelled(root), msgspec.json.encode([spelled(key) for key in others]).decode())
    # Removed conversations and parts are no longer stored.
    is_there = (
        "id IN (SELECT id FROM conversation) "
        "OR id IN (SELECT part.id FROM part JOIN conversation ON conversation.id = part.whole)"
    )
    (conversations,) = connection.execute(f"SELECT count(*) FROM ({named}) WHERE {is_there}", given).fetchone()  # noqa: S608
    # The plus makes SQLite scan the parts, which are usually few, instead of all named ids.
    stored = f"{named} UNION ALL SELECT whole FROM part WHERE +id IN ({named})"  # noqa: S608
    counted = f"SELECT coalesce(sum(messages), 0) FROM conversation WHERE id IN ({stored})"  # noqa: S608
    (messages,) = connection.execute(counted, given).fetchone()
    return conversations, messages


def adopt_units(connection: sqlite3.Connection, root: str, former: str) -> None:
    """Move units to a root that earlier versions recorded under another name: that of its folders."""
    root, former = spelled(root), spelled(former)
    if root == former or connection.execute("SELECT 1 FROM unit WHERE root = ? LIMIT 1", (root,)).fetchone():
        return
    with transaction(connection):
        connection.execute("UPDATE unit SET root = ? WHERE root = ?", (root, former))
        connection.execute("UPDATE file SET root = ? WHERE root = ?", (root, former))


def put_unit(connection: sqlite3.Connection, root: str, key: str, unit: Unit) -> None:
    """Record that a unit is stored completely; call this when its conversations are stored."""
    values = (spelled(key), spelled(root), unit.signature, msgspec.json.encode(unit.ids).decode())
    with transaction(connection):
        connection.execute("INSERT OR REPLACE INTO unit (key, root, signature, ids) VALUES (?, ?, ?, ?)", values)


def forget_units(connection: sqlite3.Connection, root: str, keys: Iterable[str]) -> None:
    with transaction(connection):
        connection.executemany(
            "DELETE FROM unit WHERE root = ? AND key = ?", [(spelled(root), spelled(key)) for key in keys]
        )


def read_again(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Forget that a conversation was read, so that the next scan reads its files although they are unchanged."""
    named = "EXISTS (SELECT 1 FROM json_each(unit.ids) WHERE value = ?)"
    rows = connection.execute(f"SELECT DISTINCT root FROM unit WHERE {named}", (conversation_id,)).fetchall()  # noqa: S608
    connection.execute(f"DELETE FROM unit WHERE {named}", (conversation_id,))  # noqa: S608
    connection.executemany("UPDATE file SET modified_ns = -1 WHERE root = ?", rows)


def forget_reading(connection: sqlite3.Connection, conversation_id: str, paths: Iterable[str]) -> None:
    """Let the next scan read a conversation again from files with few conversations, although they are unchanged."""
    named = "EXISTS (SELECT 1 FROM json_each(unit.ids) WHERE value = ?)"
    connection.execute(f"UPDATE unit SET signature = '' WHERE {named}", (conversation_id,))  # noqa: S608
    forget_states(connection, paths)


def ids_of_all_units(connection: sqlite3.Connection) -> set[str]:
    """Return the conversations and parts that some unit still contains."""
    rows = connection.execute("SELECT ids FROM unit")
    return with_merged(connection, (name for (ids,) in rows for name in msgspec.json.decode(ids)))


def merged_by_part(connection: sqlite3.Connection) -> dict[str, str]:
    """Return, for each conversation that became a part, the conversation that it is a part of."""
    return dict(connection.execute("SELECT id, whole FROM part").fetchall())


def with_merged(connection: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    """Return ids with those of the conversations that they are parts of now."""
    named = set(ids)
    return named | {whole for part, whole in merged_by_part(connection).items() if part in named}


def recorded_states(connection: sqlite3.Connection, root: str) -> dict[str, tuple[int, int]]:
    """Return the states of all files of a root that are not gone: as plain tuples, which equal a `FileState`."""
    rows = connection.execute(
        "SELECT path, size, modified_ns FROM file WHERE root = ? AND gone_at IS NULL", (spelled(root),)
    )
    return _by_name_on_disk({path: (size, modified_ns) for path, size, modified_ns in rows})


def count_states(connection: sqlite3.Connection, root: str, absent: Iterable[str] = ()) -> int:
    """Count the recorded files of a root that are not gone, except those in folders that do not exist now."""
    query = "SELECT count(*) FROM file WHERE root = ? AND gone_at IS NULL"
    total = connection.execute(query, (spelled(root),)).fetchone()[0]
    below = f"{query} AND path >= ? AND path < ?"
    hidden = sum(connection.execute(below, (spelled(root), *_range_below(folder))).fetchone()[0] for folder in absent)
    return int(total - hidden)


def keys_below(connection: sqlite3.Connection, root: str, folders: Iterable[str]) -> set[str]:
    """Return the units of a root with a conversation that has a trace in one of these folders."""
    query = (
        "SELECT DISTINCT unit.key FROM trace JOIN conversation ON conversation.rowid = trace.conversation"
        " JOIN unit JOIN json_each(unit.ids) AS named ON named.value = conversation.id"
        " WHERE unit.root = ? AND trace.path >= ? AND trace.path < ?"
    )
    return {
        on_disk(key)
        for folder in folders
        for (key,) in connection.execute(query, (spelled(root), *_range_below(folder)))
    }


def _range_below(folder: str) -> tuple[str, str]:
    """Return the bounds between which the paths of all files in a folder sort."""
    above = spelled(folder).rstrip("/\\")
    separator = "\\" if "\\" in above and "/" not in above else "/"
    return above + separator, above + chr(ord(separator) + 1)


# --- what an archive is made from -----------------------------------------------------------------------------------


def put_origin(connection: sqlite3.Connection, name: str, kind: str, home: str | None = None) -> None:
    """Record that an archive is made from a scope: `machine`, `roots` that were named, or a `path`."""
    row = (spelled(name), kind, None if home is None else spelled(home))
    known = connection.execute("SELECT name, kind, home FROM origin WHERE name = ?", row[:1]).fetchone()
    if known != row:
        with transaction(connection):
            connection.execute("INSERT OR REPLACE INTO origin (name, kind, home) VALUES (?, ?, ?)", row)


def recorded_origins(connection: sqlite3.Connection) -> list[tuple[str, str, str | None]]:
    """Return the scopes that an archive was made from: name, kind, and for a machine the home folder."""
    rows = connection.execute("SELECT name, kind, home FROM origin ORDER BY kind, name")
    return [(on_disk(name), kind, None if home is None else on_disk(home)) for name, kind, home in rows]


def states_around(
    connection: sqlite3.Connection, root: str, paths: Iterable[str]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield recorded files of a root that are not gone, from the first to the last of some paths, with their states."""
    stored = [spelled(path) for path in paths]
    query = "SELECT path, size, modified_ns FROM file WHERE path BETWEEN ? AND ? AND root = ? AND gone_at IS NULL"
    rows = connection.execute(query, (min(stored), max(stored), spelled(root)))
    return ((on_disk(path), (size, modified_ns)) for path, size, modified_ns in rows)


def paths_of_root(connection: sqlite3.Connection, root: str) -> Iterator[str]:
    """Yield the recorded files of a root that are not gone."""
    rows = connection.execute("SELECT path FROM file WHERE root = ? AND gone_at IS NULL", (spelled(root),))
    return (on_disk(path) for (path,) in rows)


def paths_of_gone(connection: sqlite3.Connection, root: str) -> list[str]:
    """Return the recorded files of a root that are not gone, of conversations that are."""
    rows = connection.execute(
        "SELECT DISTINCT file.path FROM conversation JOIN trace ON trace.conversation = conversation.rowid "
        "JOIN file ON file.path = trace.path "
        "WHERE conversation.gone_at IS NOT NULL AND file.root = ? AND file.gone_at IS NULL",
        (spelled(root),),
    )
    return [on_disk(path) for (path,) in rows]


class FileStates(Protocol):
    """Files with their states: a dictionary, or an object with `items`."""

    def items(self) -> Iterable[tuple[str, FileState]]: ...


def put_states(connection: sqlite3.Connection, root: str, states: FileStates, gone: Iterable[str], now: str) -> None:
    """Record the states of files; their ledgers are unchanged."""
    root = spelled(root)
    rows = ((spelled(path), state.size, state.modified_ns, root, now) for path, state in states.items())
    with transaction(connection):
        connection.executemany(
            "INSERT INTO file (path, size, modified_ns, root, scanned_at) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (path) DO UPDATE SET size = excluded.size, modified_ns = excluded.modified_ns, "
            "root = excluded.root, scanned_at = excluded.scanned_at, gone_at = NULL",
            rows,
        )
        connection.executemany("UPDATE file SET gone_at = ? WHERE path = ?", [(now, spelled(path)) for path in gone])


def forget_states(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Forget the states of files, so that the next scan reads them again."""
    with transaction(connection):
        connection.executemany("UPDATE file SET modified_ns = -1 WHERE path = ?", [(spelled(path),) for path in paths])


def _by_name_on_disk(known: dict[str, Known]) -> dict[str, Known]:
    for name in [name for name in known if on_disk(name) != name]:
        known[on_disk(name)] = known.pop(name)
    return known
