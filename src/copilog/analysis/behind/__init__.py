"""Which conversations are behind a number: those with such a vote, an error, a switch of models, an hour of the day.

The search knows many things that conversations have. This answers for what it does not know, from the same tables and
by the same rules as the figures themselves.

found.py   what all of them give, and how chosen turns are asked for
turns.py   turns: votes, ends, errors, the clock, time at work
who.py     models, agents and skills
calls.py   tool calls, the order they were made in, and edits
spent.py   tokens, credits and premium requests
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from copilog.analysis.behind import calls, spent, turns, who
from copilog.analysis.behind.found import Found
from copilog.analysis.figures import Figures
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.sequences import LENGTHS
from copilog.errors import UsageError


class BehindRow(Figures, kw_only=True):
    """A conversation, and what of it counts."""

    id: str
    title: str
    workspace: str | None
    at: str | None  # when it was last touched
    times: int  # turns, calls, edits or records, whatever was counted
    turn: int | None  # the first of them, where that is known


class Kind(NamedTuple):
    """What a number may count: who finds it, and how many names that takes."""

    find: Callable[..., Found]
    fewest: int
    most: int


def conversations_behind(chosen: Chosen, what: str, *values: str) -> list[BehindRow]:
    """The conversations that a number counts, those with most of it first. UsageError for what nobody counts."""
    kind = KINDS.get(what)
    if kind is None:
        raise UsageError(f"no number counts {what!r}; there are {', '.join(KINDS)}")
    if not kind.fewest <= len(values) <= kind.most:
        raise UsageError(f"{what} takes {kind.fewest} to {kind.most} values, not {len(values)}")
    times: dict[int, int] = {}
    first: dict[int, int | None] = {}
    for conversation, turn, count in kind.find(chosen, *values):
        times[conversation] = times.get(conversation, 0) + count
        known = [number for number in (first.get(conversation), turn) if number is not None and number != NO_TURN]
        first[conversation] = min(known, default=None)
    rows = [
        BehindRow(id=id_, title=title, workspace=workspace, at=at, times=times[number], turn=first[number])
        for number, id_, title, workspace, at in chosen.connection.execute(
            "SELECT conversation, id, title, workspace, at FROM temp.chosen"
        )
        if number in times
    ]
    # By what came last, then by number: sorting keeps the order of equals.
    rows.sort(key=lambda row: row.at or "", reverse=True)
    return sorted(rows, key=lambda row: -row.times)


KINDS: dict[str, Kind] = {
    "turn": Kind(turns.all_turns, 0, 0),
    "dated": Kind(turns.dated, 0, 0),
    "vote": Kind(turns.votes, 1, 1),
    "vote-reason": Kind(turns.vote_reasons, 1, 1),
    "status": Kind(turns.statuses, 1, 1),
    "retry": Kind(turns.retries, 0, 0),
    "weekday": Kind(turns.weekdays, 1, 1),
    "hour": Kind(turns.hours, 1, 1),
    "error": Kind(turns.errors, 1, 1),
    "elapsed": Kind(turns.elapsed, 0, 0),
    "working": Kind(turns.working, 0, 0),
    "waiting": Kind(turns.waiting, 0, 0),
    "parallel": Kind(turns.parallel, 1, 1),
    "model": Kind(who.with_model, 1, 1),
    "failed-model": Kind(who.failed_with_model, 1, 1),
    "no-model": Kind(who.without_model, 0, 0),
    "switch": Kind(who.switches, 0, 2),
    "conflict": Kind(who.conflicts, 2, 2),
    "agent": Kind(who.with_agent, 2, 2),
    "failed-agent": Kind(who.failed_with_agent, 2, 2),
    "handover": Kind(who.handovers, 3, 3),
    "offered-skill": Kind(who.offered, 1, 1),
    "loaded-skill": Kind(who.loaded, 1, 1),
    "call": Kind(calls.all_calls, 0, 1),
    "failed-call": Kind(calls.failed, 0, 1),
    "command-error": Kind(calls.command_errors, 0, 1),
    "timed-call": Kind(calls.timed, 1, 1),
    "retried-call": Kind(calls.retried, 0, 1),
    "confirmation": Kind(calls.confirmed, 1, 2),
    "server": Kind(calls.of_server, 1, 1),
    "failed-server": Kind(calls.failed_of_server, 1, 1),
    "program": Kind(calls.of_program, 1, 1),
    "failed-program": Kind(calls.failed_of_program, 1, 1),
    "command-error-program": Kind(calls.command_errors_of_program, 1, 1),
    "sequence": Kind(calls.in_sequence, min(LENGTHS), max(LENGTHS)),
    "edit": Kind(calls.edits, 0, 0),
    "fate": Kind(calls.with_fate, 1, 1),
    "file": Kind(calls.of_file, 1, 1),
    "undone-file": Kind(calls.undone_of_file, 1, 1),
    "language": Kind(calls.in_language, 1, 1),
    "spent": Kind(spent.spent, 1, 1),
    "priced": Kind(spent.priced, 0, 0),
    "spent-by-model": Kind(spent.by_model, 1, 1),
    "origin": Kind(spent.from_origin, 2, 2),
}
