"""Tokens and cost, as a log tells them: by answer, by compaction, by program run."""

from __future__ import annotations

from copilog.model import Turn, Usage
from copilog.sources._cli.totals import CREDITS_STATUS, NANO, SOURCE, UNAVAILABLE, session_totals
from copilog.sources._vscode.take import Json, rest, take_dict, take_int, take_number, take_str

OF_MESSAGE = "assistant.message"
OF_CALL = "assistant.usage"
OF_RECORD = "session.usage_record"
OF_COMPACTION = "session.compaction_complete"
OF_RESULT = "result"
AFTER_SHUTDOWN, OF_KILLED_RUNS = "after the last shutdown", "runs that were killed"
TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")


class _Answer:
    """One answer of a model, which may come in several messages."""

    __slots__ = ("call_id", "shares", "usage")

    def __init__(self, call_id: str, usage: Usage, share: int) -> None:
        self.call_id = call_id
        self.usage = usage
        self.shares = [share]


class Meter:
    """Collects what the events of a log say about tokens and cost."""

    def __init__(self) -> None:
        self.shutdowns: list[Json] = []
        self.compactions: list[Usage] = []
        self.checkpoint: Json | None = None  # the last bill since the last summary
        self.result: Json | None = None  # what the last line of a captured stream says
        self._tail: list[Usage] = []  # of answers since the last summary
        self._before_resume = (0, 0)  # how much of the tail and of the calls is of runs that were killed
        self._killed: list[Usage] = []  # of runs that were killed and that no summary covers
        self.unplaced: list[Usage] = []  # of recorded calls that belong to no turn
        self._calls: list[Usage] = []  # of recorded calls of the model since the last summary
        self._answers: dict[str | None, _Answer] = {}  # the last one of each agent

    def add_message(self, data: Json, model: str | None, turn: Turn, parent: str | None) -> None:
        """The tokens of an answer. All messages of one answer make one entry."""
        output = take_int(data, "outputTokens")
        call_id = data.get("apiCallId")
        if output is None:
            return
        last = self._answers.get(parent)
        if last is not None and last.call_id == call_id:
            last.shares.append(output)
            # Nobody has said how tokens are spread over the messages; the same number each time is the whole.
            same = len(set(last.shares)) == 1
            last.usage.output = output if same else sum(last.shares)
            return
        usage = Usage(output=output, model=model, scope="call", source=OF_MESSAGE, parent_call_id=parent)
        if isinstance(call_id, str):
            self._answers[parent] = _Answer(call_id, usage, output)
        turn.usage.append(usage)
        self._tail.append(usage)

    def add_call(self, data: Json, turn: Turn | None, source: str, parent: str | None = None) -> None:
        """Add what one call of the model took, as a log since 1.0.102 or a captured stream records it.

        In a record each call has the multiplier of its model, but only those that the user asked for cost a request.
        """
        is_asked = source != OF_RECORD or data.get("initiator") in (None, "user")
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
        """What a compaction took, in either of its two shapes. It is no part of the other sums."""
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
            source=OF_COMPACTION,
        )
        usage.extra = rest(used)
        self.compactions.append(usage)
        return usage

    def resume(self) -> None:
        """Start another run: what has no summary by now is of a run that was killed."""
        self._before_resume = len(self._tail), len(self._calls)

    def shut_down(self, data: Json) -> None:
        """Add a summary. It covers the run that ends with it, and killed ones before it if its numbers hold theirs."""
        before = session_totals(self.shutdowns).output if any(self._before_resume) else 0
        self.shutdowns.append(data)
        if any(self._before_resume):
            answers, calls = self._before_resume
            everything = sum(usage.output or 0 for usage in self._recorded(self._tail, self._calls))
            if session_totals(self.shutdowns).output - before < everything:
                self._killed += self._recorded(self._tail[:answers], self._calls[:calls])
        self.forget_past()
        self._answers.clear()
        self.checkpoint = None

    def forget_past(self) -> None:
        """Let go of what was counted: whoever streams a log has no use for it."""
        self._tail.clear()
        self._calls.clear()
        self._before_resume = 0, 0

    def _recorded(self, answers: list[Usage], calls: list[Usage]) -> list[Usage]:
        """Return calls as they were recorded one by one; the answers where none was."""
        return [usage for usage in calls if usage.source == OF_RECORD] or calls or answers

    def code_changes(self) -> Json | None:
        """How many lines were added and removed, and where."""
        totals = session_totals(self.shutdowns)
        if totals.lines_added is None and totals.lines_removed is None and not totals.files_modified:
            changes = take_dict(dict(self.result), "codeChanges") if self.result else None
            if changes is None:
                return None
            totals = session_totals([{"codeChanges": changes}])
        return {"added": totals.lines_added, "removed": totals.lines_removed, "files": totals.files_modified}

    def usages(self) -> list[Usage]:
        """All entries for the session as a whole. No two of them count the same thing."""
        totals = session_totals(self.shutdowns, self.checkpoint)
        made = list(totals.models.values())
        made += _sums(self._killed, OF_KILLED_RUNS)
        covers = AFTER_SHUTDOWN if self.shutdowns else "the whole log"
        made += _sums(self._recorded(self._tail, self._calls), covers)
        premium = totals.premium_requests
        source = SOURCE if self.shutdowns else "session.usage_checkpoint"
        if premium is None and self.result is not None:
            premium, source = take_number(dict(self.result), "premiumRequests"), OF_RESULT
        if premium is not None or totals.credits is not None:
            made.append(Usage(premium_requests=premium, credits=totals.credits, scope="session", source=source))
        return made + self.unplaced + self.compactions


def _sums(usages: list[Usage], covers: str) -> list[Usage]:
    """Return what no summary covers, by model. Of answers only the output is known."""
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
    """Return what a call was billed; None if the program says that it does not know, whatever number it wrote."""
    bill = used.get("copilotUsage")
    nano = bill.get("totalNanoAiu") if isinstance(bill, dict) and used.get(CREDITS_STATUS) != UNAVAILABLE else None
    return nano / NANO if isinstance(nano, int | float) and not isinstance(nano, bool) else None
