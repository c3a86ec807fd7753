"""Calls of a turn that several traces have: which are one, and which are two."""

from __future__ import annotations

import pytest

from copilog import identity
from copilog.model import UNASKED, Conversation, Message, Provenance, Text, ToolCall, ToolResult, Turn
from tests.trace_builders import LOG

BUOYS, CRANES = '{"filePath": "/work/buoys.py"}', '{"filePath": "/work/cranes.py"}'


def turn_of(source: str, mark: str, *calls: ToolCall, **results: str) -> Conversation:
    made = Conversation(id="vscode:s", native_id="s", source=source, marks=[mark] if mark else [])
    made.provenance = [Provenance(source=source, path=f"/traces/{source}")]
    made.turns = [Turn(index=0, request_id="r1")]
    made.messages = [Message(role="user", parts=[Text(text="Which files are there?")], turn=0)]
    for call in calls:
        made.messages.append(Message(role="assistant", parts=[call], turn=0))
        if call.id in results:
            result = ToolResult(call_id=call.id, text=results[call.id])
            made.messages.append(Message(role="tool", parts=[result], turn=0))
    return made


def merged(mine: list[ToolCall], theirs: list[ToolCall], **results: str) -> Conversation:
    return identity.merge(
        [turn_of(LOG, "", *mine, **results), turn_of("transcripts", "transcript", *theirs, **results)]
    )


def calls_in(conversation: Conversation) -> list[tuple[str, str | None]]:
    parts = (part for message in conversation.messages for part in message.parts)
    return [(part.id, part.arguments) for part in parts if isinstance(part, ToolCall)]


def test_two_recorded_ids_with_other_arguments_are_two_calls() -> None:
    found = merged(
        [ToolCall(id="call_1", name="read_file", arguments=BUOYS)],
        [ToolCall(id="call_2", name="read_file", arguments=CRANES, status="failed")],
        call_1="text of the buoys",
        call_2="text of the cranes",
    )

    assert sorted(calls_in(found)) == [("call_1", BUOYS), ("call_2", CRANES)]
    parts = [part for message in found.messages for part in message.parts]
    results = {part.call_id: part.text for part in parts if isinstance(part, ToolResult)}
    assert results == {"call_1": "text of the buoys", "call_2": "text of the cranes"}
    assert all(place.conflicts == [] for place in found.provenance)


def test_a_call_without_arguments_is_not_one_with_another_id_of_the_same_form() -> None:
    found = merged(
        [ToolCall(id="call_1", name="read_file")], [ToolCall(id="call_2", name="read_file", arguments=CRANES)]
    )

    assert sorted(name for name, _ in calls_in(found)) == ["call_1", "call_2"]


@pytest.mark.parametrize(
    "theirs",
    [
        '{ "filePath" : "/work/buoys.py" }',
        '{"filePath": "\\/work\\/buoys.py"}',
        '{"filePath": "/work/bu...[truncated, original 14 chars]"}',
        '{"filePath": "/work/bu…',
    ],
)
def test_calls_with_different_ids_and_equal_arguments_are_the_same(theirs: str) -> None:
    found = merged(
        [ToolCall(id="toolu_1", name="read_file", arguments=BUOYS)],
        [ToolCall(id="call_2", name="read_file", arguments=theirs)],
    )

    assert calls_in(found) == [("toolu_1", BUOYS)]


@pytest.mark.parametrize("name", ["part-3", "0f8fad5b-d9cb-469f-a165-70867728950e"])
def test_calls_without_common_ids_and_arguments_are_matched_by_position(name: str) -> None:
    found = merged(
        [ToolCall(id=name, name="copilot_readFile", tool_id="copilot_readFile"), ToolCall(id="call_9", name="write")],
        [
            ToolCall(id="call_1", name="read_file", tool_id="copilot_readFile", arguments=BUOYS),
            ToolCall(id="call_9", name="write"),
            ToolCall(id="call_2", name="read_file", tool_id="copilot_readFile", arguments=CRANES),
        ],
    )

    assert calls_in(found) == [(name, BUOYS), ("call_9", None), ("call_2", CRANES)]


def test_a_call_without_a_recorded_request_is_the_only_call_of_its_tool_that_has_no_arguments() -> None:
    shown = ToolCall(id="call_1", name="find_buoys")
    run = ToolCall(id="0123456789abcdef", name="find_buoys", arguments=BUOYS, native=UNASKED)

    assert calls_in(merged([shown], [run])) == [("call_1", BUOYS)]


def test_a_call_without_a_recorded_request_may_be_any_of_two_calls_of_its_tool() -> None:
    shown = [ToolCall(id="call_1", name="find_buoys"), ToolCall(id="call_2", name="find_buoys")]
    run = ToolCall(id="0123456789abcdef", name="find_buoys", arguments=BUOYS, native=UNASKED)

    assert calls_in(merged(shown, [run])) == [("call_1", None), ("call_2", None)]


def test_a_call_that_was_only_prepared_is_one_at_any_place_of_an_answer() -> None:
    found = merged(
        [ToolCall(id="prepared-15", name="replace", status="prepared")],
        [ToolCall(id="prepared-16", name="replace", status="prepared")],
    )

    assert [name for name, _ in calls_in(found)] == ["prepared-15"]


def test_several_calls_that_were_only_prepared_stay_several() -> None:
    found = merged(
        [ToolCall(id=f"prepared-{at}", name="replace", status="prepared") for at in (3, 9)],
        [ToolCall(id=f"prepared-{at}", name="replace", status="prepared") for at in (2, 8)],
    )

    assert len(calls_in(found)) == 2
