"""Read a usage entry: the numbers that a table can hold, and what they cover."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from copilog.model import Usage
from copilog.model.recorded_names import AFTER_SHUTDOWN, COPIED_BY_FORK, OF_KILLED_RUNS
from copilog.store.details import LARGEST_NUMBER
from copilog.store.message_counts import Slot

TOKENS = ("input", "output", "cache_read", "cache_write", "reasoning")
WITHOUT_AN_END = frozenset({OF_KILLED_RUNS, COPIED_BY_FORK})

Counted = tuple[Slot, Usage]  # recorded numbers, and the turn and sub-agent that they belong to


def tokens_of(usage: Usage) -> dict[str, Any]:
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return {
        name: count
        for name, count in zip(TOKENS, counts, strict=True)
        if count is not None and 0 <= count < LARGEST_NUMBER
    }


def count_of(usage: Usage, name: str) -> Any:
    """Return a number of a usage; None if it is missing, negative, or too large for a table."""
    count = getattr(usage, name)
    return count if count is not None and 0 <= count < LARGEST_NUMBER else None


def output_of(usages: Iterable[Usage]) -> int:
    total = 0
    for usage in usages:
        output = usage.output
        if output is not None and 0 <= output < LARGEST_NUMBER:
            total += output
    return total


def is_tail(usage: Usage) -> bool:
    """Return whether a total covers only what was used after the last `session.shutdown`."""
    return usage.extra is not None and usage.extra.get("covers") == AFTER_SHUTDOWN


def is_of_cut_off_run(usage: Usage) -> bool:
    """Return whether a total covers only runs without an end: killed, or copied by a fork. No other total does."""
    return usage.extra is not None and usage.extra.get("covers") in WITHOUT_AN_END


def has_tokens(usage: Usage) -> bool:
    return usage.input is not None or usage.output is not None


def is_compaction(usage: Usage) -> bool:
    return usage.extra is not None and usage.extra.get("initiator") == "compaction"


def caller_of(usage: Usage) -> str | None:
    """Return the id of the call whose sub-agent used it, whichever field has it; None for the main agent."""
    if usage.parent_call_id is not None or usage.extra is None:
        return usage.parent_call_id
    caller = usage.extra.get("parent_call_id") or usage.extra.get("parent_tool_call_id") or usage.extra.get("agent_id")
    return caller if isinstance(caller, str) and caller != "main" else None
