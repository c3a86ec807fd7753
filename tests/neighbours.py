"""A home in which each store that conversations share has two: one to take along, and a neighbour with the canary."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.cli.homes import Home, session
from tests.samples import DATA
from tests.sources.editing_builders import Session as EditingSession
from tests.sources.state_builders import make_store

CANARY = "kanarienvogel"
MINE, OTHER = "7d1f0000-0000-4000-8000-00000000000d", "0e0e0000-0000-4000-8000-00000000000d"
INSIDE = ("0a0a0000-0000-4000-8000-0000000000a1", "0a0a0000-0000-4000-8000-0000000000b2")
# Ids of the samples, as they begin, and those of the neighbours.
IDS = {
    "7d1f0000": "0e0e0000",
    "5a3e0c11": "0e0e0c11",
    "0c5b1d22": "0e0e1d22",
    "3f9a0000": "0e0e9a00",
    "user-7": "0e0e-7",
    "5a5a5a5a": "0e0e5a5a",
}
_SPAN = re.compile(r"\b[0-9a-f]{16}(?:[0-9a-f]{16})?\b")
_UUID = re.compile(r"\b(?!0e0e)[0-9a-f]{8}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b")
_WORDS = re.compile(r"\b([a-z]{2,}) ([a-z]{2,})\b")
_ROW = re.compile(r"INSERT INTO (?!schema_version)(?:.|\n)*?\);\n")


def as_neighbour(text: str) -> str:
    """Return records or rows of another conversation: other ids, and the canary in each text of some words."""
    for mine, other in IDS.items():
        text = text.replace(mine, other)
    text = _UUID.sub(lambda match: f"0e0e{sha256(match[0].encode()).hexdigest()[:4]}{match[1]}", text)
    text = _SPAN.sub(lambda match: sha256(match[0].encode()).hexdigest()[: len(match[0])], text)
    return _WORDS.sub(rf"\1 {CANARY} \2", text)


def _database(sample: str, path: Path) -> None:
    """Make a database with each row of a sample twice: as it is, and as its neighbour."""
    script = (DATA / sample).read_text(encoding="utf-8")
    rows = "".join(_ROW.findall(script)).replace("INSERT INTO", "INSERT OR REPLACE INTO")
    numbered = re.sub(r"VALUES \((\d+),", lambda match: f"VALUES ({int(match[1]) + 100},", as_neighbour(rows))
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA foreign_keys = OFF;\n{script}\n{numbered}")


def _lines(sample: str, path: Path) -> None:
    text = (DATA / sample).read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + as_neighbour(text), encoding="utf-8")


def _folder(sample: str, path: Path) -> None:
    """Copy the folder or file of a session, and its neighbour beside it."""
    for make in (str, as_neighbour):
        target = path.with_name(make(path.name))
        if (DATA / sample).is_dir():
            shutil.copytree(DATA / sample, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(DATA / sample, target)
        if make is as_neighbour:
            for file in target.rglob("*") if target.is_dir() else [target]:
                if file.is_file():
                    file.write_text(as_neighbour(file.read_text(encoding="utf-8")), encoding="utf-8")


def _state(path: Path) -> None:
    def about(session_id: str, words: str) -> dict[str, Any]:
        return {"sessionId": session_id, "title": f"Title {words}", "lastMessageDate": 1_776_000_000_000,
                "inputState": {"inputText": f"Draft {words}", "attachments": []}, "note": words}  # fmt: skip

    def listed(session_id: str, words: str) -> dict[str, Any]:
        return {"providerType": "copilotcli", "resource": f"copilotcli:/{session_id}", "label": f"Label {words}"}

    def stored(session_id: str, words: str) -> dict[str, Any]:
        request = {"message": {"text": f"A question about {words}"}, "response": [{"value": f"Answer {words}"}]}
        return {"sessionId": session_id, "requests": [request]}

    todos = [{"id": 1, "title": "Look", "status": "completed"}]
    prompts = {"history": {"copilot": [{"text": f"A prompt of the {CANARY}"}, {"text": "A prompt about the tide"}]}}
    make_store(
        path,
        {
            "chat.ChatSessionStore.index": {
                "version": 1,
                "entries": {MINE: about(MINE, "tide"), OTHER: about(OTHER, CANARY)},
                "note": CANARY,
            },
            "interactive.sessions": [stored(INSIDE[0], "tide"), stored(INSIDE[1], CANARY)],
            "memento/chat-todo-list": {MINE: todos, OTHER: [{**todos[0], "title": f"Find the {CANARY}"}]},
            "memento/interactive-session": prompts,
            "agentSessions.model.cache": [
                listed("5a3e0c11-0000-4000-8000-000000000001", "tide"),
                listed("0e0e0c11-0000-4000-8000-000000000001", CANARY),
            ],
            "chat.customModes": [{"name": CANARY, "uri": {"path": f"/{CANARY}.agent.md", "scheme": "file"}}],
            "secret://github.auth": CANARY,
            "terminal.history.entries.commands": {"entries": [{"key": CANARY}]},
        },
    )


def _edits(workspace: Path, session_id: str, words: str) -> None:
    editing = EditingSession(workspace)
    entry = editing.entry(f"new {words}\n", f"old {words}\n")
    state = {"version": 2, "sessionId": session_id, "recentSnapshot": {"entries": [entry]}}
    (editing.folder / "state.json").write_text(json.dumps(state))
    editing.folder.rename(editing.folder.with_name(session_id))


def make_home(folder: Path) -> Path:
    """Make the home and return it; what users save themselves is in its `Documents`."""
    home = Home(folder / ".config")
    workspace = home.workspace(1, "/home/ana/tides")
    for session_id, words in ((MINE, "tide"), (OTHER, CANARY)):
        home.add(workspace, session(session_id, f"A question about the {words}", f"Another one about the {words}"))
        _edits(workspace, session_id, words)
    _state(workspace / "state.vscdb")
    extension = workspace / "GitHub.copilot-chat"
    transcript = "transcripts/GitHub.copilot-chat/transcripts/7d1f0000-0000-4000-8000-00000000000a.jsonl"
    _folder(transcript, extension / "transcripts" / "7d1f0000-0000-4000-8000-00000000000a.jsonl")
    debug_log = "debug_logs/GitHub.copilot-chat/debug-logs/7d1f0000-0000-4000-8000-00000000000a"
    _folder(debug_log, extension / "debug-logs" / "7d1f0000-0000-4000-8000-00000000000a")
    shared = home.user / "globalStorage" / "github.copilot-chat"
    _database("session_store/vscode.sql", shared / "session-store.db")
    _database("agent_traces/ferry.sql", shared / "agent-traces.db")
    cli = folder / ".copilot"
    _database("session_store/cli.sql", cli / "session-store.db")
    _lines("otel_file/ferry.jsonl", cli / "otel" / "ferry.jsonl")
    sessions = cli / "session-state"
    own = "5a5a5a5a-1111-4222-8333-444444444444"
    _folder(f"cli_events/session-state/{own}", sessions / own)
    (cli / "command-history-state.json").write_text(json.dumps({"commandHistory": [f"where is the {CANARY}"]}))
    _lines("trajectory_file/norrvik.jsonl", folder / "Documents" / "norrvik.jsonl")
    return folder
