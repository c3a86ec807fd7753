"""Records of single calls of a model, as a store of sessions has them: whose they are."""

from __future__ import annotations

from copilog.derive.helper_usage import helper_of
from copilog.model import Turn, Usage


def is_aside(usage: Usage) -> bool:
    """Return whether a call was not the main agent's: a sub-agent's, a helper's, or one that compacted the history."""
    told = usage.extra or {}
    by_other = usage.parent_call_id or told.get("agent_id") or told.get("parent_tool_call_id")
    return bool(by_other) or told.get("initiator") == "compaction" or helper_of(usage) is not None


def turns_by_number(turns: list[Turn]) -> dict[int, int]:
    """The turns by their number in a store, which counts prompts and may leave some out."""
    numbers = {turn.index: (turn.extra or {}).get("turn_index") for turn in turns}
    if any(number is not None for number in numbers.values()):
        return {number if isinstance(number, int) else index: index for index, number in numbers.items()}
    prompted = [turn for turn in turns if turn.request_id is not None] or turns
    return {number: turn.index for number, turn in enumerate(prompted)}
