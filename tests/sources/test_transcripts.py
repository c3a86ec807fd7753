"""Transcripts: live turns, turns that were written down later, and what crashes leave."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Thinking, Unknown, parts_of, prose_of
from copilog.sources.base import Probe
from copilog.sources.extension.transcripts import Transcripts
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    calls_in,
    codes,
    lost_texts,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    results_in,
    spoiled,
    with_other_values,
    write_lines,
)

SOURCE = Transcripts()
FOLDER = DATA / "transcripts" / "GitHub.copilot-chat" / "transcripts"
LIVE, BEGUN_LATE = sorted(FOLDER.glob("*.jsonl"))

Json = dict[str, Any]


def event(kind: str, data: Json | None = None, **fields: Any) -> Json:
    return {"type": kind, "data": data or {}, "timestamp": "2026-05-04T10:00:00.000Z", "parentId": None, **fields}


def asked(text: str) -> Json:
    return event("user.message", {"content": text, "attachments": []})


def answered(text: str, *calls: str) -> Json:
    requests = [{"toolCallId": call, "name": "grep_search", "arguments": "{}", "type": "function"} for call in calls]
    return event("assistant.message", {"messageId": "m", "content": text, "toolRequests": requests})


def transcript(folder: Path, *events: Any) -> Path:
    return write_lines(folder / "GitHub.copilot-chat" / "transcripts" / "s1.jsonl", events)


# --- where it is ------------------------------------------------------------------------------------------------


def test_transcripts_are_located_below_a_workspace(tmp_path: Path) -> None:
    storage = StorageFolder(DATA / "transcripts", "workspace", "Code", None)

    assert [(trace.path, trace.native_id) for trace in SOURCE.locate(storage)] == [
        (LIVE, LIVE.stem),
        (BEGUN_LATE, BEGUN_LATE.stem),
    ]
    assert list(SOURCE.locate(StorageFolder(DATA / "transcripts", "copilot-home", None, None))) == []


def test_a_transcript_is_recognized_by_path_or_first_line(tmp_path: Path) -> None:
    started = event("session.start", {"sessionId": "s9", "vscodeVersion": "1.121.0"})
    elsewhere = write_lines(tmp_path / "copy.jsonl", [started])
    broken = transcript(tmp_path)
    broken.write_bytes(b'"user.mess')
    of_cli = write_lines(tmp_path / "cli.jsonl", [event("session.start", {"sessionId": "s9", "context": {}})])
    other = write_lines(tmp_path / "transcripts" / "meeting.jsonl", [{"type": "hello", "data": {}}])

    assert [SOURCE.claims(Probe(path)) for path in (elsewhere, broken, of_cli, other)] == [True, True, False, False]
    assert [SOURCE.native_id(Probe(path)) for path in (elsewhere, broken)] == ["s9", "s1"]


# --- content ----------------------------------------------------------------------------------------------------


def test_a_transcript_has_text_thinking_and_calls_but_no_output() -> None:
    conversation, ledger = read_one(SOURCE, LIVE)

    assert conversation.id == f"vscode:{LIVE.stem}"
    assert conversation.marks == ["transcript"]
    assert prose_by_role(conversation) == [
        ("user", "When is high water in Büsum?"),
        ("assistant", "I will look it up."),
        ("assistant", "At 13:42."),
        ("user", "And tomorrow?"),
        ("assistant", ""),
    ]
    assert [part.text for part in parts_of(conversation) if isinstance(part, Thinking)] == ["The table should have it."]
    assert [(call.id, call.name, call.status) for call in calls_in(conversation)] == [
        ("call_1", "read_file", "complete"),
        ("call_2", "run_in_terminal", "failed"),
    ]
    assert json.loads(calls_in(conversation)[0].arguments or "")["endLine"] == 40
    assert results_in(conversation) == []
    assert (ledger.seen, ledger.used, codes(ledger)) == (15, 15, [])


def test_a_turn_is_complete_when_its_last_round_called_nothing() -> None:
    first, second = read_one(SOURCE, LIVE)[0].turns

    assert (first.status, second.status) == ("complete", None)
    assert [(made.id, made.call_ids) for made in first.rounds] == [("0", ["call_1"]), ("1", [])]
    assert first.timing.completed_at == datetime(2026, 5, 4, 10, 0, 4, 10000, UTC)


def test_the_versions_are_those_of_vscode_and_the_extension() -> None:
    conversation, _ = read_one(SOURCE, LIVE)

    assert conversation.extra is not None
    assert conversation.extra["transcript"] == {
        "version": 1,
        "producer": "copilot-agent",
        "copilotVersion": "0.49.0",
        "vscodeVersion": "1.121.0",
    }
    assert conversation.started_at == datetime(2026, 5, 4, 10, tzinfo=UTC)


def test_turns_written_later_have_their_original_times_and_a_mark() -> None:
    conversation, _ = read_one(SOURCE, BEGUN_LATE)

    replayed, live = conversation.turns
    assert replayed.extra == {"is_replayed": True}
    assert replayed.timing.started_at == datetime(2026, 5, 5, 9, tzinfo=UTC)
    [call] = calls_in(conversation)
    assert (call.id, call.native_ids, call.status) == ("call_9", ["call_9__vscode-1767600000001"], "unknown")
    assert live.extra is None


def test_a_transcript_begun_during_a_turn_lacks_its_prompt() -> None:
    conversation, _ = read_one(SOURCE, BEGUN_LATE)

    assert [(message.role, message.turn) for message in conversation.messages] == [
        ("user", 0),
        ("assistant", 0),
        ("assistant", 0),
        ("assistant", 1),
    ]
    assert [made.id for made in conversation.turns[1].rounds] == ["5"]


def test_all_content_of_a_transcript_is_read() -> None:
    for path in (LIVE, BEGUN_LATE):
        events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        redundant = [text for entry in events for text in (entry["id"], entry["parentId"], entry["type"])]
        redundant += [entry["timestamp"] for entry in events] + ["function", events[0]["data"]["startTime"]]

        assert lost_texts(events, read(SOURCE, path)[0], *redundant) == []


def test_the_order_of_the_lines_counts_and_not_their_times(tmp_path: Path) -> None:
    late = {**asked("first"), "timestamp": "2026-05-04T12:00:00.000Z"}
    path = transcript(tmp_path, late, asked("second"))

    assert prose_by_role(read_one(SOURCE, path)[0]) == [("user", "first"), ("user", "second")]


def test_what_a_sub_agent_says_is_below_its_call_and_the_rest_its_callers(tmp_path: Path) -> None:
    asking = answered("I ask.", "c1")
    asking["data"]["toolRequests"][0].update(name="runSubagent", arguments='{"prompt": "Paint the wall."}')
    path = transcript(
        tmp_path,
        asked("A painter, please"),
        event("assistant.turn_start", {"turnId": "0"}),
        asking,
        event("tool.execution_start", {"toolCallId": "c1", "toolName": "runSubagent"}),
        asked("Paint the wall."),
        event("assistant.turn_start", {"turnId": "0"}),
        answered("Painted.", "c2"),
        event("assistant.turn_end", {"turnId": "0"}),
        event("tool.execution_complete", {"toolCallId": "c1", "success": True}),
        answered("", "c3"),
        answered("Done."),
        event("assistant.turn_end", {"turnId": "0"}),
        asked("Paint the wall."),
        answered("I did."),
    )
    conversation, _ = read_one(SOURCE, path)

    assert [(one.turn, one.parent_call_id, prose_of(one.parts)) for one in conversation.messages] == [
        (0, None, "A painter, please"),
        (0, None, "I ask."),
        (0, "c1", "Paint the wall."),
        (0, "c1", "Painted."),
        (0, None, ""),
        (0, None, "Done."),
        (1, None, "Paint the wall."),
        (1, None, "I did."),
    ]
    first = conversation.turns[0]
    assert [(one.id, one.call_ids) for one in first.rounds] == [("0", ["c1", "c3"])]
    assert first.status == "complete"


@pytest.mark.parametrize(
    ("own", "other", "expected"),
    [
        ('"One?"', '{"sessionId":"s1"} "Three?"', [None, "removed", None]),
        ('"One?" "Three?"', '{"sessionId":"s1"} "Three?"', [None, None, None]),
        ('"One?"', '{"sessionId":"s9"} "Three?"', [None, None, None]),
        ('"One?"', '{"sessionId":"s1"} "One?"', [None, None, None]),
        (None, '{"sessionId":"s1"} "Three?"', [None, None, None]),
    ],
)
def test_a_prompt_of_a_fork_does_not_count(
    own: str | None, other: str, expected: list[str | None], tmp_path: Path
) -> None:
    path = transcript(tmp_path, asked("One?"), answered("Yes."), asked("Three?"), asked("Lost?"))
    folder = tmp_path / "chatSessions"
    folder.mkdir()
    if own is not None:
        (folder / "s1.jsonl").write_text(own)
    (folder / "f1.jsonl").write_text(other)
    conversation, _ = read_one(SOURCE, path)

    assert [turn.superseded for turn in conversation.turns] == expected
    assert [(turn.extra or {}).get("asked_in_fork") for turn in conversation.turns] == [
        "f1" if reason else None for reason in expected
    ]


def test_a_repeated_event_is_read_once(tmp_path: Path) -> None:
    path = transcript(tmp_path, asked("hi"), {**answered("hello"), "id": "e1"}, {**answered("hello"), "id": "e1"})

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi"), ("assistant", "hello")]
    assert ledger.ignored == {"duplicate-event": 1}


def test_the_end_of_a_call_is_read_under_the_name_that_descriptions_give_it(tmp_path: Path) -> None:
    began = event("tool.execution_start", {"toolCallId": "c1", "toolName": "list_dir", "arguments": {}})
    ended = event("tool.execution_end", {"toolCallId": "c1", "success": False, "result": {"content": "no such folder"}})
    path = transcript(tmp_path, asked("hi"), answered("", "c1"), began, ended)

    conversation, ledger = read_one(SOURCE, path)

    assert [call.status for call in calls_in(conversation)] == ["failed"]
    assert [(result.call_id, result.text, result.is_error) for result in results_in(conversation)] == [
        ("c1", "no such folder", True)
    ]
    assert ledger.unknown == {}


def test_a_call_that_no_answer_announced_is_included(tmp_path: Path) -> None:
    began = event("tool.execution_start", {"toolCallId": "c7", "toolName": "list_dir", "arguments": {"path": "/home"}})
    ended = event("tool.execution_complete", {"toolCallId": "c7", "success": True, "result": {"content": "a\nb"}})
    path = transcript(tmp_path, asked("hi"), began, ended)

    conversation, _ = read_one(SOURCE, path)

    [call] = calls_in(conversation)
    assert (call.name, call.arguments, call.status) == ("list_dir", '{"path":"/home"}', "complete")
    assert [result.text for result in results_in(conversation)] == ["a\nb"]


def test_changed_arguments_of_a_call_are_stored(tmp_path: Path) -> None:
    began = event("tool.execution_start", {"toolCallId": "c1", "toolName": "grep_search", "arguments": {"query": "x"}})
    path = transcript(tmp_path, asked("hi"), answered("", "c1"), began)

    [call] = calls_in(read_one(SOURCE, path)[0])

    assert (call.arguments, call.notes) == ("{}", {"arguments it ran with": '{"query":"x"}'})


def test_unrecognized_entries_are_stored_and_counted(tmp_path: Path) -> None:
    strange = event("assistant.sang", {"song": "la"})
    more = asked("hi") | {"mood": "calm"}
    path = transcript(tmp_path, more, strange)

    conversation, ledger = read_one(SOURCE, path)

    assert ledger.unknown == {"assistant.sang": 1}
    assert conversation.messages[0].extra == {"user.message": {"envelope": {"mood": "calm"}}}
    assert [part.raw["data"] for part in parts_of(conversation) if isinstance(part, Unknown)] == [{"song": "la"}]


# --- damage -----------------------------------------------------------------------------------------------------


def test_a_broken_line_loses_only_itself(tmp_path: Path) -> None:
    path = transcript(tmp_path, asked("hi"), answered("hello"))
    path.write_bytes(path.read_bytes().replace(b"\n", b'\n{"type": "assist\n\n', 1))

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi"), ("assistant", "hello")]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(2, "bad-json")]
    assert ledger.ignored == {"blank-line": 1}


def test_a_truncated_line_with_an_appended_line_loses_only_its_own_half(tmp_path: Path) -> None:
    path = transcript(tmp_path, asked("hi"))
    torn = json.dumps(answered("never wholly said"), separators=(",", ":"))[:-9]
    path.write_bytes(path.read_bytes() + torn.encode() + json.dumps(answered("hello"), separators=(",", ":")).encode())

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi"), ("assistant", "hello")]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(2, "bad-json")]


def test_a_truncated_last_line_and_nul_bytes_are_reported(tmp_path: Path) -> None:
    path = transcript(tmp_path, asked("hi"))
    whole = path.read_bytes()

    path.write_bytes(whole + b'{"type":"assistant.mess')
    assert codes(read_one(SOURCE, path)[1]) == ["torn-tail"]

    path.write_bytes(whole + b"\0" * 300)
    conversation, ledger = read_one(SOURCE, path)
    assert (prose_by_role(conversation), codes(ledger), ledger.ignored) == (
        [("user", "hi")],
        ["nul-tail"],
        {"nul-padding": 1},
    )

    path.write_bytes(b"\0" * 40 + whole)
    assert prose_by_role(read_one(SOURCE, path)[0]) == [("user", "hi")]


def test_other_encodings_and_half_characters_are_read(tmp_path: Path) -> None:
    path = transcript(tmp_path, asked("h\ud83di"))
    assert codes(read_one(SOURCE, path)[1]) == ["lone-surrogate"]

    path = transcript(tmp_path, asked("hi"))
    text = path.read_text(encoding="utf-8")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert codes(read_one(SOURCE, path)[1]) == ["byte-order-mark"]
    path.write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))
    assert prose_by_role(read_one(SOURCE, path)[0]) == [("user", "hi")]


def test_lines_that_are_not_events_are_bad(tmp_path: Path) -> None:
    path = transcript(tmp_path, [1], {"data": {}}, event("tool.execution_start", {"toolName": "x"}), asked("hi"))

    conversation, ledger = read_one(SOURCE, path)

    assert prose_by_role(conversation) == [("user", "hi")]
    assert [bad.code for bad in ledger.bad] == ["bad-record"] * 3


def test_an_empty_transcript_is_reported(tmp_path: Path) -> None:
    conversations, ledger = read(SOURCE, transcript(tmp_path))

    assert (conversations, codes(ledger)) == ([], ["empty-file"])


@pytest.mark.parametrize("path", [LIVE, BEGUN_LATE], ids=["live", "begun-late"])
@given(data=st.data())
def test_a_damaged_transcript_is_read(
    path: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-transcripts" / "transcripts"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / path.name
    spoil = data.draw(st.sampled_from([spoiled, with_other_values]))
    copy.write_bytes(data.draw(spoil(path.read_bytes())))

    read_or_refuse(SOURCE, copy)


# --- real files -------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_ledgers_of_transcripts_in_the_corpus_balance(corpus: Path) -> None:
    paths = [path for path in corpus.rglob("transcripts/*.jsonl") if SOURCE.claims(Probe(path))]
    for path in paths:
        conversation, ledger = read_one(SOURCE, path)
        assert (ledger.bad, ledger.unknown) == ([], {})
        assert conversation.turns
        assert all(call.name for call in calls_in(conversation))

    assert paths
