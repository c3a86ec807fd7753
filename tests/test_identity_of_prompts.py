"""Turns of traces without ids: aligned by their prompts, times, neighbours and answers."""

from __future__ import annotations

from datetime import timedelta

import pytest

from copilog.identity import copy_of, merge
from copilog.model import Conversation, Message, Provenance, Text, ToolCall, Turn, prose_of
from tests.trace_builders import LOG, NOON

# --- alignment ----------------------------------------------------------------------------------------------------


def trace_without_ids(source: str, mark: str, *turns: tuple[str, float | None]) -> Conversation:
    """Return a trace of prompts without ids, each with its minute."""
    made = Conversation(id="vscode:s", native_id="s", source=source, marks=[mark] if mark else [])
    made.provenance = [Provenance(source=source, path=f"/traces/{source}")]
    for index, (prompt, minute) in enumerate(turns):
        turn = Turn(index=index)
        turn.timing.started_at = NOON + timedelta(minutes=minute) if minute is not None else None
        made.turns.append(turn)
        made.messages.append(Message(role="user", parts=[Text(text=prompt)], turn=index))
        made.messages.append(Message(role="assistant", parts=[Text(text="Yes.")], turn=index))
    return made


LONG = "Please draw the tide table of Norrvik for the whole week"


def prompts(*traces: Conversation) -> list[str]:
    return [prose_of(one.parts) for one in merge(list(traces)).messages if one.role == "user"]


def test_the_same_prompt_at_another_time_is_another_turn() -> None:
    one, other = (
        trace_without_ids("cli-events", "", (LONG, 1)),
        trace_without_ids("transcripts", "transcript", (LONG, 600)),
    )

    assert prompts(one, other) == [LONG, LONG]


def test_the_same_prompt_at_the_same_time_is_the_same_turn() -> None:
    one, other = (
        trace_without_ids("cli-events", "", (LONG, 1)),
        trace_without_ids("transcripts", "transcript", (LONG, 2)),
    )

    assert prompts(one, other) == [LONG]


def test_a_retry_without_times_is_aligned_in_order() -> None:
    one, other = (
        trace_without_ids("cli-events", "", (LONG, None), (LONG, None)),
        trace_without_ids("transcripts", "transcript", (LONG, None)),
    )

    assert prompts(one, other) == [LONG, LONG]


def test_common_prompts_are_aligned_by_time_and_neighbour() -> None:
    log = trace_without_ids("cli-events", "", (LONG, 1), ("continue", 5))

    assert prompts(log, trace_without_ids("transcripts", "transcript", (LONG, 1), ("continue", 5))) == [
        LONG,
        "continue",
    ]


def test_a_common_prompt_without_a_neighbour_is_another_turn() -> None:
    log = trace_without_ids("cli-events", "", (LONG, 1), ("continue", 5), (f"{LONG}!", 9))
    other = trace_without_ids(
        "transcripts", "transcript", ("Another thing that nobody else has asked", 4), ("continue", 6), ("x" * 30, 7)
    )

    assert prompts(log, other).count("continue") == 2


def test_a_common_prompt_without_a_time_needs_both_neighbours() -> None:
    log = trace_without_ids("cli-events", "", (LONG, None), ("continue", None), (f"{LONG}!", None))

    assert prompts(
        log, trace_without_ids("transcripts", "transcript", (LONG, None), ("continue", None), (f"{LONG}!", None))
    ) == [
        LONG,
        "continue",
        f"{LONG}!",
    ]
    other = trace_without_ids(
        "transcripts", "transcript", (LONG, None), ("continue", None), ("Something else altogether, please", None)
    )
    assert prompts(log, other).count("continue") == 2


def test_a_common_prompt_at_another_time_is_another_turn() -> None:
    log = trace_without_ids("cli-events", "", (LONG, 1), ("continue", 5))
    other = trace_without_ids("transcripts", "transcript", (LONG, 1), ("continue", 50))

    assert prompts(log, other) == [LONG, "continue", "continue"]


def test_the_row_of_a_store_is_written_when_its_turn_has_ended() -> None:
    log = trace_without_ids("cli-events", "", (LONG, 1), ("And now for Tarn, please, in the same way", 40))
    store = trace_without_ids(
        "session-store", "store-row", (LONG, 39), ("And now for Tarn, please, in the same way", 55)
    )

    assert prompts(log, store) == [LONG, "And now for Tarn, please, in the same way"]


def test_truncated_prompts_of_a_store_add_no_turns() -> None:
    long = f"{LONG}, {'with all the harbours on the coast, ' * 9}"
    log, store = (
        trace_without_ids("vscode-session-log", "", (long, 1)),
        trace_without_ids("session-store", "store-row", (f"{long[:100]}...", 2)),
    )

    assert prompts(log, store) == [long]


def test_the_row_of_a_store_belongs_to_the_last_turn_that_had_begun() -> None:
    log = trace_without_ids("cli-events", "", (LONG, 1), (LONG, 2), (LONG, 60))
    store = trace_without_ids("session-store", "store-row", (LONG, 1.8), (LONG, 2.8), (LONG, 60.8))
    for number, message in enumerate(one for one in store.messages if one.role == "assistant"):
        message.parts = [Text(text=f"run {number}")]
    log.messages = [one for one in log.messages if one.role == "user"]

    merged = merge([log, store])

    assert [prose_of(one.parts) for one in merged.messages if one.role == "assistant"] == ["run 0", "run 1", "run 2"]


def test_a_row_with_another_answer_is_another_turn() -> None:
    log, store = (
        trace_without_ids("cli-events", "", (LONG, 1), (LONG, 60)),
        trace_without_ids("session-store", "store-row", (LONG, 30)),
    )
    store.messages[1].parts = [Text(text="Quite another answer than those")]

    assert prompts(log, store) == [LONG, LONG, LONG]


def test_turns_with_the_same_start_match_without_a_prompt() -> None:
    asked, answered = (
        trace_without_ids("cli-events", "", ("go", 1), ("go", 9)),
        trace_without_ids("cli-history", "", ("go", 1), ("go", 9)),
    )
    answered.messages = [one for one in answered.messages if one.role == "assistant"]

    assert len(merge([asked, answered]).turns) == 2


# --- repeated prompts ---------------------------------------------------------------------------------------------


def answered(source: str, mark: str, *turns: tuple[str, float, str], calls: dict[int, ToolCall]) -> Conversation:
    """Return a trace of prompts, each with its minute and its answer, and some with a call."""
    made = trace_without_ids(source, mark, *((prompt, minute) for prompt, minute, _ in turns))
    replies = [message for message in made.messages if message.role == "assistant"]
    for number, (message, (*_, answer)) in enumerate(zip(replies, turns, strict=True)):
        message.parts = [*([calls[number]] if number in calls else ()), Text(text=answer)]
    return made


FAILED, PASSED = "Three tests fail: those of the harbour", "Everything passes now, nothing is left to be done"


def read(name: str) -> ToolCall:
    return ToolCall(id=f"call_{name}", name="read", arguments=f'{{"file": "{name}.py"}}')


@pytest.mark.parametrize(("source", "mark"), [("transcripts", "transcript"), ("debug-logs", "debug-log")])
@pytest.mark.parametrize("prompt", [LONG, "go on"])
def test_a_repeated_prompt_with_another_answer_and_other_calls_is_another_turn(
    prompt: str, source: str, mark: str
) -> None:
    session = answered(LOG, "", (prompt, 1.5, PASSED), calls={0: read("tides")})
    other = answered(source, mark, (prompt, 0.5, FAILED), calls={0: read("moon")})

    for traces in ([session, other], [other, session]):
        merged = merge([copy_of(trace) for trace in traces])
        assert [prose_of(one.parts) for one in merged.messages if one.role == "assistant"] == [FAILED, PASSED]


def test_a_repeated_prompt_between_others_keeps_its_place() -> None:
    session = answered(LOG, "", ("go on", 1.2, PASSED), calls={})
    log = answered(
        "debug-logs", "debug-log", ("go on", 0.2, FAILED), (LONG, 0.7, "It ignores them altogether"), calls={}
    )

    assert prompts(session, log) == ["go on", LONG, "go on"]


@pytest.mark.parametrize(
    ("answer", "call"),
    [("", read("moon")), (FAILED, read("tides")), (f"{PASSED}, said the harbour master", read("moon"))],
    ids=["no answer", "the same call", "another version of the answer"],
)
def test_a_repeated_prompt_is_the_same_turn_without_clear_evidence(answer: str, call: ToolCall) -> None:
    session = answered(LOG, "", (LONG, 1, PASSED), calls={0: read("tides")})
    other = answered("transcripts", "transcript", (LONG, 2, answer), calls={0: call})

    assert prompts(session, other) == [LONG]
