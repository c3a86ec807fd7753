"""Add up the usage of rows that are equal except for their numbers, and price it: a cell of all tables of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any, NamedTuple

import msgspec

from copilog.analysis.plans import CREDITS_OF_A_DOLLAR
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice
from copilog.analysis.selection import NO_TURN

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


def sum_of_two(before: Numbers | None, numbers: Numbers) -> Numbers:
    """Return the sum of two rows of numbers; `before` may be None."""
    return numbers if before is None else tuple(map(add, before, numbers))


RECORDED = ("input", "output", "cache_read", "cache_write", "reasoning", "calls", "premium_requests", "credits")
_HAS_CACHE, _HAS_REQUESTS = 1 << RECORDED.index("cache_read"), 1 << RECORDED.index("premium_requests")
# The known numbers of a row, as bits by RECORDED -> as bits of `known`.
_BITS = [
    sum(KNOWN[name] for place, name in enumerate(RECORDED) if mask >> place & 1) for mask in range(1 << len(RECORDED))
]
# The same for estimated rows: only their input, output and calls count.
_LIKELY = {"input": "estimated_input", "output": "estimated_output", "calls": "calls"}
_ESTIMATED_BITS = [
    sum(KNOWN[_LIKELY[name]] for place, name in enumerate(RECORDED) if mask >> place & 1 and name in _LIKELY)
    for mask in range(1 << len(RECORDED))
]


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
        "agent", "computes_credits", "conversations", "day", "discount", "has_credits", "is_as_it_was",
        "is_unanswered", "method", "model", "numbers", "outcome", "payer", "price", "range", "repository", "source",
        "subagent", "system", "turns",
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
        self.is_unanswered = self.outcome in ("failed", "cancelled")
        is_new = self.payer == "copilot" and self.system == "credits"
        self.computes_credits = every_model is not None or (is_new and not self.has_credits)
        self.is_as_it_was = every_model is None  # the models are those that answered
        self.numbers: Numbers | None = None
        self.range = EstimateRange()
        self.conversations: set[int] = set()
        self.turns: set[int] = set()

    def add(self, conversation: int, turn: int, numbers: Numbers) -> None:
        self.numbers = sum_of_two(self.numbers, numbers)
        self.conversations.add(conversation)
        if turn != NO_TURN:
            self.turns.add(conversation << 32 | turn)

    def add_range(self, used: Sequence[float], ends: Sequence[float]) -> None:
        """Add the ends of an estimate, and what they and the likely tokens cost at list prices without a discount."""
        given, answered, read, written, *_ = used
        least_input, most_input, least_output, most_output = ends
        low = likely = high = 0.0
        if self.price is not None:
            likely = _cost_at(self.price, given, answered, read, written)
            of_input = _cost_at(self.price, given, 0, read, written) / given if given else 0.0
            low = of_input * least_input + _cost_at(self.price, 0, least_output, 0, 0)
            high = of_input * most_input + _cost_at(self.price, 0, most_output, 0, 0)
        more = (least_input, least_output, low, likely, most_input, most_output, high)
        self.range = EstimateRange(*map(add, self.range, more))

    def estimated_credits(self) -> CreditsRange | None:
        """Return the credits of an estimate; None unless credits are computed for this cell."""
        if self.method != "estimated" or not self.computes_credits or self.price is None:
            return None
        dollars = (self.range.dollars, self.range.likely_dollars, self.range.most_dollars)
        return CreditsRange(*(amount * CREDITS_OF_A_DOLLAR for amount in dollars))

    def priced(
        self, used: Sequence[float], known: int, is_asked: bool, prompts: str | None = None, within: float = 0
    ) -> Numbers:
        """Return the usage of a row as NUMBERS, with its cost on the cell's day if the cell has a price.

        `is_asked`: prices are requested, so tokens without a price count as unpriced. `prompts`: the recorded calls.
        `within`: credits that are recorded for a part of the row, so that they are not computed again.
        """
        if self.method == "estimated":
            return self._estimated(used, known)
        given, answered, read, written, reasoned, calls, requests, paid = used
        dollars, averaged, computed, unpriced, bits = 0.0, 0.0, 0.0, 0.0, _BITS[known]
        if given or answered:
            if self.price is not None:
                cost, by_average = self._cost(used[:4], calls, prompts)
                dollars, averaged = cost * (1 - self.discount), by_average * (1 - self.discount)
                bits += KNOWN["dollars"] + (KNOWN["averaged_dollars"] if averaged else 0)
                if self.computes_credits:
                    computed = max(cost * CREDITS_OF_A_DOLLAR - (within if self.is_as_it_was else 0), 0.0)
                    bits += KNOWN["computed_credits"]
            elif is_asked:
                unpriced = given + answered
        is_spread = self.method == "spread"
        spread, spread_credits = (given + answered, paid) if is_spread else (0, 0)
        spread_requests = requests if is_spread and not self.is_unanswered else 0
        for name, number in (
            ("spread", spread),
            ("spread_credits", spread_credits),
            ("spread_requests", spread_requests),
        ):
            bits += KNOWN[name] if number else 0
        answered_requests, unanswered = (0.0, requests) if self.is_unanswered else (requests, 0.0)
        if self.is_unanswered and known & _HAS_REQUESTS:
            bits += KNOWN["unanswered_requests"] - KNOWN["premium_requests"]
        cacheable = given if known & _HAS_CACHE else 0
        return (
            given, answered, read, written, reasoned, calls, 0, 0, spread, unpriced,
            answered_requests, unanswered, spread_requests, paid, spread_credits, computed, dollars, averaged, 0,
            cacheable, bits,
        )  # fmt: skip

    def _cost(self, used: Sequence[float], calls: float, prompts: str | None) -> tuple[float, float]:
        """Return the cost in dollars at list prices, and the part of it whose price was chosen by an average prompt.

        A long prompt has the price of long prompts: each recorded call by its own prompt, the others by their average.
        If their number is unknown, they have the usual price.
        """
        assert self.price is not None
        if self.price.long is None:
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

    def _estimated(self, used: Sequence[float], known: int) -> Numbers:
        """Return estimated usage in the estimated fields. Likely cache reads lower its cost, but are not counted.

        Prompts are assumed to be short: programs compact the history before a prompt gets long.
        """
        given, answered, read, written, _, calls, *_ = used
        dollars, bits = 0.0, _ESTIMATED_BITS[known]
        if self.price is not None and (given or answered):
            dollars = _cost_at(self.price, given, answered, read, written) * (1 - self.discount)
            bits += KNOWN["estimated_dollars"]
        return (0, 0, 0, 0, 0, calls, given, answered, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, dollars, 0, bits)


def _cost_at(price: UnitPrice, given: float, answered: float, read: float, written: float) -> float:
    cached = read * price.cache_read + written * price.cache_write
    return (max(given - read - written, 0) * price.input + cached + answered * price.output) / 1e6
