"""Contents, roles and the dialects of several providers become one shape: R-10 of docs/formats/telemetry.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.trajectory import ConversationTrajectory, TrajectoryMessage
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    contents,
    only,
    roles,
    snapshot,
    system,
    trajectories,
    user,
    write_lines,
)

IMAGES = [
    {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
    {"type": "image_url", "image_url": {"url": "https://example.com/bean.png"}},
    {"type": "input_image", "image_url": "https://example.com/pea.png"},
]


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def tool_use(call_id: str, name: str = "read_soil", **given: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def tool_result(call_id: str, content: Any) -> Record:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def extracted(folder: Path, *messages: Record, **properties: Any) -> ConversationTrajectory:
    """Return the trajectory of these messages, with or without a system message."""
    return only(write_lines(folder, snapshot(list(messages), properties=properties)), require_system_first=False)


def message_of(folder: Path, message: Record) -> TrajectoryMessage:
    """Return the trajectory message of a single message."""
    (kept,) = extracted(folder, message).messages
    return kept


# --- contents -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "flat"),
    [
        ("  as it is\n", "  as it is\n"),
        ([text("one "), text("two")], "one two"),
        (["one", " two"], "one two"),
        ([{"type": "input_text", "text": "one"}, {"text": "two"}, {"type": "new", "text": "three"}], "onetwothree"),
        (
            [text("one"), {"type": "refusal", "refusal": "no"}, {"type": "text", "text": 7}, 8, None, text("two")],
            "onetwo",
        ),
    ],
)
def test_r10_contents_become_one_text(tmp_path: Path, content: Any, flat: str) -> None:
    assert message_of(tmp_path, user(content)).content == flat


@pytest.mark.parametrize("content", [None, 7, True, {"type": "text", "text": "x"}])
def test_r10_a_content_of_any_other_type_is_empty(tmp_path: Path, content: Any) -> None:
    assert message_of(tmp_path, assistant(content, tool_calls=[call()])).content == ""


def test_r10_a_missing_content_is_empty(tmp_path: Path) -> None:
    assert message_of(tmp_path, {"role": "assistant", "tool_calls": [call()]}).content == ""


def test_r10_images_are_counted(tmp_path: Path) -> None:
    message = message_of(tmp_path, user([IMAGES[0], text("Which "), IMAGES[1], IMAGES[2], text("leaf?")]))

    assert (message.content, message.attachments) == ("Which leaf?", 3)


def test_r10_without_images_nothing_is_counted(tmp_path: Path) -> None:
    assert message_of(tmp_path, user([text("Which leaf?")])).attachments is None


def test_r10_calls_and_answers_of_chat_completions_stay_unchanged(tmp_path: Path) -> None:
    calls = [call("call-1"), {"id": "call-2", "function": {"name": "odd", "arguments": "{"}, "more": 1}]
    trajectory = extracted(
        tmp_path,
        assistant("Let me look.", tool_calls=calls),
        {"role": "tool", "content": "wet", "tool_call_id": "call-1"},
    )

    assert trajectory.messages[0].tool_calls == calls
    assert trajectory.messages[1].tool_call_id == "call-1"


@pytest.mark.parametrize("key", ["reasoning_text", "cot_summary"])
def test_r10_thinking_that_can_be_read_becomes_reasoning(tmp_path: Path, key: str) -> None:
    message = message_of(tmp_path, assistant("May.", **{key: "Frost ends in May.", "copilot_cache_control": {}}))

    assert (message.content, message.reasoning) == ("May.", "Frost ends in May.")


def test_r10_thinking_that_is_sealed_is_dropped(tmp_path: Path) -> None:
    message = message_of(tmp_path, assistant("May.", reasoning_opaque="c2VhbGVk", cot_id="cot-1"))

    assert (message.content, message.reasoning) == ("May.", None)


def test_r10_the_summary_of_responses_stays_a_message_of_its_own(tmp_path: Path) -> None:
    trajectory = extracted(
        tmp_path,
        {"role": "developer", "content": "You help with gardens."},
        user(),
        assistant("Reasoning summary: frost first"),
        assistant("", tool_calls=[call()]),
    )

    assert roles(trajectory) == ["system", "user", "assistant", "assistant"]
    assert trajectory.messages[2].content == "Reasoning summary: frost first"


# --- roles ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (0, "system"),
        (1, "user"),
        (2, "assistant"),
        (3, "tool"),
        ("developer", "system"),
        ("function", "tool"),
        ("critic", "critic"),
        ("User", "User"),
    ],
)
def test_r10_roles_become_four_and_unknown_ones_stay(tmp_path: Path, role: Any, expected: str) -> None:
    assert message_of(tmp_path, {"role": role, "content": "words"}).role == expected


# --- blocks ---------------------------------------------------------------------------------------------------------


def test_r10_a_block_that_uses_a_tool_becomes_a_call(tmp_path: Path) -> None:
    message = message_of(
        tmp_path,
        assistant([text("Let me "), text("look."), tool_use("t-1", bed=3), tool_use("t-2", "water", litres=2.5)]),
    )

    assert message.content == "Let me look."
    assert message.tool_calls is not None
    first, second = message.tool_calls
    assert (first["id"], first["type"], first["function"]["name"]) == ("t-1", "function", "read_soil")
    assert json.loads(first["function"]["arguments"]) == {"bed": 3}
    assert (second["id"], second["function"]["name"]) == ("t-2", "water")
    assert json.loads(second["function"]["arguments"]) == {"litres": 2.5}


def test_r10_results_become_messages_before_the_rest_of_theirs(tmp_path: Path) -> None:
    trajectory = extracted(
        tmp_path,
        user([text("And "), tool_result("t-1", "wet"), text("now?"), tool_result("t-2", [text("dr"), text("y")])]),
    )

    assert [(message.role, message.content, message.tool_call_id) for message in trajectory.messages] == [
        ("tool", "wet", "t-1"),
        ("tool", "dry", "t-2"),
        ("user", "And now?", None),
    ]


def test_r10_a_message_of_only_results_leaves_no_other_message(tmp_path: Path) -> None:
    assert roles(extracted(tmp_path, user([tool_result("t-1", "wet"), tool_result("t-2", "dry")]))) == ["tool", "tool"]


def test_r10_an_empty_result_is_still_an_answer(tmp_path: Path) -> None:
    message = message_of(tmp_path, user([tool_result("t-1", "")]))

    assert (message.role, message.content, message.tool_call_id) == ("tool", "", "t-1")


def test_r10_images_of_a_result_belong_to_the_answer(tmp_path: Path) -> None:
    trajectory = extracted(tmp_path, user([tool_result("t-1", [text("see"), IMAGES[0]]), text("Well?"), IMAGES[0]]))

    assert [message.attachments for message in trajectory.messages] == [1, 1]


def test_r10_thinking_blocks_become_reasoning_and_sealed_ones_vanish(tmp_path: Path) -> None:
    message = message_of(
        tmp_path,
        assistant(
            [
                {"type": "thinking", "thinking": "Frost ends in May.", "signature": "c2VhbGVk"},
                {"type": "redacted_thinking", "data": "c2VhbGVk"},
                {"type": "tool_reference", "tool_name": "water"},
                {**text("May."), "cache_control": {"type": "ephemeral"}},
            ]
        ),
    )

    assert (message.content, message.reasoning) == ("May.", "Frost ends in May.")


def test_r10_blocks_of_all_dialects_may_be_in_one_snapshot(tmp_path: Path) -> None:
    trajectory = extracted(
        tmp_path,
        system(),
        user("Is bed 3 wet?"),
        assistant("", tool_calls=[call("call-1")]),
        {"role": "tool", "content": [text("yes")], "tool_call_id": "call-1"},
        assistant([tool_use("t-1")]),
        user([tool_result("t-1", "no")]),
    )

    assert roles(trajectory) == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert [message.tool_call_id for message in trajectory.messages if message.role == "tool"] == ["call-1", "t-1"]


# --- the system prompt among the options ----------------------------------------------------------------------------


def test_r10_the_dialect_of_blocks_gets_its_system_message_from_the_options(tmp_path: Path) -> None:
    prompt = [{**text("You help "), "cache_control": {"type": "ephemeral"}}, text("with gardens.")]
    messages = [
        user([text("Is bed 3 wet?")]),
        assistant([tool_use("t-1", bed=3)]),
        user([tool_result("t-1", [text("wet")]), text("Go on.")]),
    ]
    options = {"request_option_system": json.dumps(prompt), "request_option_model": '"claude-sonnet-4"'}

    trajectory = only(write_lines(tmp_path, snapshot(messages, properties=options)))

    assert roles(trajectory) == ["system", "user", "assistant", "tool", "user"]
    assert contents(trajectory) == ["You help with gardens.", "Is bed 3 wet?", "", "wet", "Go on."]


@pytest.mark.parametrize("key", ["request.option.system", "request_option_system"])
@pytest.mark.parametrize("value", ['"You help."', "You help.", '[{"type":"text","text":"You "},"help."]'])
def test_r10_the_option_may_be_a_text_or_blocks(tmp_path: Path, key: str, value: str) -> None:
    trajectory = extracted(tmp_path, user("one"), **{key: value})

    assert [(message.role, message.content) for message in trajectory.messages] == [
        ("system", "You help."),
        ("user", "one"),
    ]


@pytest.mark.parametrize(
    "value", ["", '""', "null", "undefined", "[]", '[{"type":"text","text":""}]', '[{"type":"image"}]']
)
def test_r10_an_empty_option_makes_no_message(tmp_path: Path, value: str) -> None:
    path = write_lines(tmp_path, snapshot([user("one")], properties={"request.option.system": value}))

    assert trajectories(path) == []
    assert roles(only(path, require_system_first=False)) == ["user"]


@pytest.mark.parametrize("first", [system("There already."), {"role": "developer", "content": "There already."}])
def test_r10_an_existing_system_message_is_not_doubled(tmp_path: Path, first: Record) -> None:
    trajectory = extracted(tmp_path, first, user("one"), **{"request.option.system": '"Another."'})

    assert contents(trajectory) == ["There already.", "one"]


def test_r10_a_later_system_message_does_not_prevent_one_from_the_options(tmp_path: Path) -> None:
    trajectory = extracted(tmp_path, user("one"), system("Late."), **{"request.option.system": '"First."'})

    assert contents(trajectory) == ["First.", "one", "Late."]


@pytest.mark.parametrize("key", ["request.option.system", "request_option_system"])
def test_r10_a_long_option_is_joined_from_its_parts(tmp_path: Path, key: str) -> None:
    prompt = json.dumps([text("word " * 4000)])
    parts = {key: prompt[:8192], f"{key}_02": prompt[8192:16384], f"{key}_03": prompt[16384:]}

    assert contents(extracted(tmp_path, user("one"), **parts))[0] == "word " * 4000


def test_r10_a_short_option_has_no_parts(tmp_path: Path) -> None:
    options = {"request.option.system": '"You help."', "request.option.system_02": '" No."'}

    assert contents(extracted(tmp_path, user("one"), **options))[0] == "You help."
