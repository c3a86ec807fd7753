"""Add up the usage of rows that are equal except for their numbers, and price it: a cell of all tables of tokens."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from copilog.analysis.plans import CREDITS_OF_A_DOLLAR
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice

MANY = 250  # numbers to collect before they are added up
# The numbers of a row. Unknown is not 0: `known` counts, in bits as in KNOWN, the rows that have each of them.
COUNTS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "calls", "estimated_input", "estimated_output",
    "spread", "unpriced",
)  # fmt: skip
AMOUNTS = (
    "premium_requests",
    "unanswered_requests",
    "spread_requests",
    "credits",
    "spread_credits",
    "computed_credits",
    "dollars",
    "averaged_dollars",
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


RECORDED = ("input", "output", "cache_read", "cache_write", "reasoning", "calls", "premium_requests", "credits")
_HAS_CACHE, _HAS_REQUESTS = 1 << RECORDED.index("cache_read"), 1 << RECORDED.index("premium_requests")
# The fields of estimated rows: only input, output and calls count.
_LIKELY = {"input": "estimated_input", "output": "estimated_output", "calls": "calls"}
_DOLLARS, _AVERAGED, _ESTIMATED_DOLLARS = KNOWN["dollars"], KNOWN["averaged_dollars"], KNOWN["estimated_dollars"]
_COMPUTED, _SPREAD, _SPREAD_CREDITS = KNOWN["computed_credits"], KNOWN["spread"], KNOWN["spread_credits"]
_UNPRICED, _SPREAD_REQUESTS, _UNANSWERED = (
    KNOWN["unpriced"],
    KNOWN["spread_requests"],
    KNOWN["unanswered_requests"] - KNOWN["premium_requests"],
)


@cache
def _bits_of(mask: int, *, is_estimated: bool = False) -> int:
    """Return the known numbers of a row, as bits by RECORDED, as bits of `known`."""
    names = [name for place, name in enumerate(RECORDED) if mask >> place & 1]
    return sum(KNOWN[_LIKELY[name] if is_estimated else name] for name in names if not is_estimated or name in _LIKELY)


class EstimateRange(NamedTuple):
    """The ends of estimated rows, and their cost with the likely one; before a discount."""

    input: float = 0
    output: float = 0
    dollars: float = 0
    likely_dollars: float = 0
    most_input: float = 0
    most_output: float = 0
    most_dollars: float = 0


class CreditsRange(NamedTuple):
    """Estimated credits."""

    at_least: float
    likely: float
    at_most: float


class Cell:
    """Rows of all conversations that are equal except for their numbers."""

    __slots__ = (
        "_ranges", "_rows", "agent", "computes_credits", "day", "discount", "has_credits", "is_as_it_was",
        "is_estimated", "is_spread", "is_unanswered", "method", "model", "outcome", "payer", "places", "price",
        "repository", "source", "subagent", "system",
    )  # fmt: skip

    def __init__(self, key: Row, table: PriceTable | None, discount: float, every_model: PricedModel | None) -> None:
        (
            self.day, self.model, self.agent, self.subagent, self.source, self.method,
            self.payer, self.system, self.has_credits, self.outcome, self.is_unanswered, self.repository,
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
        is_new = self.payer == "copilot" and self.system == "credits"
        self.computes_credits = every_model is not None or (is_new and not self.has_credits)
        self.is_as_it_was = every_model is None  # the models are those that answered
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
        """Return the sum of the ends of estimated rows, and of their cost."""
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

    def estimated_credits(self) -> CreditsRange | None:
        """Return the credits of an estimate; None unless credits are computed for this cell."""
        if not (self.is_estimated and self.computes_credits and self.price is not None):
            return None
        found = self.range
        dollars = (found.dollars, found.likely_dollars, found.most_dollars)
        return CreditsRange(*(amount * CREDITS_OF_A_DOLLAR for amount in dollars))

    def recorded(
        self, used: Sequence[float], known: int, is_asked: bool, prompts: str | None = None, within: float = 0
    ) -> Numbers:
        """Return the usage of a row as NUMBERS, with its cost on the cell's day if the cell has a price.

        `is_asked`: prices are requested, so tokens without a price count as unpriced. `prompts`: the recorded calls.
        `within`: credits that are recorded for a part of the row, so that they are not computed again.
        """
        given, answered, read, written, reasoned, calls, requests, paid = used
        bits = _bits_of(known)
        dollars = averaged = computed = unpriced = spread = spread_credits = spread_requests = unanswered = 0.0
        if given or answered:
            if self.price is not None:
                cost, by_average = self._cost(used[:4], calls, prompts)
                dollars, averaged = cost * (1 - self.discount), by_average * (1 - self.discount)
                bits += _DOLLARS + (_AVERAGED if averaged else 0)
                if self.computes_credits:
                    computed = max(cost * CREDITS_OF_A_DOLLAR - (within if self.is_as_it_was else 0), 0.0)
                    bits += _COMPUTED
            elif is_asked:
                unpriced = given + answered
            bits += _UNPRICED if is_asked else 0
        if self.is_spread:
            spread, spread_credits = given + answered, paid
            spread_requests = 0.0 if self.is_unanswered else requests
            bits += (_SPREAD if spread else 0) + (_SPREAD_CREDITS if spread_credits else 0)
            bits += _SPREAD_REQUESTS if spread_requests else 0
        if self.is_unanswered:
            requests, unanswered = 0.0, requests
            bits += _UNANSWERED if known & _HAS_REQUESTS else 0
        cacheable = given if known & _HAS_CACHE else 0
        return (
            given, answered, read, written, reasoned, calls, 0, 0, spread, unpriced, requests, unanswered,
            spread_requests, paid, spread_credits, computed, dollars, averaged, 0, cacheable, bits,
        )  # fmt: skip

    def _cost(self, used: Sequence[float], calls: float, prompts: str | None) -> tuple[float, float]:
        """Return the cost in dollars at list prices, and the part of it whose price was chosen by an average prompt.

        A long prompt has the price of long prompts: each recorded call by its own prompt, the others by their average.
        If their number is unknown, they have the usual price.
        """
        assert self.price is not None
        if self.price.long is None or used[0] <= (self.price.above or 0):
            return _cost_at(self.price, *used), 0.0
        recorded: list[list[float]] = msgspec.json.decode(prompts) if prompts is not None else []
        cost = sum(_cost_at(self.price.of_prompts(call[0]), *call) for call in recorded)
        rest = [max(whole - sum(parts), 0) for whole, *parts in zip(used, *recorded, strict=True)]
        if not any(rest):
            return cost, 0.0
        others = calls - len(recorded)
        price = self.price.of_prompts(rest[0] / others) if others >= 1 else self.price
        of_rest = _cost_at(price, *rest)
        is_own = others == 1 and self.method == "recorded"
        return cost + of_rest, 0.0 if is_own else of_rest

    def estimated(self, used: Sequence[float], known: int, ends: Sequence[float]) -> Numbers:
        """Return estimated usage in the estimated fields, and note its ends and their cost without a discount.

        Likely cache reads lower the cost, but are not counted. Prompts are assumed to be short: programs compact the
        history before a prompt gets long.
        """
        given, answered, read, written, _, calls, *_ = used
        least_input, most_input, least_output, most_output = ends
        dollars, low, likely, high, bits = 0.0, 0.0, 0.0, 0.0, _bits_of(known, is_estimated=True)
        price = self.price
        if price is not None:
            likely = _cost_at(price, given, answered, read, written)
            of_input = _cost_at(price, given, 0, read, written) / given if given else 0.0
            low = of_input * least_input + _cost_at(price, 0, least_output, 0, 0)
            high = of_input * most_input + _cost_at(price, 0, most_output, 0, 0)
            if given or answered:
                dollars = likely * (1 - self.discount)
                bits += _ESTIMATED_DOLLARS
        self._ranges.append((least_input, least_output, low, likely, most_input, most_output, high))
        if len(self._ranges) > MANY:
            self._ranges = folded(self._ranges)
        return (0, 0, 0, 0, 0, calls, given, answered, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, dollars, 0, bits)


def _cost_at(price: UnitPrice, given: float, answered: float, read: float, written: float) -> float:
    cached = read * price.cache_read + written * price.cache_write
    return (max(given - read - written, 0) * price.input + cached + answered * price.output) / 1e6
