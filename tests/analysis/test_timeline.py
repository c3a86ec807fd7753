"""The waterfall of a conversation, worked out by hand."""

from __future__ import annotations

from datetime import timedelta

from copilog.analysis.timeline import LONGEST_GAP_MS, UNKNOWN_TURN_MS, Span, Timeline, timeline_of
from copilog.derive import conclude
from copilog.model import Conversation, Message, SubAgent, Text, Timing, ToolCall, ToolResult, Turn
from tests.measured import at, beacon, harbour, lighthouse

NINE = at(4, "09:00:00")


def drawn(conversation: Conversation) -> Timeline:
    """Return the waterfall of a conversation as a scan stores it."""
    conclude(conversation)
    return timeline_of(conversation)


def spans(timeline: Timeline, kind: str) -> list[Span]:
    return [span for span in timeline.spans if span.kind == kind]


def places(timeline: Timeline, kind: str) -> list[tuple[str, float, float]]:
    return [(span.name, span.start_ms, span.end_ms) for span in spans(timeline, kind)]


def test_turns_take_the_time_they_worked_and_waited() -> None:
    timeline = drawn(harbour())

    # 20 s of work and 5 s of waiting, a break, 40 s, a break, 30 s
    assert places(timeline, "turn") == [
        ("gpt-5", 0, 25_000),
        ("claude-sonnet-4.5", 45_000, 85_000),
        ("claude-sonnet-4.5", 105_000, 135_000),
    ]
    assert timeline.length_ms == 135_000
    assert [span.status for span in spans(timeline, "turn")] == ["complete", "complete", "cancelled"]


def test_long_breaks_are_left_out_and_listed() -> None:
    timeline = drawn(harbour())

    # from 09:00:25 to 09:05:00, and from 09:05:40 to 10:00:00 of the next day
    assert [(gap.at_ms, gap.gap_ms) for gap in timeline.breaks] == [(25_000, 275_000), (85_000, 89_660_000)]
    assert LONGEST_GAP_MS == 20_000


def test_the_time_to_the_first_token_is_a_span() -> None:
    assert places(drawn(harbour()), "first-token") == [
        ("first token", 0, 1_500),
        ("first token", 45_000, 47_500),
    ]


def test_calls_without_a_time_are_laid_out_in_order_as_guesses() -> None:
    timeline = drawn(harbour())

    first = [span for span in spans(timeline, "tool") if span.turn == 0]
    slot = (25_000 - 1_500) / 3
    assert [(span.name, span.is_guessed) for span in first] == [
        ("read_file", True),
        ("run_in_terminal", True),
        ("run_in_terminal", True),
    ]
    assert [span.start_ms for span in first] == [1_500, 1_500 + slot, 1_500 + 2 * slot]
    assert first[1].end_ms - first[1].start_ms == 4_000  # which was recorded
    assert first[1].status == "failed"


def test_waiting_for_the_user_comes_before_the_confirmed_call() -> None:
    timeline = drawn(harbour())

    [wait] = spans(timeline, "wait")
    confirmed = spans(timeline, "tool")[1]  # a1, which the user allowed
    assert (wait.start_ms, wait.end_ms) == (confirmed.start_ms - 5_000, confirmed.start_ms)
    assert wait.is_guessed


def test_a_sub_agent_has_a_track_of_its_own_with_what_it_called() -> None:
    timeline = drawn(harbour())

    [sounder] = spans(timeline, "subagent")
    [inner] = [span for span in spans(timeline, "tool") if span.track == 1]
    assert timeline.tracks == ["main", "Sounder"]
    assert (sounder.name, sounder.track, sounder.end_ms - sounder.start_ms) == ("Sounder", 1, 15_000)
    assert (inner.name, inner.start_ms, inner.end_ms) == ("read_file", sounder.start_ms, sounder.end_ms)


def test_a_call_with_a_time_is_at_that_time() -> None:
    timeline = drawn(lighthouse())

    bash = spans(timeline, "tool")[0]
    assert (bash.name, bash.start_ms, bash.end_ms, bash.is_guessed) == ("bash", 10_000, 10_500, False)
    assert bash.at == "2026-05-05T10:00:20.000Z"
    assert bash.message == 1


def test_switches_of_model_and_agent_are_listed() -> None:
    timeline = drawn(harbour())

    assert [(switch.kind, switch.before, switch.after, switch.turn) for switch in timeline.switches] == [
        ("model", "gpt-5", "claude-sonnet-4.5", 1),
        ("agent", "agent", "Navigator", 1),
    ]


def test_a_turn_without_any_duration_is_a_guess() -> None:
    timeline = drawn(beacon())

    first = spans(timeline, "turn")[0]
    assert (first.end_ms - first.start_ms, first.is_guessed) == (UNKNOWN_TURN_MS, True)


def test_a_turn_lasts_at_least_until_its_last_message() -> None:
    conversation = Conversation(
        id="cli:x",
        source="cli-events",
        turns=[Turn(index=0, timing=Timing(started_at=NINE))],
        messages=[
            Message(role="user", turn=0, created_at=NINE, parts=[Text(text="Go")]),
            Message(role="assistant", turn=0, created_at=NINE + timedelta(seconds=7), parts=[Text(text="Done")]),
        ],
    )

    assert places(drawn(conversation), "turn") == [("turn", 0, 7_000)]


def test_an_empty_conversation_has_an_empty_timeline() -> None:
    assert drawn(Conversation(id="x", source="y")) == Timeline(
        tracks=["main"], spans=[], switches=[], breaks=[], length_ms=0, working_ms=None, guessed=0
    )


def test_calls_that_name_each_other_as_parents_are_left_out() -> None:
    conversation = Conversation(
        id="cli:x",
        source="cli-events",
        turns=[Turn(index=0, timing=Timing(started_at=NINE, generated_ms=1_000))],
        messages=[
            Message(
                role="assistant",
                turn=0,
                parent_call_id="b",
                parts=[ToolCall(id="a", name="task", subagent=SubAgent(name="one"))],
            ),
            Message(
                role="assistant",
                turn=0,
                parent_call_id="a",
                parts=[ToolCall(id="b", name="task", subagent=SubAgent(name="two"))],
            ),
            Message(role="tool", turn=0, parts=[ToolResult(call_id="a", text="?")]),
        ],
    )

    assert drawn(conversation).length_ms == 1_000


def test_a_turn_ends_with_its_elapsed_time() -> None:
    call = ToolCall(id="c", name="run_in_terminal", started_at=NINE + timedelta(seconds=30))
    conversation = Conversation(
        id="vscode:x",
        source="vscode-session",
        turns=[
            Turn(
                index=0,
                timing=Timing(started_at=NINE, elapsed_ms=10_000, completed_at=NINE + timedelta(days=1)),
            ),
            Turn(index=1, timing=Timing(started_at=NINE + timedelta(minutes=1), elapsed_ms=1_000)),
        ],
        messages=[
            Message(role="assistant", turn=0, parts=[call]),
            Message(
                role="tool",
                turn=0,
                created_at=NINE + timedelta(hours=3),
                parts=[ToolResult(call_id="c", text="done")],
            ),
        ],
    )

    timeline = drawn(conversation)

    assert places(timeline, "turn") == [("turn", 0, 10_000), ("turn", 30_000, 31_000)]
    assert max(span.end_ms for span in timeline.spans if span.turn == 0) == 10_000


def test_a_turn_of_unknown_length_is_not_drawn_past_the_next_turn() -> None:
    late = Message(role="assistant", turn=0, created_at=NINE + timedelta(hours=3), parts=[Text(text="Six.")])
    conversation = Conversation(
        id="vscode:x",
        source="vscode-session",
        turns=[
            Turn(index=0, timing=Timing(started_at=NINE)),
            Turn(index=1, timing=Timing(started_at=NINE + timedelta(seconds=5), elapsed_ms=1_000)),
        ],
        messages=[late],
    )

    assert places(drawn(conversation), "turn") == [("turn", 0, 5_000), ("turn", 5_000, 6_000)]
