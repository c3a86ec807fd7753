"""The limit on nesting is the same in every command: 1,000 is read, 1,001 is too large."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

START = {"sessionId": "s1", "producer": "copilot-agent", "copilotVersion": "1.0.102"}
OUTSIDE = 2  # the event, and its data


def log(home: Path, depth: int) -> Path:
    """A log of Copilot CLI with an event that is nested so deeply, between two others."""
    path = home / ".copilot" / "session-state" / "s1" / "events.jsonl"
    path.parent.mkdir(parents=True)
    fields = {"timestamp": "2026-05-04T10:00:00.000Z", "id": "e"}
    deep = "[" * (depth - OUTSIDE) + "]" * (depth - OUTSIDE)
    lines = [
        json.dumps({"type": "session.start", "data": START, **fields, "id": "1"}),
        json.dumps({"type": "user.message", "data": {"content": "hello", "odd": "DEEP"}, **fields}).replace(
            '"DEEP"', deep
        ),
        json.dumps({"type": "assistant.message", "data": {"content": "yes"}, **fields, "id": "3"}),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "COPILOG_ARCHIVE": str(folder / "archive.db")}
    command = [sys.executable, "-m", "copilog", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=folder)


@pytest.mark.parametrize(("depth", "is_read"), [(962, True), (1_000, True), (1_001, False), (5_000, False)])
def test_every_command_has_the_same_limit(tmp_path: Path, depth: int, is_read: bool) -> None:
    home = tmp_path / "home"
    path = log(home, depth)

    for command in (
        ["inspect", "--json", path],
        ["show", "--live", "--root", home, "last"],
        ["show", "--live", "--root", home, "last", "--json"],
        ["extract", home, "-o", "out.jsonl", "--no-context-tag-summary"],
        ["scan", "--root", home],
        ["show", "--archive", tmp_path / "archive.db", "--no-scan", "last"],
        ["problems", "--archive", tmp_path / "archive.db", "--no-scan"],
    ):
        done = run(tmp_path, *command)
        said = done.stdout + done.stderr
        assert done.returncode == 0, (command, said)
        assert "Traceback" not in said
        if command[0] in ("inspect", "extract", "problems"):
            assert ("too-large" in said) == (not is_read), (command, said)
        if command[0] == "show":
            assert ("hello" in said) == is_read, (command, said)
