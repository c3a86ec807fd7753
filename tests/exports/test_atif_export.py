"""Agent trajectories (ATIF): valid by the package, read back as they were, and no token twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import atif
import pytest

from copilog.exports.writing import NothingToWrite
from copilog.model import (
    Attachment,
    Branch,
    Conversation,
    Message,
    Model,
    Prompt,
    ResultItem,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from tests.exports.conversations import (
    a_conversation,
    at,
    corpus_conversations,
    exported,
    hostile_conversations,
    left_out_of,
    read_back,
    sample_conversations,
    with_subagent,
)
from tests.exports.round_trips import callers_in, pictures_in, recorded_in, story_of

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def document(whole: Conversation, folder: Path) -> dict[str, Any]:
    """Export a conversation, and return the document once the package has accepted it."""
    path = folder / "one.atif.json"
    exported([whole], "atif", path)
    made: dict[str, Any] = json.loads(path.read_bytes())
    atif.Trajectory.model_validate(made)
    return made


def check_round_trip(whole: Conversation, folder: Path) -> None:
    """Export a conversation, let the package validate it, read it, and compare."""
    try:
        made = document(whole, folder)
    except NothingToWrite:
        assert story_of(whole) == []
        return
    main, *helpers = read_back(folder / "one.atif.json")
    assert story_of(main) == story_of(whole), whole.id
    assert recorded_in(main) == pytest.approx(recorded_in(whole)), whole.id
    assert pictures_in(main) == pictures_in(whole), whole.id
    by_id = {each.native_id: each for each in helpers}
    for inside in made.get("subagent_trajectories", []):
        caller = inside["trajectory_id"].rpartition("#")[2]
        known = next((each for each in callers_in(whole) if each == caller), None)
        if known is not None:
            assert answers_of(story_of(by_id[inside["trajectory_id"]])) == answers_of(story_of(whole, known)), whole.id


def answers_of(story: list[dict[str, Any]]) -> list[Any]:
    """The answers without their models: read as a conversation of its own, a sub-agent has that of its turn."""
    return [{**answer, "model": None} for turn in story for answer in turn["answers"]]


def test_sample_round_trip(tmp_path: Path) -> None:
    for whole in sample_conversations():
        check_round_trip(whole, tmp_path)


@pytest.mark.corpus
def test_corpus_round_trip(tmp_path: Path, corpus: Path) -> None:
    for whole in corpus_conversations(corpus):
        check_round_trip(whole, tmp_path)


def test_hostile_texts_give_valid_documents(tmp_path: Path) -> None:
    for whole in hostile_conversations():
        document(whole, tmp_path)
        [read] = read_back(tmp_path / "one.atif.json")
        assert [turn["results"] for turn in story_of(read)] == [turn["results"] for turn in story_of(whole)]


def test_the_newest_version_with_the_ids_of_the_conversation(tmp_path: Path) -> None:
    made = document(a_conversation(), tmp_path)
    assert made["schema_version"] == "ATIF-v1.8"
    assert (made["session_id"], made["trajectory_id"]) == ("one", "vscode:one")
    assert [step["source"] for step in made["steps"]] == ["system", "user", "agent", "agent"]
    assert made["steps"][1]["extra"]["copilog"]["request_id"] == "request-1"
    [read] = read_back(tmp_path / "one.atif.json")
    assert read.title == "Tide file"
    assert read.workspace is not None
    assert read.workspace.folder == "/home/ana/tides"
    assert read.turns[0].request_id == "request-1"


def test_a_subagent_is_embedded_and_its_tokens_are_in_its_own_totals(tmp_path: Path) -> None:
    whole = with_subagent()
    whole.turns[0].usage = [
        Usage(input=100, output=10, model="gpt-5", scope="call"),
        Usage(input=200, output=20, model="gpt-5", scope="call"),
        Usage(input=300, output=30, model="gpt-5", scope="call"),
        Usage(input=50, output=5, model="gpt-5-mini", scope="call", parent_call_id="call-2"),
        Usage(input=60, output=6, model="gpt-5-mini", scope="call", parent_call_id="call-2"),
    ]

    made = document(whole, tmp_path)

    [inside] = made["subagent_trajectories"]
    [result] = made["steps"][3]["observation"]["results"]
    assert result["subagent_trajectory_ref"] == [{"trajectory_id": inside["trajectory_id"]}]
    assert [step.get("metrics", {}).get("prompt_tokens") for step in made["steps"]] == [None, None, 100, 200, 300]
    assert [step.get("metrics", {}).get("prompt_tokens") for step in inside["steps"]] == [None, 50, 60]
    for each, tokens in ((made, 600), (inside, 110)):
        assert each["final_metrics"]["total_prompt_tokens"] == tokens
        assert sum(step.get("metrics", {}).get("prompt_tokens", 0) for step in each["steps"]) == tokens
    main, helper = read_back(tmp_path / "one.atif.json")
    assert (recorded_in(main)["input"], recorded_in(helper)["input"]) == (600, 110)


def test_a_subagent_that_only_its_call_tells_is_embedded_too(tmp_path: Path) -> None:
    whole = with_subagent()
    whole.messages = [message for message in whole.messages if message.parent_call_id is None]
    [inside] = document(whole, tmp_path)["subagent_trajectories"]
    assert [step["message"] for step in inside["steps"]] == ["Count them", "There are 12."]


def test_pictures_are_in_the_document(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[1].parts.append(Attachment(type="image", mime_type="image/png", data=PNG))
    whole.messages[1].parts.append(Attachment(type="image", mime_type="image/tiff", data=PNG))
    whole.messages[3].parts = [ToolResult(call_id="call-1", items=[ResultItem(mime_type="image/png", data=PNG)])]
    done = exported([whole], "atif", tmp_path / "one.atif.json")
    made = document(whole, tmp_path)
    assert [part["type"] for part in made["steps"][1]["message"]] == ["text", "image"]
    assert left_out_of(done)["pictures of other types or without content"] == 1
    [read] = read_back(tmp_path / "one.atif.json")
    assert pictures_in(read) == [PNG]
    [result] = [part for message in read.messages for part in message.parts if isinstance(part, ToolResult)]
    assert [item.data for item in result.items] == [PNG]


def test_what_was_typed_comes_back_where_another_text_was_sent(tmp_path: Path) -> None:
    whole = a_conversation("/review tides.csv")
    whole.messages[1].parts.append(Prompt(text="Follow the instructions in review.prompt.md."))
    document(whole, tmp_path)
    [read] = read_back(tmp_path / "one.atif.json")
    assert story_of(read)[0]["user"] == ["/review tides.csv"]


def test_context_that_the_product_sent_is_no_prompt_of_the_user(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[1].parts.insert(0, Prompt(text="<environment_info>Linux</environment_info>", scope="conversation"))
    made = document(whole, tmp_path)
    assert [step["source"] for step in made["steps"]] == ["system", "system", "user", "agent", "agent"]
    [read] = read_back(tmp_path / "one.atif.json")
    scopes = [part.scope for message in read.messages for part in message.parts if isinstance(part, Prompt)]
    assert (scopes, len(read.turns)) == (["system", "conversation"], 1)


def test_a_failed_call_stays_failed(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[3].parts = [ToolResult(call_id="call-1", text="no such file", is_error=True)]
    call = whole.messages[2].parts[-1]
    assert isinstance(call, ToolCall)
    call.status, call.outcome = "failed", None
    document(whole, tmp_path)
    [read] = read_back(tmp_path / "one.atif.json")
    assert [part.status for message in read.messages for part in message.parts if isinstance(part, ToolCall)] == [
        "failed"
    ]


def test_turns_without_a_prompt_and_with_several_stay_turns(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns += [Turn(index=1), Turn(index=2)]
    whole.messages += [
        Message(role="assistant", turn=1, created_at=at(6), parts=[Text(text="By myself.")]),
        Message(role="user", turn=2, created_at=at(7), parts=[Text(text="And")]),
        Message(role="user", turn=2, created_at=at(8), parts=[Text(text="this?")]),
        Message(role="assistant", turn=2, created_at=at(9), parts=[Text(text="This.")]),
    ]
    check_round_trip(whole, tmp_path)
    assert len(read_back(tmp_path / "one.atif.json")[0].turns) == 3


def test_turns_that_no_longer_count_and_branches_are_counted_as_left_out(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns += [Turn(index=1, superseded="undone"), Turn(index=2, branch=Branch(leaves_from=0, trace="b.json"))]
    whole.messages += [Message(role="user", turn=turn, parts=[Text(text="Not this")]) for turn in (1, 2)]
    done = exported([whole], "atif", tmp_path / "one.atif.json")
    counted = left_out_of(done)
    of_branches = "turns of branches, which are files of their own in a folder"
    assert (counted[of_branches], counted["turns that no longer count"]) == (1, 1)
    assert b"Not this" not in (tmp_path / "one.atif.json").read_bytes()


def test_a_command_that_the_user_ran_is_a_step_without_a_model(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns[0].model = Model(id="gpt-5", name="gpt-5")
    call = ToolCall(id="shell", name="local_shell", arguments='{"command": "ls"}', status="complete")
    whole.messages += [
        Message(role="user", turn=0, parts=[call]),
        Message(role="tool", turn=0, parts=[ToolResult(call_id="shell", text="tides.csv")]),
    ]
    step = document(whole, tmp_path)["steps"][-1]
    assert (step["source"], step["llm_call_count"]) == ("agent", 0)
    check_round_trip(whole, tmp_path)
