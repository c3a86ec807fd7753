"""Add up tokens and cost by day, model, agent and other keys.

The table `spend` of the archive has each token once, so any of its rows can be added up. They are read once and added
to two sums each: that of their turn, for the tables by conversation and workspace, and that of all rows with the same
day, model, agent and source, for all other tables. SQLite would have to sort all rows again for each table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from operator import add, itemgetter
from typing import Any

from copilog.analysis.bill import UNDONE
from copilog.analysis.cells import (
    AT,
    CACHEABLE,
    COUNTS,
    FIELDS,
    KNOWN,
    MANY,
    TURN,
    WIDTH,
    Cell,
    Numbers,
    Row,
    place_of,
    sum_of,
)
from copilog.analysis.facts import DIGITS
from copilog.analysis.figures import OriginRow, SpendRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.name_keys import Spellings
from copilog.analysis.numbers import added
from copilog.analysis.prices import PricedModel, PriceTable
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.spent_rows import Of, conversations_of, elsewhere, loaded_skills, spent
from copilog.derive.model_names import key_of
from copilog.model import turn_number

# The labels of rows without a name.
NO_DAY, NO_MODEL, NO_WORKSPACE, NO_AGENT = "(no date)", "(unknown model)", "(no workspace)", "(no agent)"
NO_REPOSITORY = "(no repository)"
UNANSWERED = "failed or cancelled"
PAYERS = {"copilot": "Copilot", "own key": "own key", "unknown": "unknown payer"}
OUTCOMES = ("kept", UNDONE, UNANSWERED, "asked again", "unknown")
SYSTEMS = {"credits": "AI credits", "requests": "premium requests"}


def outcome_of(cell: Cell) -> str:
    """Return what became of the turns of a cell: one of `OUTCOMES`."""
    return UNANSWERED if cell.outcome in ("failed", "cancelled") else cell.outcome or "unknown"


# Keys that are the same for an entire conversation, and those of a cell. None: the row is left out.
BY_CONVERSATION: dict[str, Callable[[Of], Any]] = {
    "total": lambda _: "total",
    "workspace": lambda of: of.workspace or NO_WORKSPACE,
    "repository": lambda of: of.repository or NO_REPOSITORY,
    "branch": lambda of: f"{of.repository or of.workspace or NO_REPOSITORY} {of.branch}" if of.branch else None,
    "source": lambda of: of.source,
    "conversation": lambda of: (of.title, of.id),
}
BY_CELL: dict[str, Callable[[Cell], Any]] = {
    "day": lambda cell: cell.day or NO_DAY,
    "week": lambda cell: monday_of(cell.day) if cell.day else NO_DAY,
    "month": lambda cell: cell.day[:7] if cell.day else NO_DAY,
    "model": lambda cell: key_of(cell.model or "") or NO_MODEL,
    "agent": lambda cell: cell.agent.casefold() if cell.agent else NO_AGENT,
    "subagent": lambda cell: cell.subagent and cell.subagent.casefold(),
    "origin": lambda cell: (cell.source, cell.method),
    "payer": lambda cell: PAYERS[cell.payer],
    "system": lambda cell: SYSTEMS[cell.system] if cell.payer == "copilot" else None,
    "outcome": outcome_of,
}


def requests_of_credits(by_system: Iterable[SpendRow]) -> float | None:
    """Return the premium requests that are recorded for turns billed by credits."""
    return next((row.premium_requests for row in by_system if row.name == SYSTEMS["credits"]), None)


IN_ORDER_OF_TIME = ("day", "week", "month")


Tally = dict[Any, Numbers]  # by name: conversations, turns, then as above


class Tallies:
    """Sums by all keys."""

    def __init__(
        self, wanted: Iterable[str], limit: int | None, table: PriceTable | None, every_model: PricedModel | None = None
    ) -> None:
        self.cache_turns, self.missed_turns = 0, 0  # turns with recorded cache reads, and those of them with 0
        self.input_turns, self.credit_turns = 0, 0  # turns whose input, or credits, are recorded
        self._tallies: dict[str, Tally] = {by: {} for by in wanted}
        self._limit = limit
        self._table = table
        self._every_model = every_model  # its prices are used for all models, also for unknown ones
        self._cells: dict[Row, Cell] = {}
        self._turns: list[Row] = []  # sort key, up to the turn's number; then usage
        self._least_cost: float | None = None  # of the turns that may be among the most expensive, as a sort key
        self._models = ModelNames()
        self._agents = Spellings()
        self._skills = Spellings()

    def add_all(self, chosen: Chosen) -> None:
        """Add the usage of the chosen turns."""
        connection = chosen.connection
        known = conversations_of(connection)
        loaded = loaded_skills(connection) if "skill" in self._tallies else {}
        wholes: list[tuple[Of, Numbers]] = []
        others = elsewhere(connection, known)
        parts: list[tuple[str, str, Numbers]] = []
        of_skills: list[tuple[str, Numbers]] = []
        for number, rows in groupby(spent(chosen, self._table, self._cells, self._every_model), itemgetter(0)):
            turns = self._add_rows(rows)
            self._note_coverage(turns)
            if number not in others:
                wholes.append((known[number], _with_counts(turns)))
            else:
                parts += self._divided(turns, known[number], others[number])
            if number in loaded:
                of_skills += self._of_skills(turns, loaded[number])
            self._add_turns(known[number], turns)
        for by in self._tallies.keys() & BY_CONVERSATION.keys():
            name_of = BY_CONVERSATION[by]
            named = [(name_of(of), numbers) for of, numbers in wholes]
            self._tallies[by] = _sums([*named, *((name, numbers) for way, name, numbers in parts if way == by)])
        if "skill" in self._tallies:
            self._tallies["skill"] = _sums(of_skills)
        self._add_cells()

    def _add_rows(self, rows: Iterable[tuple[int, int, Cell, Numbers]]) -> dict[int, Numbers]:
        """Add the rows of a conversation to their cells, and return the sums of its turns."""
        turns: dict[int, Numbers] = {}
        for conversation, turn, cell, numbers in rows:
            cell.add(place_of(conversation, turn), numbers)
            before = turns.get(turn)
            turns[turn] = numbers if before is None else tuple(map(add, before, numbers))
        return turns

    def _divided(
        self, turns: dict[int, Numbers], of: Of, others: Mapping[int, Of]
    ) -> Iterator[tuple[str, str, Numbers]]:
        """Yield the sums of a conversation some of whose turns were sent in another repository or branch, by key."""
        for by in self._tallies.keys() & BY_CONVERSATION.keys():
            named: dict[Any, dict[int, Numbers]] = {}
            for turn, numbers in turns.items():
                named.setdefault(BY_CONVERSATION[by](others.get(turn, of)), {})[turn] = numbers
            for name, some in named.items():
                yield by, name, _with_counts(some)

    def _note_coverage(self, turns: dict[int, Numbers]) -> None:
        """Count turns with recorded input and credits, and of those after the first, cache records and misses."""
        for turn, numbers in turns.items():
            known = int(numbers[-1])
            if turn != NO_TURN:
                self.input_turns += known & HAS_INPUT != 0
                self.credit_turns += known & HAS_CREDITS != 0
            if turn > 0 and numbers[_CACHEABLE]:
                self.cache_turns += 1
                self.missed_turns += not numbers[_CACHE_READ]

    def _of_skills(self, turns: dict[int, Numbers], skills: dict[int, set[str]]) -> Iterator[tuple[str, Numbers]]:
        """Yield for each skill all usage of the turns in which it was loaded."""
        found: dict[str, list[Numbers]] = {}
        for turn in skills.keys() & turns.keys():
            for name in {self._skills.key(name) for name in skills[turn]}:
                found.setdefault(name, []).append(turns[turn])
        for name, several in found.items():
            yield name, (1, len(several), *sum_of(several))

    def _add_cells(self) -> None:
        """Add the cells by each key; a conversation counts once under a name, and so does a turn.

        There are many cells only because there are many days and repositories. For other keys, cells that differ in
        nothing else are added up before.
        """
        alike: dict[Row, list[Cell]] = {}
        for key, cell in self._cells.items():
            alike.setdefault(key[1:-1], []).append(cell)
        merged = list(map(_Alike, alike.values()))
        self._note_spellings(merged)
        each: list[tuple[Cell, Cell | _Alike]] = [(cell, cell) for cell in self._cells.values()]
        fewer: list[tuple[Cell, Cell | _Alike]] = [(one.cell, one) for one in merged]
        for by in self._tallies.keys() & BY_CELL.keys():
            named: dict[Any, list[Cell | _Alike]] = {}
            name_of = BY_CELL[by]
            for cell, summed in each if by in IN_ORDER_OF_TIME else fewer:
                named.setdefault(name_of(cell), []).append(summed)
            named.pop(None, None)
            self._tallies[by] = {name: _sums_of_cells(several) for name, several in named.items()}

    def _note_spellings(self, merged: list[_Alike]) -> None:
        for one in merged:
            self._models.key_of(one.cell.model, one.times)
            for by in self._tallies.keys() & {"agent", "subagent"}:
                name = getattr(one.cell, by)
                if name:
                    self._agents.key(name, one.times)

    def _add_turns(self, of: Of, turns: dict[int, Numbers]) -> None:
        """Add turns, and drop all but the most expensive."""
        if "turn" not in self._tallies:
            return
        for turn, numbers in turns.items():
            key = _cost_key(numbers)
            if turn != NO_TURN and (self._least_cost is None or key[0] <= self._least_cost):
                self._turns.append((*key, of.title, of.id, turn, numbers))
        if self._limit is not None and len(self._turns) > self._limit + MANY:
            self._turns = sorted(self._turns)[: self._limit]
            self._least_cost = self._turns[-1][0]

    def cells(self) -> Collection[Cell]:
        """Return the rows of all conversations, summed by cell."""
        return self._cells.values()

    def shown_model(self, key: str) -> str:
        """Return the most frequent spelling of a model."""
        return self._models.shown(key)

    # --- as rows ----------------------------------------------------------------------------------------------------

    def _shown(self, by: str, name: str) -> str:
        """Return a name in its most frequent spelling."""
        if by == "model" and name != NO_MODEL:
            return self._models.shown(name)
        if by == "skill":
            return self._skills.shown(name)
        return self._agents.shown(name) if by in ("agent", "subagent") and name != NO_AGENT else name

    def rows(self, by: str) -> list[SpendRow]:
        """Return the most expensive rows, up to the limit; for keys of time, all rows in their order."""
        tally = self._tallies[by]
        if by == "turn":
            return self._turn_rows()
        if by in IN_ORDER_OF_TIME:
            return [row_of(name, tally[name]) for name in sorted(tally)]
        ordered = sorted(tally, key=lambda name: (*_cost_key(tally[name][2:]), name))[: self._limit]
        if by == "conversation":
            return [row_of(title, tally[title, name], name) for title, name in ordered]
        return [row_of(self._shown(by, name), tally[name]) for name in ordered]

    def _turn_rows(self) -> list[SpendRow]:
        """Return turns by the title of their conversation and their number from 1 on, as in `copilog show --turn`."""
        return [
            row_of(f"{title} #{turn_number(turn)}", (1, 1, *numbers), f"{name}#{turn_number(turn)}")
            for *_, title, name, turn, numbers in sorted(self._turns)[: self._limit]
        ]

    def origins(self) -> list[OriginRow]:
        """Return the numbers by source and method, largest number of tokens first."""
        found = []
        for (source, method), numbers in self._tallies["origin"].items():
            row = row_of(source, numbers)
            found.append(
                OriginRow(
                    source=source,
                    method=method,
                    conversations=row.conversations,
                    input=added(row.input, row.estimated_input),
                    output=added(row.output, row.estimated_output),
                    premium_requests=added(row.premium_requests, row.unanswered_requests),
                    credits=row.credits,
                )
            )
        return sorted(found, key=lambda row: (-(row.input or 0) - (row.output or 0), row.source, row.method))


# --- sums ---------------------------------------------------------------------------------------------------------


class _Alike:
    """The sum of cells that differ in day and repository only."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self.cell = cells[0]
        self.numbers = sum_of([cell.numbers for cell in cells])
        self.places: set[int] = set().union(*(cell.places for cell in cells))
        self.times = sum(cell.times() for cell in cells)


def _sums(named: Iterable[tuple[Any, Numbers]]) -> Tally:
    """Return the sums of numbers by name; those without a name are left out."""
    parts: dict[Any, list[Numbers]] = {}
    for name, numbers in named:
        parts.setdefault(name, []).append(numbers)
    parts.pop(None, None)
    return {name: sum_of(several) for name, several in parts.items()}


def _with_counts(turns: Mapping[int, Numbers]) -> Numbers:
    """Return the number of the conversation, 1, that of its turns, and then the sums of its numbers by turn."""
    return 1, len(turns) - (NO_TURN in turns), *sum_of(turns.values())


def _sums_of_cells(several: Sequence[Cell | _Alike]) -> Numbers:
    """Return the numbers of conversations and of turns, and then the sums of all."""
    places = set().union(*(one.places for one in several))
    conversations = {place >> 32 for place in places}
    turns = len(places) - len({place for place in places if not place & TURN})
    return (len(conversations), turns, *sum_of([one.numbers for one in several]))


_INPUT, _OUTPUT, _ESTIMATED_INPUT, _ESTIMATED_OUTPUT, _DOLLARS, _ESTIMATED_DOLLARS = (
    AT[name] for name in ("input", "output", "estimated_input", "estimated_output", "dollars", "estimated_dollars")
)
_CACHEABLE, _CACHE_READ = AT[CACHEABLE], AT["cache_read"]
_AT_MOST = (1 << WIDTH) - 1
HAS_INPUT, HAS_CREDITS = KNOWN["input"] * _AT_MOST, KNOWN["credits"] * _AT_MOST
# Name, place, the bits of `known`, and whether it is a count: of each field that may be unknown.
_FIELDS = [(name, AT[name], KNOWN[name] * _AT_MOST, name in COUNTS) for name in FIELDS]


def _cost_key(numbers: Numbers) -> tuple[float, float]:
    """Return the sort key for most expensive first: dollars, then tokens, each recorded plus estimated."""
    tokens = numbers[_INPUT] + numbers[_OUTPUT] + numbers[_ESTIMATED_INPUT] + numbers[_ESTIMATED_OUTPUT]
    return -(numbers[_DOLLARS] + numbers[_ESTIMATED_DOLLARS]), -tokens


def row_of(name: str, numbers: Numbers, id_: str | None = None) -> SpendRow:
    conversations, turns, *rest = numbers
    known = int(rest[-1])
    fields: dict[str, Any] = {
        field: int(rest[at]) if is_count else round(rest[at], DIGITS)
        for field, at, bits, is_count in _FIELDS
        if known & bits
    }
    if rest[_CACHEABLE]:
        fields["cache_share"] = round(rest[_CACHE_READ] / rest[_CACHEABLE], 4)
    return SpendRow(name=name, id=id_, conversations=int(conversations), turns=int(turns), **fields)


def monday_of(day: str) -> str:
    """Return the Monday of a day's week."""
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()
