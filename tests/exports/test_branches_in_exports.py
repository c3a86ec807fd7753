"""Formats that carry one line of turns get a conversation for each end of a branched one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

import copilog
from copilog.model import Branch, Conversation, Message, Text, Turn

WORDS = ("the first question", "the trunk goes on", "the copy goes on")


def a_branched_conversation() -> Conversation:
    return Conversation(
        id="vscode:0a1b2c3d-0000-4000-8000-000000000001",
        native_id="0a1b2c3d-0000-4000-8000-000000000001",
        source="vscode-session",
        title="Tides",
        started_at=datetime(2026, 5, 4, 8, tzinfo=UTC),
        turns=[
            Turn(index=0, request_id="request_a"),
            Turn(index=1, request_id="request_b"),
            Turn(index=2, request_id="request_c", branch=Branch(leaves_from=0, trace="/copy.json")),
        ],
        messages=[
            message
            for number, words in enumerate(WORDS)
            for message in (
                Message(role="user", turn=number, parts=[Text(text=words)]),
                Message(role="assistant", turn=number, parts=[Text(text=f"An answer to {words}.")]),
            )
        ],
    )


@pytest.mark.parametrize("name", ["chat", "vscode", "copilot-cli", "atif", "trajectory", "openai", "sharegpt"])
def test_each_end_of_a_branched_conversation_is_written(name: str, tmp_path: Path) -> None:
    target = tmp_path / ("all.jsonl" if name in ("trajectory", "openai", "sharegpt") else "out")
    exported = copilog.export([a_branched_conversation()], name, target)
    texts = [path.read_text(encoding="utf-8") for path in exported.paths if "index" not in path.name]
    if name in ("trajectory", "openai", "sharegpt"):
        texts = texts[0].splitlines()
    lines = [tuple(words in text for words in WORDS) for text in texts]
    assert sorted(lines) == [(True, False, True), (True, True, False)]
    assert not [each for each in exported.left_out if "branch" in each.what]


def test_sessions_of_two_ends_have_two_ids(tmp_path: Path) -> None:
    exported = copilog.export([a_branched_conversation()], "vscode", tmp_path / "out")
    (index,) = [path for path in exported.paths if "index" in path.name]
    assert len(json.loads(index.read_text())["entries"]) == 2
