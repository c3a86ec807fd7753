"""Small git repositories, and made-up conversations that edited files in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.lineage.blame import BlameResult
from copilog.analysis.lineage.line_origins import LineOrigin
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.model import (
    AnyPart,
    Conversation,
    FileEdit,
    Message,
    Provenance,
    Terminal,
    Text,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    Workspace,
)
from copilog.store.archive import Archive
from copilog.textdiff import count_changes, unified_diff
from tests.stored import concluded_entry

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

BEFORE = """import math

def low_water(day):
    return None
"""
AFTER = """import math

def low_water(day):
    return None

def high_water_of_spring(day):
    moon = phase_of_moon(day)
    return 4.2 * math.cos(moon)
"""


def needs_git() -> None:
    """Skip a test if git is not installed; in CI it has to be."""
    if shutil.which("git") is None:
        if os.environ.get("CI"):
            pytest.fail("git is missing")
        pytest.skip("git is not installed")


class Repo:
    """A repository in a folder, in which each commit has a time of its own."""

    def __init__(self, folder: Path) -> None:
        needs_git()
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, at: datetime = NOON) -> str:
        moment = at.isoformat()
        settings = {"user.name": "Ana", "user.email": "ana@example.com", "commit.gpgsign": "false"}
        named = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_AUTHOR_DATE": moment,
            "GIT_COMMITTER_DATE": moment,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        done = subprocess.run(
            ["git", *named, *arguments], cwd=self.folder, env=environment, capture_output=True, check=True
        )
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def commit(self, message: str, *, hours: float = 0, **files: str | bytes) -> str:
        """Write files (named with __ for a slash and _ for a dot) and commit all, so many hours after noon."""
        for name, text in files.items():
            self.write(name.replace("__", "/").replace("_", "."), text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, at=after(hours))
        return self.git("rev-parse", "HEAD")


def after(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def edit(path: Path | str, before: str | None, after_it: str | None, **more: Any) -> FileEdit:
    """Make an edit as the answer records it, with its diff."""
    diff = unified_diff(before, after_it, str(path))
    added, removed = count_changes(diff)
    facts = {"action": "create" if before is None else "edit", "added": added, "removed": removed} | more
    return FileEdit(path=str(path), uri=f"file://{path}", diff=diff, **facts)


def conversation_with(
    name: str,
    *turns: list[AnyPart],
    folder: Path | str | None = "/home/ana/tide-tables",
    hours: float = 0,
    title: str | None = None,
    **more: Any,
) -> Conversation:
    """Make a conversation whose turns, an hour apart, have these parts."""
    messages: list[Message] = []
    for index, parts in enumerate(turns):
        at = after(hours + index)
        messages.append(Message(role="user", parts=[Text(text="Go on.")], turn=index, created_at=at))
        messages.append(Message(role="assistant", parts=parts, turn=index, created_at=at))
    facts: dict[str, Any] = {
        "turns": [
            Turn(
                index=index,
                status="complete",
                request_id=f"{name}-{index}",
                timing=Timing(started_at=after(hours + index)),
            )
            for index in range(len(turns))
        ],
        "workspace": Workspace(folder=str(folder)) if folder else None,
        "started_at": after(hours),
        "updated_at": after(hours + max(len(turns) - 1, 0)),
    }
    return Conversation(
        id=f"vscode:{name}",
        native_id=name,
        source="vscode-session",
        title=title or f"About {name}",
        messages=messages,
        provenance=[Provenance(source="vscode-session", path=f"/home/ana/chatSessions/{name}.json", size=1)],
        **(facts | more),
    )


def ran(command: str, output: str, call_id: str = "run-1") -> list[AnyPart]:
    """Make a command in a terminal, with its output."""
    return [
        ToolCall(id=call_id, name="run_in_terminal", arguments=f'{{"command": "{command}"}}', status="complete"),
        Terminal(call_id=call_id, command=command, exit_code=0),
        ToolResult(call_id=call_id, text=output),
    ]


class Shelf:
    """An archive of such conversations."""

    def __init__(self, folder: Path) -> None:
        self.archive = Archive(folder / "archive.db", write=True)

    def put(self, *conversations: Conversation) -> Shelf:
        for conversation in conversations:
            self.archive.put(concluded_entry(conversation), "signature")
        self.archive.index_pending()
        return self

    def choose(self, **wanted: Any) -> Chosen:
        return choose(self.archive, Selection(**wanted))

    def close(self) -> None:
        self.archive.close()


def only(result: BlameResult) -> LineOrigin:
    """Return the only line of the result."""
    (origin,) = result.origins
    return origin


def found(result: BlameResult) -> list[tuple[str, str]]:
    """Return the conversations that touched a file, with their strength."""
    return [(touch.conversation, touch.strength) for touch in result.touches]


def origin_and_strength(origin: LineOrigin) -> tuple[str, str] | None:
    """Return the conversation that a line comes from, with its strength."""
    return (origin.origin.conversation, origin.origin.strength) if origin.origin else None
