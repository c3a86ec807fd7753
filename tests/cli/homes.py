"""Small made-up VS Code homes for tests of the command line."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from copilog.cli import main

STARTED = 1_776_000_000_000  # 12 April 2026


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: object, given: str | None = None) -> Outcome:
    """Run one command in this process, as the entry point does.

    The archive is that of COPILOG_ARCHIVE where a test has set it, else one for this run alone.
    """
    runner = CliRunner()
    with tempfile.TemporaryDirectory(prefix="copilog-test-") as folder:
        archive = os.environ.get("COPILOG_ARCHIVE") or str(Path(folder, "archive.db"))
        with runner.isolation(given, env={"COPILOG_ARCHIVE": archive}) as streams:
            code = main([str(argument) for argument in arguments])
            return Outcome(code, streams[0].getvalue().decode(), streams[1].getvalue().decode())


def move_in(monkeypatch: pytest.MonkeyPatch, folder: Path, *homes: Home) -> Path:
    """Make these homes all that this machine has, and give it an archive of its own; returns the archive's path."""
    nobody = folder / "nobody"
    nobody.mkdir()
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME", "APPDATA", "LOCALAPPDATA", "USERPROFILE"):
        monkeypatch.setenv(name, str(nobody))
    for name in ("VSCODE_PORTABLE", "VSCODE_APPDATA", "COPILOT_HOME", "VSCODE_AGENT_FOLDER", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    config = folder / "settings.toml"
    config.write_text(f"roots = {json.dumps([str(home.root) for home in homes])}\n")
    monkeypatch.setenv("COPILOG_CONFIG", str(config))
    archive = folder / "kept" / "archive.db"
    monkeypatch.setenv("COPILOG_ARCHIVE", str(archive))
    return archive


def request(number: int, text: str, **fields: Any) -> dict[str, Any]:
    return {
        "requestId": f"request_{number}",
        "timestamp": STARTED + number * 60_000,
        "message": {"text": text, "parts": []},
        "variableData": {"variables": []},
        "response": [{"value": f"Answer {number}."}],
        "modelId": "copilot/gpt-5",
        "agent": {"id": "github.copilot.editsAgent", "name": "agent", "metadata": {}},
        "modelState": {"value": 1, "completedAt": STARTED + number * 60_000 + 5_000},
        **fields,
    }


def session(session_id: str, *texts: str, **fields: Any) -> dict[str, Any]:
    return {
        "version": 3,
        "sessionId": session_id,
        "creationDate": STARTED,
        "responderUsername": "GitHub Copilot",
        "initialLocation": "panel",
        "requests": [request(number, text) for number, text in enumerate(texts, start=1)],
        **fields,
    }


class Home:
    """A user data folder `Code` below a folder, filled workspace by workspace."""

    def __init__(self, folder: Path, product: str = "Code") -> None:
        self.root = folder
        self.user = folder / product / "User"
        (self.user / "workspaceStorage").mkdir(parents=True)

    def workspace(self, number: int, folder: str | None = None) -> Path:
        path = self.user / "workspaceStorage" / f"{number:032x}"
        path.mkdir(exist_ok=True)
        if folder is not None:
            (path / "workspace.json").write_text(json.dumps({"folder": f"file://{folder}"}))
        return path

    def add(self, workspace: Path, state: dict[str, Any]) -> Path:
        folder = workspace / "chatSessions"
        folder.mkdir(exist_ok=True)
        path = folder / f"{state['sessionId']}.json"
        path.write_text(json.dumps(state))
        return path

    def add_log(self, workspace: Path, session_id: str, lines: Sequence[dict[str, Any]]) -> Path:
        folder = workspace / "chatSessions"
        folder.mkdir(exist_ok=True)
        path = folder / f"{session_id}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def index(self, workspace: Path, **entries: dict[str, Any]) -> Path:
        path = workspace / "state.vscdb"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        value = json.dumps({"version": 1, "entries": entries}).encode()
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", ("chat.ChatSessionStore.index", value))
        connection.commit()
        connection.close()
        return path


def entry(session_id: str, title: str, minutes: int = 0, **fields: Any) -> dict[str, Any]:
    """Return an entry of the session index."""
    return {
        "sessionId": session_id,
        "title": title,
        "lastMessageDate": STARTED + minutes * 60_000,
        "initialLocation": "panel",
        "isEmpty": False,
        **fields,
    }
