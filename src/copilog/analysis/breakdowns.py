"""Add up tokens and cost by day, model, agent and other keys.

The table `spend` of the archive has each token once, so any of its rows can be added up. They are read once and added
to two sums each: that of their turn, for the tables by conversation and workspace, and that of all rows with the same
day, model, agent and source, for all other tables. SQLite would have to sort all rows again for each table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import date, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from copilog.analysis.cells import (
    AT,
    CACHEABLE,
    COUNTS,
    FIELDS,
    RECORDED,
    Cell,
    Numbers,
    Row,
    is_known,
    sum_of_two,
)
from copilog.analysis.facts import DIGITS
from copilog.analysis.figures import OriginRow, SpendRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.name_keys import Spellings
from copilog.analysis.numbers import added
from copilog.analysis.plans import system_sql
from copilog.analysis.prices import PricedModel, PriceTable
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.derive.model_names import key_of

MANY = 1_000  # turns to collect before they are compared
# The labels of rows without a name.
NO_DAY, NO_MODEL, NO_WORKSPACE, NO_AGENT = "(no date)", "(unknown model)", "(no workspace)", "(no agent)"
NO_REPOSITORY = "(no repository)"
PAYERS = {"copilot": "Copilot", "own key": "own key", "unknown": "unknown payer"}
OUTCOMES = ("kept", "undone", "failed", "cancelled", "asked again", "unknown")
SYSTEMS = {"credits": "AI credits", "requests": "premium requests"}

Tally = dict[Any, Numbers]  # by name: conversations, turns, then as NUMBERS


class Of(NamedTuple):
    """The conversation that rows belong to."""

    id: str
    title: str
    workspace: str | None
    repository: str | None
    branch: str | None
    source: str


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
    "outcome": lambda cell: cell.outcome or "unknown",
}
IN_ORDER_OF_TIME = ("day", "week", "month")
SPELLED = ("model", "agent", "subagent")  # names with more than one spelling


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
        self._models = ModelNames()
        self._agents = Spellings()
        self._skills = Spellings()

    def add_all(self, chosen: Chosen) -> None:
        """Add the usage of the chosen turns."""
        connection = chosen.connection
        known = conversations_of(connection)
        loaded = loaded_skills(connection) if "skill" in self._tallies else {}
        for number, rows in groupby(spent(chosen, self._table, self._cells, self._every_model), itemgetter(0)):
            turns = self._add_rows(rows)
            self._note_coverage(turns)
            self._add_conversation(known[number], turns)
            self._add_skills(turns, loaded.get(number, {}))
            self._add_turns(known[number], turns)
        for by in self._tallies.keys() & BY_CELL.keys():
            self._add_cells(by)

    def _add_rows(self, rows: Iterable[tuple[int, int, Cell, Numbers]]) -> dict[int, Numbers]:
        """Add the rows of a conversation to their cells, and return the sums of its turns."""
        turns: dict[int, Numbers] = {}
        for conversation, turn, cell, numbers in rows:
            cell.add(conversation, turn, numbers)
            turns[turn] = sum_of_two(turns.get(turn), numbers)
        return turns

    def _note_coverage(self, turns: dict[int, Numbers]) -> None:
        """Count turns with recorded input and credits, and of those after the first, cache records and misses."""
        for turn, numbers in turns.items():
            if turn != NO_TURN:
                self.input_turns += is_known(numbers, "input")
                self.credit_turns += is_known(numbers, "credits")
            if turn > 0 and numbers[AT[CACHEABLE]]:
                self.cache_turns += 1
                self.missed_turns += not numbers[AT["cache_read"]]

    def _add_conversation(self, of: Of, turns: dict[int, Numbers]) -> None:
        whole = (1, len(turns) - (NO_TURN in turns), *_sum_of(turns.values()))
        for by in self._tallies.keys() & BY_CONVERSATION.keys():
            tally, name = self._tallies[by], BY_CONVERSATION[by](of)
            if name is None:
                continue
            tally[name] = sum_of_two(tally.get(name), whole)

    def _add_skills(self, turns: dict[int, Numbers], skills: dict[int, set[str]]) -> None:
        """Add to each skill all usage of the turns in which it was loaded."""
        found: dict[str, list[Numbers]] = {}
        for turn in skills.keys() & turns.keys():
            for name in {self._skills.key(name) for name in skills[turn]}:
                found.setdefault(name, []).append(turns[turn])
        for name, several in found.items():
            tally = self._tallies["skill"]
            tally[name] = sum_of_two(tally.get(name), (1, len(several), *_sum_of(several)))

    def _add_cells(self, by: str) -> None:
        """Add the cells by a key; each conversation counts once under a name, and so does each turn."""
        named: dict[Any, list[Cell]] = {}
        name_of = BY_CELL[by]
        for cell in self._cells.values():
            named.setdefault(name_of(cell), []).append(cell)
        if by in SPELLED:
            self._note_spellings(by)
        named.pop(None, None)
        for name, cells in named.items():
            conversations = set().union(*(cell.conversations for cell in cells))
            turns = set().union(*(cell.turns for cell in cells))
            numbers = _sum_of([cell.numbers for cell in cells if cell.numbers is not None])
            self._tallies[by][name] = (len(conversations), len(turns), *numbers)

    def _note_spellings(self, by: str) -> None:
        for cell in self._cells.values():
            name, times = getattr(cell, by), max(len(cell.turns), 1)
            if by == "model":
                self._models.key_of(name, times)
            elif name:
                self._agents.key(name, times)

    def _add_turns(self, of: Of, turns: dict[int, Numbers]) -> None:
        """Add turns, and drop all but the most expensive."""
        if "turn" not in self._tallies:
            return
        self._turns += (
            (*_cost_key(numbers), of.title, of.id, turn, numbers) for turn, numbers in turns.items() if turn != NO_TURN
        )
        if self._limit is not None and len(self._turns) > self._limit + MANY:
            self._turns = sorted(self._turns)[: self._limit]

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
            return [_row_of(name, tally[name]) for name in sorted(tally)]
        ordered = sorted(tally, key=lambda name: (*_cost_key(tally[name][2:]), name))[: self._limit]
        if by == "conversation":
            return [_row_of(title, tally[title, name], name) for title, name in ordered]
        return [_row_of(self._shown(by, name), tally[name]) for name in ordered]

    def _turn_rows(self) -> list[SpendRow]:
        """Return turns by the title of their conversation and their number from 1 on, as in `copilog show --turn`."""
        return [
            _row_of(f"{title} #{turn + 1}", (1, 1, *numbers), f"{name}#{turn + 1}")
            for *_, title, name, turn, numbers in sorted(self._turns)[: self._limit]
        ]

    def origins(self) -> list[OriginRow]:
        """Return the numbers by source and method, largest number of tokens first."""
        found = []
        for (source, method), numbers in self._tallies["origin"].items():
            row = _row_of(source, numbers)
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


# --- usage ----------------------------------------------------------------------------------------------------------


_USED, _KNOWN = 13, 21  # positions in a row: of the first number, and of the bits that say which numbers are known
_ENDS = ", ".join(
    f"coalesce(s.{name}, 0)" for name in ("input_at_least", "input_at_most", "output_at_least", "output_at_most")
)
_COUNTED = ", ".join(f"coalesce(s.{name}, 0)" for name in RECORDED)
_IS_KNOWN = " + ".join(f"(s.{name} IS NOT NULL) * {1 << place}" for place, name in enumerate(RECORDED))


def spent(
    chosen: Chosen, table: PriceTable | None, cells: dict[Row, Cell], every_model: PricedModel | None = None
) -> Iterator[tuple[int, int, Cell, Numbers]]:
    """Yield the chosen rows, by conversation: conversation, turn, cell, and the numbers with their cost.

    Cells are stored in `cells`, so that equal ones are the same object.
    """
    chosen.note_outcomes()
    prompts = "s.prompts" if _has_long_prices(table, every_model) else "NULL"
    rows = chosen.connection.execute(
        f"""
        SELECT c.conversation, t.turn, t.day, s.model, s.agent, s.subagent, s.source, s.method, s.payer,
               {system_sql(chosen.plan, "s.billing", "t.day")}, s.has_credits, t.outcome, c.repository,
               {_COUNTED}, {_IS_KNOWN}, {prompts}, coalesce(s.credits_within, 0), {_ENDS}
        FROM temp.chosen AS c
        CROSS JOIN spend AS s ON s.conversation = c.conversation
        CROSS JOIN temp.chosen_turn AS t ON t.conversation = s.conversation AND t.turn = coalesce(s.turn, {NO_TURN})
        ORDER BY c.conversation
        """  # noqa: S608 - numbers and names of our own
    )
    is_asked = table is not None
    for row in rows:
        key = row[2:_USED]
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(key, table, chosen.plan.discount, every_model)
        if cell.method == "estimated":
            cell.add_range(row[_USED:_KNOWN], row[_KNOWN + 3 :])
        yield row[0], row[1], cell, cell.priced(row[_USED:_KNOWN], row[_KNOWN], is_asked, *row[_KNOWN + 1 : _KNOWN + 3])


def _has_long_prices(table: PriceTable | None, every_model: PricedModel | None) -> bool:
    """Return whether any model has a price for long prompts, so that prompts of calls have to be read."""
    models = [every_model] if every_model is not None else table.models.values() if table is not None else ()
    return any(price.long is not None for model in models if model is not None for price in model.prices)


def conversations_of(connection: sqlite3.Connection) -> dict[int, Of]:
    """Return the chosen conversations by number."""
    rows = connection.execute("SELECT conversation, id, title, workspace, repository, branch, source FROM temp.chosen")
    return {number: Of(*rest) for number, *rest in rows}


def loaded_skills(connection: sqlite3.Connection) -> dict[int, dict[int, set[str]]]:
    """Return the loaded skills by conversation and turn."""
    loaded: dict[int, dict[int, set[str]]] = {}
    rows = connection.execute(
        "SELECT k.conversation, k.turn, k.name FROM temp.chosen AS c"
        " CROSS JOIN skill AS k ON k.conversation = c.conversation WHERE k.is_loaded AND k.turn IS NOT NULL"
    )
    for conversation, turn, name in rows:
        loaded.setdefault(conversation, {}).setdefault(turn, set()).add(name)
    return loaded


# --- sums ---------------------------------------------------------------------------------------------------------


def _sum_of(several: Collection[Numbers]) -> Numbers:
    if len(several) == 1:
        return next(iter(several))
    return tuple(map(sum, zip(*several, strict=True)))


_INPUT, _OUTPUT, _ESTIMATED_INPUT, _ESTIMATED_OUTPUT, _DOLLARS, _ESTIMATED_DOLLARS = (
    AT[name] for name in ("input", "output", "estimated_input", "estimated_output", "dollars", "estimated_dollars")
)


def _cost_key(numbers: Numbers) -> tuple[float, float]:
    """Return the sort key for most expensive first: dollars, then tokens, each recorded plus estimated."""
    tokens = numbers[_INPUT] + numbers[_OUTPUT] + numbers[_ESTIMATED_INPUT] + numbers[_ESTIMATED_OUTPUT]
    return -(numbers[_DOLLARS] + numbers[_ESTIMATED_DOLLARS]), -tokens


def _row_of(name: str, numbers: Numbers, id_: str | None = None) -> SpendRow:
    conversations, turns, *rest = numbers
    row = SpendRow(
        name=name, id=id_, conversations=int(conversations), turns=int(turns), unpriced=int(rest[AT["unpriced"]])
    )
    for field in FIELDS:
        if field != "unpriced" and is_known(numbers, field):
            amount = rest[AT[field]]
            setattr(row, field, int(amount) if field in COUNTS else round(amount, DIGITS))
    if rest[AT[CACHEABLE]]:
        row.cache_share = round(rest[AT["cache_read"]] / rest[AT[CACHEABLE]], 4)
    return row


def monday_of(day: str) -> str:
    """Return the Monday of a day's week."""
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()
