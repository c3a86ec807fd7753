"""Totals and bills by the run of the program that they belong to.

A log has one `session.shutdown` for each run of the program. Each covers the turns of its run, so its numbers are not
spread over other turns. Usage after the last one, and in runs without an end (killed, or copied by a fork), has totals
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from copilog.model import Usage
from copilog.model.recorded_names import SHUTDOWN
from copilog.store.checkpoints import TINY
from copilog.store.message_counts import MessageCounts
from copilog.store.recorded import (
    Counted,
    count_of,
    has_tokens,
    is_of_cut_off_run,
    is_tail,
    tokens_of,
)

ByModel = dict[str | None, float]


def segments_of(
    usage: Usage, talk: MessageCounts, *, without_cut_off: bool = False
) -> Iterator[tuple[dict[str, Any], set[int]]]:
    """Yield the parts of a total of a session, each with the turns that it covers.

    `without_cut_off` leaves out the turns of runs without an end, because they have totals of their own.
    """
    everything = set(talk.turns)
    if is_tail(usage):
        yield tokens_of(usage), talk.after_shutdown or everything
        return
    if is_of_cut_off_run(usage):
        yield tokens_of(usage), talk.cut_off or everything
        return
    if usage.source != SHUTDOWN or not talk.runs:
        yield tokens_of(usage), everything
        return
    cut_off = talk.cut_off if without_cut_off else set()
    runs = [run - cut_off or run or everything for run in talk.runs]
    added = _added(usage)
    if len(added) < len(runs):
        yield tokens_of(usage), set().union(*runs)
        return
    for numbers, turns in zip(added, runs, strict=False):
        if counted := {name: number for name, number in numbers.items() if name in tokens_of(usage)}:
            yield counted, turns


def beyond_records(rows: list[Counted], whole: list[Usage], talk: MessageCounts) -> Iterator[tuple[Usage, set[int]]]:
    """Yield what the totals have beyond the records of calls, run by run, with the turns of the run.

    What the records of a run have beyond its total is subtracted from the next: a turn may continue in that run.
    """
    covered = [(slot, usage) for slot, usage in rows if slot.turn not in talk.after_shutdown - set().union(*talk.runs)]
    for total in whole:
        if total.source != SHUTDOWN or total.scope != "session" or not has_tokens(total):
            continue
        of_model = [(slot, tokens_of(usage)) for slot, usage in covered if usage.model == total.model]
        surplus = [numbers for slot, numbers in of_model if slot.turn is None]
        for numbers, turns in segments_of(total, talk):
            own = [*surplus, *(recorded for slot, recorded in of_model if slot.turn in turns)]
            of_model = [(slot, recorded) for slot, recorded in of_model if slot.turn not in turns]
            left = {name: count - sum(one.get(name, 0) for one in own) for name, count in numbers.items()}
            surplus = [{name: -count for name, count in left.items() if count < 0}]
            left = {name: max(0, count) for name, count in left.items()}
            if left.get("input") or left.get("output"):
                yield Usage(**left, model=total.model, scope="session", source=SHUTDOWN), turns


def requests_in_runs(whole: list[Usage], talk: MessageCounts) -> Iterator[tuple[str, int, set[int]]]:
    """Yield the number of calls that the totals of each run count for each model, with the turns of the run."""
    totals = [usage for usage in whole if usage.source == SHUTDOWN and usage.scope == "session" and usage.model]
    cut_off = talk.cut_off if any(map(is_of_cut_off_run, whole)) else set()
    if len(talk.runs) > 1 and not any(map(_added, totals)):
        return
    for number, run in enumerate(talk.runs):
        turns = run - cut_off or run or set(talk.turns)
        for usage in totals:
            added = _added(usage)
            requests = _number_of(added, number, "requests") if added else (usage.extra or {}).get("requests")
            if isinstance(requests, int) and requests > 0 and usage.model:
                yield usage.model, requests, turns


class Bill(NamedTuple):
    """The cost of a session: by model if the models' costs add up to the total, else under None."""

    source: str
    total: float
    runs: list[ByModel]  # of each run of the program, and of usage after the last
    killed: dict[int, float] = {}  # by number of the run: the part of its cost that runs without an end had before it
    has_cut_off: bool = True  # whether the cost of a run includes that of runs without an end before it

    def runs_in(self, talk: MessageCounts) -> Iterator[tuple[set[int], ByModel]]:
        """Yield the cost of each run with its turns."""
        everything = set(talk.turns)
        cut_off = set() if self.has_cut_off else talk.cut_off
        turns = [
            run if number in self.killed else run - cut_off or run
            for number, run in enumerate((*talk.runs, talk.after_shutdown))
        ]
        if (len(self.runs) == 1 and not self.killed) or len(self.runs) > len(turns):
            whole: ByModel = {}
            for run in self.runs:
                for model, cost in run.items():
                    whole[model] = whole.get(model, 0) + cost
            covered = everything if len(self.runs) > 1 or len(talk.runs) != 1 else turns[0] or everything
            yield covered, whole
            return
        for number, (covered, by_model) in enumerate(zip(turns, self.runs, strict=False)):
            part, lost = self.killed.get(number, 0), covered & talk.cut_off
            if not part or not lost or not covered - lost:
                yield covered or everything, by_model
                continue
            yield lost, {None: part}
            yield covered - lost, {None: sum(by_model.values()) - part}


def bill_of(whole: list[Usage], name: str) -> Bill | None:
    """Return the largest bill of a session; None if it has none."""
    bills: dict[str, list[Usage]] = {}
    totals: dict[str, float] = {}
    for usage in whole:
        cost = count_of(usage, name) if usage.scope == "session" else None
        if cost is not None:
            totals[usage.source] = totals.get(usage.source, 0) + cost
            bills.setdefault(usage.source, []).append(usage)
    if not totals:
        return None
    source, total = max(totals.items(), key=lambda bill: bill[1])
    has_cut_off = not any(map(is_of_cut_off_run, whole))
    of_models = [usage for usage in whole if usage.source == SHUTDOWN and usage.scope == "session" and usage.model]
    (first, *others) = bills[source]
    added = _added(first) if not others else []
    if not added:
        shares = {usage.model: (usage.extra or {}).get(name) for usage in of_models}
        return Bill(source, total, [_by_model(total, shares)], has_cut_off=has_cut_off)
    killed = {
        number: part for number, run in enumerate(added) if (part := (run.get("killed") or {}).get(name)) is not None
    }
    runs = []
    for number, of_run in enumerate(added):
        shares = {usage.model: _number_of(_added(usage), number, name) for usage in of_models}
        runs.append(_by_model(of_run.get(name, 0), shares))
    return Bill(source, total, runs, killed, has_cut_off)


def beyond(by_model: ByModel, recorded: Iterable[Usage], surplus: float = 0) -> tuple[ByModel, float]:
    """Return by how much a run's bill exceeds the credits of its calls, and by how much these exceed the bill."""
    left = dict(by_model)
    for usage in recorded:
        model = usage.model if usage.model in left else None
        left[model] = left.get(model, 0) - (usage.credits or 0)
    whole = sum(left.values()) - surplus
    if whole < TINY:
        return {}, max(-whole, 0)
    if surplus or any(cost < 0 for cost in left.values()):
        return {None: whole}, 0
    return {model: cost for model, cost in left.items() if cost > TINY}, 0


def _added(usage: Usage) -> list[Any]:
    """Return what each run of the program added to a total; an empty list if the total does not list runs."""
    runs: Any = (usage.extra or {}).get("runs")
    return [run if isinstance(run, dict) else {} for run in runs] if isinstance(runs, list) else []


def _number_of(added: list[Any], number: int, name: str) -> Any:
    return added[number].get(name) if number < len(added) else None


def _by_model(total: float, shares: dict[str | None, Any]) -> ByModel:
    known = {model: share for model, share in shares.items() if isinstance(share, int | float) and share > 0}
    adds_up = bool(known) and abs(sum(known.values()) - total) <= TINY
    return known if adds_up else {None: total}
