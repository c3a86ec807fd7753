"""Estimate tokens and dollars that no file records: at least, likely, at most.

`calibration` finds the parameters of an estimate, `estimate` applies them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from copilog.analysis.prices import PriceTable
from copilog.derive.calibration import Prompt, Sample, calibrate, recorded_calls, sample_of
from copilog.derive.estimating import Calibration, Range, Tokens, Values, fixed_part, parameters_of, range_of, tokens_of
from copilog.derive.replayed_calls import Replay

__all__ = ["Estimate", "Prompt", "Sample", "calibrate", "estimate", "recorded_calls", "sample_of"]


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated tokens and cost of calls. `cached` is a part of `input`."""

    input: Range
    cached: Range
    output: Range
    dollars: Range | None  # None: no model has a price
    unpriced: list[str]  # models without a price, whose calls are not in the dollars
    calls: int
    method: str


def estimate(
    replays: Sequence[Replay],
    calibration: Calibration,
    prices: PriceTable | None = None,
    day: str | None = None,
    last_prompts: Mapping[int, int] | None = None,
) -> Estimate:
    """Estimate these calls. `last_prompts`: recorded prompts of the main agent's last call, by turn."""
    used = parameters_of(replays)
    known = last_prompts or {}

    def tokens(values: Values) -> list[tuple[Replay, Tokens]]:
        made = []
        for replay in replays:
            last = known.get(replay.turn) if replay.parent is None else None
            made.append((replay, tokens_of(replay, values, last)))
        return made

    def dollars(values: Values) -> float:
        return sum(_dollars(replay, taken, prices, day) or 0.0 for replay, taken in tokens(values))

    models = {replay.model for replay in replays}
    unpriced = {model for model in models if prices is None or prices.price_at(model, day) is None}
    return Estimate(
        input=range_of(calibration, used, lambda values: sum(taken.input for _, taken in tokens(values))),
        cached=range_of(calibration, used, lambda values: sum(taken.cached for _, taken in tokens(values))),
        output=range_of(calibration, used, lambda values: sum(taken.output for _, taken in tokens(values))),
        dollars=range_of(calibration, used, dollars) if models - unpriced else None,
        unpriced=sorted(model or "" for model in unpriced),
        calls=sum(replay.calls for replay in replays),
        method=_method(replays, calibration, known),
    )


def _dollars(replay: Replay, taken: Tokens, prices: PriceTable | None, day: str | None) -> float | None:
    price = prices.price_at(replay.model, day) if prices is not None else None
    if price is None:
        return None
    plain = taken.input - taken.cached - taken.stored
    cost = plain * price.input + taken.cached * price.cache_read + taken.stored * price.cache_write
    return (cost + taken.output * price.output) / 1e6


def _method(replays: Sequence[Replay], calibration: Calibration, known: Mapping[int, int]) -> str:
    """Return a text about what the estimate is based on."""
    calls = sum(replay.calls for replay in replays)
    kinds = sorted({replay.kind for replay in replays})
    fixed = ", ".join(f"{calibration[fixed_part(kind)].likely:,.0f}" for kind in kinds)
    more = f"; recorded prompts: {len(known)}" if known else ""
    return (
        f"{calls} calls replayed, each with the conversation so far and {fixed} tokens of instructions and tools{more}"
    )
