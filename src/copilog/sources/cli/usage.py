"""Tokens and cost of a log: by answer, by compaction, by run of the program, and for the session."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from copilog.fields import Json, rest, take_dict, take_int, take_number, take_str
from copilog.model import Turn, Usage
from copilog.model.recorded_names import (
    AFTER_SHUTDOWN,
    COMPACTION,
    COPIED_BY_FORK,
    OF_KILLED_RUNS,
    SHUTDOWN,
    USAGE_RECORD,
)

# The totals of a session, from the summaries that are written when the program ends. A log has one summary for
# each time the program ran. In older logs each counts from zero, so they add up; in newer ones each holds all that
# came before, so the last one counts. A log may hold both, and the newer kind is known by a field,
# `eventsFileSizeBytes`. Where the numbers went down, the counters began anew whatever the field says. What each run
# of the program added is kept in `extra`, as `runs`: it was used by the turns of that run. Since 1.0.102
# `accountingSnapshot` records whether credits were reported. Where they were `unavailable`, zero is not an amount.


NANO = 1e9  # the unit of account is a billionth of a credit
CREDITS_STATUS, UNAVAILABLE = "aiCreditsStatus", "unavailable"
_CREDITS = "totalNanoAiu"
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
    """The sums: tokens by model, the bill, and how many lines of code changed."""

    models: dict[str, Usage] = {}
    premium_requests: float | None = None
    credits: float | None = None
    bills: list[Json] = []  # what each run added to premium requests and credits
    lines_added: int | None = None
    lines_removed: int | None = None
    files_modified: list[str] = []

    @property
    def output(self) -> int:
        """Return the output tokens of all models."""
        return sum(usage.output or 0 for usage in self.models.values())


def session_totals(
    shutdowns: Sequence[Json],
    checkpoint: Json | None = None,
    killed: Mapping[int, Json] | None = None,
    answered: Sequence[int] = (),
) -> SessionTotals:
    """Return the sums of a log's summaries, in the order of the log; `checkpoint` is a bill written after the last one.

    `killed` has the last bills of runs without an end, by the number of the summary that came next, `answered` the
    output of the answers since the summary before, 0 if they record none.
    """
    if not shutdowns and checkpoint is None:
        return SessionTotals()
    total: Counters = {}
    before: Counters | None = None
    files: dict[str, None] = {}
    runs: list[Counters] = []
    parts: dict[int, Counters] = {}  # of the bills of runs, what runs that were killed before had of them
    seen: list[Counters] = []
    for shutdown in shutdowns:
        now = _counters(shutdown)
        known = dict(total)
        last = before or {}
        base = _base_of(now, seen, shutdowns, answered)
        if base is not None:
            _advance(total, base, now)
        else:
            _add(total, now)
        added = {key: value - known.get(key, 0) for key, value in total.items()}
        if killed and (bill := killed.get(len(runs))) is not None:
            parts[len(runs)] = _part_of_killed(bill, last, added)
        runs.append(added)
        before = now
        seen.append(now)
        files.update(dict.fromkeys(_files(shutdown)))
    if checkpoint is not None:
        known = dict(total)
        _add_checkpoint(total, before or {}, checkpoint)
        added = {key: value - known.get(key, 0) for key, value in total.items()}
        if killed and (bill := killed.get(len(runs))) is not None:
            parts[len(runs)] = _part_of_killed(bill, before or {}, added)
        runs.append(added)
    for summary in (*shutdowns, *([checkpoint] if checkpoint is not None else [])):
        for model in _unbilled(summary):
            if not total.get((model, _CREDITS)):
                total.pop((model, _CREDITS), None)
    made = _totals_from(total, list(files), runs if len(runs) > 1 or any(parts.values()) else [])
    for number, part in parts.items():
        if part:
            made.bills[number]["killed"] = _bill_of(part)
    for model, provider in _providers(shutdowns):
        if model in made.models:
            made.models[model].extra = {**(made.models[model].extra or {}), "provider": provider}
    return made


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


def _providers(shutdowns: Sequence[Json]) -> Iterator[tuple[str, str]]:
    """Yield the models that were not Copilot's, with who provided them."""
    for shutdown in shutdowns:
        metrics = shutdown.get("providerModelMetrics")
        for entry in metrics if isinstance(metrics, list) else ():
            model, provider = (entry.get("modelId"), entry.get("provider")) if isinstance(entry, dict) else (None, None)
            if isinstance(model, str) and isinstance(provider, str) and provider:
                yield model, provider


def _count(made: Counters, model: str | None, values: Json, names: Iterable[str]) -> None:
    for name in names:
        value: Any = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            made[model, name] = value


def _base_of(
    now: Counters, seen: list[Counters], shutdowns: Sequence[Json], answered: Sequence[int]
) -> Counters | None:
    """Return the counters of the summary that this one continues; None if it counts from zero.

    The first summary of a newer release in an older log may count from zero although no number went down, and one
    without any model may be between two that continue each other. The answers decide: a run used what they needed.
    """
    number = len(seen)
    if not seen or "eventsFileSizeBytes" not in shutdowns[number]:
        return None
    before = seen[-1]
    if not _continues(now, before):
        return None
    needed = answered[number] if number < len(answered) else 0
    if "eventsFileSizeBytes" not in shutdowns[number - 1] and _output(now) - _output(before) < needed <= _output(now):
        return None
    if needed and not _has_models(before):
        full = next(filter(_has_models, reversed(seen)), None)
        if full is not None and _continues(now, full) and _output(now) - _output(full) >= needed:
            return full
    return before


def _has_models(counters: Counters) -> bool:
    return any(model is not None for model, _ in counters)


def _output(counters: Counters) -> float:
    return sum(value for (model, name), value in counters.items() if model is not None and name == "outputTokens")


def _continues(now: Counters, before: Counters) -> bool:
    """Return whether no counter of any model went down."""
    return all(now.get(key, 0) >= value for key, value in before.items() if key[0] is not None)


def _add(total: Counters, now: Counters) -> None:
    for key, value in now.items():
        total[key] = total.get(key, 0) + value


def _advance(total: Counters, before: Counters, now: Counters) -> None:
    """Replace the totals of the summary before. A total that is missing now stays as it was."""
    for key, value in now.items():
        total[key] = total.get(key, 0) - before.get(key, 0) + value
    for key, value in before.items():
        if key[0] is None:
            now.setdefault(key, value)


def _add_checkpoint(total: Counters, before: Counters, checkpoint: Json) -> None:
    """Add a bill. It counts from the beginning of the session, unless it is smaller than the last."""
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
    made.bills = [_bill_of(run) for run in runs]
    made.lines_added = _integer(total.get((None, "linesAdded")))
    made.lines_removed = _integer(total.get((None, "linesRemoved")))
    return made


def _bill_of(run: Counters) -> Json:
    nano = run.get((None, _CREDITS))
    requests = run.get((None, "totalPremiumRequests"))
    return _known({"premium_requests": requests, "credits": nano / NANO if nano is not None else None})


def _part_of_killed(bill: Json, before: Counters, added: Counters) -> Counters:
    """Return what a run that was killed had of what the next summary added, as its last checkpoint records."""
    now: Counters = {}
    _count(now, None, bill, _TOTALS)
    part: Counters = {}
    for key, value in now.items():
        last = before.get(key, 0)
        used = value - last if value >= last else value
        if 0 < used <= added.get(key, 0):
            part[key] = used
    return part


def _usage_of(model: str, total: Counters, runs: list[Counters]) -> Usage:
    """Return the usage of one model. Its share of the bill is in `extra`, as the bill counts once, for the session."""
    usage = Usage(model=model, scope="session", source=SHUTDOWN)
    for name, field in _TOKENS.items():
        setattr(usage, field, _integer(total.get((model, name))))
    nano = total.get((model, _CREDITS))
    extra = {
        "requests": _integer(total.get((model, "count"))),
        "premium_requests": total.get((model, "cost")),
        "credits": nano / NANO if nano is not None else None,
        "runs": [_added_in(model, run) for run in runs] or None,
    }
    usage.extra = _known(extra) or None
    return usage


def _added_in(model: str, run: Counters) -> Json:
    """Return what one run of the program added to the tokens and the cost of a model."""
    counts = {field: run.get((model, name)) for name, field in _TOKENS.items()}
    added: Json = {field: int(count) for field, count in counts.items() if count is not None}
    if not any(added.values()):
        added = {}
    if count := run.get((model, "count")):
        added["requests"] = int(count)
    if cost := run.get((model, "cost")):
        added["premium_requests"] = cost
    if nano := run.get((model, _CREDITS)):
        added["credits"] = nano / NANO
    return added


def _known(values: Json) -> Json:
    return {key: value for key, value in values.items() if value is not None}


def _integer(value: float | None) -> int | None:
    return None if value is None else int(value)


# Tokens and cost in a log: by answer, by compaction, by run of the program.


OF_MESSAGE = "assistant.message"
OF_CALL = "assistant.usage"
OF_RESULT = "result"
TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")


class _Answer:
    """One answer of a model, which may come in several messages."""

    __slots__ = ("call_id", "shares", "usage")

    def __init__(self, call_id: str, usage: Usage, share: int) -> None:
        self.call_id = call_id
        self.usage = usage
        self.shares = [share]


class Meter:
    """A collector of the tokens and the cost in the events of a log."""

    def __init__(self) -> None:
        self.shutdowns: list[Json] = []
        self.compactions: list[Usage] = []
        self.checkpoint: Json | None = None  # the last bill since the last summary
        self._bills_of_killed: dict[int, Json] = {}  # the last bill before a resume, by the number of the next summary
        self.result: Json | None = None  # what the last line of a captured stream says
        self._answered: list[int] = []  # the output of the answers before each summary
        self._tail: list[Usage] = []  # of answers since the last summary
        self._before_resume = (0, 0)  # how much of the tail and of the calls is of runs that were killed
        self._killed: list[Usage] = []  # of runs that were killed and that no summary covers
        self._copied: list[Usage] = []  # of a run that a fork copied up to the fork, if no summary covers it
        self._is_forked = False  # since the last summary
        self.unplaced: list[Usage] = []  # of recorded calls that belong to no turn
        self._calls: list[Usage] = []  # of recorded calls of the model since the last summary
        self._answers: dict[str | None, _Answer] = {}  # the last one of each agent

    def add_message(self, data: Json, model: str | None, turn: Turn, parent: str | None) -> None:
        """Add the tokens of an answer. All messages of one answer make one entry."""
        output = take_int(data, "outputTokens")
        call_id = data.get("apiCallId")
        if output is None:
            return
        last = self._answers.get(parent)
        if last is not None and last.call_id == call_id:
            last.shares.append(output)
            # How tokens are spread over the messages is not documented; the same number each time is the total.
            same = len(set(last.shares)) == 1
            last.usage.output = output if same else sum(last.shares)
            return
        usage = Usage(output=output, model=model, scope="call", source=OF_MESSAGE, parent_call_id=parent)
        if isinstance(call_id, str):
            self._answers[parent] = _Answer(call_id, usage, output)
        turn.usage.append(usage)
        self._tail.append(usage)

    def add_call(self, data: Json, turn: Turn | None, source: str, parent: str | None = None) -> None:
        """Add the usage of one call of the model, as a log since 1.0.102 or a captured stream records it.

        In a record each call has the multiplier of its model, but only calls that the user started cost a request.
        """
        is_asked = source != USAGE_RECORD or data.get("initiator") in (None, "user")
        usage = Usage(
            input=take_int(data, "inputTokens"),
            output=take_int(data, "outputTokens"),
            cache_read=take_int(data, "cacheReadTokens"),
            cache_write=take_int(data, "cacheWriteTokens"),
            reasoning=take_int(data, "reasoningTokens"),
            model=take_str(data, "model"),
            premium_requests=take_number(data, "cost") if is_asked else None,
            credits=_credits_of(data),
            scope="call",
            source=source,
            parent_call_id=take_str(data, "parentToolCallId") or parent,
        )
        usage.extra = rest(data)
        self._calls.append(usage)
        (turn.usage if turn is not None else self.unplaced).append(usage)

    def add_compaction(self, used: Json, stamp: str | None) -> Usage:
        """Add the usage of a compaction, in either of its two shapes. It is not part of the other sums."""
        if stamp is not None:
            used["created_at"] = stamp
        usage = Usage(
            input=_first_int(used, "inputTokens", "input"),
            output=_first_int(used, "outputTokens", "output"),
            cache_read=_first_int(used, "cacheReadTokens", "cachedInput"),
            cache_write=take_int(used, "cacheWriteTokens"),
            model=take_str(used, "model"),
            credits=_credits_of(used),
            scope="call",
            source=COMPACTION,
        )
        usage.extra = rest(used)
        self.compactions.append(usage)
        return usage

    def fork(self) -> None:
        """Start the fork's own part of a run: usage without a summary so far was copied."""
        self.resume()
        self._is_forked = True

    def resume(self) -> None:
        """Start another run: usage without a summary so far is of a run that was killed."""
        self._before_resume = len(self._tail), len(self._calls)
        if self.checkpoint is not None:
            self._bills_of_killed[len(self.shutdowns)] = self.checkpoint

    def shut_down(self, data: Json) -> None:
        """Add a summary of the run that ends with it, and of killed ones before it if its numbers include theirs."""
        before = self._totals().output if any(self._before_resume) else 0
        answers, calls = self._before_resume
        everything = sum(usage.output or 0 for usage in self._recorded(self._tail, self._calls))
        own = self._recorded(self._tail[answers:], self._calls[calls:])
        self.shutdowns.append(data)
        self._answered.append(sum(usage.output or 0 for usage in own))
        if any(self._before_resume) and self._totals().output - before < everything:
            cut_off = self._copied if self._is_forked else self._killed
            cut_off += self._recorded(self._tail[:answers], self._calls[:calls])
        self.drop_past()
        self._answers.clear()
        self.checkpoint = None

    def _totals(self) -> SessionTotals:
        return session_totals(self.shutdowns, answered=self._answered)

    def drop_past(self) -> None:
        """Drop what was counted, as streaming a log does not need it."""
        self._tail.clear()
        self._calls.clear()
        self._before_resume, self._is_forked = (0, 0), False

    def _recorded(self, answers: list[Usage], calls: list[Usage]) -> list[Usage]:
        """Return calls as they were recorded one by one, or the answers if none was."""
        return [usage for usage in calls if usage.source == USAGE_RECORD] or calls or answers

    def code_changes(self) -> Json | None:
        """Return how many lines were added and removed, and in which files."""
        totals = self._totals()
        if totals.lines_added is None and totals.lines_removed is None and not totals.files_modified:
            changes = take_dict(dict(self.result), "codeChanges") if self.result else None
            if changes is None:
                return None
            totals = session_totals([{"codeChanges": changes}])
        return {"added": totals.lines_added, "removed": totals.lines_removed, "files": totals.files_modified}

    def usages(self) -> list[Usage]:
        """Return all entries for the session. No two of them count the same thing."""
        totals = session_totals(self.shutdowns, self.checkpoint, self._bills_of_killed, self._answered)
        made = list(totals.models.values())
        made += [*_sums(self._killed, OF_KILLED_RUNS), *_sums(self._copied, COPIED_BY_FORK)]
        covers = AFTER_SHUTDOWN if self.shutdowns else "the whole log"
        made += _sums(self._recorded(self._tail, self._calls), covers)
        premium = totals.premium_requests
        source = SHUTDOWN if self.shutdowns else "session.usage_checkpoint"
        if premium is None and self.result is not None:
            premium, source = take_number(dict(self.result), "premiumRequests"), OF_RESULT
        if premium is not None or totals.credits is not None:
            extra: Json | None = {"runs": totals.bills} if any(totals.bills) else None
            bill = Usage(premium_requests=premium, credits=totals.credits, scope="session", source=source, extra=extra)
            made.append(bill)
        return made + self.unplaced + self.compactions


def _sums(usages: list[Usage], covers: str) -> list[Usage]:
    """Return the usage that no summary covers, by model. Of answers only the output is available."""
    sums: dict[str | None, Usage] = {}
    for usage in usages:
        names = ("output",) if usage.source == OF_MESSAGE else TOKENS
        made = sums.get(usage.model)
        if made is None:
            extra: Json = {"is_tail": True, "covers": covers}
            made = sums[usage.model] = Usage(model=usage.model, scope="session", source=usage.source, extra=extra)
            if usage.source == OF_MESSAGE:
                extra["input"] = "unknown"
        for name in names:
            value = getattr(usage, name)
            if value is not None:
                setattr(made, name, (getattr(made, name) or 0) + value)
    return list(sums.values())


def _first_int(used: Json, *names: str) -> int | None:
    for name in names:
        value = take_int(used, name)
        if value is not None:
            return value
    return None


def _credits_of(used: Json) -> float | None:
    """Return what a call was billed, or None if the program reports no amount, whatever number it wrote."""
    bill = used.get("copilotUsage")
    nano = bill.get("totalNanoAiu") if isinstance(bill, dict) and used.get(CREDITS_STATUS) != UNAVAILABLE else None
    return nano / NANO if isinstance(nano, int | float) and not isinstance(nano, bool) else None
