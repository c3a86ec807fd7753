"""What agents and skills cost, and what became of their turns.

The cost of a turn counts for its custom agent, for its participant, and for each skill that it loaded; that of a
sub-agent for the sub-agent, too. So rows overlap, and are not to be added up.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from operator import add
from typing import NamedTuple

from copilog.analysis.agent_figures import UseRow
from copilog.analysis.agents import CALLS, CUSTOM_AGENT
from copilog.analysis.breakdowns import HAS_CREDITS, HAS_INPUT, row_of
from copilog.analysis.cells import Cell, Numbers, Row, sum_of
from copilog.analysis.facts import CHOSEN_TURNS
from copilog.analysis.name_keys import Spellings
from copilog.analysis.prices import price_table
from copilog.analysis.selection import Chosen
from copilog.analysis.spent_rows import loaded_skills, spent
from copilog.analysis.tokens import models_of

UNKNOWN = "unknown"
SKILL = "skill"

Key = tuple[str, str]  # kind, name without regard to its case
Place = tuple[int, int]  # conversation, turn


class _Of(NamedTuple):
    """Who is behind a turn, and what became of it."""

    keys: list[Key]
    outcome: str


class Uses:
    """The rows by kind and name."""

    def __init__(self, rows: dict[Key, UseRow]) -> None:
        self._rows = rows

    def of(self, kind: str, name: str) -> UseRow | None:
        return self._rows.get((kind, name.casefold()))

    def rows(self) -> list[UseRow]:
        return sorted(self._rows.values(), key=lambda row: (row.kind, -row.turns, row.name))


def uses_of(chosen: Chosen, *, prices: bool = True, only: Key | None = None) -> Uses:
    """Return cost and outcomes of all agents and skills of the chosen turns, or of one: its kind and its name."""
    if only is not None:
        only = only[0], only[1].casefold()
    chosen.note_bill()
    spellings: defaultdict[str, Spellings] = defaultdict(Spellings)
    turns = _turns(chosen, spellings, only)
    numbers = _Numbers()
    table = price_table(models_of(chosen), plan=chosen.plan) if prices else None
    by_turn: dict[Place, Numbers] = {}
    for conversation, turn, cell, amounts in spent(chosen, table, dict[Row, Cell]()):
        place = (conversation, turn)
        before = by_turn.get(place)
        by_turn[place] = amounts if before is None else tuple(map(add, before, amounts))
        if cell.subagent:
            key = "subagent", spellings["subagent"].key(cell.subagent, 0)
            if only in (None, key):
                numbers.add(key, place, amounts)
    for place, amounts in by_turn.items():
        for key in turns[place].keys if place in turns else ():
            numbers.add(key, place, amounts)
    outcomes: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for of in turns.values():
        for key in of.keys:
            outcomes[key][of.outcome] += 1
    for name, outcome, times in chosen.connection.execute(
        f"{CALLS} SELECT starts, outcome, count(*) FROM calls WHERE starts IS NOT NULL GROUP BY 1, 2"  # noqa: S608
    ):
        outcomes["subagent", spellings["subagent"].key(name, times)][outcome or UNKNOWN] += times
    return Uses(
        {
            key: numbers.row(key, spellings[key[0]].shown(key[1]), outcomes[key])
            for key in outcomes.keys() | numbers.keys()
        }
    )


def _turns(chosen: Chosen, spellings: defaultdict[str, Spellings], only: Key | None) -> dict[Place, _Of]:
    """Return the turns that have an agent or a skill."""
    loaded = loaded_skills(chosen.connection)
    turns: dict[Place, _Of] = {}
    outcome = "SELECT outcome FROM temp.billed_turn AS b WHERE b.conversation = c.conversation AND b.turn = c.turn"
    rows = chosen.connection.execute(
        f"SELECT c.conversation, c.turn, {CUSTOM_AGENT}, t.agent, ({outcome}) FROM {CHOSEN_TURNS}"  # noqa: S608
    )
    for conversation, turn, custom, participant, outcome in rows:
        names = [("custom", custom), ("participant", participant)]
        names += [(SKILL, name) for name in loaded.get(conversation, {}).get(turn, ())]
        keys = [(kind, spellings[kind].key(name)) for kind, name in names if name]
        if only is not None:
            keys = [key for key in keys if key == only]
        if keys:
            turns[conversation, turn] = _Of(list(dict.fromkeys(keys)), outcome or UNKNOWN)
    return turns


class _Numbers:
    """The numbers of each key, turn by turn."""

    def __init__(self) -> None:
        self._numbers: dict[Key, list[Numbers]] = {}
        self._places: dict[Key, set[Place]] = {}
        self._known: dict[Key, dict[Place, int]] = {}

    def keys(self) -> Iterable[Key]:
        return self._numbers.keys()

    def add(self, key: Key, place: Place, numbers: Numbers) -> None:
        self._numbers.setdefault(key, []).append(numbers)
        self._places.setdefault(key, set()).add(place)
        known = self._known.setdefault(key, {})
        known[place] = known.get(place, 0) | int(numbers[-1])

    def row(self, key: Key, name: str, outcomes: Counter[str]) -> UseRow:
        kind = key[0]
        made = UseRow(kind=kind, name=name, turns=outcomes.total(), outcomes=dict(sorted(outcomes.items())))
        if key not in self._numbers:
            return made
        places, known = self._places[key], self._known[key].values()
        whole = (len({conversation for conversation, _ in places}), len(places), *sum_of(self._numbers[key]))
        made.spend = row_of(name, whole)
        made.token_turns = sum(one & HAS_INPUT != 0 for one in known)
        made.credit_turns = sum(one & HAS_CREDITS != 0 for one in known)
        return made


def outcomes_in_order(outcomes: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Yield outcomes in the order in which tables have them; what is not known comes last."""
    order = ("kept", "succeeded", "undone", "asked again", "failed", "cancelled", "denied", "skipped")
    names = [*order, *sorted(outcomes.keys() - {*order, UNKNOWN}), UNKNOWN]
    yield from ((name, outcomes[name]) for name in names if outcomes.get(name))
