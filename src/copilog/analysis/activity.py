"""When it happened: by day, weekday and hour of this machine's clock, in streaks of days, and side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from copilog.analysis.figures import ActivityRow, TimeSection
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.store.times import moment, moment_from

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02}" for hour in range(24))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK = ("day", "weekday", "hour")

Interval = tuple[float, float]  # milliseconds since 1970


def activity(chosen: Chosen) -> TimeSection:
    """When the chosen turns were, and how many conversations ran at once."""
    calls = _calls(chosen)
    days, weekdays, hours = (_by(chosen, column, calls) for column in CLOCK)
    active = [day for row in days.values() if row.turns and (day := _day(row.name)) is not None]
    streak = _longest_streak(active)
    parallel = _parallel(_running(chosen))
    first_at, last_at = chosen.connection.execute(
        "SELECT min(at), max(at) FROM temp.chosen_turn WHERE is_turn"
    ).fetchone()
    return TimeSection(
        first_at=first_at,
        last_at=last_at,
        active_days=len(active),
        longest_streak=streak.days,
        longest_streak_end=streak.end.isoformat() if streak.end else None,
        current_streak=_current_streak(active, chosen.now.astimezone().date()),
        most_parallel=parallel.most,
        most_parallel_at=_text_of(parallel.at),
        parallel_ms=parallel.ms,
        by_day=list(days.values()),
        by_weekday=[weekdays.get(number, _nothing(name)) for number, name in enumerate(WEEKDAYS)],
        by_hour=[hours.get(number, _nothing(name)) for number, name in enumerate(HOURS)],
    )


# --- by the clock ---------------------------------------------------------------------------------------------------


def _calls(chosen: Chosen) -> list[tuple[str, int, int, int]]:
    """How many tool calls there were in each hour of each day, with the columns of CLOCK."""
    return chosen.connection.execute(
        f"""
        SELECT c.day, c.weekday, c.hour, sum(f.calls)
        FROM (
            SELECT v.conversation, coalesce(f.turn, {NO_TURN}) AS turn, count(*) AS calls
            FROM temp.chosen AS v CROSS JOIN tool_call AS f ON f.conversation = v.conversation
            GROUP BY v.conversation, coalesce(f.turn, {NO_TURN})
        ) AS f
        CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = f.turn
        GROUP BY c.day, c.weekday, c.hour
        """  # noqa: S608 - names of our own
    ).fetchall()


def _by(chosen: Chosen, column: str, calls: list[tuple[str, int, int, int]]) -> dict[int | str, ActivityRow]:
    """Turns, the conversations they belong to and tool calls, by a column of the chosen turns."""
    rows: dict[int | str, ActivityRow] = {}
    for value, turns, conversations in chosen.connection.execute(
        f"SELECT {column}, count(*), count(DISTINCT conversation) FROM temp.chosen_turn"  # noqa: S608
        f" WHERE is_turn AND {column} IS NOT NULL GROUP BY {column}"
    ):
        rows[value] = ActivityRow(name=_name(column, value), turns=turns, conversations=conversations, tool_calls=0)
    at = CLOCK.index(column)
    for cell in calls:
        value = cell[at]
        if value is not None:
            rows.setdefault(value, _nothing(_name(column, value))).tool_calls += cell[-1]
    return dict(sorted(rows.items()))


def _day(text: str) -> date | None:
    """A day of the calendar; a clock that was never set may lead to one before the first."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _name(column: str, value: int | str) -> str:
    if column == "weekday":
        return WEEKDAYS[int(value)]
    return HOURS[int(value)] if column == "hour" else str(value)


def _nothing(name: str) -> ActivityRow:
    return ActivityRow(name=name, turns=0, conversations=0, tool_calls=0)


# --- streaks --------------------------------------------------------------------------------------------------------


class Streak(NamedTuple):
    days: int
    end: date | None


def _streaks(active: Iterable[date]) -> Iterator[Streak]:
    """Runs of days without a gap, of days in their order."""
    for _, run in groupby(enumerate(active), key=lambda item: item[1].toordinal() - item[0]):
        days = [day for _, day in run]
        yield Streak(len(days), days[-1])


def _longest_streak(active: Sequence[date]) -> Streak:
    """The longest run; of equals, the latest."""
    return max(_streaks(active), key=lambda streak: (streak.days, streak.end), default=Streak(0, None))


def _current_streak(active: Sequence[date], today: date) -> int:
    """Days in a row up to today; as long as today may still be used, up to yesterday."""
    return next((run.days for run in _streaks(active) if run.end in (today, today - timedelta(days=1))), 0)


# --- side by side ---------------------------------------------------------------------------------------------------


class Parallel(NamedTuple):
    """How many ran at once at most, when that first was so, and for how long there were two or more."""

    most: int
    at: float | None
    ms: float


def _running(chosen: Chosen) -> Iterator[list[Interval]]:
    """Of each conversation, when its turns ran, without overlaps."""
    rows = chosen.connection.execute(
        """
        SELECT t.conversation, t.started_at, t.elapsed_ms
        FROM temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn
        WHERE t.started_at IS NOT NULL AND t.elapsed_ms > 0 ORDER BY t.conversation, t.started_at
        """
    )
    for _, turns in groupby(rows, key=itemgetter(0)):
        yield _joined((started_at, elapsed_ms) for _, started_at, elapsed_ms in turns)


def _joined(turns: Iterable[tuple[str, float]]) -> list[Interval]:
    intervals: list[Interval] = []
    for started_at, elapsed_ms in turns:
        begun = moment_from(started_at)
        if begun is None:
            continue
        start = round(begun.timestamp() * 1000)
        end = start + elapsed_ms
        if intervals and start <= intervals[-1][1]:
            intervals[-1] = (intervals[-1][0], max(end, intervals[-1][1]))
        else:
            intervals.append((start, end))
    return intervals


def _parallel(running: Iterable[list[Interval]]) -> Parallel:
    """Go through all beginnings and ends in their order. What ends as another begins does not overlap with it."""
    steps: list[tuple[float, int]] = []
    for intervals in running:
        for start, end in intervals:
            steps += ((start, 1), (end, -1))
    steps.sort()
    most, at, together = 0, None, 0.0
    count, before = 0, 0.0
    for time, step in steps:
        if count > 1:
            together += time - before
        count, before = count + step, time
        if count > most:
            most, at = count, time
    return Parallel(most, at, together)


def _text_of(ms: float | None) -> str | None:
    return None if ms is None else moment(EPOCH + timedelta(milliseconds=ms))
