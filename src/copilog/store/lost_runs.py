"""Runs of a session that a rewind cut out of its log, as an earlier scan has read them.

Their ends are in the conversation, with their superseded turns, but not in the totals of the log that is there now.
The program may continue to count from such an end: then the next total includes it, and is of the superseded turns as
well. Otherwise the run has the total of its own end.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from copilog.model import Usage
from copilog.model.recorded_names import SHUTDOWN

TOKENS = {
    "input": "inputTokens", "output": "outputTokens", "cache_read": "cacheReadTokens",
    "cache_write": "cacheWriteTokens", "reasoning": "reasoningTokens",
}  # fmt: skip
NANO = 1e9


class End(NamedTuple):
    """The end of a run: the turns that it answered, and what the program recorded then."""

    turns: set[int]
    data: dict[str, Any]


class LostRun(NamedTuple):
    """The totals of a run that is not in the log."""

    turns: set[int]
    totals: list[Usage]  # by model
    premium_requests: float
    credits: float


def divided(ends: Sequence[End], listed: int, superseded: Collection[int]) -> tuple[list[set[int]], list[LostRun]]:
    """Return the turns of each run in the log, which has `listed` of them, and the other runs."""
    gone = [number for number, end in enumerate(ends) if end.turns and end.turns <= set(superseded)]
    if not gone or len(ends) - listed != len(gone):
        return [end.turns for end in ends], []
    runs = {number: set(end.turns) for number, end in enumerate(ends) if number not in gone}
    lost: list[LostRun] = []
    for number in gone:
        following = next((other for other in runs if other > number), None)
        latest = max(other for other in gone if following is None or other < following)
        if following is not None and _continues(ends[latest].data, ends[following].data):
            runs[following] |= ends[number].turns
        else:
            lost.append(_lost(ends[number], ends[number - 1].data if number else {}))
    return list(runs.values()), lost


def _continues(before: dict[str, Any], data: dict[str, Any]) -> bool:
    """Return whether a later end counts on from an earlier one."""
    sums = [sum(_number(usage, TOKENS["input"]) for usage in _usage_of(one).values()) for one in (before, data)]
    return _is_cumulative(data) and sums[1] >= sums[0] > 0


def _lost(end: End, before: dict[str, Any]) -> LostRun:
    since = before if _is_cumulative(end.data) else {}
    totals = []
    for model, usage in _usage_of(end.data).items():
        known = _usage_of(since).get(model, {})
        numbers: dict[str, Any] = {
            name: int(_added(usage, known, native)) for name, native in TOKENS.items() if native in usage
        }
        if any(numbers.values()):
            totals.append(Usage(model=model, scope="session", source=SHUTDOWN, **numbers))
    requests = _added(end.data, since, "totalPremiumRequests")
    return LostRun(end.turns, totals, requests, _added(end.data, since, "totalNanoAiu") / NANO)


def _is_cumulative(data: dict[str, Any]) -> bool:
    return "eventsFileSizeBytes" in data


def _usage_of(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    metrics = data.get("modelMetrics")
    if not isinstance(metrics, dict):
        return {}
    found = {model: one.get("usage") for model, one in metrics.items() if isinstance(one, dict)}
    return {model: usage for model, usage in found.items() if isinstance(usage, dict)}


def _added(data: dict[str, Any], before: dict[str, Any], name: str) -> float:
    """Return what a number has beyond the one before it; one that is lower counts from zero."""
    now, known = _number(data, name), _number(before, name)
    return now - known if now >= known else now


def _number(data: dict[str, Any], name: str) -> float:
    value = data.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 53 else 0
