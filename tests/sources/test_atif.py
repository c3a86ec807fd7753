"""Agent trajectories: steps become turns and messages, files of one run point to each other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from copilog.model import Attachment, Compaction, Conversation, Notice, Prompt, Thinking, Unknown, parts_of
from copilog.sources.base import Probe
from copilog.sources.replay.atif import Atif
from tests.sources.replay_builders import (
    DATA,
    Json,
    calls_in,
    damaged,
    lost_leaves,
    read_document,
    read_file,
    results_in,
    turn_texts,
)

SOURCE = Atif()
GARDEN = DATA / "atif" / "garden.trajectory.json"
CONTINUED = DATA / "atif" / "garden.trajectory.cont-1.json"


def trajectory(*steps: Any, **fields: Any) -> Json:
    return {"schema_version": "ATIF-v1.5", "session_id": "s1", "agent": {"name": "a"}, "steps": list(steps), **fields}


def step(source: str, message: Any = "", **fields: Any) -> Json:
    return {"source": source, "message": message, **fields}


@pytest.fixture(scope="module")
def garden() -> Conversation:
    (conversation,), _ = read_file(SOURCE, GARDEN)
    return conversation


def test_trajectories_are_recognized_by_their_version(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(trajectory(schema_version="ATIF-v1.0")))
    assert SOURCE.claims(Probe(path))
    assert SOURCE.native_id(Probe(path)) == "s1"

    path.write_text(json.dumps(trajectory(schema_version="2")))
    assert not SOURCE.claims(Probe(path))


# --- the rich sample --------------------------------------------------------------------------------------------


def test_the_steps_read_as_a_conversation(garden: Conversation) -> None:
    assert turn_texts(garden) == [
        (0, "user", "list the seeds"),
        (0, "assistant", "I will look."),
        (0, "assistant", "There are beans."),
        (1, "user", "and this?"),
        (1, "assistant", "A bed."),
    ]
    assert (garden.id, garden.native_id) == ("atif:garden-session", "garden-session")
    assert garden.assistant == "GitHub Copilot"
    assert str(garden.started_at) == "2026-05-04 10:00:00+00:00"
    assert str(garden.updated_at) == "2026-05-04 10:01:01+00:00"


def test_prompts_and_thinking_are_separate_from_the_text(garden: Conversation) -> None:
    prompts = [(part.scope, part.text[:9]) for part in parts_of(garden) if isinstance(part, Prompt)]
    assert prompts == [("system", "You help "), ("turn", "<context>")]
    assert [part.text for part in parts_of(garden) if isinstance(part, Thinking)] == ["Seeds are in a folder."]
    assert [part.text for part in parts_of(garden) if isinstance(part, Compaction)] == ["The history was shortened."]


def test_turns_have_agent_model_and_cost(garden: Conversation) -> None:
    first, second = garden.turns
    assert first.agent is not None
    assert (first.agent.id, first.agent.extension_version) == ("Github Copilot Chat", "1.0.0")
    assert [turn.model.name if turn.model else None for turn in garden.turns] == ["claude-sonnet-4.5", "gpt-5.1"]
    assert first.timing.first_progress_ms == 812
    assert [(it.input, it.output, it.cache_read, it.scope, it.model) for it in first.usage] == [
        (100, 20, 60, "call", "claude-sonnet-4.5"),
        (200, 30, None, "call", "gpt-5.1"),
    ]
    assert (first.usage[0].extra or {})["cost_usd"] == 0.0125
    (total,) = garden.usage
    assert (total.input, total.output, total.cache_read, total.scope) == (300, 50, 61, "session")
    assert (total.extra or {})["total_tool_calls"] == 3
    assert [made.call_ids for made in first.rounds] == [["call_a", "call_b"], []]
    assert [made.id for made in second.rounds] == ["7"]


def test_results_are_paired_with_their_calls(garden: Conversation) -> None:
    calls = {call.id: call for call in calls_in(garden)}
    assert list(calls) == ["call_a", "call_b", "call_c"]
    assert calls["call_a"].native_ids == ["call_a__vscode-1"]
    assert calls["call_a"].arguments == '{"path":"/home/ana/seeds"}'
    assert {call.status for call in calls.values()} == {"complete"}
    assert [(result.call_id, result.text) for result in results_in(garden)] == [
        ("call_a", "beans.txt"),
        ("call_b", "South."),
        ("call_c", "soil"),
    ]
    assert [part.text for part in parts_of(garden) if isinstance(part, Notice)] == ["a bell rings", ""]


def test_pictures_are_named_by_their_files(garden: Conversation) -> None:
    (picture,) = (part for part in parts_of(garden) if isinstance(part, Attachment))
    assert picture.place is not None
    assert (picture.mime_type, picture.place.path) == ("image/png", "images/bed.png")
    (item,) = results_in(garden)[-1].items
    assert item.place is not None
    assert (item.mime_type, item.place.path) == ("image/jpeg", "images/soil.jpg")


def test_other_files_of_the_run_are_related(garden: Conversation) -> None:
    assert [(it.kind, it.other_id) for it in garden.relations] == [
        ("subagent", "atif:run-77"),
        ("subagent", "atif:run-78"),
        ("subagent", "atif:run-79"),
        ("continuation", "atif:garden-session-cont-1"),
    ]
    (call,) = (call for call in calls_in(garden) if call.id == "call_b")
    assert call.subagent is not None
    assert call.subagent.run_id == "run-77"
    assert call.subagent.extra == {
        "trajectory_path": "subagent-beds-run-77.trajectory.json",
        "extra": {"summary": "beds"},
    }


def test_a_continuation_with_the_same_id_is_numbered() -> None:
    (conversation,), _ = read_file(SOURCE, CONTINUED)

    assert (conversation.id, conversation.native_id) == ("atif:garden-session-cont-1", "garden-session")
    assert conversation.messages[0].extra == {"is_copied_context": True}


def test_a_missing_continuation_is_named_by_its_file() -> None:
    (conversation,), _ = read_document(SOURCE, trajectory(continued_trajectory_ref="../elsewhere/next.json"))

    (relation,) = conversation.relations
    assert (relation.kind, relation.other_id) == ("continuation", "atif:../elsewhere/next.json")


def test_no_leaf_of_the_sample_is_lost(garden: Conversation) -> None:
    document = json.loads(GARDEN.read_bytes())

    lost = [place for place in lost_leaves(document, [garden]) if place[-1] not in ("source", "type")]

    assert lost == []


# --- turns ------------------------------------------------------------------------------------------------------


def test_each_step_of_the_user_begins_a_turn() -> None:
    document = trajectory(
        step("agent", "I am up."),
        step("user", "one"),
        step("user", "two"),
        step("agent", "yes"),
        step("system", "tick"),
    )

    (conversation,), ledger = read_document(SOURCE, document)

    assert [(message.turn, message.role) for message in conversation.messages] == [
        (0, "assistant"),
        (1, "user"),
        (2, "user"),
        (2, "assistant"),
        (2, "system"),
    ]
    assert (ledger.seen, ledger.used) == (6, 6)


def test_sub_agents_inside_the_document_are_conversations_of_their_own() -> None:
    inner = trajectory(step("user", "find beds"), trajectory_id="inner-1")
    outer = trajectory(step("user", "plant"), subagent_trajectories=[inner, 3], schema_version="ATIF-v1.7")

    (first, second), ledger = read_document(SOURCE, outer)

    assert (first.id, second.id) == ("atif:s1", "atif:inner-1")
    assert second.provenance[0].pointer == "/subagent_trajectories/0"
    assert [(bad.pointer, bad.code) for bad in ledger.bad] == [("/subagent_trajectories/1", "bad-record")]


def test_a_trajectory_without_an_id_has_an_id_from_its_messages() -> None:
    document = trajectory(step("user", "hello"))
    del document["session_id"]

    (first,), _ = read_document(SOURCE, document)
    (again,), _ = read_document(SOURCE, document)

    assert first.native_id is None
    assert first.id == again.id != "atif:"


def test_bad_and_unknown_steps_are_counted() -> None:
    document = trajectory("no step", {"message": "from nobody"}, step("oracle", "hm"), step("user", "hello"))

    (conversation,), ledger = read_document(SOURCE, document)

    assert turn_texts(conversation) == [(0, "user", "hello")]
    assert [bad.pointer for bad in ledger.bad] == ["/steps/0", "/steps/1"]
    assert ledger.unknown == {"source:oracle": 1}
    assert [part.raw["message"] for part in parts_of(conversation) if isinstance(part, Unknown)] == ["hm"]


def test_a_document_that_is_not_a_trajectory_is_one_bad_record() -> None:
    conversations, ledger = read_document(SOURCE, {"schema_version": "ATIF-v1.5", "steps": 7})

    assert conversations == []
    assert [bad.pointer for bad in ledger.bad] == [""]


@settings(max_examples=150, deadline=None)
@given(damaged(json.loads(GARDEN.read_bytes())))
def test_damage_never_breaks_the_reader(document: Any) -> None:
    read_document(SOURCE, document)


@pytest.mark.corpus
def test_all_real_trajectories_can_be_read() -> None:
    corpus = os.environ.get("COPILOG_CORPUS")
    if not corpus:
        pytest.skip("COPILOG_CORPUS is not set")
    paths = sorted(Path(corpus).glob("files/atif/*.json"))
    assert paths

    for path in paths:
        assert SOURCE.claims(Probe(path))
        conversations, ledger = read_file(SOURCE, path)
        assert (ledger.bad, ledger.unknown) == ([], {})
        document = json.loads(path.read_bytes())
        lost = [place for place in lost_leaves(document, conversations) if place[-1] not in ("source", "type")]
        assert lost == []
