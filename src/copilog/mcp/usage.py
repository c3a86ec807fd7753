"""What conversations used, from the rows of the archive. Several places record the same use: each is counted once.

Totals of a whole conversation come before those of turns, and of a turn the place that tells most is taken. Premium
requests and credits are often recorded elsewhere than tokens, and are chosen by themselves.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec

TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")
UNKNOWN_MODEL = "unknown"

_ROWS = """
    SELECT u.conversation, u.turn, u.scope, u.source, coalesce(u.model, t.resolved_model, t.model),
           u.input, u.output, u.cache_read, u.cache_write, u.reasoning, u.premium_requests, u.credits, u.is_estimated
    FROM usage AS u LEFT JOIN turns AS t ON t.conversation = u.conversation AND t.position = u.turn
    WHERE u.conversation IN (SELECT value FROM json_each(?))
    ORDER BY u.conversation, u.position
"""


class UsageRow(NamedTuple):
    """One row of the archive; the model is that of the turn where the usage names none."""

    conversation: str
    turn: int | None
    scope: str | None
    source: str | None
    model: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    premium_requests: float | None
    credits: float | None
    is_estimated: int

    def has_tokens(self) -> bool:
        return self.input is not None or self.output is not None


@dataclass
class Total:
    """Sums over conversations. A model's sum is None where no number was recorded."""

    models: dict[str, dict[str, int | None]] = field(default_factory=dict)
    premium_requests: float | None = None
    credits: float | None = None
    is_estimated: bool = False
    is_partial: bool = False
    with_usage: int = 0

    def add_tokens(self, row: UsageRow) -> None:
        sums = self.models.setdefault(row.model or UNKNOWN_MODEL, dict.fromkeys(TOKENS))
        for name in TOKENS:
            number = getattr(row, name)
            if number is not None:
                sums[name] = (sums[name] or 0) + number
        self.is_estimated |= bool(row.is_estimated)
        self.is_partial |= row.input is None or row.output is None


def total_usage(connection: sqlite3.Connection, ids: Iterable[str]) -> Total:
    """The usage of conversations."""
    names = msgspec.json.encode(list(ids)).decode()
    total = Total()
    rows = map(UsageRow._make, connection.execute(_ROWS, (names,)))
    for _, group in groupby(rows, attrgetter("conversation")):
        _add_conversation(total, list(group))
    return total


def _add_conversation(total: Total, rows: list[UsageRow]) -> None:
    total.with_usage += 1
    for row in _telling(rows):
        total.add_tokens(row)
    for name in ("premium_requests", "credits"):
        cost = _cost_of(rows, name)
        if cost is not None:
            setattr(total, name, (getattr(total, name) or 0) + cost)


def _telling(rows: list[UsageRow]) -> Iterator[UsageRow]:
    """The rows whose tokens add up to those of the conversation."""
    whole = [row for row in rows if row.scope == "session" and row.has_tokens()]
    if whole:
        yield from _of_first_source(whole)
        return
    by_turn: dict[int | None, list[UsageRow]] = {}
    for row in rows:
        if row.has_tokens() and row.scope != "session":
            by_turn.setdefault(row.turn, []).append(row)
    for of_turn in by_turn.values():
        yield from _of_first_source(of_turn)


def _of_first_source(rows: list[UsageRow]) -> list[UsageRow]:
    """Those of the place that tells most: input before output alone, numbers before estimates."""
    best = min(rows, key=lambda row: (row.input is None, row.output is None, row.is_estimated))
    return [row for row in rows if (row.source, row.scope) == (best.source, best.scope)]


def _cost_of(rows: list[UsageRow], name: str) -> float | None:
    """Premium requests or credits: of the whole conversation if that was recorded, else of its turns."""
    told = [row for row in rows if getattr(row, name) is not None]
    told = [row for row in told if row.scope == "session"] or told
    if not told:
        return None
    cost = 0.0
    for turn in {row.turn for row in told}:
        of_turn = [row for row in told if row.turn == turn]
        cost += sum(getattr(row, name) for row in of_turn if row.source == of_turn[0].source)
    return cost
