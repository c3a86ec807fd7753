"""A made-up home in which each kind of loss can be made, and a healthy one beside it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.cli.homes import Home, entry, request, session

INDEX = "chat.ChatSessionStore.index"


def log_lines(session_id: str, *texts: str) -> list[dict[str, Any]]:
    """Return the lines of a log as VS Code writes them: a state without requests, then each request."""
    lines: list[dict[str, Any]] = [{"kind": 0, "v": session(session_id)}]
    for number, text in enumerate(texts, start=1):
        made = request(number, text)
        answer = made.pop("response")
        lines.append({"kind": 2, "k": ["requests"], "v": [made]})
        lines.append({"kind": 1, "k": ["requests", number - 1, "response"], "v": answer})
    return lines


def log_bytes(session_id: str = "s1", *texts: str) -> bytes:
    lines = log_lines(session_id, *(texts or ("first", "second", "third")))
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)


def storage_id(folder: Path) -> str:
    """Return the name that VS Code on Linux gives the storage of a folder."""
    return hashlib.md5(f"{folder}{folder.stat().st_ino}".encode(), usedforsecurity=False).hexdigest()


class LostHome(Home):
    """A home whose workspaces are folders that exist."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "config")
        self.projects = folder / "projects"
        self.projects.mkdir()

    def project(self, name: str) -> Path:
        folder = self.projects / name
        folder.mkdir(exist_ok=True)
        return folder

    def storage(self, folder: Path) -> Path:
        """Return the storage folder of a project, made as VS Code makes it."""
        path = self.user / "workspaceStorage" / storage_id(folder)
        path.mkdir(exist_ok=True)
        (path / "workspace.json").write_text(json.dumps({"folder": folder.as_uri()}))
        return path

    def put_log(self, storage: Path, session_id: str, data: bytes | None = None) -> Path:
        path = storage / "chatSessions" / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(log_bytes(session_id) if data is None else data)
        return path

    def put_index(self, storage: Path, *session_ids: str, **changed: Any) -> Path:
        entries = {each: entry(each, f"Title of {each}") for each in session_ids}
        return self.put_rows(storage, {INDEX: json.dumps({"version": 1, "entries": entries, **changed})})

    def put_rows(self, storage: Path, rows: dict[str, str], name: str = "state.vscdb") -> Path:
        path = storage / name
        storage.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
            connection.executemany("INSERT INTO ItemTable VALUES (?, ?)", rows.items())
        return path


def healthy(folder: Path) -> LostHome:
    """Return a home with two workspaces, an empty window and a session of Copilot CLI, all of which are shown."""
    home = LostHome(folder)
    storage = home.storage(home.project("tides"))
    home.put_log(storage, "s1")
    home.add(storage, session("s2", "an older one"))
    home.put_index(storage, "s1", "s2")
    other = home.storage(home.project("maps"))
    home.put_log(other, "s3")
    home.put_index(other, "s3")
    history = {"history": {"copilot": [{"inputText": "first", "attachments": []}]}}
    home.put_rows(other, {"memento/interactive-session": json.dumps(history)})
    globally = home.user / "globalStorage"
    empty = globally / "emptyWindowChatSessions" / "s4.jsonl"
    empty.parent.mkdir(parents=True)
    empty.write_bytes(log_bytes("s4"))
    home.put_index(globally, "s4")
    put_cli_session(home, "s5")
    return home


def put_cli_session(home: LostHome, session_id: str, *, with_start: bool = True) -> Path:
    path = home.root / ".copilot" / "session-state" / session_id / "events.jsonl"
    path.parent.mkdir(parents=True)
    at = "2026-04-12T12:00:00.000Z"
    start = {"type": "session.start", "id": "e1", "timestamp": at, "data": {"sessionId": session_id, "version": 1}}
    asked = {"type": "user.message", "id": "e2", "timestamp": at, "data": {"content": "What does the tide do?"}}
    said = {"type": "assistant.message", "id": "e3", "timestamp": at, "data": {"messageId": "m1", "content": "Rise."}}
    events = [start, asked, said] if with_start else [asked, said]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path
