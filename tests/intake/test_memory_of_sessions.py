"""A long session in which nothing is repeated: every command has its texts in memory once, however it is stored.

`make soak` makes the sessions larger, up to 160 MB; then the bound is that of any file. Python needs four bytes for
each character of a text with an emoji, and two for one with an arrow, so a session of such texts is a third as large.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.memory import measured
from tests.soaking import TIMES, counted

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted otherwise here"),
    pytest.mark.soak(kind="memory"),
]

SIZE_MB = min(counted(16), 160)
REQUEST_BYTES = 60_000
MOST_MB = 300
OF_PROGRAM_MB = 60
OF_SCAN_MB = 90  # with what it writes to the archive at once
IN_MEMORY = 1.25  # times the size of the text
ON_FILE = (["list", "--live", "--root", "HOME"], ["show", "FILE"], ["inspect", "FILE"], ["extract", "FILE", "-o", "o"])
ON_ARCHIVE = (
    ["scan", "--root", "HOME"],
    ["list", "--no-scan"],
    ["show", "s1", "--no-scan"],
    ["search", "question", "--no-scan"],
    ["export", "s1", "--no-scan", "-o", "o.html"],
    ["export", "s1", "--no-scan", "-f", "markdown", "-o", "o.md"],
    ["export", "s1", "--no-scan", "-f", "json", "-o", "o.json"],
    ["stats", "--no-scan"],
)


def requests(form: str) -> Iterator[dict[str, Any]]:
    """Yield requests whose answers and results all differ."""
    size_mb, face, arrow = (SIZE_MB / 3, "\U0001f600", "\u2192") if "wide" in form else (SIZE_MB, "", "")
    chance = random.Random(16)
    words = ["".join(chance.choices("abcdefghijklmnop", k=chance.randint(2, 10))) for _ in range(4_000)]
    for number in range(int(size_mb * 1_000_000) // REQUEST_BYTES):
        answer, output = (" ".join(chance.choices(words, k=REQUEST_BYTES // 14)) for _ in range(2))
        call = {"id": f"c{number}", "name": "read_file", "arguments": "{}"}
        result = {f"c{number}": {"content": [{"kind": "text", "value": output + arrow}]}}
        yield {
            "requestId": f"r{number}",
            "timestamp": 1_760_000_000_000 + number * 60_000,
            "message": {"text": f"question {number}"},
            "response": [{"value": answer + face}],
            "result": {
                "metadata": {"toolCallRounds": [{"response": "", "toolCalls": [call]}], "toolCallResults": result}
            },
        }


def write_log(path: Path, form: str, encoding: str) -> None:
    """Write a session as a log: an empty one, and a line for each request."""
    with path.open("w", encoding=encoding, newline="\n") as file:
        file.write(json.dumps({"kind": 0, "v": {"version": 3, "sessionId": "s1", "requests": []}}) + "\n")
        for request in requests(form):
            file.write(json.dumps({"kind": 2, "k": ["requests"], "v": [request]}, ensure_ascii=False) + "\n")


def write_document(path: Path, form: str, encoding: str, end: str) -> None:
    with path.open("w", encoding=encoding) as file:
        file.write('{"version": 3, "sessionId": "s1", "creationDate": 1760000000000, "requests": [')
        for position, request in enumerate(requests(form)):
            file.write(", " * bool(position) + json.dumps(request))
        file.write(end)


def session(home: Path, form: str) -> Path:
    """Write a session to a home folder."""
    folder = home / ".config" / "Code" / "User" / "workspaceStorage" / ("a" * 32) / "chatSessions"
    folder.mkdir(parents=True)
    path = folder / ("s1.jsonl" if "log" in form else "s1.json")
    encoding = "utf-16" if "UTF-16" in form else "utf-8"
    if path.suffix == ".jsonl":
        write_log(path, form, encoding)
    else:
        write_document(path, form, encoding, "" if form == "cut" else "], x}" if form == "broken" else "]}")
    return path


@pytest.mark.parametrize(
    "form", ["log", "log of wide characters", "log in UTF-16", "document", "cut", "broken", "document in UTF-16"]
)
def test_no_command_has_the_texts_of_a_session_in_memory_twice(form: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    names = {"HOME": str(home), "FILE": str(session(home, form))}
    commands: Sequence[list[str]] = ON_FILE[::2]
    if TIMES > 1:
        commands = (*ON_FILE, *ON_ARCHIVE)
    elif form in ("cut", "log of wide characters"):
        commands = (*ON_FILE, *ON_ARCHIVE[:3:2])

    excess = {}
    for command in commands:
        done = measured(tmp_path, *(names.get(word, word) for word in command))
        assert done.code == 0, (command, done.err)
        of_program = OF_SCAN_MB if command[0] == "scan" else OF_PROGRAM_MB
        if done.peak >= min(of_program + IN_MEMORY * SIZE_MB, MOST_MB):
            excess[" ".join(command)] = done.peak

    assert excess == {}
