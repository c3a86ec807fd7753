"""What a whole session took, from the summaries that are written when the program ends.

A log has one summary for each time the program ran. In older logs each counts from zero, so they add up; in newer
ones each holds all that came before, so the last one counts. A log may hold both, and the newer kind is known by a
field, `eventsFileSizeBytes`. Where the numbers went down, the counters began anew whatever the field says.

What each run of the program added is kept in `extra`, as `runs`: it was used by the turns of that run.

Since 1.0.102 `accountingSnapshot` says whether credits were reported. Where they were `unavailable`, zero is no amount.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from copilog.model import Usage
from copilog.sources._vscode.take import Json

NANO = 1e9  # the unit of account is a billionth of a credit
CREDITS_STATUS, UNAVAILABLE = "aiCreditsStatus", "unavailable"
_CREDITS = "totalNanoAiu"
SOURCE = "session.shutdown"
_TOKENS = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cacheReadTokens": "cache_read",
    "cacheWriteTokens": "cache_write",
    "reasoningTokens": "reasoning",
}
_TOTALS = ("totalPremiumRequests", _CREDITS)

Key = tuple[str | None, str]  # a model, or None for the session, and the name of a counter
Counters = dict[Key, float]


class SessionTotals(msgspec.Struct):
    """The sums: tokens by model, the bill, and how much code was changed."""

    models: dict[str, Usage] = {}
    premium_requests: float | None = None
    credits: float | None = None
    lines_added: int | None = None
    lines_removed: int | None = None
    files_modified: list[str] = []

    @property
    def output(self) -> int:
        """The tokens that all models put out."""
        return sum(usage.output or 0 for usage in self.models.values())


def session_totals(shutdowns: Sequence[Json], checkpoint: Json | None = None) -> SessionTotals:
    """The sums of a log's summaries, in the order of the log; `checkpoint` is a bill written after the last one."""
    if not shutdowns and checkpoint is None:
        return SessionTotals()
    total: Counters = {}
    before: Counters | None = None
    files: dict[str, None] = {}
    runs: list[Counters] = []
    for shutdown in shutdowns:
        now = _counters(shutdown)
        known = dict(total)
        if before is not None and "eventsFileSizeBytes" in shutdown and _continues(now, before):
            _advance(total, before, now)
        else:
            _add(total, now)
        runs.append({key: value - known.get(key, 0) for key, value in total.items()})
        before = now
        files.update(dict.fromkeys(_files(shutdown)))
    if checkpoint is not None:
        _add_checkpoint(total, before or {}, checkpoint)
    for summary in (*shutdowns, *([checkpoint] if checkpoint is not None else [])):
        for model in _unbilled(summary):
            if not total.get((model, _CREDITS)):
                total.pop((model, _CREDITS), None)
    return _totals_from(total, list(files), runs if len(runs) > 1 else [])


def _counters(shutdown: Json) -> Counters:
    made: Counters = {}
    _count(made, None, shutdown, _TOTALS)
    changes = shutdown.get("codeChanges")
    if isinstance(changes, dict):
        _count(made, None, changes, ("linesAdded", "linesRemoved"))
    metrics = shutdown.get("modelMetrics")
    for model, metric in metrics.items() if isinstance(metrics, dict) else ():
        if not isinstance(metric, dict):
            continue
        usage, requests = metric.get("usage"), metric.get("requests")
        if isinstance(usage, dict):
            _count(made, model, usage, _TOKENS)
        if isinstance(requests, dict):
            _count(made, model, requests, ("count", "cost"))
        else:
            _count(made, model, {"count": requests}, ("count",))
        _count(made, model, metric, (_CREDITS,))
    return made


def _unbilled(summary: Json) -> Iterator[str | None]:
    """Yield the models whose credits were not reported, and None if no call's were."""
    snapshot = summary.get("accountingSnapshot")
    metrics = snapshot.get("modelMetrics") if isinstance(snapshot, dict) else None
    for model, values in ((None, snapshot), *(metrics.items() if isinstance(metrics, dict) else ())):
        if isinstance(values, dict) and values.get(CREDITS_STATUS) == UNAVAILABLE:
            yield model


def _count(made: Counters, model: str | None, values: Json, names: Iterable[str]) -> None:
    for name in names:
        value: Any = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            made[model, name] = value


def _continues(now: Counters, before: Counters) -> bool:
    """Whether no counter of any model went down."""
    return all(now.get(key, 0) >= value for key, value in before.items() if key[0] is not None)


def _add(total: Counters, now: Counters) -> None:
    for key, value in now.items():
        total[key] = total.get(key, 0) + value


def _advance(total: Counters, before: Counters, now: Counters) -> None:
    """Replace what the summary before said. A total that is left out now is what it was."""
    for key, value in now.items():
        total[key] = total.get(key, 0) - before.get(key, 0) + value
    for key, value in before.items():
        if key[0] is None:
            now.setdefault(key, value)


def _add_checkpoint(total: Counters, before: Counters, checkpoint: Json) -> None:
    """A bill counts from the beginning of the session, unless it is smaller than the last."""
    now: Counters = {}
    _count(now, None, checkpoint, _TOTALS)
    for key, value in now.items():
        last = before.get(key, 0)
        total[key] = total.get(key, 0) + (value - last if value >= last else value)


def _files(shutdown: Json) -> list[str]:
    changes = shutdown.get("codeChanges")
    files = changes.get("filesModified") if isinstance(changes, dict) else None
    return [path for path in files if isinstance(path, str)] if isinstance(files, list) else []


def _totals_from(total: Counters, files: list[str], runs: list[Counters]) -> SessionTotals:
    made = SessionTotals(files_modified=files)
    for model in dict.fromkeys(model for model, _ in total):
        if model is not None:
            made.models[model] = _usage_of(model, total, runs)
    made.premium_requests = total.get((None, "totalPremiumRequests"))
    nano = total.get((None, _CREDITS))
    made.credits = nano / NANO if nano is not None else None
    made.lines_added = _whole(total.get((None, "linesAdded")))
    made.lines_removed = _whole(total.get((None, "linesRemoved")))
    return made


def _usage_of(model: str, total: Counters, runs: list[Counters]) -> Usage:
    """What one model took. Its share of the bill is in `extra`: the whole bill is counted once, for the session."""
    usage = Usage(model=model, scope="session", source=SOURCE)
    for name, field in _TOKENS.items():
        setattr(usage, field, _whole(total.get((model, name))))
    nano = total.get((model, _CREDITS))
    extra = {
        "requests": _whole(total.get((model, "count"))),
        "premium_requests": total.get((model, "cost")),
        "credits": nano / NANO if nano is not None else None,
        "runs": [_tokens_in(model, run) for run in runs] or None,
    }
    usage.extra = {key: value for key, value in extra.items() if value is not None} or None
    return usage


def _tokens_in(model: str, run: Counters) -> dict[str, int]:
    """Return what one run of the program added to the tokens of a model."""
    return {field: int(count) for name, field in _TOKENS.items() if (count := run.get((model, name)))}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
