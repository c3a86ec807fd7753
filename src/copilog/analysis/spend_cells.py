"""Read the rows of `spend`, with the cost of each, and add up those that are equal except for their numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from copilog.analysis.plans import CREDITS_OF_A_DOLLAR, system_sql
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice
from copilog.analysis.selection import NO_TURN, Chosen

MANY = 250  # numbers to collect before they are added up
# The numbers of a row. Unknown is not 0: `known` counts, in bits as in KNOWN, the rows that have each of them.
COUNTS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "calls", "estimated_input", "estimated_output",
    "spread", "unpriced",
)  # fmt: skip
AMOUNTS = (
    "premium_requests",
    "unanswered_requests",
    "credits",
    "spread_credits",
    "computed_credits",
    "dollars",
    "estimated_dollars",
)  # may be fractions
CACHEABLE = "cacheable"  # input of rows with recorded cache reads
FIELDS = (*COUNTS, *AMOUNTS)
NUMBERS = (*FIELDS, CACHEABLE, "known")
AT = {name: place for place, name in enumerate(NUMBERS)}
WIDTH = 40  # bits of `known` for each field: there are fewer than 2**40 rows
KNOWN = {name: 1 << WIDTH * place for place, name in enumerate(FIELDS)}

Numbers = tuple[float, ...]  # as NUMBERS
Row = tuple[Any, ...]  # as the query of `spent` returns it


def is_known(numbers: Numbers, name: str) -> bool:
    """Return whether any of the summed rows has a number of this name."""
    return bool(int(numbers[-1]) >> WIDTH * AT[name] & (1 << WIDTH) - 1)


_DOLLARS, _ESTIMATED_DOLLARS, _COMPUTED = KNOWN["dollars"], KNOWN["estimated_dollars"], KNOWN["computed_credits"]
_SPREAD, _SPREAD_CREDITS = KNOWN["spread"], KNOWN["spread_credits"]
_UNANSWERED = KNOWN["unanswered_requests"] - KNOWN["premium_requests"]


def sum_of(several: Collection[Numbers]) -> Numbers:
    """Return the sums of numbers at the same place."""
    if len(several) == 1:
        return next(iter(several))
    return tuple(map(sum, zip(*several, strict=True)))


def folded(several: list[Numbers]) -> list[Numbers]:
    """Return the sum of numbers, as the only one of a list."""
    return several if len(several) == 1 else [sum_of(several)]


TURN = (1 << 32) - 1  # the bits of a place that are those of a turn: 0 for none


def place_of(conversation: int, turn: int) -> int:
    """Return conversation and turn as one number."""
    return conversation << 32 | turn + 1


class Of(NamedTuple):
    """The conversation that rows belong to."""

    id: str
    title: str
    workspace: str | None
    repository: str | None
    branch: str | None
    source: str


class EstimateRange(NamedTuple):
    """The lower ends of estimated rows, and their likely cost; before a discount."""

    input: float = 0
    output: float = 0
    dollars: float = 0
    likely_dollars: float = 0


class Cell:
    """Rows of all conversations that are equal except for their numbers."""

    __slots__ = (
        "_ranges", "_rows", "agent", "computes_credits", "day", "discount", "has_credits", "is_estimated",
        "is_spread", "is_unanswered", "method", "model", "outcome", "payer", "places", "price", "repository",
        "source", "subagent", "system",
    )  # fmt: skip

    def __init__(self, key: Row, table: PriceTable | None, discount: float, every_model: PricedModel | None) -> None:
        (
            self.day, self.model, self.agent, self.subagent, self.source, self.method,
            self.payer, self.system, self.has_credits, self.outcome, self.repository,
        ) = key  # fmt: skip
        self.price = (
            every_model.price_at(self.day)
            if every_model is not None
            else table.price_at(self.model, self.day)
            if table is not None
            else None
        )
        self.discount = discount
        self.is_estimated, self.is_spread = self.method == "estimated", self.method == "spread"
        self.is_unanswered = self.outcome in ("failed", "cancelled")
        is_new = self.payer == "copilot" and self.system == "credits"
        self.computes_credits = every_model is not None or (is_new and not self.has_credits)
        self.places: list[int] = []  # as `place_of` has them, one of each row
        self._rows: list[Numbers] = []
        self._ranges: list[tuple[float, ...]] = []

    @property
    def numbers(self) -> Numbers:
        """Return the sum of all rows."""
        self._rows = folded(self._rows)
        return self._rows[0]

    @property
    def range(self) -> EstimateRange:
        """Return the sum of the lower ends of estimated rows, and of their likely cost."""
        return EstimateRange(*sum_of(self._ranges)) if self._ranges else EstimateRange()

    def times(self) -> int:
        """Return the number of turns, at least 1."""
        return max(len({place for place in self.places if place & TURN}), 1)

    def add(self, place: int, numbers: Numbers) -> None:
        """Add a row of a turn, whose place is that of `place_of`."""
        self.places.append(place)
        rows = self._rows
        rows.append(numbers)
        if len(rows) > MANY:
            self._rows = folded(rows)

    def estimated_credits(self) -> tuple[float, float] | None:
        """Return the credits of an estimate, likely and at least; None unless credits are computed for this cell."""
        if not (self.is_estimated and self.computes_credits and self.price is not None):
            return None
        found = self.range
        return found.likely_dollars * CREDITS_OF_A_DOLLAR, found.dollars * CREDITS_OF_A_DOLLAR

    def recorded(self, used: Sequence[float], known: int, is_asked: bool) -> Numbers:
        """Return the usage of a row as NUMBERS, with its cost on the cell's day if the cell has a price.

        `is_asked`: prices are requested, so tokens without a price count as unpriced.
        """
        given, answered, read, written, reasoned, calls, requests, paid = used
        bits = _bits_of(known)
        dollars = computed = unpriced = spread = spread_credits = unanswered = 0.0
        if given or answered:
            if self.price is not None:
                cost = self._cost(given, answered, read, written, calls)
                dollars = cost * (1 - self.discount)
                bits += _DOLLARS
                if self.computes_credits:
                    computed = cost * CREDITS_OF_A_DOLLAR
                    bits += _COMPUTED
            elif is_asked:
                unpriced = given + answered
        if self.is_spread:
            spread, spread_credits = given + answered, paid
            bits += (_SPREAD if spread else 0) + (_SPREAD_CREDITS if spread_credits else 0)
        if self.is_unanswered:
            requests, unanswered = 0.0, requests
            bits += _UNANSWERED if known & _HAS_REQUESTS else 0
        cacheable = given if known & _HAS_CACHE else 0
        return (
            given, answered, read, written, reasoned, calls, 0, 0, spread, unpriced, requests, unanswered, paid,
            spread_credits, computed, dollars, 0, cacheable, bits,
        )  # fmt: skip

    def _cost(self, given: float, answered: float, read: float, written: float, calls: float) -> float:
        """Return the cost in dollars at list prices, on the assumption that all prompts of a row are equally long."""
        assert self.price is not None
        price = self.price.of_prompts(given / max(calls, 1)) if self.price.long is not None else self.price
        return _cost_at(price, given, answered, read, written)

    def estimated(self, used: Sequence[float], known: int, least_given: float, least_answered: float) -> Numbers:
        """Return estimated usage in the estimated fields, and note its lower end and its cost without a discount.

        Likely cache reads lower the cost, but are not counted. Prompts are assumed to be short: programs compact the
        history before a prompt gets long.
        """
        given, answered, read, written, _, calls, *_ = used
        dollars, low, likely, bits = 0.0, 0.0, 0.0, _bits_of(known, is_estimated=True)
        price = self.price
        if price is not None:
            likely = _cost_at(price, given, answered, read, written)
            share = least_given / given if given else 0.0
            low = share * _cost_at(price, given, 0, read, written) + _cost_at(price, 0, least_answered, 0, 0)
            if given or answered:
                dollars = likely * (1 - self.discount)
                bits += _ESTIMATED_DOLLARS
        self._ranges.append((least_given, least_answered, low, likely))
        if len(self._ranges) > MANY:
            self._ranges = folded(self._ranges)
        return (0, 0, 0, 0, 0, calls, given, answered, 0, 0, 0, 0, 0, 0, 0, 0, dollars, 0, bits)


def _cost_at(price: UnitPrice, given: float, answered: float, read: float, written: float) -> float:
    cached = read * price.cache_read + written * price.cache_write
    return (max(given - read - written, 0) * price.input + cached + answered * price.output) / 1e6


# --- usage ----------------------------------------------------------------------------------------------------------


_USED, _KNOWN = 13, 21  # positions in a row: of the first number, and of the bits that say which numbers are known
_RECORDED = ("input", "output", "cache_read", "cache_write", "reasoning", "calls", "premium_requests", "credits")
_HAS_CACHE, _HAS_REQUESTS = 1 << _RECORDED.index("cache_read"), 1 << _RECORDED.index("premium_requests")
# The fields of estimated rows: only input, output and calls count.
_LIKELY = {"input": "estimated_input", "output": "estimated_output", "calls": "calls"}
_COUNTED = ", ".join(f"coalesce(s.{name}, 0)" for name in _RECORDED)
_IS_KNOWN = " + ".join(f"(s.{name} IS NOT NULL) * {1 << place}" for place, name in enumerate(_RECORDED))


@cache
def _bits_of(mask: int, *, is_estimated: bool = False) -> int:
    """Return the known numbers of a row, as bits by _RECORDED, as bits of `known`."""
    names = [name for place, name in enumerate(_RECORDED) if mask >> place & 1]
    return sum(KNOWN[_LIKELY[name] if is_estimated else name] for name in names if not is_estimated or name in _LIKELY)


def spent(
    chosen: Chosen, table: PriceTable | None, cells: dict[Row, Cell], every_model: PricedModel | None = None
) -> Iterator[tuple[int, int, Cell, Numbers]]:
    """Yield the chosen rows, by conversation: conversation, turn, cell, and the numbers with their cost.

    Cells are stored in `cells`, so that equal ones are the same object; by keys that begin with the day and end with
    the repository.
    """
    chosen.note_outcomes()
    rows = chosen.connection.execute(
        f"""
        SELECT c.conversation, t.turn, t.day, s.model, s.agent, s.subagent, s.source, s.method, s.payer,
               {system_sql(chosen.plan, "s.billing", "t.at")}, s.has_credits, t.outcome, c.repository,
               {_COUNTED}, {_IS_KNOWN}, coalesce(s.input_at_least, 0), coalesce(s.output_at_least, 0)
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
        if cell.is_estimated:
            yield row[0], row[1], cell, cell.estimated(row[_USED:_KNOWN], *row[_KNOWN:])
        else:
            yield row[0], row[1], cell, cell.recorded(row[_USED:_KNOWN], row[_KNOWN], is_asked)


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
