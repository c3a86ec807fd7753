"""Small sums that several figures need."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value below or at which this share of the values lies: one that did occur, by its rank."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]
