"""Find the values of a part that the united part contradicts: numbers, times, states and other short values.

`conflicts` finds the texts that a united turn lacks, wherever they are. This module compares a part with the same part
of the united turn, field by field. Two values agree if they differ only in precision, or if one of them is an earlier
state of the same thing. docs/identity.md has the rules.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from copilog.derive.model_names import is_same_model
from copilog.identity.part_union import (
    GROWING,
    STATES,
    continues,
    flags_of,
    is_empty,
    is_same,
    is_same_item,
    progress,
    rank,
)
from copilog.identity.turn_views import SAME_CLOCK
from copilog.model import AnyPart, ToolCall, ToolResult, Value
from copilog.similarity import DISTINCTIVE_LENGTH, without_blanks

SAME_DURATION_MS = 2_000  # writers read the clock at different steps, and some round to seconds
# Ids and names that each writer assigns, positions in one file, and what is concluded from all traces.
OF_WRITERS = frozenset({
    "native", "position", "id", "call_id", "round_id", "native_ids", "run_id", "tool_id", "origin", "uri", "path",
    "full_text_path", "outcome", "concluded_exit_code", "verdicts", "edits",
})  # fmt: skip
# Of calls: other traces' verdicts have the outcome and the exit code; names are those of the model or the registered
# ones, and arguments are compared as JSON values.
OF_CALLS = frozenset({"status", "exit_code", "name", "arguments"})
# Numbers that increase while a part grows.
INCREASING = frozenset({"elapsed_ms", "added", "removed"})
# What identifies a part, or an item of a list, for readers.
NAMES = ("id", "call_id", "name", "title", "label", "type", "topic", "tool", "command", "uri", "path")


def contradicted(part: AnyPart, united: AnyPart) -> dict[str, Any] | None:
    """Return the values of a part that the united part contradicts, with what identifies the part; None without any."""
    lost = _lost_fields(part, united)
    if not lost:
        return None
    return {"kind": part.__struct_config__.tag, **_names_of(part), **lost}


def agrees(name: str, mine: float | datetime, theirs: float | datetime) -> bool:
    """Return whether two numbers or times are equal within the precision of their writers."""
    if isinstance(mine, datetime) and isinstance(theirs, datetime):
        return abs(mine - theirs) <= SAME_CLOCK
    if isinstance(mine, datetime) or isinstance(theirs, datetime):
        return False
    return mine == theirs or (name.endswith("_ms") and abs(mine - theirs) <= SAME_DURATION_MS)


def _lost_fields(mine: Value, united: Value) -> dict[str, Any]:
    """Return the fields in which two values of the same thing contradict each other, as JSON values."""
    if mine == united or _is_earlier(mine, united):
        return {}
    flags = flags_of(type(mine))
    skipped = OF_WRITERS | OF_CALLS if isinstance(mine, ToolCall) else OF_WRITERS
    if _is_beginning(mine, united):
        skipped |= INCREASING
    lost: dict[str, Any] = {}
    for name in mine.__struct_fields__:
        one, other = getattr(mine, name), getattr(united, name)
        if one == other or name in skipped or name in flags or is_empty(one) or is_empty(other):
            continue
        if isinstance(united, ToolResult) and name in ("text", "display") and one in (united.text, united.display):
            continue
        if (value := _lost_value(name, one, other)) is not None:
            lost[name] = value
    return lost


def _is_earlier(mine: Value, united: Value) -> bool:
    """Return whether a value had not ended where the united one has. Many traces do not record how a call ended."""
    if isinstance(mine, ToolCall):
        return mine.status == "prepared"
    return progress(mine) < progress(united)


def _is_beginning(mine: Value, united: Value) -> bool:
    """Return whether a value is an earlier state: one of its texts, or its edits, continue in the united one."""
    for name in mine.__struct_fields__:
        one, other = getattr(mine, name), getattr(united, name)
        if one == other:
            continue
        if isinstance(one, str) and isinstance(other, str) and name in GROWING and continues(other, one):
            return True
        if isinstance(one, list) and isinstance(other, list) and len(one) < len(other) and one == other[: len(one)]:
            return True
    return False


def _lost_value(name: str, mine: Any, united: Any) -> Any:
    """Return a value, or what of it the united one contradicts, as JSON values; None without a contradiction."""
    match mine, united:
        case (dict(), dict()):
            both = {key: _lost_value(key, mine[key], united[key]) for key in mine.keys() & united.keys()}
            return {key: both[key] for key in sorted(both) if both[key] is not None} or None
        case (list(), list()):
            return _lost_items(mine, united)
        case (Value(), Value()) if type(mine) is type(united) and is_same(mine, united):
            return _lost_fields(mine, united) or None
        case (bool(), _) | (_, bool()):
            is_lost = mine != united and name != "is_done"
        case (int() | float() | datetime(), int() | float() | datetime()):
            is_lost = not agrees(name, mine, united)
        case (str(), str()):
            is_lost = _is_other_text(name, mine, united)
        case _:
            is_lost = mine != united and rank(name, mine) >= rank(name, united)
    return msgspec.to_builtins(mine) if is_lost else None


def _is_other_text(name: str, mine: str, united: str) -> bool:
    """Return whether two texts contradict each other. `conflicts` finds long ones; short ones may be anywhere."""
    if name in STATES:
        return mine != united and rank(name, mine) >= rank(name, united)
    if name == "model":
        return not is_same_model(mine, united)
    if len(mine) >= DISTINCTIVE_LENGTH or not any(map(str.isalnum, mine)):
        return False
    if without_blanks(mine).casefold() == without_blanks(united).casefold():
        return False
    return name not in GROWING or not (continues(mine, united) or continues(united, mine))


def _lost_items(mine: list[Any], united: list[Any]) -> list[Any] | None:
    """Return the items of a list that the united list contradicts; a list that is not a set of things, as a whole."""
    if mine == united[: len(mine)] or all(isinstance(item, str) for item in (*mine, *united)):
        return None
    if not all(isinstance(item, Value) for item in (*mine, *united)):
        return list(msgspec.to_builtins(mine)) if mine[: len(united)] != united else None
    lost: list[Any] = []
    for item in mine:
        twins = [other for other in united if is_same_item(item, other)]
        if twins and item not in twins and (fields := _lost_fields(item, twins[0])):
            lost.append({**_names_of(item), **fields})
    return lost or None


def _names_of(value: Value) -> dict[str, str]:
    found = {name: getattr(value, name, None) for name in NAMES}
    return {name: text for name, text in found.items() if isinstance(text, str) and text}
