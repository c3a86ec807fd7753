"""File changes and spilled tool output become part of the conversation that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from copilog.derive import conclude
from copilog.identity import merge
from copilog.model import Conversation, FileEdit, FileState, Message, ToolCall, ToolResult
from tests.trace_builders import ELSEWHERE, FILE, LOG, change, edits, roles, spilled, stub, trace

# --- edits ------------------------------------------------------------------------------------------------------


def test_file_changes_belong_to_the_turns_of_their_requests() -> None:
    state = FileState(uri="file:///home/ana/tides.py")
    merged = merge([edits(change(2), change(7), files=[state]), trace(LOG, 1, 2)])

    assert [(made.request_id, made.turn) for made in merged.file_changes] == [("r2", 1), ("r7", None)]
    assert merged.files == [state]
    assert roles(merged) == [(LOG, "lead"), ("vscode-editing", "edits")]


def test_the_only_edit_of_a_file_in_a_turn_gets_the_diff_of_its_history() -> None:
    log = trace(LOG, 1, 2)
    alone = FileEdit(uri="file:///home/ana/tides.py")
    twice = [FileEdit(uri="file:///home/ana/tides.py") for _ in range(2)]
    log.messages[1].parts.append(alone)
    log.messages[3].parts += twice

    merge([log, edits(change(1), change(1, checkpoint="step"), change(2))])

    assert (alone.diff, alone.added, alone.removed) == ("diff 1", 1, 0)
    assert [edit.diff for edit in twice] == [None, None]


def test_turns_that_come_back_take_their_file_changes_with_them() -> None:
    merged = merge([edits(change(1), change(4)), trace(FILE, 1, 2), trace(LOG, 4, marks=("headless",))])

    assert [(made.request_id, made.turn) for made in merged.file_changes] == [("r1", 0), ("r4", 2)]


def test_two_histories_of_one_conversation_are_united_by_request() -> None:
    merged = merge(
        [trace(LOG, 1, 2, 3), edits(change(1), change(2)), edits(change(2), change(3), change(3), folder="/b")]
    )

    assert sorted((made.request_id, made.turn) for made in merged.file_changes) == [
        ("r1", 0),
        ("r2", 1),
        ("r3", 2),
        ("r3", 2),
    ]


def test_edits_without_a_conversation_stay_orphans_with_the_title_of_the_index() -> None:
    merged = merge([stub(), edits(change(1))])

    assert merged.marks == ["orphan-edits"]
    assert merged.title == "From the index"
    assert merged.turns == []
    assert [made.turn for made in merged.file_changes] == [None]
    assert roles(merged) == [("vscode-editing", "edits"), ("vscode-state", "index")]


# --- spilled tool output ----------------------------------------------------------------------------------------


def with_call(*results: ToolResult, **fields: Any) -> Conversation:
    made = trace(LOG, 1, 2)
    made.messages[1].parts.append(ToolCall(id="call_1", name="read_file", **fields))
    made.messages[2:2] = [Message(role="tool", parts=[result], turn=0) for result in results]
    return made


def test_spilled_output_is_the_full_text_of_its_result() -> None:
    short = ToolResult(call_id="call_1", text="long ou...")

    merged = merge([spilled("call_1", "long output"), with_call(short)])

    assert short.text == "long ou..."
    assert short.full_text == "long output"
    assert short.full_text_path is not None
    assert short.full_text_path.endswith("/s/call_1/content.txt")
    assert len(merged.messages) == 5
    assert roles(merged) == [(LOG, "lead"), ("vscode-resources", "resource")]


def test_spilled_output_finds_its_call_by_every_spelling_of_the_id() -> None:
    short = ToolResult(call_id="call_1", text="")

    merge([with_call(short, native_ids=["tool-uuid"]), spilled("tool-uuid", "long output")])

    assert short.full_text == "long output"


def test_spilled_output_of_a_call_without_a_result_comes_after_the_call() -> None:
    merged = merge([with_call(), spilled("call_1", "long output")])

    assert [(message.role, message.turn) for message in merged.messages] == [
        ("user", 0),
        ("assistant", 0),
        ("tool", 0),
        ("user", 1),
        ("assistant", 1),
    ]


@pytest.mark.parametrize("is_concluded", [False, True])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("has_results", [False, True])
def test_spilled_output_of_calls_with_one_id_goes_to_the_call_of_its_own_turn(
    has_results: bool, order: int, is_concluded: bool
) -> None:
    made = trace(LOG, 1, 2)
    for turn in (1, 0):
        call = ToolCall(id="c1", name="read_file", native_ids=[f"c1__vscode-{turn}"])
        made.messages[2 * turn + 1].parts.append(call)
        if has_results:
            short = ToolResult(call_id="c1", text=f"cut {turn}")
            made.messages.insert(2 * turn + 2, Message(role="tool", parts=[short], turn=turn))
    if is_concluded:
        conclude(made)
    outputs = [spilled(f"c1__vscode-{turn}", f"whole {turn}") for turn in (0, 1)]
    for output in outputs:
        for part in output.messages[0].parts:
            assert isinstance(part, ToolResult)
            part.call_id = "c1"  # as it is read

    merged = merge([made, *outputs[::order]])
    conclude(merged)

    full = {
        (message.turn, part.call_id): part.full_text
        for message in merged.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    assert full == {(0, "c1"): "whole 0", (1, "c1__vscode-1"): "whole 1"}


def test_spilled_output_without_a_distinct_id_belongs_to_the_last_call() -> None:
    made = trace(LOG, 1, 2)
    for turn in (1, 0):
        made.messages[2 * turn + 1].parts.append(ToolCall(id="c1", name="read_file"))
        short = ToolResult(call_id="c1", text=f"cut {turn}")
        made.messages.insert(2 * turn + 2, Message(role="tool", parts=[short], turn=turn))

    merged = merge([made, spilled("c1", "whole 1")])

    results = [part for message in merged.messages for part in message.parts if isinstance(part, ToolResult)]
    assert [result.full_text for result in results] == [None, "whole 1"]


def test_spilled_output_of_an_unknown_call_comes_last() -> None:
    merged = merge([trace(LOG, 1), spilled("call_9", "nine"), spilled("call_8", "eight")])

    results = [part for message in merged.messages[2:] for part in message.parts if isinstance(part, ToolResult)]
    assert {(result.call_id, result.full_text) for result in results} == {("call_9", "nine"), ("call_8", "eight")}
    assert [message.turn for message in merged.messages[2:]] == [None, None]


def test_copies_of_spilled_output_are_joined_once_and_other_output_is_kept() -> None:
    short = ToolResult(call_id="call_1", text="")
    merged = merge(
        [
            with_call(short),
            spilled("call_1", "long output"),
            spilled("call_1", "long output", folder=ELSEWHERE),
            spilled("call_1", "an image", name="content.bin"),
        ]
    )

    texts = [part.full_text for message in merged.messages for part in message.parts if isinstance(part, ToolResult)]
    assert sorted(str(text) for text in texts) == ["an image", "long output"]
    assert len(merged.provenance) == 4


def test_spilled_output_without_a_conversation_is_kept_together() -> None:
    merged = merge([spilled("call_1", "one"), spilled("call_2", "two"), stub()])

    texts = [part.full_text for message in merged.messages for part in message.parts if isinstance(part, ToolResult)]
    assert sorted(str(text) for text in texts) == ["one", "two"]
    assert (merged.marks, merged.title) == (["resource"], "From the index")
