"""Measure activity: by day, weekday and hour of this machine's clock, in streaks of days, and in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from copilog.analysis.facts import CHOSEN_CALLS, CHOSEN_TURNS, DISTINCT, Amount, Key, SqlTable, WalkedTable, one_of
from copilog.analysis.figures import ActivityRow, TimeSection
from copilog.analysis.selection import Chosen
from copilog.store.times import time_text, timestamp_from

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS = tuple(f"{hour:02}" for hour in range(24))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CLOCK = ("day", "weekday", "hour")

Interval = tuple[float, float]  # milliseconds since 1970


# --- figures --------------------------------------------------------------------------------------------------------

_TURNS = {
    "turns": Amount("1", "Turns"),
    "conversations": Amount("c.conversation", "Conversations with turns", DISTINCT),
}
_CALLS = {"tool_calls": Amount("1", "Tool calls")}
_OF = {"day": " on {}", "weekday": " on a {}", "hour": " that began between {0}:00 and {0}:59"}
# A column of the chosen turns, and the label of each of its values.
_NAMES = {
    "day": "c.day",
    "weekday": "CASE c.weekday " + " ".join(f"WHEN {at} THEN '{day}'" for at, day in enumerate(WEEKDAYS)) + " END",
    "hour": "printf('%02d', c.hour)",
}


class ClockTable(SqlTable, frozen=True):
    """Figures by a column of the clock, whose values are known beforehand."""

    def key_of(self, values: tuple[str, ...]) -> Key:
        known = {"time.by_weekday": WEEKDAYS, "time.by_hour": HOURS}.get(self.name)
        return tuple(one_of(value, known) if known else value for value in super().key_of(values))


def _by_clock(column: str, amounts: dict[str, Amount], source: str, where: str) -> SqlTable:
    return ClockTable(
        name=f"time.by_{column}",
        amounts=amounts,
        keys=("name",),
        by=(_NAMES[column],),
        of=_OF[column],
        source=source,
        where=f"{where} AND c.{column} IS NOT NULL",
    )


TURNS_BY_CLOCK = {column: _by_clock(column, _TURNS, "temp.chosen_turn AS c", "c.is_turn") for column in CLOCK}
CALLS_BY_CLOCK = {column: _by_clock(column, _CALLS, CHOSEN_CALLS, "1") for column in CLOCK}
CALLS = SqlTable(name="time", amounts=_CALLS, source=CHOSEN_CALLS)
DAYS = SqlTable(
    name="time",
    amounts={"active_days": Amount("c.day", "Days with turns", DISTINCT)},
    source="temp.chosen_turn AS c",
    where="c.is_turn AND c.day IS NOT NULL",
)


def activity(chosen: Chosen) -> TimeSection:
    """Return when the chosen turns ran, and how many conversations ran at once."""
    calls = list(CALLS.grouped(chosen, *(f"c.{column}" for column in CLOCK)))
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


def _by(chosen: Chosen, column: str, calls: list[tuple[Any, ...]]) -> dict[int | str, ActivityRow]:
    """Return turns, the conversations they belong to and tool calls, by a column of the chosen turns."""
    rows: dict[int | str, ActivityRow] = {}
    for value, turns, conversations in TURNS_BY_CLOCK[column].grouped(chosen, f"c.{column}"):
        rows[value] = ActivityRow(name=_name(column, value), turns=turns, conversations=conversations, tool_calls=0)
    at = CLOCK.index(column)
    for cell in calls:
        value = cell[at]
        if value is not None:
            rows.setdefault(value, _nothing(_name(column, value))).tool_calls += cell[-1]
    return dict(sorted(rows.items()))


def _day(text: str) -> date | None:
    """Return a day of the calendar; None for one before the first, as a clock that was never set may produce."""
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
    """Yield runs of days without a gap, of days in their order."""
    for _, run in groupby(enumerate(active), key=lambda item: item[1].toordinal() - item[0]):
        days = [day for _, day in run]
        yield Streak(len(days), days[-1])


def _longest_streak(active: Sequence[date]) -> Streak:
    """Return the longest run; of equal ones, the latest."""
    return max(_streaks(active), key=lambda streak: (streak.days, streak.end), default=Streak(0, None))


def _current_streak(active: Sequence[date], today: date) -> int:
    """Return the days in a row up to today, or up to yesterday while there is no activity today."""
    return next((run.days for run in _streaks(active) if run.end in (today, today - timedelta(days=1))), 0)


# --- in parallel ----------------------------------------------------------------------------------------------------


class Parallel(NamedTuple):
    """The maximum number that ran at once, when that was first reached, and for how long there were two or more."""

    most: int
    at: float | None
    ms: float


class _Run(NamedTuple):
    """A turn, and when it ran."""

    conversation: int
    turn: int
    interval: Interval


def _timed(chosen: Chosen) -> Iterator[_Run]:
    rows = chosen.connection.execute(
        f"SELECT t.conversation, t.position, t.started_at, t.elapsed_ms FROM {CHOSEN_TURNS}"  # noqa: S608 - of our own
        " WHERE t.started_at IS NOT NULL AND t.elapsed_ms > 0 ORDER BY t.conversation, t.started_at"
    )
    for conversation, turn, started_at, elapsed_ms in rows:
        begun = timestamp_from(started_at)
        if begun is not None:
            start = round(begun.timestamp() * 1000)
            yield _Run(conversation, turn, (start, start + elapsed_ms))


def _running(chosen: Chosen) -> Iterator[list[Interval]]:
    """Yield for each conversation when its turns ran, without overlaps."""
    for _, turns in groupby(_timed(chosen), key=itemgetter(0)):
        yield _joined(turn.interval for turn in turns)


def _turns_at_peak(chosen: Chosen) -> Iterator[_Run]:
    """Yield the turns that ran when the most conversations did. A turn that ends at that time does not count."""
    at = _parallel(_running(chosen)).at
    if at is not None:
        yield from (turn for turn in _timed(chosen) if turn.interval[0] <= at < turn.interval[1])


def _joined(turns: Iterable[Interval]) -> list[Interval]:
    intervals: list[Interval] = []
    for start, end in turns:
        if intervals and start <= intervals[-1][1]:
            intervals[-1] = (intervals[-1][0], max(end, intervals[-1][1]))
        else:
            intervals.append((start, end))
    return intervals


def _parallel(running: Iterable[list[Interval]]) -> Parallel:
    """Go through all beginnings and ends in order. A run that ends as another begins does not overlap with it."""
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
    return None if ms is None else time_text(EPOCH + timedelta(milliseconds=ms))


PARALLEL = WalkedTable(
    name="time",
    amounts={"most_parallel": Amount(attrgetter("conversation"), "Conversations that ran at the same time", DISTINCT)},
    walk=_turns_at_peak,
)
