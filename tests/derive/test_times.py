"""How long turns took: elapsed, waiting, working, and what is impossible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.timeline import timeline_of
from copilog.derive import conclude
from copilog.derive.times import last_activity
from copilog.diagnostics import ADVICE, Report
from copilog.ingest import inspect_file, read
from copilog.model import Branch, Conversation, Duration, Status, Timing, Turn, duration_of
from tests.cli.homes import STARTED, Home, request, run, session

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = 24 * 3_600


def turn(index: int = 0, start: float | None = 0, end: float | None = None, **fields: Any) -> Turn:
    """Return a turn that starts and completes so many seconds after noon; times of `Timing` are in milliseconds."""
    names = ("elapsed_ms", "generated_ms", "waited_ms")
    timing = Timing(
        started_at=None if start is None else NOON + timedelta(seconds=start),
        completed_at=None if end is None else NOON + timedelta(seconds=end),
        **{name: fields.pop(name) for name in names if name in fields},
    )
    return Turn(index=index, timing=timing, **fields)


def took(*turns: Turn) -> list[Duration]:
    conversation = Conversation(id="vscode:s", source="vscode-session", turns=list(turns))
    conclude(conversation)
    return [duration_of(turn) for turn in conversation.turns]


def times(*turns: Turn) -> list[tuple[float | None, float | None, float | None]]:
    return [(each.elapsed_ms, each.waiting_ms, each.working_ms) for each in took(*turns)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (turn(end=9, elapsed_ms=7_000), 7_000),
        (turn(end=9, elapsed_ms=12_000), 9_000),
        (turn(end=9, elapsed_ms=7_000, generated_ms=2_000, waited_ms=1_000), 3_000),
        (turn(end=9), 9_000),
        (turn(generated_ms=2_000), 2_000),
        (turn(elapsed_ms=7_000), 7_000),
        (turn(start=None, end=9), None),
        (turn(), None),
    ],
)
def test_elapsed_is_the_smallest_recorded_time(made: Turn, expected: float | None) -> None:
    assert took(made)[0].elapsed_ms == expected


def test_elapsed_never_goes_past_the_start_of_the_next_turn() -> None:
    first, second = took(turn(end=90), turn(1, 30, 40))

    assert (first.elapsed_ms, second.elapsed_ms) == (30_000, 10_000)
    assert first.problems == []  # a late completion is common


def test_the_next_turn_is_that_of_the_same_branch() -> None:
    branch = Branch(leaves_from=0, trace="/copy.json")
    turns = (turn(0, 0, 90), turn(1, 60, 70), turn(2, 10, 30, branch=branch), turn(3, 20, 25, branch=branch))

    assert [each.elapsed_ms for each in took(*turns)] == [60_000, 10_000, 10_000, 5_000]


def test_a_removed_turn_still_ended_the_turn_before_it() -> None:
    assert took(turn(0, 0, 90), turn(1, 20, 25, superseded="removed"), turn(2, 60))[0].elapsed_ms == 20_000


def test_waiting_time_is_recorded_and_working_time_is_the_rest() -> None:
    assert times(turn(elapsed_ms=10_000, waited_ms=4_000)) == [(10_000, 4_000, 6_000)]
    assert times(turn(elapsed_ms=10_000, waited_ms=0)) == [(10_000, 0, 10_000)]


def test_without_a_recorded_wait_waiting_is_unknown_and_working_is_the_time_for_the_answer() -> None:
    assert times(turn(elapsed_ms=49_000)) == [(49_000, None, 49_000)]
    assert times(turn(elapsed_ms=49_000, generated_ms=4_000)) == [(49_000, None, 4_000)]


@pytest.mark.parametrize("waited", [10_000, 900_000, -5])
def test_a_wait_that_is_not_smaller_than_the_turn_is_unknown_and_reported(waited: float) -> None:
    [found] = took(turn(elapsed_ms=10_000, waited_ms=waited))

    assert (found.elapsed_ms, found.waiting_ms, found.working_ms) == (10_000, None, None)
    assert len(found.problems) == 1


def test_unknown_times_are_empty_and_never_0() -> None:
    assert times(turn()) == [(None, None, None)]
    assert times(turn(end=0)) == [(None, None, None)]
    assert times(turn(elapsed_ms=0)) == [(None, None, None)]


def test_a_completion_time_that_turns_share_is_a_reload_and_not_an_end() -> None:
    days = 86_400 * 3
    assert times(turn(0, 0, days), turn(1, 50, days, elapsed_ms=7_000), turn(2, 90, 95)) == [
        (None, None, None),
        (7_000, None, 7_000),
        (5_000, None, 5_000),
    ]


def test_completion_times_of_one_reload_may_differ_a_little() -> None:
    days = 86_400 * 3
    turns = turn(0, 0, days), turn(1, 60, days), turn(2, 120, days + 0.001), turn(3, 180, days + 1.5)

    assert [each.elapsed_ms for each in took(*turns)] == [None, None, None, None]


def test_a_short_turn_right_after_another_is_no_reload() -> None:
    assert [each.elapsed_ms for each in took(turn(0, 0, 60), turn(1, 60.2, 61), turn(2, 61, 61.5))] == [
        60_000, 800, 500,
    ]  # fmt: skip


def test_a_completion_long_after_the_generation_is_not_the_end_without_a_recorded_wait() -> None:
    [found] = took(turn(end=86_400 * 3, generated_ms=5_000))

    assert (found.elapsed_ms, found.working_ms) == (5_000, 5_000)
    assert len(found.problems) == 1
    assert times(turn(end=600, generated_ms=5_000)) == [(600_000, None, 5_000)]  # a wait that nobody recorded


@pytest.mark.parametrize(
    ("start", "words"), [(0, "starts together with this one"), (-1, "starts 1,000 ms before this one")]
)
def test_if_the_next_turn_does_not_start_later_the_next_later_start_counts(start: float, words: str) -> None:
    first, *_ = took(turn(elapsed_ms=500_000), turn(1, start, elapsed_ms=7_000), turn(2, 30))

    assert first.elapsed_ms == 30_000
    assert words in first.problems[0]


def test_a_turn_that_was_cancelled_on_reopening_its_window_has_no_end() -> None:
    days = 86_400 * 3
    assert times(turn(end=days, status="cancelled")) == [(None, None, None)]
    assert times(turn(end=30, status="cancelled")) == [(30_000, None, 30_000)]
    assert times(turn(end=days, status="cancelled", elapsed_ms=7_000_000)) == [(7_000_000, None, 7_000_000)]


DAY = 86_400


@pytest.mark.parametrize("status", ["complete", "failed", "cancelled", None])
def test_a_completion_more_than_a_day_after_the_start_alone_is_a_reload(status: Status | None) -> None:
    [only] = took(turn(end=30 * DAY, status=status))
    first, last = took(turn(end=30, status=status), turn(1, 60, 60 + 30 * DAY, status=status))

    for each in (only, last):
        assert (each.elapsed_ms, each.waiting_ms, each.working_ms) == (None, None, None)
        [problem] = each.problems
        assert "completed 2,592,000,000 ms (30.0 days) after it started" in problem
        assert "the session was reopened then" in problem
    assert (first.elapsed_ms, first.problems) == (30_000, [])


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([turn(end=DAY)], DAY),
        ([turn(end=2 * DAY, elapsed_ms=2 * DAY * 1000)], 2 * DAY),
        ([turn(end=2 * DAY, generated_ms=2 * DAY * 1000)], 2 * DAY),
        ([turn(end=2 * DAY, generated_ms=60_000, waited_ms=2 * DAY * 1000 - 90_000)], 2 * DAY - 30),
        ([turn(end=2 * DAY, waited_ms=DAY * 1000)], 2 * DAY),
        ([turn(end=30 * DAY), turn(1, 300, 310)], 300),
    ],
)
def test_a_long_turn_with_other_evidence_keeps_its_time(turns: list[Turn], expected: float) -> None:
    first = took(*turns)[0]

    assert (first.elapsed_ms, first.problems) == (expected * 1000, [])


def test_a_reload_counts_in_no_hours_and_is_not_drawn_at_its_length(tmp_path: Path) -> None:
    home = Home(tmp_path)
    late = request(1, "Sum the tides", modelState={"value": 1, "completedAt": STARTED + 30 * DAY * 1000})
    path = home.add(home.workspace(1), session("11111111-aaaa") | {"requests": [late]})
    [conversation] = read(path)
    [drawn] = [span for span in timeline_of(conversation).spans if span.kind == "turn"]

    figures = run("stats", "work", "--json", "--root", tmp_path).json
    told = run("problems", "--root", tmp_path).out

    assert (figures["elapsed_ms"], figures["timed_turns"], figures["turns"]) == (0, 0, 1)
    assert drawn.is_guessed
    assert drawn.end_ms - drawn.start_ms < DAY * 1000
    assert str(path) in told
    assert "turn 1: completed 2,591,940,000 ms (30.0 days) after it started" in told


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([turn(start=60, end=0)], "before it started"),
        ([turn(elapsed_ms=-5)], "-5 ms"),
        ([turn(elapsed_ms=0)], "0 ms for the whole turn"),
        ([turn(generated_ms=-1)], "generating"),
        ([turn(waited_ms=9_000)], "a turn whose time is unknown"),
        ([turn(start=60, end=70), turn(1, 0)], "the next turn starts 60,000 ms before this one"),
        ([turn(elapsed_ms=90_000), turn(1, 30)], "the next turn starts after 30,000 ms"),
    ],
)
def test_impossible_spans_are_reported(made: list[Turn], words: str) -> None:
    [problem] = took(*made)[0].problems
    assert words in problem


@pytest.mark.parametrize("field", ["elapsed_ms", "generated_ms"])
def test_a_recorded_time_of_more_than_a_month_is_impossible(field: str) -> None:
    recorded: dict[str, Any] = {field: 10.0**15}
    alone, with_end = (took(turn(end=end, **recorded))[0] for end in (None, 9))

    assert (alone.elapsed_ms, alone.working_ms) == (None, None)
    assert (with_end.elapsed_ms, with_end.working_ms) == (9_000, 9_000)
    assert all("11,574,074 days" in each.problems[0] for each in (alone, with_end))


def test_the_last_activity_is_not_past_the_start_of_the_next_turn() -> None:
    turns = [turn(elapsed_ms=90_000.0), turn(1, start=30)]

    assert last_activity(turns) == NOON + timedelta(seconds=30)
    assert last_activity([turn(elapsed_ms=10.0**15)]) == NOON


def test_concluding_again_changes_nothing() -> None:
    turns = [turn(0, 0, 90, elapsed_ms=10_000, waited_ms=20_000), turn(1, 30, 40)]
    assert took(*turns) == took(*turns)


def test_an_impossible_time_is_in_the_problems_of_its_file(tmp_path: Path) -> None:
    home = Home(tmp_path)
    late = request(1, "Sum the tides", timeSpentWaiting=600_000, modelState={"value": 1, "completedAt": STARTED})
    path = home.add(home.workspace(1), session("11111111-aaaa") | {"requests": [late]})
    report = Report()

    [conversation] = read(path, report=report)

    for ledger in (report.files[str(path)], inspect_file(path)):
        found = [each for each in ledger.diagnostics() if each.code == "impossible-time"]
        assert {each.pointer for each in found} == {"/requests/0"}
        assert len(found) == 2
    assert duration_of(conversation.turns[0]).elapsed_ms is None
    assert "impossible-time" in ADVICE


def reopened(index: int, start: float, took_ms: float | None, end: float) -> Turn:
    fields = {} if took_ms is None else {"elapsed_ms": took_ms}
    return turn(index, start, end, **fields)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([turn(0, 0, 9), turn(1, 60, 70)], 70),
        ([reopened(0, 0, 7_000, 30 * DAY), reopened(1, 3_600, 7_000, 30 * DAY)], 3_607),
        ([reopened(0, 0, 7_000, 9), reopened(1, 3_600, 7_000, 30 * DAY)], 3_607),
        ([reopened(0, 0, None, 30 * DAY), reopened(1, 3_600, None, 30 * DAY)], 3_600),
        ([turn(0, 0, 7_200, elapsed_ms=7_200_000.0)], 7_200),
        ([turn(0, None, 9)], 9),
    ],
)
def test_the_time_at_which_a_session_was_opened_again_is_not_its_end(turns: list[Turn], expected: float) -> None:
    assert last_activity(turns) == NOON + timedelta(seconds=expected)
