"""Sessions as the first releases of Copilot CLI wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Notice, Prompt, Text, ToolCall, ToolResult
from copilog.sources.base import Found, Probe
from copilog.sources.cli.history import CliHistory
from copilog.sources.roots import Root, StorageFolder
from tests.sources.cli_builders import Json, only, parts_like, roles

SOURCE = CliHistory()


def write(tmp_path: Path, state: Any, name: str = "session_1.json") -> Path:
    path = tmp_path / "history-session-state" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(state if isinstance(state, str) else json.dumps(state, indent=2))
    return path


def read(path: Path) -> tuple[list[Conversation], Ledger]:
    ledger = Ledger(path=str(path))
    conversations = list(SOURCE.read(Found(path, SOURCE.name, SOURCE.native_id(Probe(path))), ledger))
    assert ledger.balances()
    return conversations, ledger


def read_one(tmp_path: Path, state: Any) -> tuple[Conversation, Ledger]:
    (conversation,), ledger = read(write(tmp_path, state))
    return conversation, ledger


def session(messages: list[Any], timeline: list[Any] | None = None, **more: Any) -> Json:
    known = {"sessionId": "s-1", "startTime": "2025-09-01T08:00:00.000Z"}
    return {**known, "chatMessages": messages, "timeline": timeline or [], **more}


CALL = {"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
MESSAGES: list[Json] = [
    {"role": "system", "content": "You are a terminal assistant."},
    {"role": "user", "content": "list the files\n\n<current_datetime>now</current_datetime>"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "content": "a.py"},
    {"role": "assistant", "content": "There is a.py."},
    {"role": "user", "content": "thanks"},
]
TIMELINE: list[Json] = [
    {"type": "info", "timestamp": "2025-09-01T08:00:00.500Z", "text": "Connected"},
    {"type": "user", "timestamp": "2025-09-01T08:00:01.000Z", "text": "list the files"},
    {"type": "tool_call_requested", "timestamp": "2025-09-01T08:00:02.000Z", "arguments": {"command": "ls"}},
    {
        "type": "tool_call_completed",
        "timestamp": "2025-09-01T08:00:03.000Z",
        "toolTitle": "List files",
        "arguments": {"command": "ls"},
        "result": {"type": "success", "log": "1 file"},
    },
    {"type": "copilot", "timestamp": "2025-09-01T08:00:04.000Z", "text": "There is a.py."},
    {"type": "user", "timestamp": "2025-09-01T08:00:05.000Z", "text": "thanks"},
    {"type": "sparkle", "timestamp": "2025-09-01T08:00:06.000Z", "colour": "gold"},
]


def test_messages_and_screen_are_joined(tmp_path: Path) -> None:
    conversation, ledger = read_one(
        tmp_path, session(MESSAGES, TIMELINE, selectedModel="sonnet-4.5", version="0.0.340")
    )

    assert (conversation.id, conversation.native_id, conversation.source) == ("cli:s-1", "s-1", "cli-history")
    assert roles(conversation) == ["system", "system", "user", "assistant", "tool", "assistant", "user", "system"]
    assert [turn.status for turn in conversation.turns] == ["complete", "unanswered"]
    prompt = conversation.messages[2]
    assert prompt.parts == [
        Text(text="list the files"),
        Prompt(text="list the files\n\n<current_datetime>now</current_datetime>", native="content"),
    ]
    call, result = only(conversation, ToolCall), only(conversation, ToolResult)
    assert (call.name, call.title, call.status, call.arguments) == (
        "bash",
        "List files",
        "complete",
        '{"command": "ls"}',
    )
    assert (result.text, result.display) == ("a.py", "1 file")
    times = [message.created_at and message.created_at.second for message in conversation.messages]
    assert times == [0, None, 1, None, 3, 4, 5, 6]
    assert conversation.messages[5].model == "sonnet-4.5"
    assert conversation.extra == {"version": "0.0.340"}
    assert (ledger.seen, ledger.used, ledger.unknown) == (1 + 6 + 7, 14, {"timeline:sparkle": 1})
    assert conversation.updated_at is not None
    assert conversation.updated_at.second == 6


def test_rows_name_their_call_or_become_notices(tmp_path: Path) -> None:
    rows = [
        {"type": "tool_call_failed", "callId": "call_1", "result": {"type": "failure", "log": "boom", "code": 1}},
        {"type": "tool_call_completed", "arguments": {"command": "other"}, "text": "nobody asked"},
        {"type": "copilot", "text": "never said"},
    ]

    conversation, ledger = read_one(tmp_path, session(MESSAGES, rows))

    assert (only(conversation, ToolCall).status, only(conversation, ToolResult).is_error) == ("failed", True)
    assert [part.topic for part in parts_like(conversation, Notice)] == ["tool_call_completed", "copilot"]
    assert ledger.unknown == {}


def test_contents_may_be_lists(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}, "and", 7]

    conversation, _ = read_one(tmp_path, session([{"role": "user", "content": content}]))

    parts = conversation.messages[0].parts
    assert [type(part).__name__ for part in parts] == ["Text", "Unknown", "Text", "Text"]


def test_unknown_roles_are_stored(tmp_path: Path) -> None:
    messages = [{"role": "developer", "content": "be brief"}, {"role": "oracle", "content": "42"}]

    conversation, ledger = read_one(tmp_path, session(messages))

    assert roles(conversation) == ["system", "system"]
    assert (conversation.messages[1].extra, ledger.unknown) == ({"role": "oracle"}, {"role:oracle": 1})
    assert only(conversation, Text).text == "42"


def test_bad_messages_rows_and_calls_lose_only_themselves(tmp_path: Path) -> None:
    messages = [7, {"content": "no role"}, {"role": "assistant", "content": "x", "tool_calls": [1, {"id": "c"}]}]

    conversation, ledger = read_one(tmp_path, session(messages, ["row"]))

    assert [bad.pointer for bad in ledger.bad] == ["/chatMessages/0", "/chatMessages/1", "/timeline/0"]
    assert [bad.pointer for bad in ledger.parts.bad] == [
        "/chatMessages/2/tool_calls/0",
        "/chatMessages/2/tool_calls/1",
    ]
    assert roles(conversation) == ["assistant"]


def test_history_files_are_located_with_their_session_ids(tmp_path: Path) -> None:
    uuid = "0f1e2d3c-0000-4000-8000-000000000001"
    write(tmp_path, session([]), "session_a.json")
    write(tmp_path, "{torn", f"session_{uuid}_1759.json")
    write(tmp_path, "{}", "session_plain.json")
    write(tmp_path, "x", "notes.txt")
    root = Root("copilot-home", tmp_path, None, "test", True)

    found = list(SOURCE.locate(StorageFolder(tmp_path, "copilot-home", None, root)))

    assert [trace.native_id for trace in found] == [uuid, "s-1", "plain"]
    assert all(SOURCE.claims(Probe(trace.path)) for trace in found)
    assert list(SOURCE.locate(StorageFolder(tmp_path, "workspace", None, root))) == []


@pytest.mark.parametrize(
    ("state", "is_ours"),
    [
        ({"sessionId": "s", "chatMessages": []}, True),
        ({"sessionId": "s", "requests": []}, False),
        ({"chatMessages": []}, False),
    ],
)
def test_claims_by_content(state: Json, is_ours: bool, tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(state))

    assert SOURCE.claims(Probe(path)) is is_ours


def test_a_torn_file_is_one_bad_record(tmp_path: Path) -> None:
    conversations, ledger = read(write(tmp_path, '{"sessionId": "s", "chatMess'))

    assert (conversations, [bad.code for bad in ledger.bad]) == ([], ["bad-json"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    ["role", "content", "tool_calls", "tool_call_id", "type", "timestamp", "text", "arguments", "result", "toolTitle"]
)
odd_objects = st.dictionaries(fields, json_values | st.sampled_from(["user", "tool", "copilot", "assistant"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(odd_objects | json_values, max_size=6), st.lists(odd_objects | json_values, max_size=6))
def test_any_session_is_read(tmp_path: Path, messages: list[Any], timeline: list[Any]) -> None:
    read_one(tmp_path, session(messages, timeline))
