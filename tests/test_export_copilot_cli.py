"""The import format of Copilot CLI, by the rules by which its importer refuses files."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.exports.copilot_cli import FORMAT
from copilog.exports.formats import Making
from copilog.exports.index import entry_of
from copilog.model import (
    Attachment,
    Conversation,
    Message,
    Notice,
    Outcome,
    OutcomeKind,
    Place,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Workspace,
)
from tests.safe_html import confusing_text

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def exported(conversation: Conversation, making: Making | None = None) -> list[dict[str, Any]]:
    pieces = FORMAT.pieces([conversation], [entry_of(conversation)], making or Making(by="copilog 1"))
    text = b"".join(piece if isinstance(piece, bytes) else piece.encode() for piece in pieces)
    return [json.loads(line) for line in text.splitlines()]


def a_conversation(*messages: Message, **fields: Any) -> Conversation:
    turns = sorted({message.turn for message in messages if message.turn is not None})
    return Conversation(
        id="vscode:1",
        source="vscode-session",
        started_at=NOON,
        turns=[Turn(index=turn, request_id=f"request_{turn}") for turn in turns],
        messages=list(messages),
        **fields,
    )


def user(words: str, turn: int = 0, *more: Any) -> Message:
    return Message(role="user", turn=turn, parts=[Text(text=words), *more])


def answer(*parts: Any, turn: int = 0) -> Message:
    return Message(role="assistant", turn=turn, parts=list(parts))


def a_call(call_id: str = "call1", kind: OutcomeKind = "succeeded", **fields: Any) -> ToolCall:
    given: dict[str, Any] = {
        "name": "read_file",
        "arguments": '{"path": "a.py"}',
        "outcome": Outcome(kind=kind),
    } | fields
    return ToolCall(id=call_id, **given)


def a_result(name: str = "call1", text: str = "low = 1") -> Message:
    return Message(role="tool", turn=0, parts=[ToolResult(call_id=name, text=text)])


def refused(records: list[dict[str, Any]]) -> list[str]:
    """Return why the importer would refuse a file, by the rules that it was seen to follow."""
    found: list[str] = []
    ids: set[str] = set()
    open_turn: str | None = None
    calls: dict[str, str] = {}
    for number, record in enumerate(records):
        if (record["type"] == "session") != (number == 0):
            found.append(f"{number}: the session comes first, and once")
        if number == 0:
            found += [] if 1 <= len(record["title"].strip()) <= 100 and '"' not in record["title"] else ["title"]
            continue
        if record["id"] in ids:
            found.append(f"{number}: duplicate id")
        ids.add(record["id"])
        if record["type"] == "message":
            found += [f"{number}: no result of {each}" for each in calls]
            calls.clear()
            open_turn = record["turnId"] if record["role"] == "assistant" else None
            found += [] if record["content"] else [f"{number}: no content"]
            found += [] if record.get("model", "x") else [f"{number}: empty model"]
        elif record["type"] == "tool-call":
            found += [] if record["turnId"] == open_turn else [f"{number}: no message of the assistant before the call"]
            found += [] if isinstance(record["arguments"], dict) else [f"{number}: arguments"]
            calls[record["id"]] = record["turnId"]
        else:
            found += [] if calls.pop(record["toolCallId"], None) == record["turnId"] else [f"{number}: no such call"]
            found += [] if record["success"] or record["error"]["message"] else [f"{number}: no error"]
            found += [] if isinstance(record["content"], str) else [f"{number}: content"]
    return found


def test_texts_calls_and_results_come_in_the_order_in_which_they_happened() -> None:
    records = exported(
        a_conversation(
            user("Why is it wrong?"),
            answer(Text(text="Let me look."), a_call(), Text(text="And there."), a_call("call2", "failed")),
            a_result(),
            a_result("call2", "No such file"),
            answer(Text(text="Done.")),
            title="Fix the tide table",
        )
    )
    assert refused(records) == []
    assert [(record["type"], record.get("id")) for record in records[1:]] == [
        ("message", "request_0"),
        ("message", "message-2"),
        ("tool-call", "call1"),
        ("tool-result", "tool-result-4"),
        ("message", "message-5"),
        ("tool-call", "call2"),
        ("tool-result", "tool-result-7"),
        ("message", "message-8"),
    ]
    assert records[0]["title"] == "Fix the tide table"
    assert records[3]["arguments"] == {"path": "a.py"}
    assert [record["content"] for record in records if record["type"] == "tool-result"] == ["low = 1", "No such file"]
    assert [record["success"] for record in records if record["type"] == "tool-result"] == [True, False]
    assert records[7]["error"] == {"message": "No such file"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [('{"a": 1}', {"a": 1}), ("", {}), (None, {}), ("[1]", {"input": [1]}), ("{half", {"input": "{half"})],
)
def test_arguments_are_always_an_object(given: str | None, sent: Any) -> None:
    records = exported(a_conversation(user("Go"), answer(a_call(arguments=given)), a_result()))
    assert refused(records) == []
    assert records[3]["arguments"] == sent


def test_a_call_without_a_message_gets_an_empty_one_before_it() -> None:
    records = exported(a_conversation(user("Go"), answer(a_call(), a_call("call2")), a_result()))
    assert refused(records) == []
    assert [record["type"] for record in records[2:]] == [
        "message", "tool-call", "tool-result", "tool-call", "tool-result",
    ]  # fmt: skip


def test_a_denied_call_and_one_without_a_result_say_so() -> None:
    making = Making(by="copilog 1")
    denied = a_call(outcome=Outcome(kind="denied", reason="The user said no"))
    records = exported(a_conversation(user("Go"), answer(denied, a_call("call2", "unknown"))), making)
    assert refused(records) == []
    errors = [record["error"]["message"] for record in records if record["type"] == "tool-result"]
    assert errors == ["The user said no", "no result was recorded"]
    assert ("results that were not recorded", 2, 1) in [each[:3] for each in making.left_out]


def test_attachments_are_named_in_the_prompt() -> None:
    attached = Attachment(type="file", name="cache.py", place=Place(path="/home/ana/cache.py"), text="x = 1")
    (_, prompt) = exported(a_conversation(user("Look", 0, attached)))
    assert prompt["content"] == [{"type": "text", "text": "Look\n\n[Attached file: /home/ana/cache.py]"}]


@pytest.mark.parametrize(
    ("repository", "written"),
    [
        ("ana/tides", {"host": "github.com", "owner": "ana", "name": "tides"}),
        ("https://github.com/ana/tides.git", {"host": "github.com", "owner": "ana", "name": "tides"}),
        ("git@github.com:ana/tides.git", {"host": "github.com", "owner": "ana", "name": "tides"}),
        ("https://git.example.com/ana/tides", None),
        ("tides", None),
    ],
)
def test_only_repositories_that_the_importer_accepts_are_named(repository: str, written: Any) -> None:
    place = Workspace(folder="/home/ana/tides", repository=repository, branch="main")
    head = exported(a_conversation(user("Go"), workspace=place))[0]
    assert head["workspace"].get("repository") == written
    assert head["workspace"]["workingDirectory"] == "/home/ana/tides"


def test_what_is_not_carried_is_counted() -> None:
    making = Making(by="copilog 1")
    helper = a_call("call2", subagent=SubAgent(name="Scout", prompt="Look", result="I looked."))
    below = Message(role="assistant", turn=0, parent_call_id="call2", parts=[Text(text="Looking")])
    records = exported(a_conversation(user("Go"), answer(Thinking(text="Hm"), helper), below), making)
    assert refused(records) == []
    assert records[-1]["content"] == "I looked."
    counts = {each.what: each.number for each in making.left_out}
    assert counts == {"messages of sub-agents (what they answered is there)": 1, "texts of thinking": 1}


def test_a_command_that_the_user_ran_is_in_the_prompt_and_a_call_of_the_program_is_a_call() -> None:
    ran = a_call("shell1", name="local_shell")
    prompt = Message(role="user", turn=0, parts=[ran, Terminal(call_id="shell1", command="make", output="red")])
    own = Message(role="system", turn=0, parts=[Notice(topic="agent", text="idle"), a_call("call2", name="read_agent")])
    making = Making(by="copilog 1")
    results = [a_result("shell1", "red"), a_result("call2", "Agent is idle")]
    records = exported(a_conversation(prompt, own, *results, answer(Text(text="Done."))), making)
    assert refused(records) == []
    assert records[1]["content"] == [{"type": "text", "text": "[Ran local_shell: make]\nred"}]
    assert [(record["type"], record.get("name")) for record in records[2:]] == [
        ("message", None),
        ("tool-call", "read_agent"),
        ("tool-result", None),
        ("message", None),
    ]
    assert {each.what for each in making.left_out} == {
        "notices of the program",
        "records of terminals (the calls that used them are there)",
    }


def test_a_conversation_without_any_text_gives_no_file() -> None:
    assert exported(a_conversation(answer(Thinking(text="Hm")))) == []


texts = st.one_of(confusing_text, st.text(max_size=20))
parts = st.one_of(
    st.builds(Text, text=texts),
    st.builds(
        ToolCall,
        id=st.sampled_from(["a", "b", ""]),
        name=texts,
        arguments=st.one_of(st.none(), texts),
        outcome=st.one_of(
            st.none(), st.builds(Outcome, kind=st.sampled_from(["succeeded", "failed", "denied", "unknown"]))
        ),
    ),
    st.builds(ToolResult, call_id=st.sampled_from(["a", "b", "c"]), text=texts),
    st.builds(Thinking, text=texts),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    turn=st.integers(0, 2),
    id=st.one_of(st.none(), st.sampled_from(["a", "message-1"])),
    created_at=st.one_of(st.none(), st.integers(-9, 9).map(lambda hours: NOON + timedelta(hours=hours))),
    parts=st.lists(parts, max_size=4),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(messages, max_size=6), texts)
def test_no_conversation_gives_a_file_that_the_importer_refuses(made: list[Message], title: str) -> None:
    records = exported(a_conversation(*made, title=title))
    assert refused(records) == []
    assert refused(exported(a_conversation(user("Go"), title=f'"{title}" "quoted"'))) == []
    times = [record["timestamp"] for record in records[1:]]
    assert times == sorted(times)
