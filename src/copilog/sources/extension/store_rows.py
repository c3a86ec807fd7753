"""Read the rows of a session store, by session."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from copilog import sqliteio
from copilog.diagnostics import Ledger
from copilog.fields import Json
from copilog.sources.database_rows import Row, count_rows, read_rows

# The rows of a session store, by session. Each row that is read is one record.


SESSIONS = "sessions"
VERSION = "schema_version"
SEARCH = "search_index"
ARTIFACT = "workspace_artifact"
# The tables about sessions, and the column that names the session.
KEYS = {
    SESSIONS: "id",
    "turns": "session_id",
    "checkpoints": "session_id",
    "session_files": "session_id",
    "session_refs": "session_id",
    "assistant_usage_events": "session_id",
    "forge_trajectory_events": "session_id",
}
ORDER = {SESSIONS: ("created_at", "id"), "turns": ("turn_index", "id"), "checkpoints": ("checkpoint_number", "id")}
# Tables that are about repositories, not about sessions.
ELSEWHERE = {"dynamic_context_items": "repository-context", "forge_skill_proposals": "skill-proposal"}


class SessionRows:
    """All rows that a store has of one session."""

    def __init__(self, native_id: str) -> None:
        self.id = native_id
        self.session: Json = {}
        self.tables: dict[str, list[Row]] = {}
        self.indexed: list[Json] = []  # texts that are only in the search index

    def rows(self, table: str) -> list[Row]:
        return self.tables.get(table, [])


class Store:
    """The result of reading a store once."""

    def __init__(self) -> None:
        self.sessions: dict[str, SessionRows] = {}
        self.version: int | None = None

    def of(self, native_id: str) -> SessionRows:
        if native_id not in self.sessions:
            self.sessions[native_id] = SessionRows(native_id)
        return self.sessions[native_id]


def load_store(path: Path, ledger: Ledger, native_id: str | None = None) -> Store:
    """Return the rows of all sessions, or of one. Raise UnreadableDatabase if the store cannot be read."""
    store = Store()
    with sqliteio.open_copy(path) as snapshot:
        for note in snapshot.notes:
            ledger.note("copied-while-busy", note, "info")
        tables = sqliteio.tables(snapshot.connection)
        if SESSIONS not in tables and "turns" not in tables:
            ledger.note("unreadable-database", f"the store has no table {SESSIONS}")
            return store
        _read_version(snapshot.connection, tables, ledger, store)
        for table, columns in _of_sessions(tables, ledger).items():
            _read_table(snapshot.connection, table, columns, ledger, store, native_id)
        if SEARCH in tables:
            _read_search_index(snapshot.connection, tables, ledger, store, native_id)
        for table in sorted(tables.keys() & ELSEWHERE.keys()):
            count = count_rows(snapshot.connection, table)
            ledger.seen += count
            if count:
                ledger.ignore(ELSEWHERE[table], count)
    return store


def _of_sessions(tables: dict[str, list[str]], ledger: Ledger) -> dict[str, list[str]]:
    """Return the tables whose rows belong to a session, with their columns, those with a reader first."""
    found: dict[str, list[str]] = {}
    for table, key in KEYS.items():
        if table in tables:
            if key in tables[table]:
                found[table] = tables[table]
            else:
                ledger.note("unreadable-database", f"the table {table} has no column {key}")
    for table, columns in tables.items():
        is_internal = table.startswith(("sqlite_", f"{SEARCH}_"))
        if is_internal or table in (*KEYS, *ELSEWHERE, SEARCH, VERSION):
            continue
        ledger.count_unknown(f"table:{table}")
        if "session_id" in columns:
            found[table] = columns
    return found


def _read_version(connection: sqlite3.Connection, tables: dict[str, list[str]], ledger: Ledger, store: Store) -> None:
    if "version" not in tables.get(VERSION, []):
        return
    for row in read_rows(connection, VERSION, ["version"], ledger):
        ledger.seen += 1
        version = row.values.get("version")
        if isinstance(version, int):
            store.version = version
            ledger.used += 1
        else:
            ledger.reject("bad-record", "a version that is not a number", table=VERSION, row=row.name)


def _read_table(
    connection: sqlite3.Connection,
    table: str,
    columns: list[str],
    ledger: Ledger,
    store: Store,
    native_id: str | None,
) -> None:
    key = KEYS.get(table, "session_id")
    only = (key, native_id) if native_id is not None else None
    for row in read_rows(connection, table, columns, ledger, only=only, order=ORDER.get(table, ("id",))):
        ledger.seen += 1
        owner = row.values.pop(key, None)
        if not isinstance(owner, str) or not owner:
            ledger.reject("bad-record", "a row without a session", table=table, row=row.name)
            continue
        ledger.used += 1
        rows = store.of(owner)
        if table == SESSIONS:
            rows.session = row.values
        else:
            rows.tables.setdefault(table, []).append(row)


def _read_search_index(
    connection: sqlite3.Connection,
    tables: dict[str, list[str]],
    ledger: Ledger,
    store: Store,
    native_id: str | None,
) -> None:
    """Read the files of the search index. Its copies of turns and checkpoints are skipped."""
    wanted = ["content", "session_id", "source_type", "source_id"]
    columns = [column for column in wanted if column in tables[SEARCH]]
    if "session_id" not in columns:  # this SQLite cannot read such tables
        ledger.note("unreadable-database", "the search index cannot be read here", "info")
        return
    repeated = _texts_of_rows(store)
    only = ("session_id", native_id) if native_id is not None else None
    for row in read_rows(connection, SEARCH, columns, ledger, only=only):
        ledger.seen += 1
        owner, source_id = row.values.pop("session_id", None), row.values.get("source_id")
        if not isinstance(owner, str) or not owner:
            ledger.reject("bad-record", "a row without a session", table=SEARCH, row=row.name)
        elif isinstance(source_id, str) and _is_repeated(row.values.get("content"), source_id, repeated):
            ledger.ignore("search-index")
        else:
            ledger.used += 1
            store.of(owner).indexed.append(row.values)


def _texts_of_rows(store: Store) -> dict[str, str]:
    """Return the rows that the search index repeats, by its names; those of checkpoints also name a section."""
    texts: dict[str, str] = {}
    for rows in store.sessions.values():
        for table, name, column in (("turns", "turn", "turn_index"), ("checkpoints", "ckpt", "checkpoint_number")):
            for row in rows.rows(table):
                written = [value for value in row.values.values() if isinstance(value, str)]
                texts[f"{rows.id}:{name}:{row.values.get(column)}"] = "\n".join(written)
    return texts


def _is_repeated(content: object, source_id: str, repeated: dict[str, str]) -> bool:
    """Return whether a row has every line that the index has of it."""
    text = repeated.get(source_id, repeated.get(source_id.rpartition(":")[0]))
    return text is not None and (
        not isinstance(content, str) or all(line.strip() in text for line in content.split("\n"))
    )
