"""Conclude how long turns took: the elapsed time, and how much of it was waiting for the user and working.

The records in `Timing` may contradict each other: VS Code writes a completion time when a session is opened
again, and a wait that continues after the turn has ended. Formats: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from copilog.derive.counting import lines_of
from copilog.model import Conversation, Duration, Turn

# A turn that was running when its window closed is cancelled when the session is opened again, perhaps days later.
# Such a turn records no time of its own; users stop a turn sooner.
LATEST_CANCELLATION_MS = 3_600_000
# An answer is completed within this time after its generation, if no wait is recorded.
LATEST_COMPLETION_MS = LATEST_CANCELLATION_MS
# A longer time that only the completion shows is that of a session that was opened again.
LONGEST_SPAN_MS = 24 * 3_600_000
LONGEST_TURN_MS = 30 * 24 * 3_600_000  # no turn takes longer, whatever is recorded: its editor has to stay open
LEEWAY_MS = 1_000  # clocks of several processes: smaller contradictions are not reported
ONE_RELOAD = timedelta(seconds=2)  # turns that are completed one after the other when a session is opened again


def conclude_durations(conversation: Conversation) -> None:
    """Set the duration of each turn, and list its impossible recorded times."""
    turns = conversation.turns
    if len(turns) == 1:
        turns[0].duration = _duration_of(turns[0], turns[0].timing.completed_at, _Next(None, None))
        return
    reloads = _reloads(turns)
    following = _following(conversation)
    for turn in turns:
        completed_at = turn.timing.completed_at
        turn.duration = _duration_of(turn, None if completed_at in reloads else completed_at, following[turn.index])


def _reloads(turns: Iterable[Turn]) -> set[datetime]:
    """Return the completion times that were written when the session was opened again: several turns share them.

    A turn that started just before it was completed may have followed the end of another.
    """
    found: set[datetime] = set()
    last: datetime | None = None
    last_long: datetime | None = None
    times = [(turn.timing.completed_at, turn.timing.started_at) for turn in turns]
    for completed_at, started_at in sorted((end, start or end) for end, start in times if end is not None):
        if completed_at == last:
            found.add(completed_at)
        last = completed_at
        if completed_at - started_at > ONE_RELOAD:
            if last_long is not None and completed_at - last_long <= ONE_RELOAD:
                found.update((last_long, completed_at))
            last_long = completed_at
    return found


class _Next(NamedTuple):
    """The start of the next turn of the same line, and the next later start; None if there is none."""

    start: datetime | None
    later_start: datetime | None


def next_starts(conversation: Conversation) -> dict[int, datetime]:
    """Return the next later start of a turn of the same line, by the index of a turn. A branch is a line of its own."""
    following = _following(conversation)
    return {index: found.later_start for index, found in following.items() if found.later_start is not None}


def last_activity(turns: list[Turn]) -> datetime | None:
    """Return the time of the last activity: a completion time that is not the end of its turn does not count."""
    reloads = _reloads(turns)
    following = _following_in(turns)
    ends = [_end_of(turn, reloads, following[turn.index]) for turn in turns]
    return max(filter(None, (*ends, *(turn.timing.responded_at for turn in turns))), default=None)


def _end_of(turn: Turn, reloads: set[datetime], following: _Next) -> datetime | None:
    """Return the end of a turn; its start if the end is unknown."""
    started_at = turn.timing.started_at
    completed_at = None if turn.timing.completed_at in reloads else turn.timing.completed_at
    if started_at is None or (completed_at is not None and _ms(completed_at - started_at) <= LATEST_COMPLETION_MS):
        return max(filter(None, (started_at, completed_at)), default=None)
    duration = _duration_of(turn, completed_at, following)
    elapsed = duration.elapsed_ms if duration is not None else None
    end = started_at + timedelta(milliseconds=elapsed or 0)
    if elapsed is not None and completed_at is not None and 0 <= _ms(completed_at - end) <= LATEST_COMPLETION_MS:
        return completed_at
    return end


def _following(conversation: Conversation) -> dict[int, _Next]:
    found: dict[int, _Next] = {}
    for line in lines_of(conversation):
        found |= _following_in(line.turns)
    return found


def _following_in(turns: list[Turn]) -> dict[int, _Next]:
    """Return the starts after each turn of one line, by its index."""
    found: dict[int, _Next] = {}
    starts: list[datetime] = []  # of the following turns, the next one last, without those that a later turn precedes
    following: datetime | None = None
    for turn in reversed(turns):
        start = turn.timing.started_at
        while start is not None and starts and starts[-1] <= start:
            starts.pop()
        found[turn.index] = _Next(following, starts[-1] if starts else None)
        if start is not None:
            starts.append(start)
            following = start
    return found


def _duration_of(turn: Turn, completed_at: datetime | None, following: _Next) -> Duration | None:
    problems: list[str] = []
    elapsed = _elapsed_ms(turn, completed_at, following, problems)
    waited = turn.timing.waited_ms
    waiting = waited if waited is not None and elapsed is not None and 0 <= waited < elapsed else None
    if waited and waiting is None:
        of = f"the {elapsed:,.0f} ms that the turn took" if elapsed is not None else "a turn whose time is unknown"
        problems.append(f"{waited:,.0f} ms waiting for the user, of {of}")
    working = _working_ms(turn, elapsed, waiting)
    if elapsed is None and not problems:
        return None
    return Duration(elapsed_ms=elapsed, waiting_ms=waiting, working_ms=working, problems=problems)


def _working_ms(turn: Turn, elapsed: float | None, waiting: float | None) -> float | None:
    """Return the elapsed time without waiting. Without a recorded wait, the generation time includes none."""
    if elapsed is None or waiting is not None:
        return elapsed - waiting if elapsed is not None and waiting is not None else None
    if turn.timing.waited_ms:  # recorded, but impossible
        return None
    generated = turn.timing.generated_ms
    return min(elapsed, generated) if generated is not None and generated > 0 else elapsed


def _elapsed_ms(turn: Turn, completed_at: datetime | None, following: _Next, problems: list[str]) -> float | None:
    """Return the smallest recorded time, limited by the start of the next turn; None if none is left."""
    timing = turn.timing
    whole = _possible(timing.elapsed_ms, "for the whole turn", problems)
    generated = _possible(timing.generated_ms, "for generating the answer", problems)
    with_wait = generated + max(timing.waited_ms, 0) if generated and timing.waited_ms is not None else None
    span = _span_ms(turn, completed_at, problems)
    if span is not None and generated and timing.waited_ms is None and span - generated > LATEST_COMPLETION_MS:
        problems.append(f"completed {span:,.0f} ms after it started, of {generated:,.0f} ms for generating the answer")
        span = None
    elapsed = min((known for known in (whole, with_wait, span) if known is not None), default=generated)
    if elapsed is None or timing.started_at is None:
        return elapsed
    if whole is None and generated is None and _ended_by_reload(elapsed, turn, following):
        problems.append(_reload_text(elapsed))
        return None
    if following.start is not None and following.start <= timing.started_at and elapsed > LEEWAY_MS:
        early = _ms(timing.started_at - following.start)
        problems.append(f"the next turn starts {f'{early:,.0f} ms before' if early else 'together with'} this one")
    if following.later_start is None:
        return elapsed
    room = _ms(following.later_start - timing.started_at)
    if whole is not None and elapsed > room + LEEWAY_MS:
        problems.append(f"{elapsed:,.0f} ms, but the next turn starts after {room:,.0f} ms")
    return min(elapsed, room)


def _ended_by_reload(span: float, turn: Turn, following: _Next) -> bool:
    """Return whether a turn cannot have taken so long: more than a day without its wait, and up to the next turn."""
    started_at, later = turn.timing.started_at, following.later_start
    if started_at is not None and later is not None:
        span = min(span, _ms(later - started_at))
    return span - max(turn.timing.waited_ms or 0, 0) > LONGEST_SPAN_MS


def _reload_text(span: float) -> str:
    return (
        f"completed {span:,.0f} ms ({span / LONGEST_SPAN_MS:.1f} days) after it started, and no other record "
        "has its duration: the session was reopened then, so the duration is unknown"
    )


def _possible(recorded: float | None, what: str, problems: list[str]) -> float | None:
    """Return a recorded time; None if it cannot be that of a turn: every turn takes some time, and none takes years."""
    if recorded is None or 0 < recorded <= LONGEST_TURN_MS:
        return recorded
    days = f" ({recorded / LONGEST_SPAN_MS:,.0f} days)" if recorded > 0 else ""
    problems.append(f"{recorded:,.0f} ms{days} {what}")
    return None


def _span_ms(turn: Turn, completed_at: datetime | None, problems: list[str]) -> float | None:
    """Return the time from start to completion, if the completion is the end of the turn."""
    started_at = turn.timing.started_at
    if started_at is None or completed_at is None:
        return None
    span = _ms(completed_at - started_at)
    if span < -LEEWAY_MS:
        problems.append(f"completed {-span:,.0f} ms before it started")
    is_recorded = turn.timing.elapsed_ms is not None or turn.timing.generated_ms is not None
    if turn.status == "cancelled" and not is_recorded and span > LATEST_CANCELLATION_MS:
        if span > LONGEST_SPAN_MS:
            problems.append(_reload_text(span))
        return None
    return span if span > 0 else None


def _ms(delta: timedelta) -> float:
    return delta.total_seconds() * 1000
