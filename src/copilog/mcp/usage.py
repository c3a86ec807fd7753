"""Sum the usage of conversations from the archive's `spending`, which counts each token once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec

TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")
ESTIMATES = ("estimated_input", "estimated_output")

_BY_MODEL = """
    SELECT coalesce(nullif(model, ''), 'unknown'), method = 'estimated',
           sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning)
    FROM spending
    WHERE conversation IN (SELECT value FROM json_each(?)) AND (input IS NOT NULL OR output IS NOT NULL)
          AND superseded IS NULL
    GROUP BY 1, 2
"""
_ALL_USAGE = """
    SELECT sum(premium_requests), sum(credits),
           count(DISTINCT conversation) FILTER (WHERE method <> 'estimated' AND coalesce(input, output) IS NOT NULL)
    FROM spending WHERE conversation IN (SELECT value FROM json_each(?)) AND superseded IS NULL
"""


@dataclass
class Total:
    """Sums over conversations. A model's sum is None if no number was recorded."""

    models: dict[str, dict[str, int | None]] = field(default_factory=dict)
    premium_requests: float | None = None
    credits: float | None = None
    is_estimated: bool = False
    with_tokens: int = 0  # number of conversations with recorded tokens


def total_usage(connection: sqlite3.Connection, ids: Iterable[str]) -> Total:
    """Return the total usage of conversations."""
    names = msgspec.json.encode(list(ids)).decode()
    total = Total()
    for model, is_estimated, *sums in connection.execute(_BY_MODEL, (names,)):
        row = total.models.setdefault(model, {})
        row.update(zip(ESTIMATES if is_estimated else TOKENS, sums, strict=False))
        total.is_estimated |= bool(is_estimated)
    total.premium_requests, total.credits, total.with_tokens = connection.execute(_ALL_USAGE, (names,)).fetchone()
    return total
