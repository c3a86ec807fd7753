"""Add up what was used by day, model, agent and other keys.

The table `spend` of the archive has each token once, so that any of its rows may be added up. They are read once and
added to two sums each: that of their turn, from which conversations and workspaces are made, and that of all rows with
the same day, model, agent and source, from which all other tables are made. SQLite would have to sort all rows again
for each table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from operator import add, itemgetter
from typing import Any, NamedTuple

from copilog.analysis.facts import DIGITS
from copilog.analysis.figures import OriginRow, SpendRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.name_keys import Spellings
from copilog.analysis.prices import PriceTable
from copilog.analysis.selection import NO_TURN
from copilog.derive.model_names import key_of

MANY = 1_000  # turns to collect before they are compared
# The labels of rows without a name.
NO_DAY, NO_MODEL, NO_WORKSPACE, NO_AGENT = "(no date)", "(unknown model)", "(no workspace)", "(no agent)"

COUNTS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "estimated_input", "estimated_output", "unpriced",
)  # fmt: skip
AMOUNTS = ("premium_requests", "credits", "dollars", "estimated_dollars")  # may be missing

Numbers = tuple[float, ...]  # COUNTS, AMOUNTS, and how many rows have each amount
Row = tuple[Any, ...]  # as `spent` reads it
Tally = dict[Any, Numbers]  # by name: conversations, turns, then as above


class Of(NamedTuple):
    """The conversation that rows belong to."""

    id: str
    title: str
    workspace: str | None
    source: str


class Cell:
    """Rows of all conversations that are equal except for their numbers."""

    __slots__ = ("agent", "conversations", "day", "method", "model", "numbers", "price", "source", "subagent", "turns")

    def __init__(self, key: Row, table: PriceTable | None) -> None:
        self.day, self.model, self.agent, self.subagent, self.source, self.method = key
        self.price = table.price_at(self.model, self.day) if table is not None else None
        self.numbers: Numbers | None = None
        self.conversations: set[int] = set()
        self.turns: set[int] = set()

    def add(self, conversation: int, turn: int, numbers: Numbers) -> None:
        self.numbers = _sum(self.numbers, numbers)
        self.conversations.add(conversation)
        if turn != NO_TURN:
            self.turns.add(conversation << 32 | turn)

    def priced(self, used: Sequence[float], is_asked: bool) -> Numbers:
        """Return usage as COUNTS and AMOUNTS, with its price on that day if prices were requested."""
        given, answered, read, written, reasoned, requests, paid, *known = used
        price, dollars, is_priced = self.price, 0.0, False
        if price is not None and (given or answered):
            fresh = max(given - read - written, 0)
            cached = read * price.cache_read + written * price.cache_write
            dollars, is_priced = (fresh * price.input + cached + answered * price.output) / 1e6, True
        if self.method == "estimated":
            return (0, 0, 0, 0, 0, given, answered, 0, requests, paid, 0, dollars, *known, 0, is_priced)
        unpriced = given + answered if is_asked and not is_priced else 0
        counts = (given, answered, read, written, reasoned, 0, 0, unpriced)
        return (*counts, requests, paid, dollars, 0, *known, is_priced, 0)


# Keys that are the same for an entire conversation, and those of a cell. None: the row is left out.
BY_CONVERSATION: dict[str, Callable[[Of], Any]] = {
    "total": lambda _: "total",
    "workspace": lambda of: of.workspace or NO_WORKSPACE,
    "source": lambda of: of.source,
    "conversation": lambda of: (of.title, of.id),
}
BY_CELL: dict[str, Callable[[Cell], Any]] = {
    "day": lambda cell: cell.day or NO_DAY,
    "week": lambda cell: _monday(cell.day) if cell.day else NO_DAY,
    "month": lambda cell: cell.day[:7] if cell.day else NO_DAY,
    "model": lambda cell: key_of(cell.model or "") or NO_MODEL,
    "agent": lambda cell: cell.agent.casefold() if cell.agent else NO_AGENT,
    "subagent": lambda cell: cell.subagent and cell.subagent.casefold(),
    "origin": lambda cell: (cell.source, cell.method),
}
IN_ORDER_OF_TIME = ("day", "week", "month")
SPELLED = ("model", "agent", "subagent")  # names with more than one spelling


class Tallies:
    """Sums by all keys."""

    def __init__(self, wanted: Iterable[str], limit: int | None, table: PriceTable | None) -> None:
        self._tallies: dict[str, Tally] = {by: {} for by in wanted}
        self._limit = limit
        self._table = table
        self._cells: dict[Row, Cell] = {}
        self._turns: list[Row] = []  # sort key, up to the turn's number; then usage
        self._models = ModelNames()
        self._agents = Spellings()
        self._skills = Spellings()

    def add_all(self, connection: sqlite3.Connection) -> None:
        """Add the usage of the chosen turns."""
        known = conversations_of(connection)
        loaded = loaded_skills(connection) if "skill" in self._tallies else {}
        for number, rows in groupby(spent(connection, self._table, self._cells), itemgetter(0)):
            turns = self._add_rows(rows)
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
            turns[turn] = _sum(turns.get(turn), numbers)
        return turns

    def _add_conversation(self, of: Of, turns: dict[int, Numbers]) -> None:
        whole = (1, len(turns) - (NO_TURN in turns), *_sum_of(turns.values()))
        for by in self._tallies.keys() & BY_CONVERSATION.keys():
            tally, name = self._tallies[by], BY_CONVERSATION[by](of)
            tally[name] = _sum(tally.get(name), whole)

    def _add_skills(self, turns: dict[int, Numbers], skills: dict[int, set[str]]) -> None:
        """Add to each skill all usage of the turns in which it was loaded."""
        found: dict[str, list[Numbers]] = {}
        for turn in skills.keys() & turns.keys():
            for name in {self._skills.key(name) for name in skills[turn]}:
                found.setdefault(name, []).append(turns[turn])
        for name, several in found.items():
            tally = self._tallies["skill"]
            tally[name] = _sum(tally.get(name), (1, len(several), *_sum_of(several)))

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

    # --- rows -------------------------------------------------------------------------------------------------------

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
        """Return the sources of the numbers, and how the numbers were derived from them."""
        found = []
        for (source, method), numbers in self._tallies["origin"].items():
            row = _row_of(source, numbers)
            found.append(
                OriginRow(
                    source=source,
                    method=method,
                    conversations=row.conversations,
                    input=row.input + row.estimated_input,
                    output=row.output + row.estimated_output,
                    premium_requests=row.premium_requests,
                    credits=row.credits,
                )
            )
        return sorted(found, key=lambda row: (-row.input - row.output, row.source, row.method))


# --- usage ----------------------------------------------------------------------------------------------------------


_USED = 8  # index of the first of these in a row


def spent(
    connection: sqlite3.Connection, table: PriceTable | None, cells: dict[Row, Cell]
) -> Iterator[tuple[int, int, Cell, Numbers]]:
    """Yield the chosen rows by conversation: conversation, turn, cell, and usage with its price.

    Cells are stored in `cells`, so that equal ones are the same object.
    """
    rows = connection.execute(
        f"""
        SELECT c.conversation, t.turn, t.day, s.model, s.agent, s.subagent, s.source, s.method,
               coalesce(s.input, 0), coalesce(s.output, 0), coalesce(s.cache_read, 0), coalesce(s.cache_write, 0),
               coalesce(s.reasoning, 0), coalesce(s.premium_requests, 0), coalesce(s.credits, 0),
               s.premium_requests IS NOT NULL, s.credits IS NOT NULL
        FROM temp.chosen AS c
        CROSS JOIN spend AS s ON s.conversation = c.conversation
        CROSS JOIN temp.chosen_turn AS t ON t.conversation = s.conversation AND t.turn = coalesce(s.turn, {NO_TURN})
        ORDER BY c.conversation
        """  # noqa: S608 - a number of our own
    )
    is_asked = table is not None
    for row in rows:
        key = row[2:_USED]
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(key, table)
        yield row[0], row[1], cell, cell.priced(row[_USED:], is_asked)


def conversations_of(connection: sqlite3.Connection) -> dict[int, Of]:
    """Return the chosen conversations, by number."""
    rows = connection.execute("SELECT conversation, id, title, workspace, source FROM temp.chosen")
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


def _sum(before: Numbers | None, numbers: Numbers) -> Numbers:
    return numbers if before is None else tuple(map(add, before, numbers))


def _sum_of(several: Collection[Numbers]) -> Numbers:
    if len(several) == 1:
        return next(iter(several))
    return tuple(map(sum, zip(*several, strict=True)))


def _cost_key(numbers: Numbers) -> tuple[float, float]:
    """Return the sort key for the most expensive: dollars, then tokens, whether recorded or estimated."""
    given, answered, _, _, _, estimated_given, estimated_answered, _, _, _, dollars, estimated_dollars, *_ = numbers
    return -(dollars + estimated_dollars), -(given + answered + estimated_given + estimated_answered)


def _row_of(name: str, numbers: Numbers, id_: str | None = None) -> SpendRow:
    conversations, turns, *rest = numbers
    counts, amounts, known = rest[: len(COUNTS)], rest[len(COUNTS) : -len(AMOUNTS)], rest[-len(AMOUNTS) :]
    row = SpendRow(name=name, id=id_, conversations=int(conversations), turns=int(turns))
    for field, count in zip(COUNTS, counts, strict=True):
        setattr(row, field, int(count))
    for field, amount, times in zip(AMOUNTS, amounts, known, strict=True):
        setattr(row, field, round(amount, DIGITS) if times else None)
    return row


def _monday(day: str) -> str:
    """Return the first day of a day's week."""
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()
