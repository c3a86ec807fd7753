"""Read the rows of `state.vscdb` or of its backup that have the given keys; to-do lists among them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from copilog import jsonio, sqliteio
from copilog.derive.documents import todos_text
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import Conversation, TodosDocument
from copilog.sources.base import Found, provenance_of
from copilog.sources.database_rows import item_from
from copilog.sources.folders import is_plain_file
from copilog.sources.vscode.agent_sessions import name_of

# Rows of VS Code's key-value store, state.vscdb, or of its backup. Only the rows with the given keys are read.


STORE, BACKUP = "state.vscdb", "state.vscdb.backup"
TABLE = "ItemTable"


def read_rows(
    found: Found, keys: tuple[str, ...], ledger: Ledger, *, counts: bool
) -> tuple[Found, list[tuple[str, Any]]]:
    """Return the rows with these keys, decoded, and their source: each is one record."""
    found, raw_rows = _raw_rows(found, keys, ledger, counts=counts)
    rows: list[tuple[str, Any]] = []
    for raw_key, raw_value in raw_rows:
        key = raw_key.decode() if isinstance(raw_key, bytes) else str(raw_key)
        ledger.seen += counts
        try:
            value, repairs = jsonio.decode(_as_bytes(raw_value))
        except BadRecord as error:
            if counts:
                ledger.reject(error.code, str(error), table=TABLE, row=key)
            continue
        if counts:
            for repair in repairs:
                ledger.note(repair.code, f"{key}: {repair.reason}", "info")
        ledger.used += counts
        rows.append((key, value))
    return found, rows


def _raw_rows(
    found: Found, keys: tuple[str, ...], ledger: Ledger, *, counts: bool
) -> tuple[Found, list[tuple[Any, ...]]]:
    """Read the rows of the store, or those of its backup if the store is gone or cannot be read."""
    backup = found.path.with_name(BACKUP)
    if found.path == backup:
        if counts and not is_plain_file(found.path.with_name(STORE)):
            ledger.note("read-from-backup", f"{STORE} is gone; its backup was read")
        return found, _query_rows(found, keys, ledger, counts=counts)
    try:
        return found, _query_rows(found, keys, ledger, counts=counts)
    except sqliteio.UnreadableDatabase as error:
        if found.path.name != STORE or not is_plain_file(backup):
            raise
        instead = replace(found, path=backup)
        raw_rows = _query_rows(instead, keys, ledger, counts=counts)
        if counts:
            ledger.note("read-from-backup", f"{STORE} {error}; its backup was read")
        return instead, raw_rows


def _query_rows(found: Found, keys: tuple[str, ...], ledger: Ledger, *, counts: bool) -> list[tuple[Any, ...]]:
    with sqliteio.open_copy(found.path) as snapshot:
        if TABLE not in sqliteio.tables(snapshot.connection):
            if found.path.name == STORE and is_plain_file(found.path.with_name(BACKUP)):
                raise sqliteio.UnreadableDatabase(f"has no table {TABLE}")
            ledger.note("unreadable-database", f"the store has no table {TABLE}")
            return []
        marks = ",".join("?" * len(keys))
        has_left_out = False

        def left_out(row: str, reason: str) -> None:
            nonlocal has_left_out
            has_left_out = True
            if counts:
                ledger.note(sqliteio.TOO_LARGE, reason, "error", table=TABLE, row=row)

        rest = f"WHERE key IN ({marks}) ORDER BY key"
        rows = sqliteio.rows_of(snapshot.connection, TABLE, ("key", "value"), rest, keys, left_out=left_out)
        raw_rows = [row for row in rows if row[1] is not None or not has_left_out]
        if counts:
            for note in snapshot.notes:
                ledger.note("copied-while-busy", note, "info")
        return raw_rows


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


# To-do lists that VS Code stores beside its sessions: the row `memento/chat-todo-list` of state.vscdb. Format notes:
# docs/formats/vscode-chat.md


LISTS_OF_SESSIONS = "memento/chat-todo-list"


def stubs_with_todos(value: Any, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield one stub, with its list as a document, for each session that has a to-do list."""
    if not isinstance(value, dict):
        ledger.note("bad-record", f"{LISTS_OF_SESSIONS} has no lists by session")
        return
    for key, items in value.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            ledger.note("bad-record", f"{LISTS_OF_SESSIONS} has a session without a list")
            continue
        if not items:
            continue
        todos = [item_from(item) for item in items]
        named = name_of(key) if ":" in key else None
        native_id = named.native_id if named is not None else key
        yield Conversation(
            id=named.conversation_id if named is not None else f"vscode:{native_id}",
            native_id=native_id,
            source="vscode-state",
            workspace=found.workspace,
            application=found.application,
            marks=["stub", *(["external"] if named is not None and named.is_external else [])],
            documents=[TodosDocument(text=todos_text(todos), items=todos)],
            provenance=[provenance_of(found, role="index", table=TABLE, row=LISTS_OF_SESSIONS)],
        )
