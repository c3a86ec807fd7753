"""Values other than texts that traces contradict each other about: one wins, the others are in the provenance."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.identity import merge
from copilog.model import (
    AnyPart,
    Approval,
    Attachment,
    Confirmation,
    Conversation,
    FileEdit,
    Message,
    Provenance,
    Question,
    SubAgent,
    Terminal,
    Text,
    TextEdit,
    Thinking,
    TodoItem,
    TodoList,
    ToolCall,
    Turn,
    Usage,
)
from tests.trace_builders import ELSEWHERE, LOG, NOON, STORAGE, trace

TIDES = "file:///home/ana/tides.py"
SOURCES = (
    (LOG, ""),
    ("transcripts", "transcript"),
    ("debug-logs", "debug-log"),
    ("agent-traces", "trace"),
    ("trajectory-file", "trajectory"),
)


def call(**fields: Any) -> ToolCall:
    return ToolCall(id="c1", name="chart", **fields)


def edit_at(line: int) -> TextEdit:
    return TextEdit(start_line=line, start_column=1, end_line=line, end_column=1, text="HARBOUR = 1")


def copy_with(*parts: AnyPart, folder: str = STORAGE) -> Conversation:
    made = trace(LOG, 1, folder=folder)
    calls = [call() for part in parts if isinstance(part, Terminal)]
    made.messages[1].parts = [*calls, *parts, Text(text="That is all")]
    return made


def parts_of(conversation: Conversation) -> list[AnyPart]:
    """Return the parts of the answer, calls without what the other trace says of their end."""
    parts = [part for message in conversation.messages if message.role != "user" for part in message.parts]
    return [msgspec.structs.replace(part, verdicts=[]) if isinstance(part, ToolCall) else part for part in parts]


def lost_in(conversation: Conversation) -> list[tuple[str, Any]]:
    """Return the overruled values of the turns, by field."""
    return [
        (conflict.field, conflict.value)
        for place in conversation.provenance
        for conflict in place.conflicts
        if conflict.turn is not None
    ]


def merged_in_every_order(*parts: AnyPart) -> list[Conversation]:
    """Merge copies that have these parts, in every order and with every part in every folder."""
    made = []
    for folders in permutations((STORAGE, ELSEWHERE, ELSEWHERE.replace("bbbb", "cccc"))[: len(parts)]):
        copies = [copy_with(part, folder=folder) for part, folder in zip(parts, folders, strict=True)]
        made += [
            merge([msgspec.convert(msgspec.to_builtins(one), Conversation) for one in order])
            for order in permutations(copies)
        ]
    return made


# Two values of one part, and the value that one of them loses.
CONTRADICTIONS: dict[str, tuple[AnyPart, AnyPart, dict[str, Any], dict[str, Any]]] = {
    "the duration of a call": (
        call(elapsed_ms=4_000.0),
        call(elapsed_ms=90_000.0),
        {"elapsed_ms": 4_000.0},
        {"elapsed_ms": 90_000.0},
    ),
    "the start of a call": (
        call(started_at=NOON),
        call(started_at=NOON + timedelta(minutes=2)),
        {"started_at": "2026-01-05T12:00:00Z"},
        {"started_at": "2026-01-05T12:02:00Z"},
    ),
    "the duration of a sub-agent": (
        call(subagent=SubAgent(name="Explore", elapsed_ms=4_000.0)),
        call(subagent=SubAgent(name="Explore", elapsed_ms=90_000.0)),
        {"subagent": {"elapsed_ms": 4_000.0}},
        {"subagent": {"elapsed_ms": 90_000.0}},
    ),
    "the exit code of a command": (
        Terminal(call_id="c1", command="make", exit_code=1),
        Terminal(call_id="c1", command="make", exit_code=2),
        {"exit_code": 1},
        {"exit_code": 2},
    ),
    "the folder of a command": (
        Terminal(call_id="c1", command="make", exit_code=1, cwd="/home/ana/tides"),
        Terminal(call_id="c1", command="make", exit_code=1, cwd="/home/ana/ebb"),
        {"cwd": "/home/ana/tides"},
        {"cwd": "/home/ana/ebb"},
    ),
    "the line counts of an edit": (
        FileEdit(uri=TIDES, is_done=True, added=3, removed=1),
        FileEdit(uri=TIDES, is_done=True, added=4, removed=1),
        {"added": 3},
        {"added": 4},
    ),
    "whether an edit was applied": (
        FileEdit(uri=TIDES, is_done=True, is_applied=True),
        FileEdit(uri=TIDES, is_done=True, is_applied=False),
        {"is_applied": True},
        {"is_applied": False},
    ),
    "the range of an edit": (
        FileEdit(uri=TIDES, is_done=True, batches=[[edit_at(1)]]),
        FileEdit(uri=TIDES, is_done=True, batches=[[edit_at(9)]]),
        {"batches": [[msgspec.to_builtins(edit_at(1))]]},
        {"batches": [[msgspec.to_builtins(edit_at(9))]]},
    ),
    "how long thinking took": (
        Thinking(text="The port of Norrvik", elapsed_ms=4_000.0),
        Thinking(text="The port of Norrvik", elapsed_ms=90_000.0),
        {"elapsed_ms": 4_000.0},
        {"elapsed_ms": 90_000.0},
    ),
    "who allowed a call": (
        call(approval=Approval(kind="user")),
        call(approval=Approval(kind="denied")),
        {"approval": {"kind": "user"}},
        {"approval": {"kind": "denied"}},
    ),
    "a short answer": (
        Confirmation(type="questions", title="Tide", state="answered", questions=[Question(id="q1", answer="no")]),
        Confirmation(type="questions", title="Tide", state="answered", questions=[Question(id="q1", answer="yes")]),
        {"questions": [{"id": "q1", "answer": "no"}]},
        {"questions": [{"id": "q1", "answer": "yes"}]},
    ),
    "an answer that is among the options": (
        Confirmation(type="plan", title="Plan", options=["Go on", "Stop it"], answer="Go on", state="answered"),
        Confirmation(type="plan", title="Plan", options=["Go on", "Stop it"], answer="Stop it", state="answered"),
        {"answer": "Go on"},
        {"answer": "Stop it"},
    ),
    "how a to-do ended": (
        TodoList(call_id="c1", items=[TodoItem(id="1", title="Read the chart", status="completed")]),
        TodoList(call_id="c1", items=[TodoItem(id="1", title="Read the chart", status="cancelled")]),
        {"items": [{"id": "1", "title": "Read the chart", "status": "completed"}]},
        {"items": [{"id": "1", "title": "Read the chart", "status": "cancelled"}]},
    ),
    "a number without an equivalent": (
        call(extra={"a": {"retries": 1, "b": 5}}),
        call(extra={"a": {"retries": 2, "b": 5}}),
        {"extra": {"a": {"retries": 1}}},
        {"extra": {"a": {"retries": 2}}},
    ),
}


@pytest.mark.parametrize(("one", "other", "of_one", "of_other"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_value_that_loses_is_in_the_provenance_in_every_order(
    one: AnyPart, other: AnyPart, of_one: dict[str, Any], of_other: dict[str, Any]
) -> None:
    made = merged_in_every_order(one, other)

    won = {msgspec.json.encode([part for part in parts_of(merged) if type(part) is type(one)]) for merged in made}
    assert len(won) == 1, "the value does not depend on folder or order"
    for merged in made:
        [(field, [value])] = [entry for entry in lost_in(merged) if entry[0] != "answer"]
        assert field == one.__struct_config__.tag
        assert any(expected.items() <= value.items() for expected in (of_one, of_other))


# Differences that are no contradiction: another precision, or an earlier state of the same thing.
AGREEMENTS: dict[str, tuple[AnyPart, AnyPart]] = {
    "rounded seconds": (call(elapsed_ms=5_000.0), call(elapsed_ms=4_517.0)),
    "two clocks": (call(started_at=NOON), call(started_at=NOON + timedelta(seconds=3))),
    "an unfinished edit": (
        FileEdit(uri=TIDES, batches=[[edit_at(1)]], added=1, is_done=False),
        FileEdit(uri=TIDES, batches=[[edit_at(1)], [edit_at(9)]], added=2, is_done=True),
    ),
    "a running command": (
        Terminal(call_id="c1", command="make", elapsed_ms=1_000.0),
        Terminal(call_id="c1", command="make", elapsed_ms=90_000.0, exit_code=0),
    ),
    "an unanswered question": (
        Confirmation(type="plan", title="The plan", state="unanswered"),
        Confirmation(type="plan", title="The plan", answer="Go on", state="answered"),
    ),
    "a to-do that was done since": (
        TodoList(items=[TodoItem(id="1", title="Read the chart", status="in-progress")]),
        TodoList(items=[TodoItem(id="1", title="Read the chart", status="completed")]),
    ),
    "thinking that breaks off": (
        Thinking(text="The port of", elapsed_ms=1_000.0),
        Thinking(text="The port of Norrvik", elapsed_ms=90_000.0),
    ),
    "two spellings of a model": (
        call(subagent=SubAgent(name="Explore", model="copilot/gpt-5-mini")),
        call(subagent=SubAgent(name="Explore", model="GPT-5 mini")),
    ),
    "ids of two writers": (call(round_id="1"), call(round_id="952120eb")),
}


@pytest.mark.parametrize(("one", "other"), AGREEMENTS.values(), ids=AGREEMENTS)
def test_another_precision_or_an_earlier_state_is_no_contradiction(one: AnyPart, other: AnyPart) -> None:
    assert [lost_in(merged) for merged in merged_in_every_order(one, other)] == [[], []] * 2


def test_every_value_of_three_copies_that_loses_is_kept() -> None:
    durations = (4_000.0, 90_000.0, 700_000.0)

    for merged in merged_in_every_order(*(call(elapsed_ms=duration) for duration in durations)):
        [won] = [part.elapsed_ms for part in parts_of(merged) if isinstance(part, ToolCall)]
        lost = [value[0]["elapsed_ms"] for _, value in lost_in(merged)]
        assert sorted([won, *lost]) == sorted(durations)


def test_a_value_of_a_call_that_the_leading_trace_lacks_is_kept_too() -> None:
    """The first of two other traces adds the call, and the last one overrules nothing of it unseen."""
    others = [("transcripts", "transcript", 4_000.0), ("debug-logs", "debug-log", 90_000.0)]
    traces = [copy_with()]
    for source, mark, duration in others:
        other = trace(source, 1, marks=(mark,))
        other.messages[1].parts = [call(elapsed_ms=duration)]
        other.provenance = [Provenance(source=source, path=f"/traces/{source}")]
        traces.append(other)

    merged = merge(traces)

    [won] = [part.elapsed_ms for part in parts_of(merged) if isinstance(part, ToolCall)]
    [(_, [lost])] = [entry for entry in lost_in(merged) if entry[0] == "tool-call"]
    assert {won, lost["elapsed_ms"]} == {4_000.0, 90_000.0}


def test_images_of_one_name_that_differ_are_both_kept() -> None:
    made = [copy_with(folder=folder) for folder in (STORAGE, ELSEWHERE)]
    for one, data in zip(made, (b"first", b"second"), strict=True):
        one.messages[0].parts.append(Attachment(type="image", name="Pasted image", data=data))

    merged = merge(made)

    kept = [part.data for message in merged.messages for part in message.parts if isinstance(part, Attachment)]
    [(_, [lost])] = [entry for entry in lost_in(merged) if entry[0] == "attachment"]
    assert {*kept, msgspec.convert(lost["data"], bytes, strict=False)} == {b"first", b"second"}


# --- tokens and positions ---------------------------------------------------------------------------------------


def test_token_counts_of_one_record_that_differ_are_kept() -> None:
    made = [copy_with(folder=folder) for folder in (STORAGE, ELSEWHERE)]
    for one, tokens in zip(made, (100, 90), strict=True):
        one.turns[0].status = "complete"
        one.turns[0].usage = [Usage(input=tokens, output=7, source="result.usage")]

    merged = merge(made)

    [won] = [usage.input for usage in merged.turns[0].usage]
    [lost] = [value for field, value in lost_in(merged) if field == "usage"]
    assert {won, lost[0]["input"]} == {100, 90}


def test_token_counts_of_a_turn_that_had_not_ended_are_no_contradiction() -> None:
    made = [copy_with(folder=folder) for folder in (STORAGE, ELSEWHERE)]
    for one, tokens, status in zip(made, (100, 40), ("complete", "pending"), strict=True):
        one.turns[0].status = status  # type: ignore[assignment]
        one.turns[0].usage = [Usage(input=tokens, source="result.usage")]
    made[0].messages.append(Message(role="assistant", parts=[Text(text="More")], turn=0))

    assert [entry for entry in lost_in(merge(made)) if entry[0] == "usage"] == []


def test_totals_of_a_copy_that_stopped_earlier_are_no_contradiction() -> None:
    longer, shorter = trace(LOG, 1, 2), trace(LOG, 1, folder=ELSEWHERE)
    longer.usage = [Usage(input=100, scope="session", source="shutdown")]
    shorter.usage = [Usage(input=40, scope="session", source="shutdown")]

    merged = merge([shorter, longer])

    assert [usage.input for usage in merged.usage] == [100]
    assert [
        conflict.field for place in merged.provenance for conflict in place.conflicts if conflict.turn is None
    ] == []


def test_totals_of_copies_of_equal_length_are_a_contradiction() -> None:
    made = [trace(LOG, 1, folder=folder) for folder in (STORAGE, ELSEWHERE)]
    for one, tokens in zip(made, (100, 40), strict=True):
        one.usage = [Usage(input=tokens, scope="session", source="shutdown")]

    merged = merge(made)

    lost = [conflict for place in merged.provenance for conflict in place.conflicts if conflict.turn is None]
    [won] = [usage.input for usage in merged.usage]
    assert [(conflict.field, {won, conflict.value[0]["input"]}) for conflict in lost] == [("usage", {100, 40})]


def test_where_an_answer_was_undone_is_compared_exactly() -> None:
    made = [copy_with(folder=folder) for folder in (STORAGE, ELSEWHERE)]
    made[0].turns[0].undone_from, made[1].turns[0].undone_from = 2, 5

    assert ("undone_from", 5) in lost_in(merge(made)) or ("undone_from", 2) in lost_in(merge(made))


# --- any traces -------------------------------------------------------------------------------------------------

durations = st.integers(0, 50).map(lambda number: number * 10_000.0)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(SOURCES), durations, durations), min_size=2, max_size=5), st.randoms())
def test_every_order_has_the_same_value_and_keeps_every_other(made: list[Any], random: Any) -> None:
    traces = []
    for number, ((source, mark), of_call, of_thinking) in enumerate(made):
        one = Conversation(id="vscode:s", native_id="s", source=source, marks=[mark] if mark else [])
        one.provenance = [Provenance(source=source, path=f"/traces/{number}/chatSessions/s.jsonl")]
        one.turns = [Turn(index=0, request_id="r1")]
        parts: list[AnyPart] = [Thinking(text="The port", elapsed_ms=of_thinking), call(elapsed_ms=of_call)]
        one.messages = [Message(role="assistant", parts=parts, turn=0)]
        traces.append(one)
    shuffled = [msgspec.convert(msgspec.to_builtins(one), Conversation) for one in traces]
    random.shuffle(shuffled)

    first, second = merge(traces), merge(shuffled)

    assert msgspec.to_builtins(first) == msgspec.to_builtins(second)
    for kind, values in ((ToolCall, [of_call for _, of_call, _ in made]), (Thinking, [last for *_, last in made])):
        [won] = [part.elapsed_ms for part in parts_of(first) if isinstance(part, kind)]
        lost = [value[0]["elapsed_ms"] for field, value in lost_in(first) if field == kind.__struct_config__.tag]
        assert sorted(lost) == sorted(value for value in values if value != won)
