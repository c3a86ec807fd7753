"""What an agent of Copilot CLI noted for itself: session-state/<id>/session.db, its list of things to do and more.

Read from a private copy. Format notes: docs/formats/session-store.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from copilog import sqliteio
from copilog.derive.documents import todos_text
from copilog.diagnostics import Ledger
from copilog.fields import Json, timestamp_from
from copilog.model import AnyDocument, Conversation, TableDocument, TodosDocument
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.database_rows import item_from, read_rows
from copilog.sources.folders import SESSION_STATE, below, files_of_sessions
from copilog.sources.roots import StorageFolder

FILE = "session.db"
TODOS, DEPENDENCIES, INBOX = "todos", "todo_deps", "inbox_entries"
SCHEMA = "workflow_store_schema"  # of the program's own tables
ORDER = ("sequence", "created_at", "sent_at", "id", "todo_id")
# As VS Code calls the states.
STATES = {"pending": "not-started", "in_progress": "in-progress", "done": "completed"}


class SessionTodos(Source):
    name = "session-todos"
    title = "Copilot CLI to-do list (session.db)"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for path, session_id in files_of_sessions(folder, FILE):
            yield Found(path, self.name, native_id=session_id)

    def claims(self, file: Probe) -> bool:
        if file.name == FILE and len(below(file.path, SESSION_STATE) or ()) == 2:
            return True
        return {TODOS, DEPENDENCIES} <= file.tables.keys()

    def native_id(self, file: Probe) -> str | None:
        inner = below(file.path, SESSION_STATE)
        return inner[0] if inner is not None and len(inner) == 2 else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        tables = _load(found, ledger)
        extra = _extras(tables)
        if not extra:
            return
        native_id = found.native_id or found.path.parent.name
        yield Conversation(
            id=f"cli:{native_id}",
            native_id=native_id,
            source=self.name,
            marks=["todos"],
            provenance=[provenance_of(found, role="resource")],
            documents=_documents(extra),
            extra=extra,
        )


def _load(found: Found, ledger: Ledger) -> dict[str, list[Json]]:
    """Return the rows of all tables. An agent may have created tables of its own."""
    loaded: dict[str, list[Json]] = {}
    with sqliteio.open_copy(found.path) as snapshot:
        for note in snapshot.notes:
            ledger.note("copied-while-busy", note, "info")
        for table, columns in sqliteio.tables(snapshot.connection).items():
            if table.startswith("sqlite_"):
                continue
            if not columns:
                ledger.note("unreadable-database", f"the table {table} cannot be read here", "info")
                continue
            rows = [row.values for row in read_rows(snapshot.connection, table, columns, ledger, order=ORDER)]
            ledger.seen += len(rows)
            if table == SCHEMA:
                ledger.ignore("schema-version", len(rows))
                continue
            ledger.used += len(rows)
            loaded[table] = rows
    return loaded


def _extras(tables: dict[str, list[Json]]) -> Json:
    made: Json = {}
    needed: dict[Any, list[Any]] = {}
    for row in tables.pop(DEPENDENCIES, []):
        needed.setdefault(row.get("todo_id"), []).append(row.get("depends_on"))
    todos = [_todo_from(row, needed.pop(row.get("id"), [])) for row in tables.pop(TODOS, [])]
    if todos:
        made["todos"] = todos
    if needed:
        made["todo_dependencies"] = [[owner, other] for owner, others in needed.items() for other in others]
    inbox = tables.pop(INBOX, [])
    if inbox:
        made["inbox"] = inbox
    others = {table: rows for table, rows in tables.items() if rows}
    if others:
        made["tables"] = others
    return made


def _documents(extra: Json) -> list[AnyDocument]:
    """Return the agent's notes as documents: its list, its inbox, and tables of its own."""
    made: list[AnyDocument] = []
    if "todos" in extra:
        made.append(_list_from(extra["todos"]))
    tables = {**({INBOX: extra["inbox"]} if "inbox" in extra else {}), **extra.get("tables", {})}
    for table, rows in tables.items():
        texts = ["\n".join(f"{key}: {value}" for key, value in row.items() if value is not None) for row in rows]
        made.append(TableDocument(title=table, text="\n\n".join(texts), path=FILE))
    return made


def _list_from(todos: list[Json]) -> TodosDocument:
    """Return the list as the database has it last: when it was begun, and when an item was changed last."""
    items = [item_from(todo) for todo in todos]
    begun = [at for todo in todos if (at := timestamp_from(todo.get("created_at"))) is not None]
    changed = [at for todo in todos if (at := timestamp_from(todo.get("updated_at"))) is not None]
    return TodosDocument(
        text=todos_text(items),
        items=items,
        path=FILE,
        created_at=min(begun, default=None),
        updated_at=max(changed, default=None),
    )


def _todo_from(row: Json, needed: list[Any]) -> Json:
    state = row.get("status")
    if isinstance(state, str):
        row["status"] = STATES.get(state, state)
    return {**row, "depends_on": needed} if needed else row
