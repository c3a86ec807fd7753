"""Which mode each message of the user was written in: R-16 of docs/formats/telemetry.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.telemetry.streams import (
    Record,
    assistant,
    modes,
    only,
    snapshot,
    system,
    tool,
    user,
    user_text,
    write_lines,
)

CHAT = [system(), user("one"), assistant("1"), tool("-"), user("two"), assistant("2"), user("three")]

INJECTED = [
    "environment_info",
    "workspace_info",
    "context",
    "todoList",
    "editorContext",
    "repoContext",
    "reminderInstructions",
    "toolReferences",
    "userMemory",
    "sessionMemory",
    "repoMemory",
    "repository_memories",
    "instructions",
    "modeInstructions",
    "customInstructions",
    "skills",
    "agents",
]


def block(name: str, text: str = "all of it") -> str:
    return f"<{name}>\n{text}\n</{name}>"


def in_modes(folder: Path, *texts: str, compat: bool = False) -> list[str | None]:
    """Return the modes of user messages: ask in turn 0, edit in turn 1, agent in the last request."""
    path = write_lines(
        folder,
        user_text("ask", 0),
        user_text("edit", 1),
        user_text("agent", None, header="turn-9"),
        snapshot([system(), *map(user, texts)], header="turn-9"),
    )
    return modes(only(path, compat=compat))


# --- by request, by message, by turn --------------------------------------------------------------------------------


def test_r16_turns_count_the_users_messages_only(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, user_text("ask", 0), user_text("edit", 1), user_text("plan", 2), user_text("agent", 3), snapshot(CHAT)
    )

    assert modes(only(path)) == ["ask", "edit", "plan"]


def test_r16_only_messages_of_the_user_have_a_mode(tmp_path: Path) -> None:
    path = write_lines(tmp_path, *(user_text("ask", turn) for turn in range(9)), snapshot(CHAT))

    assert {message.mode for message in only(path).messages if message.role != "user"} == {None}


@pytest.mark.parametrize("key", [{"header": "turn-9"}, {"message": "m-9"}])
def test_r16_the_request_belongs_to_the_last_message_only(tmp_path: Path, key: Record) -> None:
    path = write_lines(
        tmp_path,
        user_text("agent", None, **key),
        snapshot(CHAT, header="turn-9", properties={"messageId": "m-9"}),
    )

    assert modes(only(path)) == [None, None, "agent"]


def test_r16_the_last_message_gets_its_mode_by_request_then_message_then_turn(tmp_path: Path) -> None:
    by_turn = user_text("ask", 2)
    by_message = user_text("edit", None, message="m-9")
    by_request = user_text("agent", None, header="turn-9")
    chat = snapshot(CHAT, header="turn-9", properties={"messageId": "m-9"})

    for facts, expected in (
        ([by_turn], "ask"),
        ([by_turn, by_message], "edit"),
        ([by_turn, by_message, by_request], "agent"),
    ):
        assert modes(only(write_lines(tmp_path, *facts, chat))) == [None, None, expected]


def test_r16_messages_without_a_mode_get_that_of_their_turn(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", 0),
        user_text("edit", 1),
        user_text("plan", 2),
        user_text("agent", None, header="turn-9"),
        snapshot(CHAT, header="turn-9"),
    )

    assert modes(only(path)) == ["ask", "edit", "agent"]


def test_r16_a_request_of_another_turn_is_not_used(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("agent", None, header="turn-8"), snapshot(CHAT, header="turn-9"))

    assert modes(only(path)) == [None, None, None]


def test_r16_the_last_message_of_the_user_need_not_be_the_last_of_all(tmp_path: Path) -> None:
    chat = [system(), user("one"), assistant("", tool_calls=[{"id": "call-1"}]), tool("wet")]
    path = write_lines(tmp_path, user_text("agent", None, header="turn-9"), snapshot(chat, header="turn-9"))

    assert modes(only(path)) == ["agent"]


# --- injected messages ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", INJECTED)
def test_r16_a_message_of_only_injected_blocks_is_not_a_turn(tmp_path: Path, name: str) -> None:
    assert in_modes(tmp_path, block(name), "one", "two") == [None, "ask", "agent"]
    assert in_modes(tmp_path, "one", block(name), "two") == ["ask", None, "agent"]
    assert in_modes(tmp_path, "one", "two", block(name)) == ["ask", "agent", None]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"\n {block('context')} \n\n{block('environment_info')}\n", id="several blocks"),
        pytest.param('<instructions file="a.md" line=3>be kind</instructions>', id="attributes"),
        pytest.param("<context>it never ends", id="a block that is not closed"),
        pytest.param("<context></context>", id="an empty block"),
        pytest.param("<context>a <context>b</context> c</context>", id="a block in a block of its name"),
        pytest.param(block("context", "<attachment>x</attachment> and <b>"), id="other tags in a block"),
        pytest.param("<conversation-summary>so far</conversation-summary>", id="a summary"),
        pytest.param(" \n<conversation-summary>so far</conversation-summary> and more words", id="a summary and words"),
    ],
)
def test_r16_injected_messages_are_left_out(tmp_path: Path, text: str) -> None:
    assert in_modes(tmp_path, text, "one", "two") == [None, "ask", "agent"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("hello", id="words"),
        pytest.param(f"{block('context')} hello", id="words behind"),
        pytest.param(f"hello {block('context')}", id="words before"),
        pytest.param(block("attachments"), id="another block"),
        pytest.param(block("Context"), id="another case"),
        pytest.param(block("contexts"), id="a longer name"),
        pytest.param(f"{block('context')}<userRequest>hello</userRequest>", id="a request beside"),
        pytest.param(f"{block('context')}<user_query>hello</user_query>", id="a query beside"),
        pytest.param(block("context", "<userRequest>hello</userRequest>"), id="a request inside"),
        pytest.param(
            "<conversation-summary>x</conversation-summary><userRequest>hello", id="a request after a summary"
        ),
        pytest.param("words <conversation-summary>x</conversation-summary>", id="a summary later"),
        pytest.param(" \n", id="white space"),
        pytest.param("</context>", id="a closing tag alone"),
        pytest.param("<context>a<context>b</context></context></context>", id="one closing tag too many"),
    ],
)
def test_r16_all_other_messages_are_turns(tmp_path: Path, text: str) -> None:
    assert in_modes(tmp_path, text, "one", "two") == ["ask", "edit", "agent"]


def test_r16_injected_messages_count_when_there_is_no_other(tmp_path: Path) -> None:
    assert in_modes(tmp_path, block("context")) == ["agent"]
    assert in_modes(tmp_path, block("context"), block("skills")) == ["ask", "agent"]


def test_r16_compat_counts_all_messages_of_the_user(tmp_path: Path) -> None:
    assert in_modes(tmp_path, block("context"), "one", block("context"), compat=True) == ["ask", "edit", "agent"]


# --- sub-agents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["subagent", "subagent/search", "subagent/execution"])
def test_r16_prompts_to_a_sub_agent_are_not_turns(tmp_path: Path, kind: str) -> None:
    facts: list[Record] = [user_text("ask", 0), user_text("agent", None, header="turn-9")]
    inner = {"subType": kind, "messageId": "m-9"}

    unexplained = only(write_lines(tmp_path, *facts, snapshot(CHAT, properties=inner)))
    explained = only(write_lines(tmp_path, *facts, snapshot(CHAT, header="turn-9", properties=inner)))

    assert modes(unexplained) == [None, None, None]
    assert modes(explained) == [None, None, "agent"]
