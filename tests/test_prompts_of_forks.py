"""A fork's prompt in the transcript of its parent does not count there, wherever and whenever the fork is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.model import Conversation
from copilog.store.archive import Archive
from tests.cli.homes import Home

PARENT, FORK = "186119c3-0000-4000-8000-000000000001", "286119c3-0000-4000-8000-000000000002"
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
FIRST, OF_FORK = "When is high tide in Norrvik today?", "And what do the pilots of Norrvik say about it?"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as opened:
        yield opened


def request(name: str, text: str, minute: int, **fields: Any) -> dict[str, Any]:
    at = int((NOON + timedelta(minutes=minute)).timestamp() * 1000)
    return {
        "requestId": name,
        "timestamp": at,
        "message": {"text": text},
        "response": [{"value": f"The table has it, says turn {name}"}],
        "modelState": {"value": 1, "completedAt": at + 5_000},
        **fields,
    }


def add_session(home: Home, workspace: int, name: str, *requests: dict[str, Any]) -> None:
    state = {"version": 3, "sessionId": name, "requests": list(requests)}
    home.add_log(home.workspace(workspace, f"/home/ana/{workspace}"), name, [{"kind": 0, "v": state}])


def add_transcript(home: Home, workspace: int, *prompts: tuple[str, int, str | None]) -> None:
    path = home.workspace(workspace) / "GitHub.copilot-chat" / "transcripts" / f"{PARENT}.jsonl"
    path.parent.mkdir(parents=True)
    events: list[tuple[str, dict[str, Any], int]] = [
        ("session.start", {"sessionId": PARENT, "version": 1, "producer": "copilot-agent"}, 0)
    ]
    for number, (text, minute, answer) in enumerate(prompts):
        events.append(("user.message", {"content": text, "attachments": []}, minute))
        if answer is not None:
            said = {"messageId": f"m{number}", "content": answer, "toolRequests": []}
            events.append(("assistant.message", said, minute))
    lines = [
        {"type": kind, "data": data, "id": f"e{number}", "parentId": None, "timestamp": stamp(minute)}
        for number, (kind, data, minute) in enumerate(events)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def stamp(minute: int) -> str:
    return (NOON + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def add_parent(home: Home, answer: str | None = None, minute: int = 61) -> None:
    add_session(home, 1, PARENT, request("request_1", FIRST, 0))
    add_transcript(home, 1, (FIRST, 0, "The table has it, says turn request_1"), (OF_FORK, minute, answer))


def add_fork(home: Home, workspace: int) -> None:
    """Write a session that begins with a copy of the parent's turn, made an hour later."""
    began = int(NOON.timestamp() * 1000)
    copy = request("1", FIRST, 60, responseTimestamp=began, result={"metadata": {"sessionId": PARENT}})
    add_session(home, workspace, FORK, copy, request("request_2", OF_FORK, 61))


def turns_of(conversation: Conversation) -> list[str | None]:
    return [turn.superseded for turn in conversation.turns]


def parent_in(home: Home) -> Conversation:
    [parent] = [found for found in ingest.read(home.root) if found.native_id == PARENT]
    return parent


def scan_home(archive: Archive, home: Home) -> Conversation:
    scan(archive, roots=find_roots([home.root]))
    return archive.get(f"vscode:{PARENT}")


@pytest.mark.parametrize("workspace", [1, 2], ids=["same workspace", "another workspace"])
def test_a_prompt_of_a_fork_is_found_in_any_workspace(workspace: int, home: Home) -> None:
    add_parent(home)
    add_fork(home, workspace)

    parent = parent_in(home)

    assert turns_of(parent) == [None, "removed"]
    assert (parent.turns[1].extra or {})["asked_in_fork"] == FORK


@pytest.mark.parametrize("workspace", [1, 2], ids=["same workspace", "another workspace"])
def test_a_prompt_of_a_fork_that_is_written_after_the_scan_no_longer_counts(
    workspace: int, home: Home, archive: Archive
) -> None:
    add_parent(home)
    assert turns_of(scan_home(archive, home)) == [None, None]

    add_fork(home, workspace)

    for _ in range(2):
        parent = scan_home(archive, home)
        assert turns_of(parent) == [None, "removed"]
        assert (parent.turns[1].extra or {})["asked_in_fork"] == FORK
    row = archive.connection.execute("SELECT turns FROM conversations WHERE id = ?", (parent.id,)).fetchone()
    assert row[0] == 1


def test_it_still_does_not_count_when_the_parent_continues_and_the_fork_is_deleted(
    home: Home, archive: Archive
) -> None:
    add_parent(home)
    scan_home(archive, home)
    add_fork(home, 2)
    scan_home(archive, home)

    (home.workspace(2) / "chatSessions" / f"{FORK}.jsonl").unlink()
    add_session(home, 1, PARENT, request("request_1", FIRST, 0), request("request_3", "And tomorrow in Tarn?", 90))

    parent = scan_home(archive, home)
    assert [(turn.request_id, turn.superseded) for turn in parent.turns][::2] == [
        ("request_1", None),
        ("request_3", None),
    ]
    assert parent.turns[1].superseded == "removed"


@pytest.mark.parametrize(
    ("answer", "minute"), [("The pilots say that it is late", 61), (None, 300)], ids=["answered", "another time"]
)
def test_a_prompt_that_was_asked_in_the_parent_counts(
    answer: str | None, minute: int, home: Home, archive: Archive
) -> None:
    add_parent(home, answer, minute)
    scan_home(archive, home)
    add_fork(home, 2)

    assert turns_of(scan_home(archive, home)) == [None, None]
