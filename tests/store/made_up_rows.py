"""A small archive whose rows are written by hand, so that search is tested without anything that makes rows."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field

from copilog.store.indexing import index_pending
from copilog.store.migrations import MIGRATIONS
from copilog.store.schema import MESSAGE_BITS, TEXT_COLUMNS

STORED_AT = "2026-06-01T00:00:00.000Z"


@dataclass
class Row:
    """A message and its texts by column."""

    role: str
    turn: int | None
    texts: dict[str, str]


@dataclass
class MadeUp:
    """A conversation: the facts that fields ask for, and its messages."""

    id: str
    title: str
    rows: list[Row]
    workspace: str | None = None
    source: str = "cli-events"
    updated_at: str | None = "2026-03-01T12:00:00.000Z"
    models: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    is_starred: bool = False
    is_gone: bool = False
    calls: list[tuple[int, str, bool]] = field(default_factory=list)  # turn, tool, whether it failed
    edits: list[tuple[int | None, str]] = field(default_factory=list)  # turn, path
    failed_turns: tuple[int, ...] = ()

    def all_rows(self) -> list[Row]:
        """Return the messages, and the row of the title."""
        return [*self.rows, Row("title", None, {"title": self.title})]


def archive_of(all_made_up: list[MadeUp], *, is_indexed: bool = True) -> sqlite3.Connection:
    """Return an archive in memory. The first conversation was stored first."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for migration in MIGRATIONS:
        connection.executescript(migration)
    for number, made_up in enumerate(all_made_up, start=1):
        _put(connection, number, made_up)
    if is_indexed:
        index_pending(connection)
    return connection


def _put(connection: sqlite3.Connection, number: int, made_up: MadeUp) -> None:
    known = {
        "rowid": number,
        "id": made_up.id,
        "source": made_up.source,
        "title": made_up.title,
        "workspace": made_up.workspace,
        "updated_at": made_up.updated_at,
        "turns": 0,
        "messages": len(made_up.rows),
        "tool_calls": len(made_up.calls),
        "edits": len(made_up.edits),
        "errors": 0,
        "models": json.dumps(made_up.models),
        "modes": json.dumps(made_up.modes),
        "agents": json.dumps(made_up.agents),
        "skills": json.dumps(made_up.skills),
        "marks": "[]",
        "is_empty": 0,
        "digest": b"",
        "signature": "",
        "text_bytes": 1,
        "stored_at": STORED_AT,
        "gone_at": STORED_AT if made_up.is_gone else None,
    }
    _insert(connection, "conversation", known)
    for position, row in enumerate(made_up.all_rows()):
        message = {
            "rowid": (number << MESSAGE_BITS) + position,
            "conversation": number,
            "position": position,
            "role": row.role,
            "turn": row.turn,
        }
        _insert(connection, "message", {**message, **{column: row.texts.get(column) for column in TEXT_COLUMNS}})
    for position, (turn, tool, has_failed) in enumerate(made_up.calls):
        numbers = {"conversation": number, "message": 0, "position": position, "turn": turn}
        _insert(connection, "tool_call", {**numbers, "name": tool, "outcome": "failed" if has_failed else "succeeded"})
    for position, (edited_in, path) in enumerate(made_up.edits):
        numbers = {"conversation": number, "position": position}
        _insert(connection, "file_edit", {**numbers, "turn": edited_in, "path": path, "origin": "answer"})
        _insert(connection, "file_touch", {**numbers, "turn": edited_in, "path": path, "action": "edited"})
    for turn in made_up.failed_turns:
        _insert(connection, "turn", {"conversation": number, "position": turn, "status": "failed"})
    for label in made_up.labels:
        _insert(connection, "label", {"id": made_up.id, "label": label})
    if made_up.is_starred:
        _insert(connection, "annotation", {"id": made_up.id, "is_starred": 1, "changed_at": STORED_AT})


def _insert(connection: sqlite3.Connection, table: str, row: dict[str, object]) -> None:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
