"""Small made-up VS Code sessions, and how to read them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Conversation, Message
from copilog.sources.base import Found
from copilog.sources.vscode.conversation import conversation_from
from copilog.sources.vscode.session_json import VSCodeSession

SESSION_ID = "11111111-2222-4333-8444-555555555555"


def request(text: str = "hi", response: list[Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Make one request with the parts of its response."""
    return {
        "requestId": "request_1",
        "message": {"text": text, "parts": []},
        "variableData": {"variables": []},
        "response": [] if response is None else response,
        **fields,
    }


def session(*requests: Any, **fields: Any) -> dict[str, Any]:
    """Make a complete session with these requests."""
    return {
        "version": 3,
        "sessionId": SESSION_ID,
        "creationDate": 1767000000000,
        "initialLocation": "panel",
        "responderUsername": "GitHub Copilot",
        "requests": list(requests),
        **fields,
    }


def read_session(state: Any, tmp_path: Path) -> tuple[Conversation, Ledger]:
    """Write a session as VS Code would, and read it; check that the ledger balances."""
    folder = tmp_path / "chatSessions"
    folder.mkdir(exist_ok=True)
    path = folder / f"{SESSION_ID}.json"
    path.write_text(json.dumps(state), encoding="utf-8")
    source = VSCodeSession()
    ledger = Ledger(path=str(path), source=source.name)
    (conversation,) = source.read(Found(path, source.name, native_id=SESSION_ID), ledger)
    assert ledger.balances()
    return conversation, ledger


def read_parts(*parts: Any, **fields: Any) -> tuple[list[Message], Ledger]:
    """Return the answer of a request with these response parts, read without a file; check that the ledger balances."""
    state = json.loads(json.dumps(session(request(response=list(parts), **fields))))
    ledger = Ledger(path="chat.json")
    conversation = conversation_from(state, ledger, source="vscode-session", native_id=SESSION_ID, count_requests=True)
    assert ledger.balances()
    return conversation.messages[1:], ledger


def all_parts(messages: list[Message]) -> list[AnyPart]:
    """Return the parts of all messages, in order."""
    return [part for message in messages for part in message.parts]
