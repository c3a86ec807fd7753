"""When it happened: days, weekdays, hours, streaks, and conversations side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from copilog.analysis.activity import activity
from copilog.analysis.figures import ActivityRow, TimeSection
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.model import Conversation, Message, Timing, ToolCall, Turn
from copilog.store.archive import Archive
from tests.stored import concluded_entry

MONDAY = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

needs_clock = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the clock of the machine cannot be set here")


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "own.db", write=True) as archive:
        yield archive


def store(archive: Archive, name: str, *turns: tuple[datetime | None, float | None], calls: int = 0) -> None:
    """Store a conversation with turns by start time and seconds."""
    conversation = Conversation(
        id=f"vscode:{name}",
        source="vscode-session",
        updated_at=MONDAY,
        turns=[
            Turn(
                index=index,
                request_id=f"{name}-{index}",
                timing=Timing(started_at=begun, generated_ms=None if seconds is None else seconds * 1000),
            )
            for index, (begun, seconds) in enumerate(turns)
        ],
        messages=[
            Message(role="assistant", turn=None, parts=[ToolCall(id=f"c{call}", name="read_file")])
            for call in range(calls)
        ],
    )
    archive.put(concluded_entry(conversation), "made up")


def measure(archive: Archive, now: datetime = MONDAY) -> TimeSection:
    return activity(choose(archive, now=now))


def at(seconds: float) -> datetime:
    return MONDAY + timedelta(seconds=seconds)


def days(*numbers: int) -> list[tuple[datetime | None, float | None]]:
    """Make a turn on each of these days, counted from the Monday."""
    return [(MONDAY + timedelta(days=number), None) for number in numbers]


@needs_clock
def test_the_measured_conversations_by_day_weekday_and_hour(chosen: Chosen) -> None:
    made = activity(chosen)

    assert made.by_day == [
        ActivityRow(name="2026-05-04", turns=2, conversations=1, tool_calls=6),  # a0 to a5
        ActivityRow(name="2026-05-05", turns=3, conversations=2, tool_calls=5),  # a6, b0 to b3
        ActivityRow(name="2026-05-06", turns=3, conversations=2, tool_calls=0),  # none of the turn that is repeated
    ]
    assert [row.name for row in made.by_weekday] == [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
    ]  # fmt: skip
    assert [row.turns for row in made.by_weekday] == [2, 3, 3, 0, 0, 0, 0]
    assert [row.conversations for row in made.by_weekday] == [1, 2, 2, 0, 0, 0, 0]
    assert [row.tool_calls for row in made.by_weekday] == [6, 5, 0, 0, 0, 0, 0]
    assert [row.name for row in made.by_hour] == [f"{hour:02}" for hour in range(24)]
    assert {row.name: (row.turns, row.conversations, row.tool_calls) for row in made.by_hour if row.turns} == {
        "08": (1, 1, 0),
        "09": (2, 1, 6),
        "10": (3, 2, 5),
        "23": (2, 1, 0),
    }


@needs_clock
def test_streaks_and_ends_of_the_measured_conversations(chosen: Chosen) -> None:
    made = activity(chosen)

    assert (made.first_at, made.last_at) == ("2026-05-04T09:00:00.000Z", "2026-05-06T23:40:00.000Z")
    assert (made.active_days, made.longest_streak, made.longest_streak_end) == (3, 3, "2026-05-06")
    assert made.current_streak == 3  # it is Thursday, and Wednesday was used


def test_two_conversations_of_the_sample_ran_in_parallel(chosen: Chosen) -> None:
    made = activity(chosen)

    # 10:00:00 for 30 seconds, and 10:00:10 for 60 seconds
    assert (made.most_parallel, made.most_parallel_at) == (2, "2026-05-05T10:00:10.000Z")
    assert made.parallel_ms == 20_000


@needs_clock
def test_days_and_hours_are_in_local_time(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "EAST-3")  # three hours ahead of UTC
    time.tzset()

    made = activity(choose(archive, now=datetime(2026, 5, 8, 22, 0, tzinfo=UTC)))

    # the turns of beacon, at 23:30 and 23:40, were on the next day
    assert [(row.name, row.turns) for row in made.by_day] == [
        ("2026-05-04", 2),
        ("2026-05-05", 3),
        ("2026-05-06", 1),
        ("2026-05-07", 2),
    ]
    assert made.by_hour[2].turns == 2
    assert (made.longest_streak, made.current_streak) == (4, 0)  # here it is the 9th already


@needs_clock
def test_the_longest_streak_is_the_latest_of_equals(own: Archive) -> None:
    store(own, "lamp", *days(0, 1, 4, 5, 5, 9))

    made = measure(own)

    assert (made.active_days, made.longest_streak, made.longest_streak_end) == (5, 2, "2026-05-09")


@needs_clock
@pytest.mark.parametrize(("today", "streak"), [(2, 3), (3, 3), (4, 0), (1, 0)])
def test_a_streak_is_current_until_a_full_day_has_passed(own: Archive, today: int, streak: int) -> None:
    store(own, "lamp", *days(0, 1, 2))

    assert measure(own, MONDAY + timedelta(days=today)).current_streak == streak


@needs_clock
def test_calls_without_a_turn_have_the_time_of_their_conversation(own: Archive) -> None:
    store(own, "lamp", *days(-1), calls=3)

    made = measure(own)

    assert made.by_day == [
        ActivityRow(name="2026-05-03", turns=1, conversations=1, tool_calls=0),
        ActivityRow(name="2026-05-04", turns=0, conversations=0, tool_calls=3),
    ]
    assert made.active_days == 1


def test_turns_of_one_conversation_are_not_in_parallel(own: Archive) -> None:
    store(own, "lamp", (at(0), 100), (at(50), 100))

    made = measure(own)

    assert (made.most_parallel, made.parallel_ms) == (1, 0)


def test_a_turn_that_ends_as_another_begins_is_not_parallel(own: Archive) -> None:
    store(own, "lamp", (at(0), 10))
    store(own, "lens", (at(10), 10))

    assert measure(own).most_parallel == 1


def test_time_in_parallel_is_counted_once_for_two_and_for_three(own: Archive) -> None:
    store(own, "lamp", (at(0), 100), (at(500), 10))
    store(own, "lens", (at(20), 60))
    store(own, "horn", (at(30), 10), (at(35), 15), (at(505), 10))

    made = measure(own)

    # two or more from 20 to 80, three from 30 to 50; and again from 505 to 510
    assert (made.most_parallel, made.most_parallel_at) == (3, "2026-05-04T12:00:30.000Z")
    assert made.parallel_ms == 65_000


def test_turns_without_time_or_duration_are_not_counted_as_parallel(own: Archive) -> None:
    store(own, "lamp", (at(0), 100))
    store(own, "lens", (at(10), None), (None, 50), (at(20), 0))

    made = measure(own)

    assert (made.most_parallel, made.parallel_ms) == (1, 0)


def test_turns_dated_before_the_first_calendar_day_are_skipped(own: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    if hasattr(time, "tzset"):
        monkeypatch.setenv("TZ", "WEST3")
        time.tzset()
    store(own, "lamp", (datetime(1, 1, 1, tzinfo=UTC), 10), (MONDAY, 10))

    assert measure(own).active_days in (1, 2)


def test_an_archive_without_anything_has_rows_for_hours_and_weekdays_only(own: Archive) -> None:
    made = activity(choose(own, Selection()))

    assert made.by_day == []
    assert (len(made.by_weekday), len(made.by_hour)) == (7, 24)
    assert (made.first_at, made.longest_streak, made.longest_streak_end, made.current_streak) == (None, 0, None, 0)
    assert (made.most_parallel, made.most_parallel_at, made.parallel_ms) == (0, None, 0)
