"""Where one message ends and the next begins."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from copilog.model import Message, Text, Thinking, ToolCall, ToolResult
from copilog.sources.vscode.response import Shown, messages_from
from tests.sources.vscode_builders import read_parts
from tests.sources.vscode_part_samples import PARTS, uri
from tests.sources.vscode_tool_samples import tool_part


def answered(call_id: str, **fields: Any) -> dict[str, Any]:
    return tool_part("some_tool", call_id, resultDetails={"input": "", "output": f"result of {call_id}"}, **fields)


def outline(messages: list[Message]) -> list[str]:
    """Return one line for each message: its author, and the parts by name."""
    return [f"{message.role}: {' '.join(_word(part) for part in message.parts)}" for message in messages]


def _word(part: Any) -> str:
    if isinstance(part, ToolCall):
        return part.id
    if isinstance(part, ToolResult):
        return f"={part.call_id}"
    return type(part).__name__


def test_text_and_calls_up_to_the_results_are_one_message() -> None:
    messages, _ = read_parts({"value": "I look."}, answered("c1"), answered("c2"), {"value": "Done."})

    assert outline(messages) == ["assistant: Text c1 c2", "tool: =c1", "tool: =c2", "assistant: Text"]


def test_thinking_after_results_begins_a_message() -> None:
    messages, _ = read_parts(answered("c1"), {"kind": "thinking", "value": "hm"}, answered("c2"))

    assert outline(messages) == ["assistant: c1", "tool: =c1", "assistant: Thinking c2", "tool: =c2"]


def test_an_empty_thinking_part_or_blank_text_begins_nothing() -> None:
    messages, _ = read_parts(answered("c1"), {"kind": "thinking", "value": ""}, {"value": "\n\n"}, answered("c2"))

    assert outline(messages) == ["assistant: c1 Thinking Text c2", "tool: =c1", "tool: =c2"]


def test_a_reference_that_begins_a_sentence_stays_with_it() -> None:
    messages, _ = read_parts(answered("c1"), PARTS["inlineReference"], {"value": " is it."})

    assert outline(messages) == ["assistant: c1", "tool: =c1", "assistant: Reference Text"]


def test_texts_before_and_after_a_hidden_call_are_two_messages() -> None:
    call = {"id": "c1", "name": "no_such_tool", "arguments": "{}"}
    rounds = [{"id": "r1", "response": "I try. ", "toolCalls": [call]}, {"id": "r2", "response": "It failed."}]
    results = {"c1": {"$mid": 20, "content": [{"$mid": 21, "value": "ERROR: no such tool"}]}}
    messages, _ = read_parts(
        {"kind": "mcpServersStarting"},
        {"value": "I try. It failed."},
        result={"metadata": {"toolCallRounds": rounds, "toolCallResults": results}},
    )

    assert outline(messages) == ["assistant: Notice Text c1", "tool: =c1", "assistant: Text"]
    assert [part.text for one in messages for part in one.parts if isinstance(part, Text)] == ["I try.", "It failed."]


FENCE = "\n```\n"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FENCE, FENCE, []),
        ("Now I write. " + FENCE, FENCE + "Written.", ["Now I write. ", "Written."]),
        ("It was ```bold```", FENCE, ["It was ```bold```", FENCE]),
        ("```python\n", FENCE, ["```python\n", FENCE]),
        (FENCE, "Written.", [FENCE, "Written."]),
    ],
)
def test_fences_of_vs_code_around_an_edit_are_not_text(before: str, after: str, told: list[str]) -> None:
    edit = {"kind": "textEditGroup", "uri": uri("/a.py"), "edits": []}
    messages, ledger = read_parts({"value": before}, PARTS["undoStop"], edit, {"value": after})

    assert [part.text for one in messages for part in one.parts if isinstance(part, Text)] == told
    assert ledger.parts.ignored == ({"fence-of-edit": 2 - len(told)} if len(told) < 2 else {})
    assert ledger.balances()


def test_edits_stay_with_their_call() -> None:
    edits = [
        {"value": "\n```\n"},
        PARTS["undoStop"],
        {"kind": "codeblockUri", "uri": uri("/a.py"), "isEdit": True},
        {"kind": "textEditGroup", "uri": uri("/a.py"), "edits": []},
        {"value": "\n```\n"},
    ]

    messages, _ = read_parts(answered("c1"), *edits, {"value": "Done."})

    assert outline(messages) == [
        "assistant: c1 Checkpoint Reference FileEdit",
        "tool: =c1",
        "assistant: Text",
    ]


def test_calls_of_another_round_begin_a_message() -> None:
    calls = [{"id": f"c{number}", "name": "some_tool", "arguments": "{}"} for number in range(3)]
    rounds = [{"id": "r1", "toolCalls": calls[:2]}, {"id": "r2", "toolCalls": calls[2:], "timestamp": 1767000001000}]

    messages, _ = read_parts(
        answered("c0"), answered("c1"), answered("c2"), result={"metadata": {"toolCallRounds": rounds}}
    )

    assert outline(messages) == ["assistant: c0 c1", "tool: =c0", "tool: =c1", "assistant: c2", "tool: =c2"]
    assert messages[3].created_at == datetime.fromtimestamp(1767000001, UTC)


def test_a_call_without_a_result_does_not_end_a_message() -> None:
    messages, _ = read_parts({"value": "a"}, tool_part(), {"value": "b"})

    assert outline(messages) == ["assistant: Text call-1 Text"]


def test_an_empty_response_has_no_message() -> None:
    assert read_parts()[0] == []


def test_messages_have_the_index_of_their_turn() -> None:
    shown = [Shown(Thinking(text="a"), None), Shown(Text(text="b"), "s1")]

    assert [(message.turn, message.parent_call_id) for message in messages_from(shown, 7)] == [(7, None), (7, "s1")]
