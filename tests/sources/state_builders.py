"""Made-up stores of VS Code for tests, and what is read from them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found
from copilog.sources.vscode.state_database import VSCodeState

Json = dict[str, Any]
SOURCE = VSCodeState()


def make_store(path: Path, rows: dict[str, Any], journal_mode: str = "delete") -> Path:
    """Make a store with these rows; values other than text and bytes are written as JSON, as VS Code does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        for key, value in rows.items():
            raw = value if isinstance(value, str | bytes) else json.dumps(value)
            connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (key, raw))
    return path


def index_of(*entries: Json, **fields: Any) -> Json:
    return {"version": 1, "entries": {entry["sessionId"]: entry for entry in entries}, **fields}


def entry(session_id: str = "s1", **fields: Any) -> Json:
    return {"sessionId": session_id, "title": "Tide times", "lastMessageDate": 1767000000000, **fields}


def session(session_id: str | None = "s1", text: str = "hi", **fields: Any) -> Json:
    request = {"requestId": f"request_{session_id}", "message": {"text": text}, "response": [{"value": "hello"}]}
    return {**({"sessionId": session_id} if session_id else {}), "requests": [request], **fields}


def read(path: Path, native_id: str | None = None) -> tuple[list[Conversation], Ledger]:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    conversations = list(SOURCE.read(Found(path, SOURCE.name, native_id=native_id), ledger))
    assert ledger.balances()
    return conversations, ledger


def index(path: Path) -> tuple[list[Conversation], Ledger]:
    ledger = Ledger(path=str(path), source=SOURCE.name)
    stubs = list(SOURCE.index(Found(path, SOURCE.name), ledger))
    assert ledger.balances()
    return stubs, ledger


def codes(ledger: Ledger) -> list[str]:
    return [diagnostic.code for diagnostic in ledger.diagnostics()]
