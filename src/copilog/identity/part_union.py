"""Unite one part, or one value inside a part, that two traces have.

Empty fields are filled from the other trace. Where both have a value, the one that is further along wins: an answered
question, a finished edit, a text that continues the other one. Else the trace that leads wins; between copies that
are equally full the value itself decides, so that it does not matter in which folder a copy is. `conflicts` records
the texts that lose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from copilog.model import (
    AnyPart,
    Approval,
    FileEdit,
    Place,
    Question,
    SubAgent,
    Terminal,
    TodoItem,
    ToolCall,
    ToolResult,
    TreeNode,
    Value,
    Vote,
)
from copilog.similarity import without_blanks

AValue = TypeVar("AValue", bound=Value)
_CUT_END = re.compile(r"(?:\.\.\.|…|(?:\.\.\.)?\[truncated[^\]]*\])\Z")  # as a store, a debug log and spans cut texts

# Positions in one file, and what is concluded later.
OF_ONE_TRACE = frozenset({"native", "position", "outcome", "concluded_exit_code"})
# Fields that say how far something is; the values that are not listed are final.
STATES = ("state", "status", "decision", "kind")
UNFINISHED_STATES = {
    "unknown": 0, "pending": 0, "unanswered": 0, "prepared": 0, "undecided": 0, "not-started": 0, "in-progress": 1,
}  # fmt: skip
FINAL = 2
# Texts of which one trace may have the beginning.
GROWING = frozenset({
    "text", "output", "answer", "result", "message", "display", "description", "reason", "detail", "arguments",
    "prompt", "full_text", "diff", "vulnerabilities",
})  # fmt: skip
# What shows that two values of a type are of the same thing. Types that are not listed agree in all their fields.
KEYS: dict[type[Value], tuple[str, ...]] = {
    Approval: ("kind",),
    Place: ("uri", "path", "range", "name"),
    Question: ("id", "title"),
    SubAgent: (),
    TodoItem: ("id", "title"),
    TreeNode: ("label", "uri"),
    Vote: ("is_up",),
}
# Origins of results that stand for the one that the model saw.
SUBSTITUTES = frozenset({"display", "terminal"})
EMPTY: tuple[Any, ...] = (None, "", [], {})


def united_part(
    mine: AnyPart,
    theirs: AnyPart,
    *,
    but: frozenset[str] = frozenset(),
    is_tied: bool = False,
    may_overrule: bool = True,
) -> AnyPart:
    """Return a part with the values of both traces, except those of the fields in `but`.

    `is_tied` tells that neither trace is fuller than the other, and `may_overrule` that a part that is further along
    wins. Without it, as for traces of different programs, only gaps are filled.
    """
    return cast("AnyPart", _united(mine, theirs, but=but, is_tied=is_tied, may_overrule=may_overrule))


def fill_value(mine: AValue, theirs: Any) -> AValue:
    """Return a value with the fields that only the other trace has; itself if the two contradict each other."""
    if type(mine) is not type(theirs) or not is_same(mine, theirs):
        return mine
    return cast("AValue", _united(mine, theirs, is_tied=False))


def united_result(
    mine: ToolResult, theirs: ToolResult, call: ToolCall | None = None, *, is_tied: bool = False
) -> AnyPart:
    """Return a result as the model saw it, with what the user saw beside it."""
    if is_substitute(mine) == is_substitute(theirs):
        return united_part(mine, theirs, is_tied=is_tied)
    shown, real = (mine, theirs) if is_substitute(mine) else (theirs, mine)
    seen = msgspec.structs.replace(shown, text="", origin=real.origin, display=_shown_beside(shown, real, call))
    if shown is mine:
        real = msgspec.structs.replace(real, is_error=mine.is_error)  # what the other says of it is a verdict
        return united_part(seen, real, is_tied=is_tied)
    return united_part(real, msgspec.structs.replace(seen, is_error=real.is_error), is_tied=is_tied)


def is_substitute(result: ToolResult) -> bool:
    """Return whether a result only repeats what the user saw, as its trace does not have what the model saw."""
    return result.origin in SUBSTITUTES


def _shown_beside(shown: ToolResult, real: ToolResult, call: ToolCall | None) -> str | None:
    """Return the text that the user saw, if no other part has it."""
    is_elsewhere = shown.origin == "terminal" or without_blanks(shown.text) == without_blanks(real.text)
    if call is not None and call.subagent is not None:
        is_elsewhere = is_elsewhere or shown.text == call.subagent.result
    return shown.display if is_elsewhere else shown.text or shown.display


def _united(
    mine: Any, theirs: Any, *, is_tied: bool, but: frozenset[str] = frozenset(), may_overrule: bool = True
) -> Any:
    """Return a struct with the fields of both."""
    if mine == theirs:
        return mine
    steps = progress(mine), progress(theirs)
    prefers_other = may_overrule and steps[1] > steps[0]
    is_equal = is_tied and steps[0] == steps[1]
    changed: dict[str, Any] = {}
    kind: type[Value] = type(mine)
    flags = flags_of(kind)
    for name in mine.__struct_fields__:
        if name in OF_ONE_TRACE or name in but:
            continue
        own, other = getattr(mine, name), getattr(theirs, name)
        if own == other:
            continue
        if name in flags:
            value = other if own == flags[name] else own
        else:
            value = _united_value(name, own, other, prefers_other=prefers_other, is_tied=is_equal)
        if value is not own:
            changed[name] = value
    if isinstance(mine, Terminal) and mine.output != theirs.output:
        taken = theirs if changed.get("output", mine.output) == theirs.output else mine
        changed["is_output_cut"] = taken.is_output_cut
    return msgspec.structs.replace(mine, **changed) if changed else mine


def _united_value(name: str, mine: Any, theirs: Any, *, prefers_other: bool, is_tied: bool) -> Any:
    if mine == theirs or is_empty(theirs):
        return mine
    if is_empty(mine):
        return theirs
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return _united_dict(name, mine, theirs, prefers_other=prefers_other, is_tied=is_tied)
    if isinstance(mine, Value) and type(mine) is type(theirs) and is_same(mine, theirs):
        return _united(mine, theirs, is_tied=is_tied)
    if isinstance(mine, list) and isinstance(theirs, list):
        merged = _united_list(name, mine, theirs, is_tied=is_tied)
        if merged is not None:
            return merged
    if isinstance(mine, str) and isinstance(theirs, str) and name in GROWING:
        if continues(mine, theirs):
            return mine
        if continues(theirs, mine):
            return theirs
    ranks = rank(name, mine), rank(name, theirs)
    if ranks[0] != ranks[1]:
        return theirs if ranks[1] > ranks[0] else mine
    if prefers_other:
        return theirs
    return max(mine, theirs, key=_order) if is_tied else mine


def _united_dict(
    name: str, mine: dict[str, Any], theirs: dict[str, Any], *, prefers_other: bool, is_tied: bool
) -> dict[str, Any]:
    growing = "text" if name == "notes" else ""
    both = {
        key: _united_value(growing, mine[key], theirs[key], prefers_other=prefers_other, is_tied=is_tied)
        for key in mine.keys() & theirs.keys()
    }
    return {**mine, **{key: both.get(key, value) for key, value in theirs.items()}}


def _united_list(name: str, mine: list[Any], theirs: list[Any], *, is_tied: bool) -> list[Any] | None:
    """Return the items of both lists; None if they are not sets of things, and neither begins with the other."""
    if mine == theirs[: len(mine)]:
        return theirs
    if theirs == mine[: len(theirs)]:
        return mine
    items = [*mine, *theirs]
    if all(isinstance(item, str) for item in items):
        return _united_texts(mine, theirs) if name in GROWING else _with_missing(mine, theirs)
    if not all(isinstance(item, Value) for item in items):
        return None
    made = list(mine)
    free = set(range(len(mine)))
    for item in theirs:
        place = next((at for at in sorted(free) if is_same_item(mine[at], item)), None)
        if place is None:
            made.append(item)
        else:
            free.discard(place)
            made[place] = _united(made[place], item, is_tied=is_tied)
    return made


def _with_missing(mine: list[Any], theirs: list[Any]) -> list[Any]:
    return [*mine, *(item for item in theirs if item not in mine)]


def _united_texts(mine: list[str], theirs: list[str]) -> list[str]:
    """Return the texts of both lists, without the beginnings of others."""
    every = _with_missing(mine, theirs)
    return [text for text in every if not any(text != other and other.startswith(text) for other in every)]


# --- comparing --------------------------------------------------------------------------------------------------


def without_cut_mark(text: str) -> str:
    """Return a text without the mark at its end that it was truncated there, if it has one."""
    return _CUT_END.sub("", text) if text.endswith(("]", "...", "…")) else text


def continues(long: str, short: str) -> bool:
    """Return whether a text begins with another one, ignoring white space and a mark that the other is truncated."""
    begun = without_blanks(without_cut_mark(short) if short.endswith("]") else short)
    return bool(begun) and without_blanks(long).startswith(begun)


@cache
def flags_of(kind: type[Value]) -> dict[str, bool]:
    """Return the flags of a type with their defaults: the default means that a trace does not record the flag."""
    defaults = zip(kind.__struct_fields__[::-1], kind.__struct_defaults__[::-1], strict=False)
    return {name: default for name, default in defaults if isinstance(default, bool)}


def is_empty(value: Any) -> bool:
    """Return whether a trace has no value here."""
    return value in EMPTY


def is_same(mine: Value, theirs: Value) -> bool:
    """Return whether two values may be of the same thing: what both have of its key is equal."""
    names: Sequence[str] = KEYS.get(type(mine), mine.__struct_fields__)
    pairs = [(getattr(mine, name), getattr(theirs, name)) for name in names]
    return all(one == other or is_empty(one) or is_empty(other) for one, other in pairs)


def is_same_item(mine: Value, theirs: Value) -> bool:
    """Return whether two items of lists are of the same thing; without a key of their type they must be equal."""
    names = KEYS.get(type(mine)) if type(mine) is type(theirs) else None
    if not names:
        return mine == theirs
    return all(getattr(mine, name) == getattr(theirs, name) for name in names)


def rank(name: str, value: Any) -> int:
    """Return how far the state in a field is; a value that is not a state is final."""
    if isinstance(value, Value):
        return progress(value)
    return UNFINISHED_STATES.get(value, FINAL) if name in STATES and isinstance(value, str) else FINAL


def progress(value: Any) -> int:
    """Return how far a part is: whether its question was answered, its edit finished, its command ended."""
    if isinstance(value, FileEdit):
        return FINAL if value.is_done else 0
    if isinstance(value, Terminal):
        return FINAL if value.exit_code is not None else 0
    ranks = [rank(name, getattr(value, name)) for name in STATES if getattr(value, name, None) is not None]
    return min(ranks, default=0)


def _order(value: Any) -> tuple[int, bytes]:
    """Return the sort key by which the larger value wins, wherever it is from."""
    encoded = msgspec.json.encode(value, order="sorted")
    return len(encoded), encoded
