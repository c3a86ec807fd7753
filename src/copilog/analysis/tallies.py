"""What was used, added up by day, model, agent and whatever else somebody asks for.

The table `spend` of the archive has each token once, so that any of its rows may be added up. They are read once,
conversation by conversation: first those are added up that have all else in common, then these few sums are priced and
filed under all that is asked for. SQLite would have to sort all rows anew for each question.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby, islice
from operator import add, itemgetter
from typing import Any, NamedTuple

from copilog.analysis.figures import OriginRow, SpendRow
from copilog.analysis.model_names import ModelNames
from copilog.analysis.names import Spellings
from copilog.analysis.prices import PriceTable
from copilog.analysis.selection import NO_TURN

DIGITS = 9  # of amounts: a token may cost less than a millionth of a dollar
MANY = 1_000  # turns that wait to be compared
# The names of what has none.
NO_DAY, NO_MODEL, NO_WORKSPACE, NO_AGENT = "(no date)", "(unknown model)", "(no workspace)", "(no agent)"

COUNTS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "estimated_input", "estimated_output", "unpriced",
)  # fmt: skip
AMOUNTS = ("premium_requests", "credits", "dollars", "estimated_dollars")  # may be unknown

Numbers = tuple[float, ...]  # COUNTS, AMOUNTS, and of how many rows each amount is known
Row = tuple[Any, ...]  # as `_spent` gives it
Tally = dict[Any, Numbers]  # by name: conversations, turns, then as above


class Key(NamedTuple):
    """What rows of a conversation have in common."""

    day: str | None
    model: str | None
    agent: str | None
    subagent: str | None


class Of(NamedTuple):
    """The conversation that they are of."""

    id: str
    title: str
    workspace: str | None
    source: str


class Slice(NamedTuple):
    """A sum, and the turns it is of."""

    turns: set[int]
    numbers: Numbers


# What is the same for a whole conversation, and what is not. None: it is left out.
BY_CONVERSATION: dict[str, Callable[[Of], Any]] = {
    "total": lambda _: "total",
    "workspace": lambda of: of.workspace or NO_WORKSPACE,
    "source": lambda of: of.source,
    "conversation": lambda of: (of.title, of.id),
}
BY_KEY: dict[str, Callable[[Key], Any]] = {
    "day": lambda key: key.day or NO_DAY,
    "week": lambda key: _monday(key.day) if key.day else NO_DAY,
    "month": lambda key: key.day[:7] if key.day else NO_DAY,
    "model": lambda key: key.model or NO_MODEL,
    "agent": lambda key: key.agent or NO_AGENT,
    "subagent": lambda key: key.subagent,
}
IN_ORDER_OF_TIME = ("day", "week", "month")


class Tallies:
    """Sums by all that is wanted. They grow conversation by conversation."""

    def __init__(self, wanted: Iterable[str], limit: int | None, table: PriceTable | None) -> None:
        self._tallies: dict[str, Tally] = {by: {} for by in wanted}
        self._limit = limit
        self._table = table
        self._turns: list[Row] = []  # by what they are ordered, up to the turn's number; its rows
        self._models = ModelNames()
        self._agents = Spellings()

    def add_all(self, connection: sqlite3.Connection) -> None:
        """Add what the chosen turns took."""
        names = connection.execute("SELECT conversation, id, title, workspace, source FROM temp.chosen")
        known = {number: Of(*rest) for number, *rest in names}
        loaded = _loaded_skills(connection) if "skill" in self._tallies else {}
        for number, rows in groupby(_spent(connection), itemgetter(0)):
            self._add(known[number], rows, loaded.get(number, {}))

    def _add(self, of: Of, rows: Iterable[Row], skills: dict[int, set[str]]) -> None:
        alike: dict[Row, list[Row]] = {}
        turns: dict[int, list[Row]] = {}
        for row in rows:
            alike.setdefault(row[2:_USED], []).append(row)
            turns.setdefault(row[1], []).append(row)
        turns.pop(NO_TURN, None)
        slices = [
            (self._named(key, len(same)), Slice({row[1] for row in same}, self._priced(key, _used_in(same))))
            for key, same in alike.items()
        ]
        self._file_origins(slices)
        self._file(of, {Key(*key): _together(same) for key, same in _grouped(slices, slice(None, -2)).items()})
        self._file_skills(turns, skills)
        self._keep_turns(of, turns)

    def _named(self, key: Row, times: int) -> Row:
        """The same with what all spellings of a name have in common."""
        day, model, agent, subagent, *origin = key
        return (
            day,
            self._models.key_of(model, times),
            agent and self._agents.key(agent, times),
            subagent and self._agents.key(subagent, times),
            *origin,
        )

    def _priced(self, key: Row, used: Sequence[float]) -> Numbers:
        """What was used, as COUNTS and AMOUNTS, with its price at that day."""
        given, answered, read, written, reasoned, requests, paid, *known = used
        dollars = self._dollars(key[1], key[0], used)
        is_priced = dollars is not None
        if key[-1] == "estimated":
            return (0, 0, 0, 0, 0, given, answered, 0, requests, paid, 0, dollars or 0, *known, 0, is_priced)
        unpriced = given + answered if self._table is not None and not is_priced else 0
        counts = (given, answered, read, written, reasoned, 0, 0, unpriced)
        return (*counts, requests, paid, dollars or 0, 0, *known, is_priced, 0)

    def _dollars(self, model: str | None, day: str | None, used: Sequence[float]) -> float | None:
        given, answered, read, written = used[:4]
        if self._table is None or not (given or answered):
            return None
        price = self._table.price_at(model, day)
        if price is None:
            return None
        fresh = max(given - read - written, 0)
        cached = read * price.cache_read + written * price.cache_write
        return (fresh * price.input + cached + answered * price.output) / 1e6

    def _file(self, of: Of, slices: dict[Key, Slice]) -> None:
        """File sums of one conversation so that it counts once under each name, and each of its turns once."""
        whole = _counted(slices.values())
        for by, tally in self._tallies.items():
            if by in BY_CONVERSATION:
                _add_to(tally, BY_CONVERSATION[by](of), whole)
            elif by in BY_KEY:
                named: dict[Any, list[Slice]] = {}
                for key, some in slices.items():
                    named.setdefault(BY_KEY[by](key), []).append(some)
                named.pop(None, None)
                for name, several in named.items():
                    _add_to(tally, name, whole if len(several) == len(slices) else _counted(several))

    def _file_origins(self, slices: list[tuple[Row, Slice]]) -> None:
        if "origin" in self._tallies:
            for origin, several in _grouped(slices, slice(-2, None)).items():
                _add_to(self._tallies["origin"], origin, _counted(several))

    def _file_skills(self, turns: dict[int, list[Row]], skills: dict[int, set[str]]) -> None:
        """Of each skill, all of the turns in which it was loaded."""
        found: dict[str, list[Slice]] = {}
        for turn in skills.keys() & turns.keys():
            for name in skills[turn]:
                found.setdefault(name, []).append(Slice({turn}, self._sum_of(turns[turn])))
        for name, several in found.items():
            _add_to(self._tallies["skill"], name, _counted(several))

    def _sum_of(self, rows: list[Row]) -> Numbers:
        """What the rows of one turn come to."""
        return _added([self._priced(row[2:_USED], row[_USED:]) for row in rows])

    def _keep_turns(self, of: Of, turns: dict[int, list[Row]]) -> None:
        """Keep the dearest."""
        if "turn" not in self._tallies:
            return
        for turn, rows in turns.items():
            dollars = tokens = 0.0
            for row in rows:
                used = row[_USED:]
                dollars += self._dollars(row[3], row[2], used) or 0
                tokens += used[0] + used[1]
            self._turns.append((-dollars, -tokens, of.title, of.id, turn, rows))
        if self._limit is not None and len(self._turns) > self._limit + MANY:
            self._turns = sorted(self._turns)[: self._limit]

    # --- as rows ----------------------------------------------------------------------------------------------------

    def _shown(self, by: str, name: str) -> str:
        """A name in the spelling that occurs most."""
        if by == "model" and name != NO_MODEL:
            return self._models.shown(name)
        return self._agents.shown(name) if by in ("agent", "subagent") and name != NO_AGENT else name

    def rows(self, by: str) -> list[SpendRow]:
        """The dearest first, as many as wanted; what is of time, in its order and all of it."""
        tally = self._tallies[by]
        if by == "turn":
            return self._turn_rows()
        if by in IN_ORDER_OF_TIME:
            return [_row_of(name, tally[name]) for name in sorted(tally)]
        ordered = sorted(tally, key=lambda name: (*_dearness(tally[name][2:]), name))[: self._limit]
        if by == "conversation":
            return [_row_of(title, tally[title, name], name) for title, name in ordered]
        return [_row_of(self._shown(by, name), tally[name]) for name in ordered]

    def _turn_rows(self) -> list[SpendRow]:
        """Turns by the title of their conversation and their number, from 1 on, as `copilog show --turn` takes it."""
        return [
            _row_of(f"{title} #{turn + 1}", (1, 1, *self._sum_of(rows)), f"{name}#{turn + 1}")
            for *_, title, name, turn, rows in sorted(self._turns)[: self._limit]
        ]

    def origins(self) -> list[OriginRow]:
        """Where the numbers stood, and how they came from there."""
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


# --- what was used ------------------------------------------------------------------------------------------------


_USED = 8  # where that begins in a row


def _spent(connection: sqlite3.Connection) -> Iterator[Row]:
    """The rows that are chosen: conversation, turn, the fields of Key, source, method, then what was used."""
    return connection.execute(
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


def _loaded_skills(connection: sqlite3.Connection) -> dict[int, dict[int, set[str]]]:
    """By conversation and turn."""
    loaded: dict[int, dict[int, set[str]]] = {}
    rows = connection.execute(
        "SELECT k.conversation, k.turn, k.name FROM temp.chosen AS c"
        " CROSS JOIN skill AS k ON k.conversation = c.conversation WHERE k.is_loaded AND k.turn IS NOT NULL"
    )
    for conversation, turn, name in rows:
        loaded.setdefault(conversation, {}).setdefault(turn, set()).add(name)
    return loaded


# --- sums ---------------------------------------------------------------------------------------------------------


def _used_in(rows: list[Row]) -> Sequence[float]:
    """What rows come to that have all else in common."""
    return (
        rows[0][_USED:] if len(rows) == 1 else [sum(column) for column in islice(zip(*rows, strict=True), _USED, None)]
    )


def _added(sums: Sequence[Numbers]) -> Numbers:
    total = sums[0]
    for numbers in sums[1:]:
        total = tuple(map(add, total, numbers))
    return total


def _grouped(slices: list[tuple[Row, Slice]], part: slice) -> dict[Row, list[Slice]]:
    """Slices by a part of what their rows have in common."""
    found: dict[Row, list[Slice]] = {}
    for key, some in slices:
        found.setdefault(key[part], []).append(some)
    return found


def _together(slices: Sequence[Slice]) -> Slice:
    if len(slices) == 1:
        return slices[0]
    return Slice(set().union(*(some.turns for some in slices)), _added([some.numbers for some in slices]))


def _counted(slices: Iterable[Slice]) -> Numbers:
    """One conversation, its turns, and what they come to."""
    turns, numbers = _together(list(slices))
    return (1, len(turns) - (NO_TURN in turns), *numbers)


def _add_to(tally: Tally, name: Any, numbers: Numbers) -> None:
    before = tally.get(name)
    tally[name] = numbers if before is None else tuple(map(add, before, numbers))


def _dearness(numbers: Numbers) -> tuple[float, float]:
    """What the dearest come first by: dollars, then tokens, be they recorded or estimated."""
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
    """The first day of a day's week."""
    found = date.fromisoformat(day)
    return (found - timedelta(days=found.weekday())).isoformat()
