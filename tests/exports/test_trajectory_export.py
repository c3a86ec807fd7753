"""Trajectories: the lines of `copilog extract`, from the archive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog import extract, ingest
from copilog.exports.writing import NothingToWrite
from copilog.model import Attachment, Conversation, Notice, ToolResult, Turn, Vote
from copilog.sample import home
from copilog.trajectory import encode_trajectory, trajectories_of
from tests.exports.conversations import (
    a_conversation,
    corpus_conversations,
    exported,
    left_out_of,
    read_back,
    sample_conversations,
    with_subagent,
)


def test_the_lines_are_those_of_extract(tmp_path: Path) -> None:
    for path in sorted(home().rglob("chatSessions/*.json*")):
        whole = list(ingest.read(path))
        if any(one.messages for one in whole):
            exported(whole, "trajectory", tmp_path / "all.jsonl")
            lines = (tmp_path / "all.jsonl").read_bytes().splitlines()
            assert lines == [encode_trajectory(line) for line in extract(path)]


def test_a_subagent_has_a_line_of_its_own(tmp_path: Path) -> None:
    exported([with_subagent()], "trajectory", tmp_path / "all.jsonl")
    ids = [json.loads(line)["conversation_id"] for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    assert ids == ["one", "one#call-2"]


def test_what_a_trajectory_does_not_contain_is_counted(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[4].parts.append(Notice(topic="info", text="Saved"))
    whole.messages[1].parts.append(Attachment(type="image", is_sent=False))
    whole.messages[3].parts = [ToolResult(call_id="call-1", text="12", full_text="12 lines")]
    whole.turns[0].vote = Vote(is_up=True)
    whole.turns.append(Turn(index=1, superseded="undone", vote=Vote(is_up=True)))

    done = exported([whole], "trajectory", tmp_path / "all.jsonl")

    assert left_out_of(done) == {
        "notices of the product": 1,
        "attachments that were switched off": 1,
        "full outputs of which the model got a part": 1,
        "votes": 1,
        "turns that no longer count": 1,
        "records of tokens and cost": 1,
    }


def check_round_trip(whole: Conversation, folder: Path) -> None:
    """Export a conversation, read the file, and export that again: the lines are equal."""
    first, second = folder / "first.jsonl", folder / "second.jsonl"
    try:
        exported([whole], "trajectory", first)
    except NothingToWrite:
        assert list(trajectories_of(whole)) == []
        return
    exported(read_back(first), "trajectory", second)
    assert lines_of(second) == lines_of(first), whole.id


def lines_of(path: Path) -> list[Any]:
    """The lines; a model without its vendor, which a turn's own record may lack."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    for line in lines:
        for message in line["messages"]:
            message["model"] = (message.get("model") or "").rpartition("/")[2]
    return lines


def has_messages(whole: Conversation) -> bool:
    return any(message.turn is not None for message in whole.messages)


def test_sample_round_trip(tmp_path: Path) -> None:
    for whole in filter(has_messages, sample_conversations()):
        check_round_trip(whole, tmp_path)


@pytest.mark.corpus
def test_corpus_round_trip(tmp_path: Path, corpus: Path) -> None:
    for whole in filter(has_messages, corpus_conversations(corpus)):
        check_round_trip(whole, tmp_path)
