"""Divide totals of a session among its turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from copilog.store.message_counts import NOWHERE, MessageCounts, Slot
from copilog.store.recorded import Counted, count_of


class Weights:
    """The recorded output of turns and of the sub-agents in them: totals are spread in proportion to it."""

    def __init__(self, recorded: list[Counted], talk: MessageCounts) -> None:
        self._talk = talk
        self._by_model: dict[str | None, dict[Slot, int]] = {}
        self._telling: set[int | None] = set()  # turns that recorded output
        for slot, usage in recorded:
            output = count_of(usage, "output")
            if output:
                of_model = self._by_model.setdefault(usage.model or talk.model_of(slot), {})
                of_model[slot] = of_model.get(slot, 0) + output
                self._telling.add(slot.turn)

    def places_of(self, model: str | None, output: int, turns: Collection[int]) -> dict[Slot, int]:
        """Return the weights for the total of a model: its output, else that of all models, else 1 for each answer."""
        of_model = {slot: weight for slot, weight in self._by_model.get(model, {}).items() if slot.turn in turns}
        of_model |= self._silent(model, output - sum(of_model.values()), turns, bool(of_model))
        if of_model:
            return of_model
        of_any: dict[Slot, int] = {}
        for weights in self._by_model.values():
            for slot, weight in weights.items():
                if slot.turn in turns:
                    of_any[slot] = of_any.get(slot, 0) + weight
        if of_any:
            of_any |= self._silent(model, output - sum(of_any.values()), turns, is_known=True)
        return of_any or evenly(self._talk.answered(turns) or self._talk.answered(self._talk.turns))

    def _silent(self, model: str | None, left: int, turns: Collection[int], is_known: bool) -> dict[Slot, int]:
        """Divide the remaining output evenly among answers that recorded none, as in older releases."""
        if left <= 0 or model is None:
            return {}
        models = (model, None) if is_known else (model,)
        silent = [
            slot
            for turn in self._talk.answered(turns)
            if turn not in self._telling and self._talk.model_of(slot := Slot(turn)) in models
        ]
        shares = zip(silent, whole_shares(left, [1] * len(silent)) if silent else [], strict=True)
        return {slot: share for slot, share in shares if share}


def evenly(turns: Collection[int]) -> dict[Slot, int]:
    return {Slot(turn): 1 for turn in turns} or {NOWHERE: 1}


def whole_shares(total: int, weights: Sequence[int]) -> list[int]:
    """Divide an integer in proportion to weights, by largest remainder: the shares are integers that add up to it."""
    whole = sum(weights)
    if whole == total:
        return list(weights)
    shares = [total * weight // whole for weight in weights]
    left = total - sum(shares)
    if left:
        by_remainder = sorted(range(len(weights)), key=lambda place: -(total * weights[place] % whole))
        for place in by_remainder[:left]:
            shares[place] += 1
    return shares


def shares_of(total: float, weights: Sequence[int]) -> list[float]:
    """Divide a number in proportion to weights, without rounding."""
    whole = sum(weights)
    return [total * weight / whole for weight in weights]
