"""Lists of things to do that VS Code keeps beside its sessions: the row `memento/chat-todo-list` of state.vscdb.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Document
from copilog.sources._vscode.agent_sessions import name_of
from copilog.sources._vscode.store_rows import TABLE
from copilog.sources._vscode.take import Json
from copilog.sources.base import Found, provenance_of

LISTS_OF_SESSIONS = "memento/chat-todo-list"


def stubs_with_todos(value: Any, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """One stub, with its list as a document, for each session that has things to do."""
    if not isinstance(value, dict):
        ledger.note("bad-record", f"{LISTS_OF_SESSIONS} has no lists by session")
        return
    for key, items in value.items():
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            ledger.note("bad-record", f"{LISTS_OF_SESSIONS} has a session without a list")
            continue
        if not items:
            continue
        named = name_of(key) if ":" in key else None
        native_id = named.native_id if named is not None else key
        yield Conversation(
            id=named.conversation_id if named is not None else f"vscode:{native_id}",
            native_id=native_id,
            source="vscode-state",
            workspace=found.workspace,
            application=found.application,
            marks=["stub", *(["external"] if named is not None and named.is_external else [])],
            documents=[Document(kind="todos", text="\n".join(map(todo_line, items)))],
            provenance=[provenance_of(found, role="index", table=TABLE, row=LISTS_OF_SESSIONS)],
        )


def todo_line(todo: Json) -> str:
    """Return one thing to do as Markdown, with its description below it."""
    mark = {"completed": "x", "in-progress": "~"}.get(str(todo.get("status")), " ")
    lines = [f"- [{mark}] {todo.get('title') or todo.get('id') or ''}".rstrip()]
    lines += [f"  {line}" for line in str(todo.get("description") or "").split("\n") if line.strip()]
    return "\n".join(lines)
