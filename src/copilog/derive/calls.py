"""Assign the records of model calls in a store of sessions to turns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from copilog.derive.helper_usage import helper_of
from copilog.model import Turn, Usage

UP_TO_A_SECOND = timedelta(milliseconds=999)
AT_ONCE = timedelta(seconds=2)


def is_side_call(usage: Usage) -> bool:
    """Return whether a call was not made by the main agent: by a sub-agent, a helper, or to compact the history."""
    details = usage.extra or {}
    by_other = usage.parent_call_id or details.get("agent_id") or details.get("parent_tool_call_id")
    return bool(by_other) or details.get("initiator") == "compaction" or helper_of(usage) is not None


def turns_by_number(turns: list[Turn]) -> dict[int, int]:
    """Return the turns by their number in a store, which counts prompts and may leave some out."""
    numbers = {turn.index: (turn.extra or {}).get("turn_index") for turn in turns}
    if any(number is not None for number in numbers.values()):
        return {number if isinstance(number, int) else index: index for index, number in numbers.items()}
    prompted = [turn for turn in turns if turn.request_id is not None] or turns
    return {number: turn.index for number, turn in enumerate(prompted)}


class TurnsOfCalls:
    """The turns that calls of a store belong to.

    A call belongs to the last turn that began before it ended. The store's own number of the turn is not the turn: the
    CLI reuses a number if it ended before it wrote the turn's row. The number decides only where no log has the times.
    """

    def __init__(self, turns: list[Turn]) -> None:
        late = _written_late(turns)
        timed = [
            (turn.timing.started_at, turn.index)
            for turn in turns
            if turn.request_id is not None and turn.timing.started_at is not None and turn.index not in late
        ]
        timed.sort()
        self._times = [at for at, _ in timed]
        self._indexes = [index for _, index in timed]
        self._by_number = turns_by_number(turns)
        self._rows = {
            turn.index: turn.timing.started_at
            for turn in turns
            if turn.timing.started_at is not None and _has_time_of_row(turn)
        }

    def of(self, usage: Usage) -> int | None:
        """Return the index of the turn that a call belongs to; None if it is unknown."""
        at = called_at(usage)
        number = (usage.extra or {}).get("turn_index")
        named = self._by_number.get(number) if isinstance(number, int) else None
        written_at = self._rows.get(named) if named is not None else None
        if at is not None and written_at is not None and at <= written_at:
            return named
        if at is not None and self._times and at >= self._times[0]:
            return self._indexes[bisect_right(self._times, at) - 1]
        return named


def _has_time_of_row(turn: Turn) -> bool:
    """Return whether the time of a turn is that of its row: it was rewound, and the log was not read before.

    The CLI writes the row after all calls of the turn: when the next prompt is sent, or when the program ends.
    """
    return turn.superseded == "rewound" and turn.timing.responded_at is None and turn.timing.completed_at is None


def _written_late(turns: list[Turn]) -> set[int]:
    """Return the turns whose row was written with the next prompt: its time does not show which turn a call is of.

    The row has the time of that prompt, or one some milliseconds later. A row that was written when the program ended
    is earlier; calls between it and the next prompt still belong to its turn.
    """
    late: set[int] = set()
    following: datetime | None = None
    for turn in reversed(turns):
        at = turn.timing.started_at
        if at is not None and following is not None and at >= following and _has_time_of_row(turn):
            late.add(turn.index)
        elif at is not None:
            following = at
    return late


def called_at(usage: Usage) -> datetime | None:
    """Return the recorded time when a call ended; None if it is unknown."""
    text: Any = (usage.extra or {}).get("created_at")
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return at if "." in text else at + UP_TO_A_SECOND


def unrecorded(calls: Sequence[Usage], records: Sequence[Usage]) -> list[Usage]:
    """Return the calls of a store that the log lacks: those of turns that were rewound.

    The program writes both at once: a call and its record have the same counts and nearly the same time.
    """
    waiting: dict[tuple[int | None, ...], list[Usage]] = {}
    for record in records:
        waiting.setdefault(_numbers(record), []).append(record)
    left = []
    for call in calls:
        alike = waiting.get(_numbers(call), [])
        nearest = min(alike, key=lambda record: _apart(record, call), default=None)
        if nearest is not None and _apart(nearest, call) <= AT_ONCE:
            alike.remove(nearest)
        else:
            left.append(call)
    return left


def _numbers(usage: Usage) -> tuple[int | None, ...]:
    return usage.input, usage.output


def _apart(one: Usage, other: Usage) -> timedelta:
    """Return the time between two calls; zero if one of the times is unknown."""
    at, then = called_at(one), called_at(other)
    return abs(at - then) if at is not None and then is not None else timedelta()
