"""Real homes: the turns of each conversation are the union of its traces, by a second, plain count of the raw files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest

pytestmark = pytest.mark.corpus
Json = dict[str, Any]
NEAR_MS = 120_000


class Counted:
    """The turns of one conversation, as they are found in raw files: ids, and prompts that have none."""

    def __init__(self) -> None:
        self.ids: dict[str, tuple[str, float | None]] = {}  # prompt and time of each id
        self.nameless: list[tuple[str, float | None]] = []

    def size(self) -> int:
        own = [entry for entry in self.nameless if not any(same(entry, known) for known in self.ids.values())]
        return len(self.ids) + len(own)


def same(one: tuple[str, float | None], other: tuple[str, float | None]) -> bool:
    """Whether two prompts are one: the same text, or no text of its own at the same time."""
    (text, time), (other_text, other_time) = one, other
    if text and squeezed(text) == squeezed(other_text):
        return True
    is_near = time is not None and other_time is not None and abs(time - other_time) <= NEAR_MS
    return not text and is_near


def squeezed(text: str) -> str:
    return "".join(text.split())


def ms(timestamp: str | None) -> float | None:
    return datetime.fromisoformat(timestamp).timestamp() * 1000 if timestamp else None


def lines(path: Path) -> Iterator[Json]:
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record


def requests_of_log(path: Path) -> Iterator[Any]:
    """Every request that any line of a log ever put into the list of requests."""
    for record in lines(path):
        value: Any = record.get("v")
        where = record.get("k")
        if record.get("kind") == 0:
            yield from value.get("requests") or []
        elif where == ["requests"]:
            yield from value or []
        elif isinstance(where, list) and len(where) == 2 and where[0] == "requests" and isinstance(value, dict):
            yield value


def count_vscode(home: Path) -> dict[str, Counted]:
    found: dict[str, Counted] = {}
    for path in sorted(home.rglob("*.json*")):
        if path.parent.name not in ("chatSessions", "emptyWindowChatSessions"):
            continue
        requests: list[Any]
        if path.suffix == ".jsonl":
            requests = list(requests_of_log(path))
        else:
            document = json.loads(path.read_text(encoding="utf-8"))
            requests = document.get("requests") or [] if isinstance(document, dict) else []
        counted = found.setdefault(path.stem, Counted())
        for number, request in enumerate(item for item in requests if isinstance(item, dict)):
            message = request.get("message")
            text = message.get("text", "") if isinstance(message, dict) else str(message or "")
            counted.ids[request.get("requestId") or f"{path}#{number}"] = (text, request.get("timestamp"))
    for path in home.rglob("transcripts/*.jsonl"):
        for event in lines(path):
            if event.get("type") == "user.message":
                entry = (event["data"].get("content") or "", ms(event.get("timestamp")))
                found.setdefault(path.stem, Counted()).nameless.append(entry)
    return found


def count_cli(home: Path) -> dict[str, Counted]:
    found: dict[str, Counted] = {}
    for path in [*home.rglob("session-state/*/events.jsonl"), *home.rglob("session-state/*.jsonl")]:
        counted = found.setdefault(path.parent.name if path.name == "events.jsonl" else path.stem, Counted())
        for event in lines(path):
            data = event.get("data") or {}
            is_typed = data.get("source") in (None, "user")
            if event.get("type") == "user.message" and is_typed and not data.get("parentToolCallId"):
                counted.ids[event["id"]] = (data.get("content") or "", ms(event.get("timestamp")))
    for path in home.rglob(".copilot/session-store.db"):
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        for session, text in connection.execute("SELECT session_id, user_message FROM turns"):
            found.setdefault(session, Counted()).nameless.append((text or "", None))
        connection.close()
    return found


def homes(corpus: Path) -> list[Path]:
    return sorted(path for path in (corpus / "homes").iterdir() if path.is_dir())


def test_turns_are_the_union_of_all_traces(corpus: Path) -> None:
    compared = several = 0
    for home in homes(corpus):
        expected = {f"vscode:{name}": counted for name, counted in count_vscode(home).items()}
        expected |= {f"cli:{name}": counted for name, counted in count_cli(home).items()}
        for conversation in ingest.read(home):
            counted = expected.pop(conversation.id, None)
            if counted is not None:
                assert len(conversation.turns) == counted.size(), (home.name, conversation.id)
                compared += 1
                several += bool(counted.ids and counted.nameless)
        assert not [name for name, counted in expected.items() if counted.size()], home.name
    assert compared > 50
    assert several >= 3  # those that a store or a transcript has turns of, too
