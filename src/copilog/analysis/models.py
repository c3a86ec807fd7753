"""Models: which of them answered, how fast, switches of models, and turns that another model answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import NamedTuple

import msgspec

from copilog.analysis.facts import CHOSEN_TURNS, DISTINCT, MEDIAN, P95, Amount, WalkedTable
from copilog.analysis.figures import ConflictRow, ModelRow, ModelsSection, SwitchRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.selection import Chosen
from copilog.derive.model_names import ROUTERS, key_of


class _Turn(NamedTuple):
    conversation: int
    turn: int
    asked: str  # as `key_of` has it, as are all names below; empty: not recorded
    answered: str
    has_failed: bool
    working_ms: float | None
    first_progress_ms: float | None
    leaves_from: int | None  # of a branch
    trace: str | None  # of a branch

    @property
    def model(self) -> str:
        return self.answered or self.asked


class _Switch(NamedTuple):
    """A turn with another model than the one before it."""

    conversation: int
    turn: int
    before: str
    after: str


class _Conflict(NamedTuple):
    """A turn that requested one model and was answered by another one."""

    conversation: int
    turn: int
    asked: str
    answered: str


def models(chosen: Chosen, *, limit: int | None = 20) -> ModelsSection:
    """Return the shares, speed, switches and conflicts of models."""
    names = ModelNames()
    turns = list(_turns(chosen, names))
    switches = list(_switches(turns))
    conflicts = Counter(conflict[2:] for conflict in _conflicts(chosen, turns, names))
    shown = names.shown
    return ModelsSection(
        models=_model_rows(turns, shown)[:limit],
        switches=[
            SwitchRow(before=before, after=after, times=times)
            for before, after, times in _ranked(Counter(switch[2:] for switch in switches), shown)[:limit]
        ],
        **ALL_SWITCHES.numbers(switches),
        conflicts=[
            ConflictRow(asked=asked, answered=answered, times=times)
            for asked, answered, times in _ranked(conflicts, shown)[:limit]
        ],
        unknown_turns=sum(not turn.model for turn in turns),
    )


# --- turns ----------------------------------------------------------------------------------------------------------


def _turns(chosen: Chosen, names: ModelNames) -> Iterator[_Turn]:
    """Yield the chosen turns, by conversation and position."""
    rows = chosen.connection.execute(
        f"""
        SELECT t.conversation, t.position, t.model, t.resolved_model,
               t.status IS 'failed', t.working_ms, t.first_progress_ms, t.branch_from, t.branch_trace
        FROM {CHOSEN_TURNS} ORDER BY c.conversation, c.turn
        """  # noqa: S608 - of our own
    )
    for conversation, number, asked, resolved, has_failed, *rest in rows:
        models = names.key_of(asked), names.key_of(resolved)
        yield _Turn(conversation, number, *models, bool(has_failed), *rest)


def _model_rows(turns: list[_Turn], shown: Callable[[str], str]) -> list[ModelRow]:
    sums = MODELS.sums(turns)
    known = sum(row["turns"] for row in sums.values())
    rows = [ModelRow(name=shown(model), share=row["turns"] / known, **row) for (model,), row in sums.items()]
    return sorted(rows, key=lambda row: (-row.turns, row.name))


# --- switches and conflicts -----------------------------------------------------------------------------------------


def _switches(turns: Iterable[_Turn]) -> Iterator[_Switch]:
    """Yield the turns of a conversation that have another model than the turn before.

    Turns without a recorded model are skipped, and so are those of which only a router is recorded.
    """
    for turn, before in _with_model_before(turns):
        if before and turn.model != before:
            yield _Switch(turn.conversation, turn.turn, before, turn.model)


def _with_model_before(turns: Iterable[_Turn]) -> Iterator[tuple[_Turn, str]]:
    """Yield the turns whose model is known, each with the model before it; a branch continues from where it leaves."""
    conversation = -1
    last: dict[tuple[int | None, str | None], str] = {}  # of the trunk and of each branch
    known: dict[int, str] = {}  # up to a turn
    for turn in turns:
        if turn.conversation != conversation:
            conversation, last, known = turn.conversation, {}, {}
        line = turn.leaves_from, turn.trace
        before = last.get(line) or ""
        if not before and turn.leaves_from is not None:
            before = next((known[number] for number in range(turn.leaves_from, -1, -1) if number in known), "")
        model = turn.model if turn.model not in ROUTERS else ""
        known[turn.turn] = last[line] = model or before
        if model:
            yield turn, before


def _conflicts(chosen: Chosen, turns: list[_Turn], names: ModelNames) -> Iterator[_Conflict]:
    """Yield the requested model and another one that answered, once for each such model of a turn."""
    asked: dict[tuple[int, int], str] = {}
    answered: dict[tuple[int, int], set[str]] = {}
    for turn in turns:
        if turn.asked and turn.asked not in ROUTERS:
            place = turn.conversation, turn.turn
            asked[place] = turn.asked
            if turn.answered and turn.answered != turn.asked:
                answered[place] = {turn.answered}
    for conversation, number, name in _models_of_answers(chosen):
        place = conversation, number
        model = names.key_of(name)
        if place in asked and model and model not in ROUTERS and model != asked[place]:
            answered.setdefault(place, set()).add(model)
    for place, others in answered.items():
        for model in others:
            yield _Conflict(*place, asked[place], model)


def _models_of_answers(chosen: Chosen) -> Iterator[tuple[int, int, str]]:
    """Yield conversation, turn and model of answers, except those of sub-agents, which may have another model."""
    lists: dict[str, list[str]] = {}  # there are few different ones
    rows = chosen.connection.execute(
        "SELECT t.conversation, t.position, t.answer_models FROM temp.chosen AS c"
        " CROSS JOIN turn AS t ON t.conversation = c.conversation WHERE t.answer_models IS NOT NULL"
    )
    for conversation, turn, names in rows:
        if names not in lists:
            lists[names] = msgspec.json.decode(names)
        for name in lists[names]:
            yield conversation, turn, name


def _ranked(pairs: Counter[tuple[str, str]], shown: Callable[[str], str]) -> list[tuple[str, str, int]]:
    """Return pairs of names with their frequencies, most frequent first."""
    rows = [(shown(one), shown(other), times) for (one, other), times in pairs.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


# --- as figures -----------------------------------------------------------------------------------------------------


def _turns_of(chosen: Chosen) -> Iterator[_Turn]:
    return _turns(chosen, ModelNames())


def _switches_of(chosen: Chosen) -> Iterator[_Switch]:
    return _switches(_turns_of(chosen))


def _conflicts_of(chosen: Chosen) -> Iterator[_Conflict]:
    names = ModelNames()
    return _conflicts(chosen, list(_turns(chosen, names)), names)


MODELS = WalkedTable(
    name="models.models",
    amounts={
        "turns": Amount(lambda _: 1, "Turns"),
        "conversations": Amount(attrgetter("conversation"), "Conversations with turns", DISTINCT),
        "failed": Amount(attrgetter("has_failed"), "Failed turns"),
        "median_ms": Amount(attrgetter("working_ms"), "Median time of turns", MEDIAN, "ms", "Median", True),
        "p95_ms": Amount(attrgetter("working_ms"), "95th percentile of the time of turns", P95, "ms", "95 %", True),
        "first_median_ms": Amount(
            attrgetter("first_progress_ms"), "Median time to the first token", MEDIAN, "ms", "First token, median", True
        ),
        "first_p95_ms": Amount(
            attrgetter("first_progress_ms"),
            "95th percentile of the time to the first token",
            P95,
            "ms",
            "First token, 95 %",
            True,
        ),
    },
    keys=("name",),
    of=" answered by {}",
    fold=key_of,
    walk=_turns_of,
    key=lambda turn: (turn.model,) if turn.model else None,
)
UNKNOWN_MODEL = WalkedTable(
    name="models",
    amounts={"unknown_turns": Amount(lambda _: 1, "Turns of which no model was recorded")},
    walk=_turns_of,
    key=lambda turn: None if turn.model else (),
)
SWITCHES = WalkedTable(
    name="models.switches",
    amounts={"times": Amount(lambda _: 1, "Switches")},
    keys=("before", "after"),
    of=" from {} to {}",
    fold=key_of,
    walk=_switches_of,
    key=lambda switch: (switch.before, switch.after),
)
ALL_SWITCHES = WalkedTable(
    name="models",
    amounts={
        "switching_conversations": Amount(attrgetter("conversation"), "Conversations that switched models", DISTINCT)
    },
    walk=_switches_of,
)
CONFLICTS = WalkedTable(
    name="models.conflicts",
    amounts={"times": Amount(lambda _: 1, "Turns")},
    keys=("asked", "answered"),
    of=" that asked for {} and were answered by {}",
    fold=key_of,
    walk=_conflicts_of,
    key=lambda conflict: (conflict.asked, conflict.answered),
)
