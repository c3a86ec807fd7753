"""Our own JSONL is a source like any other: what a line says is in the conversation, and a bad line costs one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from copilog import ingest
from copilog.diagnostics import Ledger, Report
from copilog.model import (
    Attachment,
    Compaction,
    Conversation,
    Message,
    Prompt,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Unknown,
    parts_of,
)
from copilog.sources.base import Found, Probe
from copilog.sources.trajectories.trajectory_file import TrajectoryFile
from tests.sources.replay_builders import (
    DATA,
    Json,
    calls_in,
    damaged,
    lost_leaves,
    nested,
    read_file,
    results_in,
    turn_texts,
)

SOURCE = TrajectoryFile()
NORRVIK = DATA / "trajectory_file" / "norrvik.jsonl"
PLAIN = DATA / "trajectory_file" / "plain.jsonl"


def line(*messages: Any, name: str = "c-1", **fields: Any) -> Json:
    return {"conversation_id": name, "messages": list(messages), "metadata": {}, **fields}


def said(role: str, content: Any = "", **fields: Any) -> Json:
    return {"role": role, "content": content, **fields}


def call(native_id: Any, name: str = "read_file", arguments: Any = "{}") -> Json:
    return {"id": native_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "out.jsonl"
    path.write_text("".join((item if isinstance(item, str) else json.dumps(item)) + "\n" for item in lines))
    return path


def read_all(folder: Path, *lines: Any) -> list[Conversation]:
    conversations, ledger = read_file(SOURCE, write(folder, *lines))
    assert not ledger.bad
    return conversations


def read_one(folder: Path, *messages: Any, **fields: Any) -> Conversation:
    [conversation] = read_all(folder, line(*messages, **fields))
    return conversation


def parts(conversation: Conversation, kind: type) -> list[Any]:
    return [part for part in parts_of(conversation) if isinstance(part, kind)]


@pytest.fixture(scope="module")
def norrvik() -> list[Conversation]:
    return read_file(SOURCE, NORRVIK)[0]


# --- which files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "is_ours"),
    [
        ({"conversation_id": "c", "messages": [], "metadata": {}}, True),
        ({"conversation_id": "c", "messages": [], "mode_distribution": {}}, True),
        ({"conversation_id": "c", "messages": []}, False),
        ({"conversation_id": 1, "messages": [], "metadata": {}}, False),
        ({"conversation_id": "c", "messages": "none", "metadata": {}}, False),
        ({"name": "copilot-chat/engine.messages", "properties": {}}, False),
        ([], False),
    ],
)
def test_a_file_is_recognised_by_its_first_line(first: Any, is_ours: bool, tmp_path: Path) -> None:
    assert SOURCE.claims(Probe(write(tmp_path, first))) is is_ours


def test_a_file_with_a_torn_first_line_is_recognised_by_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"conversation_id":"c-1","messages":[{"role":"us\n' + json.dumps(line(said("user", "hi"))) + "\n")

    assert SOURCE.claims(Probe(path))
    [conversation], ledger = read_file(SOURCE, path)

    assert turn_texts(conversation) == [(0, "user", "hi")]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(1, "bad-json")]


# --- the rich sample --------------------------------------------------------------------------------------------


def test_the_lines_read_as_conversations(norrvik: list[Conversation]) -> None:
    tides, ferry = norrvik

    assert tides.id == "vscode:3f9a0000-0000-4000-8000-00000000000a"
    assert turn_texts(tides) == [
        (0, "user", "When is high tide in Norrvik today?"),
        (0, "assistant", "The table says 06:12."),
        (1, "user", "Draw the whole week, and compare it with this picture."),
        (1, "user", "Which colours does the chart use?"),
        (1, "assistant", "Let me see."),
        (1, "assistant", "Blue and grey."),
        (1, "assistant", "Here is the week."),
    ]
    assert turn_texts(ferry) == [(0, "user", "@workspace Which ferry goes last on a Sunday?")]
    assert str(tides.updated_at) == "2026-05-04 06:45:12.009000+00:00"


def test_prompts_thinking_images_and_summaries_are_separate_from_the_text(norrvik: list[Conversation]) -> None:
    tides, ferry = norrvik

    scopes = [(part.scope, part.text[:10]) for part in parts(tides, Prompt) if part.scope != "turn"]
    assert scopes == [("system", "You help p"), ("conversation", "<environme"), ("system", "You look t")]
    assert [part.text for part in parts(tides, Thinking)] == ["The numbers are in a file."]
    assert [part.type for part in parts(tides, Attachment)] == ["image"]
    assert [part.text for part in parts(ferry, Compaction)] == ["The ferry timetable was put in order."]


def test_messages_and_turns_have_mode_and_model(norrvik: list[Conversation]) -> None:
    tides, ferry = norrvik

    assert [turn.mode.kind if turn.mode else None for turn in tides.turns] == ["ask", "agent"]
    assert [turn.model.id if turn.model else None for turn in tides.turns] == ["gpt-5", "gpt-5-mini"]
    last = tides.messages[-1]
    assert (last.model, last.model_source, last.model_conflict) == ("gpt-5-mini", "engine", "interactiveSession")
    [turn] = ferry.turns
    assert turn.mode is not None
    assert (turn.mode.kind, turn.mode.name) == (None, "custom")
    assert turn.response_id == "8d0f0000-0000-4000-8000-000000000003"


def test_calls_have_results_under_the_ids_that_sessions_use(norrvik: list[Conversation]) -> None:
    calls = calls_in(norrvik[0])

    assert [(call.id, call.status) for call in calls] == [
        ("call_a1", "complete"),
        ("call_b2", "complete"),
        ("call_c3", "complete"),
    ]
    assert calls[0].native_ids == ["call_a1__vscode-1777888000000"]
    assert calls[0].arguments == '{"filePath": "/home/ana/tide-tables/norrvik.csv"}'
    assert {result.call_id for result in results_in(norrvik[0])} == {"call_a1", "call_b2", "call_c3"}


def test_messages_of_a_sub_agent_are_after_its_call(norrvik: list[Conversation]) -> None:
    tides = norrvik[0]
    inner = nested(tides, "call_b2")

    assert [message.role for message in inner] == ["system", "user", "assistant", "tool", "assistant"]
    place = tides.messages.index(inner[0])
    assert any(isinstance(part, ToolCall) and part.id == "call_b2" for part in tides.messages[place - 1].parts)
    assert (tides.extra or {})["trajectory"]["subagents"]["call_b2"]["metadata"]["subagent"] is True


def test_a_line_that_was_cut_is_marked(norrvik: list[Conversation]) -> None:
    assert [conversation.marks for conversation in norrvik] == [["trajectory", "damaged"]] * 2


@pytest.mark.parametrize("path", [NORRVIK, PLAIN], ids=lambda path: path.stem)
def test_no_leaf_of_the_samples_is_lost(path: Path) -> None:
    conversations, _ = read_file(SOURCE, path)
    document = [json.loads(text) for text in path.read_text().splitlines()]

    dropped = {("tool_calls", "type")}
    lost = [place for place in lost_leaves(document, conversations) if (place[-3], place[-1]) not in dropped]

    assert lost == []


# --- plain lines ------------------------------------------------------------------------------------------------


def test_a_line_needs_no_more_than_an_id_and_messages() -> None:
    conversations, ledger = read_file(SOURCE, PLAIN)

    assert [conversation.id for conversation in conversations] == [
        "vscode:abc-123",
        "vscode:abc-124",
        "vscode:abc-125",
        "cli:3f9a0000-0000-4000-8000-00000000000c",
        "export:0123456789abcdef0123456789abcdef",
    ]
    assert conversations[-1].native_id == "0123456789abcdef0123456789abcdef"
    assert (conversations[0].extra or {})["trajectory"]["reviewed_by"] == "ana"
    assert ledger.parts.unknown == {"role:developer": 1}


def test_a_sub_agent_without_its_parent_is_a_conversation_of_its_own() -> None:
    alone = read_file(SOURCE, PLAIN)[0][2]

    assert (alone.native_id, alone.marks) == ("abc-125", ["trajectory", "headless"])
    assert [(message.turn, message.parent_call_id) for message in alone.messages] == [(0, "toolu_009")] * 2


@pytest.mark.parametrize(
    ("fields", "family"),
    [
        ({}, "vscode"),
        ({"telemetry_type": "GitHub.copilot-chat/engine.messages"}, "vscode"),
        ({"telemetry_type": "vscode-session-log"}, "vscode"),
        ({"telemetry_type": "cli-events"}, "cli"),
        ({"telemetry_type": "session-store", "file_path": "/home/ana/.copilot/session-store.db"}, "cli"),
        ({"telemetry_type": "session-store", "file_path": "C:\\Users\\ana\\.copilot\\session-store.db"}, "cli"),
        ({"telemetry_type": "atif"}, "atif"),
    ],
)
def test_the_id_is_that_of_the_source_it_came_from(fields: Json, family: str, tmp_path: Path) -> None:
    assert read_one(tmp_path, said("user", "hi"), **fields).id == f"{family}:c-1"


# --- turns ------------------------------------------------------------------------------------------------------


def turns_of(conversation: Conversation) -> list[tuple[str, int | None]]:
    return [(message.role, message.turn) for message in conversation.messages]


def test_context_belongs_to_the_prompt_after_it(tmp_path: Path) -> None:
    context = "<reminderInstructions>\nBe brief.\n</reminderInstructions>"
    conversation = read_one(
        tmp_path,
        said("system", "s"),
        said("user", context),
        said("user", "one"),
        said("assistant", "yes"),
        said("user", context),
        said("user", "two"),
        said("user", context),
        said("assistant", "no"),
        said("user", context),
    )

    assert turns_of(conversation) == [
        ("system", 0),
        ("user", 0),
        ("user", 0),
        ("assistant", 0),
        ("user", 1),
        ("user", 1),
        ("user", 1),
        ("assistant", 1),
        ("user", 1),
    ]
    assert [turn.pointer for turn in conversation.turns] == ["/1/messages/2", "/1/messages/5"]


def test_a_log_that_begins_in_the_middle_has_a_turn_without_a_prompt(tmp_path: Path) -> None:
    conversation = read_one(tmp_path, said("tool", "ok", tool_call_id="c"), said("assistant", "a"), said("user", "u"))

    assert turns_of(conversation) == [("tool", 0), ("assistant", 0), ("user", 1)]


def test_a_line_of_context_alone_is_one_turn(tmp_path: Path) -> None:
    conversation = read_one(tmp_path, said("system", "s"), said("user", "<context>\nx\n</context>", mode="agent"))

    assert turns_of(conversation) == [("system", 0), ("user", 0)]
    assert conversation.turns[0].mode is not None


# --- calls ------------------------------------------------------------------------------------------------------


def test_ids_that_differ_only_in_the_extensions_suffix_stay_different(tmp_path: Path) -> None:
    first, second = "c__vscode-1", "c__vscode-2"
    conversation = read_one(
        tmp_path,
        said("assistant", tool_calls=[call(first), call(second)]),
        said("tool", "one", tool_call_id=first),
        said("tool", "two", tool_call_id=second),
    )

    assert [made.id for made in calls_in(conversation)] == [first, second]
    assert [(result.call_id, result.text) for result in results_in(conversation)] == [(first, "one"), (second, "two")]


def test_an_entry_that_is_not_a_call_stays_at_its_position(tmp_path: Path) -> None:
    odd = [{"id": None, "function": {"name": "x"}}, call("c"), "y", {"id": "d", "function": "z"}]
    conversation = read_one(tmp_path, said("assistant", tool_calls=odd))

    [message] = conversation.messages
    assert [type(part) for part in message.parts] == [Unknown, ToolCall, Unknown, Unknown]


def test_a_result_without_a_requested_call_is_stored(tmp_path: Path) -> None:
    conversation = read_one(tmp_path, said("tool", "ok"), said("tool", "ok", tool_call_id="gone__vscode-3"))

    assert [result.call_id for result in results_in(conversation)] == ["", "gone"]


# --- sub-agents -------------------------------------------------------------------------------------------------


def inner_line(caller: str, *messages: Any, **fields: Any) -> Json:
    return line(*messages, name=f"c-1#{caller}", **{"metadata": {"subagent": True}, **fields})


def test_a_nested_sub_agent_is_joined_to_its_call_in_any_order(tmp_path: Path) -> None:
    [conversation] = read_all(
        tmp_path,
        inner_line("inner", said("assistant", "deep")),
        inner_line("outer", said("assistant", "not so deep", tool_calls=[call("inner")])),
        line(said("user", "go"), said("assistant", tool_calls=[call("outer")]), said("tool", "done")),
    )

    assert [(message.parent_call_id, message.turn) for message in conversation.messages] == [
        (None, 0),
        (None, 0),
        ("outer", 0),
        ("inner", 0),
        (None, 0),
    ]


def test_sub_agents_that_call_each_other_are_still_read(tmp_path: Path) -> None:
    [conversation] = read_all(
        tmp_path,
        line(said("user", "go"), said("assistant", "gone")),
        inner_line("a", said("assistant", "a", tool_calls=[call("b")])),
        inner_line("b", said("assistant", "b", tool_calls=[call("a")])),
    )

    assert [message.parent_call_id for message in conversation.messages] == [None, None, "a", "b"]


def test_a_sub_agent_that_names_its_turn_instead_of_a_call_belongs_to_the_turn(tmp_path: Path) -> None:
    [conversation] = read_all(
        tmp_path,
        line(said("user", "go"), said("assistant", "gone"), metadata={"messageId": "m-1"}),
        inner_line("m-1", said("assistant", "found it")),
        inner_line("m-0", said("assistant", "found it, too")),
    )

    assert [message.turn for message in conversation.messages] == [0, 0, 0, None]


def test_only_a_line_with_the_mark_is_of_a_sub_agent(tmp_path: Path) -> None:
    conversations = read_all(tmp_path, line(said("user", "one"), name="a"), line(said("user", "two"), name="a#b"))

    assert [conversation.native_id for conversation in conversations] == ["a", "a#b"]


# --- files of many lines ----------------------------------------------------------------------------------------


def test_one_conversation_is_read_without_the_others(tmp_path: Path) -> None:
    path = write(tmp_path, *[line(said("user", f"question {number}"), name=f"c-{number}") for number in range(50)])
    report = Report()

    by_id = {found.native_id: found for found in _founds(tmp_path, report)}
    [conversation] = ingest.read(by_id["c-37"], report=report)

    assert turn_texts(conversation) == [(0, "user", "question 37")]
    assert len(by_id) == 50
    assert (report.files[str(path)].seen, report.files[str(path)].parts.seen) == (50, 1)
    assert report.balances()


def _founds(folder: Path, report: Report) -> list[Found]:
    from copilog.ingest.discovery import founds_in

    return list(founds_in(folder, report))


def test_all_conversations_of_a_file_are_read_in_its_order(tmp_path: Path) -> None:
    path = write(tmp_path, *[line(said("user", str(number)), name=f"c-{number}") for number in (3, 1, 2)])

    assert [conversation.native_id for conversation in ingest.read(path)] == ["c-3", "c-1", "c-2"]


def test_a_repeated_conversation_is_read_as_one(tmp_path: Path) -> None:
    short, long = line(said("user", "one")), line(said("user", "one"), said("assistant", "yes"), said("user", "two"))
    path = write(tmp_path, short, long)

    [conversation] = ingest.read(path)

    assert len(conversation.turns) == 2
    assert [(place.pointer, place.role) for place in conversation.provenance] == [("/2", "lead"), ("/1", "copy")]


def test_a_file_that_changed_since_it_was_indexed_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, line(said("user", "one"), name="a"), line(said("user", "two"), name="b"))
    ledger = Ledger(path=str(path))
    reading = SOURCE.read(Found(path, SOURCE.name), ledger)
    next(reading)
    write(tmp_path, line(said("user", "x"), name="a"), line(said("user", "two"), name="c"))

    assert list(reading) == []
    assert [note.code for note in ledger.notes] == ["changed-while-reading"]
    assert ledger.balances()


# --- bad input --------------------------------------------------------------------------------------------------


def test_a_bad_line_loses_only_itself(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        line(said("user", "one"), name="a"),
        '{"conversation_id": "b", "mess',
        "7",
        "",
        {"messages": []},
        {"conversation_id": "c", "messages": {}},
        line(said("user", "two"), name="d"),
    )
    with path.open("a") as file:
        file.write('{"conversation_id": "e"')

    conversations, ledger = read_file(SOURCE, path)

    assert [conversation.native_id for conversation in conversations] == ["a", "d"]
    assert [(bad.line, bad.code) for bad in ledger.bad] == [
        (2, "bad-json"),
        (3, "bad-record"),
        (5, "bad-record"),
        (6, "bad-record"),
        (8, "torn-tail"),
    ]
    assert ledger.ignored == {"blank-line": 1}


def test_a_bad_message_loses_only_itself(tmp_path: Path) -> None:
    path = write(tmp_path, line("no message", said("user", "hello"), {"content": "by nobody"}))

    [conversation], ledger = read_file(SOURCE, path)

    assert turn_texts(conversation) == [(0, "user", "hello")]
    assert [bad.pointer for bad in ledger.parts.bad] == ["/1/messages/0", "/1/messages/2"]


def test_fields_of_the_wrong_type_stay_in_extra(tmp_path: Path) -> None:
    odd = {"mode": 1, "model": [], "tool_calls": "x", "tool_call_id": {}, "reasoning": 2, "attachments": -1}
    [message] = read_one(tmp_path, said("user", ["a", "list"], **odd)).messages

    assert message == Message(
        role="user", parts=[Unknown(type="content", raw=["a", "list"])], turn=0, extra={"trajectory": odd}
    )


def test_an_impossible_number_of_images_stays_a_number(tmp_path: Path) -> None:
    [message] = read_one(tmp_path, said("user", "look", attachments=10**9)).messages

    assert [type(part) for part in message.parts] == [Text]
    assert message.extra == {"trajectory": {"attachments": 10**9}}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_other_programs_may_have_changed_the_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    lines = [line(said("user", "när är det högvatten?"), name=name) for name in ("a", "b")]
    path.write_text("\r\n".join(json.dumps(item, ensure_ascii=False) for item in lines), encoding=encoding)

    assert SOURCE.claims(Probe(path))
    conversations, ledger = read_file(SOURCE, path)

    assert [turn_texts(conversation) for conversation in conversations] == [[(0, "user", "när är det högvatten?")]] * 2
    assert not ledger.bad


@settings(max_examples=150, deadline=None)
@given(damaged([json.loads(text) for text in NORRVIK.read_text().splitlines()]))
def test_damage_never_breaks_the_reader(lines: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "out.jsonl")
        path.write_text("".join(json.dumps(item) + "\n" for item in lines) if isinstance(lines, list) else "")
        read_file(SOURCE, path)


def test_results_are_paired_even_if_the_call_comes_later(tmp_path: Path) -> None:
    conversation = read_one(tmp_path, said("tool", "ok", tool_call_id="c"), said("assistant", tool_calls=[call("c")]))

    assert isinstance(conversation.messages[0].parts[0], ToolResult)
    assert calls_in(conversation)[0].status == "complete"
