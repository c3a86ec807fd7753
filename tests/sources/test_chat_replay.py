"""Debug exports: what they are, what a rich one holds, and what damage does to them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from copilog.model import Attachment, Conversation, FileEdit, Notice, Prompt, Thinking, Unknown, parts_of
from copilog.sources.base import Probe
from copilog.sources.replay.chat_replay import ChatReplay
from tests.sources.replay_builders import (
    DATA,
    calls_in,
    damaged,
    export,
    lost_leaves,
    nested,
    prompt,
    read_document,
    read_file,
    request,
    results_in,
    tool_call,
    turn_texts,
    user,
)

SOURCE = ChatReplay()
GARDEN = DATA / "chat_replay" / "garden.chatreplay.json"


@pytest.fixture(scope="module")
def garden() -> Conversation:
    (conversation,), _ = read_file(SOURCE, GARDEN)
    return conversation


# --- which files ------------------------------------------------------------------------------------------------


def test_exports_are_recognized_by_content(tmp_path: Path) -> None:
    mine = [
        export(),
        {"prompts": [], "exportedAt": "2026-05-04T11:00:00Z"},
        prompt("hi", request([user("hi")])),
        request([user("hi")]),
        tool_call("c1"),
    ]
    others: list[Any] = [
        {"prompts": []},
        {"prompt": "hi", "logs": []},
        {"prompt": "hi", "logs": [{"line": 1}]},
        {"prompts": [], "exportedAt": "now", "requests": []},
        [],
    ]

    assert [_is_claimed(document, tmp_path) for document in mine] == [True] * len(mine)
    assert [_is_claimed(document, tmp_path) for document in others] == [False] * len(others)


def test_a_file_in_a_session_folder_is_not_a_debug_export(tmp_path: Path) -> None:
    folder = tmp_path / "chatSessions"
    folder.mkdir()

    assert not _is_claimed(export(), folder)


def _is_claimed(document: Any, folder: Path) -> bool:
    path = folder / "some name.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return SOURCE.claims(Probe(path))


def test_a_bare_prompt_and_a_bare_entry_are_exports_too() -> None:
    (one,), ledger = read_file(SOURCE, DATA / "chat_replay" / "say_hi_logs.json")
    assert turn_texts(one) == [(0, "user", "say hi"), (0, "assistant", "Hi, and here is a very lo")]
    assert (ledger.seen, ledger.used) == (2, 2)

    (entry,), ledger = read_document(SOURCE, request([user("say hi")], "Hi."))
    assert turn_texts(entry) == [(0, "user", "say hi"), (0, "assistant", "Hi.")]
    assert (ledger.seen, ledger.used) == (2, 2)


# --- the rich sample --------------------------------------------------------------------------------------------


def test_messages_of_the_sample_are_in_order(garden: Conversation) -> None:
    assert turn_texts(garden) == [
        (0, "user", "hello there"),
        (0, "assistant", "Hello Ana, what shall I do?"),
        (1, "user", "list the seeds"),
        (1, "assistant", "I will look. Then I tell you."),
        (1, "assistant", "There are beans and peas."),
        (2, "user", "plan the beds"),
        (2, "assistant", "I ask an explorer."),
        (2, "user", "Find all beds that face south."),
        (2, "assistant", "One bed faces south."),
        (3, "user", "water them all"),
    ]
    assert garden.title == "Seeds and beds"
    assert (garden.assistant, garden.location, garden.native_id) == ("GitHub Copilot", "panel", None)
    assert garden.id.startswith("replay:")
    assert str(garden.started_at) == "2026-05-04 10:00:00+00:00"
    assert str(garden.updated_at) == "2026-05-04 10:20:01+00:00"


def test_the_same_export_has_the_same_id(garden: Conversation, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(GARDEN.read_bytes())

    (again,), _ = read_file(SOURCE, copy)

    assert again.id == garden.id


def test_every_entry_is_counted_in_the_ledger() -> None:
    _, ledger = read_file(SOURCE, GARDEN)

    assert ledger.seen == 22
    assert ledger.ignored == {"element": 1, "export-error": 1, "helper-request": 3}
    assert ledger.unknown == {"log:hologram": 1}
    assert [(note.code, note.pointer) for note in ledger.notes] == [("export-error", "/prompts/0/logs/4")]
    assert ledger.parts.seen == ledger.parts.used > 20


def test_turns_have_status_and_times(garden: Conversation) -> None:
    assert [turn.status for turn in garden.turns] == [None, "complete", "failed", "cancelled"]
    assert [turn.response_id for turn in garden.turns] == [None, "turn-1", "turn-2", "turn-3"]
    assert [turn.pointer for turn in garden.turns[1:]] == ["/prompts/0", "/prompts/1", "/prompts/5"]
    assert garden.turns[0].extra == {"from_history": True}
    first, second = garden.turns[1:3]
    assert first.model is not None
    assert first.model.name == "gpt-5.1"
    assert first.mode is not None
    assert (first.mode.kind, first.mode.name, first.mode.evidence) == ("agent", "Gardener", "prompt text")
    assert first.timing.first_progress_ms == 800
    assert second.error is not None
    assert (second.error.message, second.error.code) == ("the service was busy", None)
    assert [(skill.name, skill.file, skill.is_loaded) for skill in second.skills] == [
        ("compost", "file:///home/ana/skills/compost/SKILL.md", True)
    ]


def test_usage_is_recorded_call_by_call(garden: Conversation) -> None:
    first, second = garden.turns[1:3]

    assert [(it.input, it.output, it.cache_read, it.reasoning) for it in first.usage] == [
        (100, 20, 60, 5),
        (200, 30, 100, 6),
    ]
    assert {(it.scope, it.source, it.model) for it in first.usage} == {("call", "chat-replay", "gpt-5.1")}
    assert [(it.extra or {}).get("parent_call_id") for it in second.usage] == [None, "call_c", "call_c"]


def test_rounds_name_their_calls_and_retries(garden: Conversation) -> None:
    looked, answered = garden.turns[1].rounds

    assert (looked.id, looked.text, looked.call_ids) == (
        "a0000001",
        "I will look. Then I tell you.",
        ["call_a", "call_b"],
    )
    assert looked.thinking == "Seeds are in a folder.\nI look there."
    assert looked.extra is not None
    assert looked.extra["elapsed_ms"] == 2500
    assert looked.extra["metadata"]["reasoning"] == {"effort": "medium", "summary": "detailed"}
    assert answered.extra is not None
    assert (answered.extra["name"], answered.extra["retry"]) == (
        "retry-server-error-panel/editAgent",
        "retry-server-error",
    )
    assert answered.extra["choices"] == ["A second choice."]


def test_messages_keep_prompts_pictures_and_thoughts(garden: Conversation) -> None:
    parts = list(parts_of(garden))
    prompts = [(part.scope, part.text[:12]) for part in parts if isinstance(part, Prompt)]
    assert prompts[:4] == [
        ("turn", "<userRequest"),
        ("system", "You help wit"),
        ("conversation", "<environment"),
        ("turn", "<context>\nTh"),
    ]
    picture, link, document = (part for part in parts if isinstance(part, Attachment))
    assert (picture.mime_type, picture.data, picture.extra) == (
        "image/png",
        b"\x89PNG made up",
        {"imageUrl": {"detail": "high", "mediaType": "image/png"}},
    )
    assert link.place is not None
    assert link.place.uri == "https://example.com/bed.png"
    assert (document.type, document.mime_type, document.data) == ("document", "application/pdf", b"%PDF made up")
    (thought,) = (part for part in parts if isinstance(part, Thinking))
    assert (thought.id, thought.text) == ("think-1", "Seeds are in a folder.\nI look there.")
    assert thought.extra == {"metadata": {"effort": "low"}, "tokens": 17, "encrypted": "c2VjcmV0"}
    (answer,) = (message for message in garden.messages if message.id == "a0000001")
    assert answer.extra is not None
    assert [item["value"]["type"] for item in answer.extra["opaque"]] == ["stateful_marker", "phase_data"]


def test_calls_and_results_carry_clean_ids(garden: Conversation) -> None:
    calls = {call.id: call for call in calls_in(garden)}

    assert list(calls) == ["call_a", "call_b", "call_c", "call_d", "srv_1", "call_e", "sub_1"]
    assert {call.status for call in calls.values()} == {"complete"}
    assert calls["call_a"].native_ids == ["call_a__vscode-1700000000001"]
    assert calls["call_a"].round_id == "a0000001"
    assert (calls["call_b"].origin, calls["call_b"].server) == ("mcp", "Garden Shed Server")
    assert (calls["srv_1"].name, calls["srv_1"].origin) == ("web_search", "external")
    assert calls["srv_1"].arguments == '{"query":"south bed herbs"}'
    results = {result.call_id: result for result in results_in(garden)}
    assert (results["call_a"].text, results["call_a"].full_text, results["call_a"].origin) == (
        "beans.txt\npeas.txt",
        None,
        "model",
    )
    assert (results["call_b"].text, results["call_b"].full_text) == ("12 beans", "12 beans\nsee [image] there")
    assert [item.data for item in results["call_b"].items] == [b"\x89PNG made up"]
    (edit,) = (part for part in parts_of(garden) if isinstance(part, FileEdit))
    assert (edit.path, edit.call_id) == ("beds/south.md", "call_e")


def test_a_sub_agent_is_nested_below_its_call(garden: Conversation) -> None:
    messages = nested(garden, "call_c")
    (call,) = (call for call in calls_in(garden) if call.id == "call_c")

    assert [message.role for message in messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert call.subagent is not None
    assert (call.subagent.run_id, call.subagent.name, call.subagent.description) == ("run-77", "Explore", "South beds")
    assert (call.subagent.prompt, call.subagent.result) == ("Find all beds that face south.", "One bed faces south.")
    assert call.subagent.model == "gpt-5.1"
    assert call.extra == {"toolMetadata": {"more": "kept"}}


def test_fields_of_the_export_itself_are_in_extra(garden: Conversation) -> None:
    extra = garden.extra or {}

    assert extra["export"]["exportedAt"] == "2026-05-04T11:00:00.000Z"
    assert [server["label"] for server in extra["mcp_servers"]] == ["Garden Shed Server", "weather"]
    assert extra["helpers"] == ["title", "ghost", "XtabProvider", "NES | beds/south.md"]
    tools = (garden.turns[1].extra or {})["tools"]
    assert tools == [
        {"name": "list_dir"},
        {"name": "apply_patch"},
        {"name": "mcp_garden_shed_s_count", "server": "Garden Shed Server"},
        {"name": "web_search"},
    ]


def test_remarks_and_unknown_entries_are_stored(garden: Conversation) -> None:
    unwritten, note = (part for part in parts_of(garden) if isinstance(part, Notice))
    (unknown,) = (part for part in parts_of(garden) if isinstance(part, Unknown))

    assert (note.topic, note.text) == ("log", "# A note\nNothing was compacted.")
    assert (unwritten.topic, unwritten.text) == ("export-error", "TypeError: cannot write this")
    assert unknown.raw == {"id": "odd00001", "kind": "hologram", "shape": "round"}


def test_no_leaf_of_the_sample_is_lost(garden: Conversation) -> None:
    assert lost_leaves(_without_dropped(json.loads(GARDEN.read_bytes())), [garden]) == []


def _without_dropped(document: Any) -> Any:
    """Return the document without what is dropped according to docs/formats/chat-replay.md."""
    for group in document["prompts"]:
        group["logs"] = [entry for entry in group["logs"] if not _is_dropped(entry)]
        if not group["logs"]:
            del group["promptId"]
        for entry in group["logs"]:
            for tool in entry.get("metadata", {}).get("tools", []):
                _drop_definition(tool)
    return _without_structure(document)


def _is_dropped(entry: dict[str, Any]) -> bool:
    return entry["kind"] == "element" or entry.get("name") in ("title", "ghost", "XtabProvider")


def _drop_definition(tool: dict[str, Any]) -> None:
    for holder in (tool, tool.get("function", {})):
        for key in set(holder) - {"name", "function"}:
            del holder[key]


def _without_structure(value: Any) -> Any:
    """Return the value without the numbers and names that only describe the structure."""
    if isinstance(value, list):
        return [_without_structure(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_structure(item) for key, item in value.items() if key not in ("kind", "role", "type")}
    return value


# --- damage -----------------------------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(damaged(json.loads(GARDEN.read_bytes())))
def test_damage_never_breaks_the_reader(document: Any) -> None:
    read_document(SOURCE, document)


def test_a_bad_entry_does_not_affect_others() -> None:
    document = export(
        7,
        {"prompt": "no logs"},
        prompt("hi", "text", {"id": "x"}, {"kind": "toolCall"}, request([user("hi")], "Hello.")),
    )

    (conversation,), ledger = read_document(SOURCE, document)

    assert turn_texts(conversation) == [(0, "user", "hi"), (0, "assistant", "Hello.")]
    assert [bad.pointer for bad in ledger.bad] == [
        "/prompts/0",
        "/prompts/1",
        "/prompts/2/logs/0",
        "/prompts/2/logs/1",
        "/prompts/2/logs/2",
    ]
    assert {bad.code for bad in ledger.bad} == {"bad-record"}


def test_a_document_that_is_not_an_export_is_one_bad_record() -> None:
    conversations, ledger = read_document(SOURCE, {"prompts": "none"})

    assert conversations == []
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("bad-record", "")]


def test_an_export_of_helpers_alone_is_a_conversation_of_their_documents() -> None:
    wrapper = request([user("translate")], name="copilotLanguageModelWrapper")

    (conversation,), ledger = read_document(SOURCE, export(prompt("some extension", wrapper)))

    assert (conversation.turns, conversation.marks) == ([], ["helpers-only"])
    assert [document.kind for document in conversation.documents] == ["helper"]
    assert "translate" in conversation.documents[0].text
    assert ledger.ignored == {"helper-request": 1}


def test_a_list_of_models_alone_is_stored_as_a_document_of_a_helper() -> None:
    listed = {"kind": "request", "type": "MarkdownContentRequest", "name": "modelList", "content": "gpt-5.1"}

    (conversation,), _ = read_document(SOURCE, export(prompt("models", listed)))

    assert (conversation.turns, conversation.usage, conversation.marks) == ([], [], ["helpers-only"])
    assert [document.text for document in conversation.documents] == ["gpt-5.1"]


def test_an_export_without_requests_has_no_conversation() -> None:
    conversations, ledger = read_document(SOURCE, export())

    assert conversations == []
    assert ledger.ignored == {"no-conversation": 1}


@pytest.mark.corpus
def test_all_real_exports_can_be_read() -> None:
    corpus = os.environ.get("COPILOG_CORPUS")
    if not corpus:
        pytest.skip("COPILOG_CORPUS is not set")
    paths = sorted(Path(corpus).glob("files/chat-replay/*.json"))
    assert paths

    for path in paths:
        assert SOURCE.claims(Probe(path))
        conversations, ledger = read_file(SOURCE, path)
        assert conversations
        assert (ledger.bad, ledger.unknown, ledger.parts.unknown) == ([], {}, {})
        assert lost_leaves(_without_dropped(json.loads(path.read_bytes())), conversations) == []
        for conversation in conversations:
            ids = [call.id for call in calls_in(conversation)]
            assert len(ids) == len(set(ids))
            assert {result.call_id for result in results_in(conversation)} == set(ids)
