"""What the checkpoints of a log billed, by the turns that were answered between two of them.

`session.usage_checkpoint` and `session.shutdown` count from the beginning of the session, so what the one has beyond
the other belongs to the turns between them, and is not divided over all turns of their run.
"""

from __future__ import annotations

from typing import Any

from copilog.store.details import LARGEST_NUMBER

TINY = 1e-6  # the tolerance for sums of fractions
COUNTERS = {"credits": ("totalNanoAiu", 1e9), "premium_requests": ("totalPremiumRequests", 1.0)}

Part = tuple[set[int], float]  # turns, and what they cost


class Checkpoints:
    """A collector of the bills in a log, in its order."""

    def __init__(self) -> None:
        self._answered: dict[str, set[int]] = {name: set() for name in COUNTERS}  # turns since the last bill
        self._last: dict[str, float] = {}
        self._parts: dict[str, list[Part]] = {}

    def listen(self, turn: int) -> None:
        for answered in self._answered.values():
            answered.add(turn)

    def read(self, bill: dict[str, Any] | None) -> None:
        """Read a bill, and what it has beyond the one before it; one that is lower counts from zero."""
        for name, (field, unit) in COUNTERS.items():
            value = (bill or {}).get(field)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < LARGEST_NUMBER * unit:
                continue
            amount, last = value / unit, self._last.get(name, 0)
            if self._answered[name]:
                part = self._answered[name], amount - last if amount >= last else amount
                self._parts.setdefault(name, []).append(part)
                self._answered[name] = set()
            self._last[name] = amount

    def parts_of(self, name: str, cost: float, turns: set[int]) -> list[Part]:
        """Return the parts of the cost of these turns; empty if it is not divided, or the bills contradict it."""
        parts = [(covered, amount) for covered, amount in self._parts.get(name, []) if covered <= turns]
        left = cost - sum(amount for _, amount in parts)
        others = turns.difference(*(covered for covered, _ in parts))
        if left < -TINY or (left > TINY and not others):
            return []
        parts += [(others, left)] if left > TINY else []
        return parts if len(parts) > 1 else []
