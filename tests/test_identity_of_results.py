"""The result of a call in several traces: what the model saw is the result, whichever trace leads."""

from __future__ import annotations

from itertools import permutations

import pytest

from copilog import identity
from copilog.model import AnyPart, Conversation, Place, SubAgent, Terminal, ToolCall, ToolResult
from tests.trace_builders import ELSEWHERE, LOG, STORAGE, trace

MAKE = '{"command": "make all"}'
REAL = ToolResult(call_id="c1", text="what the model was told", origin="model")


def turn_with(*parts: AnyPart, folder: str = STORAGE) -> Conversation:
    made = trace(LOG, 1, folder=folder)
    made.messages[1].parts = [*parts, *made.messages[1].parts]
    return made


def call(subagent: SubAgent | None = None) -> ToolCall:
    return ToolCall(id="c1", name="run_in_terminal", arguments=MAKE, subagent=subagent)


def results_of(conversation: Conversation) -> list[ToolResult]:
    return [part for message in conversation.messages for part in message.parts if isinstance(part, ToolResult)]


@pytest.mark.parametrize("folders", [(STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)])
def test_a_result_gives_way_to_what_the_model_saw(folders: tuple[str, str]) -> None:
    shown = ToolResult(call_id="c1", text="what the user saw", origin="display")

    merged = identity.merge([turn_with(call(), shown, folder=folders[0]), turn_with(call(), REAL, folder=folders[1])])

    assert [(one.text, one.origin, one.display) for one in results_of(merged)] == [
        ("what the model was told", "model", "what the user saw")
    ]
    assert "what the model was told" not in str([place.conflicts for place in merged.provenance])


@pytest.mark.parametrize("folders", [(STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)])
def test_places_without_a_text_are_kept_beside_the_result(folders: tuple[str, str]) -> None:
    found = ToolResult(call_id="c1", origin="display", places=[Place(uri="file:///home/ana/tides.py")])

    merged = identity.merge([turn_with(call(), found, folder=folders[0]), turn_with(call(), REAL, folder=folders[1])])

    [result] = results_of(merged)
    assert (result.text, result.display) == ("what the model was told", None)
    assert result.places == found.places


@pytest.mark.parametrize("folders", [(STORAGE, ELSEWHERE), (ELSEWHERE, STORAGE)])
def test_the_output_of_a_terminal_is_not_repeated_beside_the_result(folders: tuple[str, str]) -> None:
    terminal = Terminal(call_id="c1", command="make all", output="what the terminal showed")
    shown = ToolResult(call_id="c1", text="what the terminal showed", origin="terminal")
    silent = Terminal(call_id="c1", command="make all")

    merged = identity.merge(
        [turn_with(call(), terminal, shown, folder=folders[0]), turn_with(call(), silent, REAL, folder=folders[1])]
    )

    assert [(one.text, one.display) for one in results_of(merged)] == [("what the model was told", None)]
    terminals = [part for message in merged.messages for part in message.parts if isinstance(part, Terminal)]
    assert [part.output for part in terminals] == ["what the terminal showed"]


def test_the_answer_of_a_sub_agent_is_not_repeated_beside_the_result() -> None:
    asked = call(subagent=SubAgent(prompt="Look for tides", result="what the sub-agent said"))
    shown = ToolResult(call_id="c1", text="what the sub-agent said", origin="display")

    merged = identity.merge([turn_with(asked, shown), turn_with(call(), REAL, folder=ELSEWHERE)])

    assert [(one.text, one.display) for one in results_of(merged)] == [("what the model was told", None)]


def test_a_transcript_gives_the_result_of_a_call_of_which_the_session_has_only_the_display() -> None:
    shown = ToolResult(call_id="c1", text="what the user saw", origin="display")
    told = turn_with(call(), REAL)
    told.source, told.marks, told.provenance[0].path = "transcripts", ["transcript"], "/traces/s.jsonl"

    merged = identity.merge([turn_with(call(), shown), told])

    assert [one.text for one in results_of(merged)] == ["what the model was told"]


def test_three_traces_give_one_result_in_any_order_and_grouping() -> None:
    shown = ToolResult(call_id="c1", text="what the user saw", origin="display")
    bare = ToolResult(call_id="c1", origin="display", places=[Place(path="/home/ana/tides.py")])
    third = "/home/ana/.config/Code/User/workspaceStorage/cccc"
    made = []
    for first, second, last in permutations([(shown, STORAGE), (REAL, ELSEWHERE), (bare, third)]):
        one, two, three = (turn_with(call(), part, folder=folder) for part, folder in (first, second, last))
        made.append(identity.merge([identity.merge([one, two]), three]))

    assert {(one.text, one.display) for merged in made for one in results_of(merged)} == {
        ("what the model was told", "what the user saw")
    }
    assert all(len(results_of(merged)) == 1 and results_of(merged)[0].places == bare.places for merged in made)
