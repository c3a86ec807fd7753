"""Compute small sums that several figures need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the value at or below which this share of the values is: one of the values, by its rank."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


def added(*numbers: Any) -> Any:
    """Return the sum of the numbers that are known; None if none is."""
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
