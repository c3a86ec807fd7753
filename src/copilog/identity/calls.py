"""Match tool calls of two traces of a turn that are the same call.

Calls with one id are. VS Code, its extension and the model may each have an id of their own for the same call; then
equal arguments prove it, or, where a trace has no arguments, its position. Two recorded ids of one form with other
arguments are two calls.
"""

from __future__ import annotations

import re
from typing import Any

from copilog import jsonio
from copilog.derive.tool_names import key_of
from copilog.errors import BadRecord
from copilog.model import UNASKED, ToolCall
from copilog.similarity import without_blanks

_MADE_UP = re.compile(
    r"(?:(?:part|call)-\d+|[0-9a-f]{16}(?::\d+)?)?"
)  # ids that readers make up where a trace has none
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PREFIX = re.compile(r"[A-Za-z]+(?=[_-])")  # call_..., toolu_..., tooluse_...
_CUT_END = re.compile(r"(?:\.\.\.|…|(?:\.\.\.)?\[truncated[^\]]*\])\Z")  # as a store, a debug log and spans cut texts

Pairs = dict[str, tuple[ToolCall, ToolCall]]


def same_calls(mine: list[ToolCall], theirs: list[ToolCall]) -> Pairs:
    """Pair the calls that both have, by the other's id: by ids, else by tool and arguments, else by position."""
    by_id = {name: call for call in mine for name in (call.id, *call.native_ids)}
    same: Pairs = {}
    for call in theirs:
        own = next((by_id[name] for name in (call.id, *call.native_ids) if name in by_id), None)
        if own is not None:
            same[call.id] = (own, call)
    if len(same) == len(theirs):
        return same
    free = [call for call in mine if all(call is not known for known, _ in same.values())]
    for call in theirs:
        if call.id in same or call.arguments is None:
            continue
        twin = next((own for own in free if _is_same_tool(own, call) and _have_same_arguments(own, call)), None)
        if twin is not None:
            free.remove(twin)
            same[call.id] = (twin, call)
    _match_by_position(mine, theirs, same)
    _match_unasked(mine, theirs, same)
    return same


def is_recorded(name: str) -> bool:
    """Return whether a trace recorded an id, rather than a reader making it up."""
    return _MADE_UP.fullmatch(name) is None


def _match_by_position(mine: list[ToolCall], theirs: list[ToolCall], same: Pairs) -> None:
    """Match calls of one tool between the same neighbours, if neither ids nor arguments show that they differ."""
    places = {id(call): place for place, call in enumerate(mine)}
    taken = {places[id(own)] for own, _ in same.values()}
    known = [places[id(same[call.id][0])] if call.id in same else None for call in theirs]
    behind = 0
    for position, call in enumerate(theirs):
        place = known[position]
        if place is None and call.native != UNASKED:
            end = next((later for later in known[position + 1 :] if later is not None), len(mine))
            between = (found for found in range(behind, end) if found not in taken)
            place = next((found for found in between if _may_be_same(mine[found], call)), None)
            if place is not None:
                taken.add(place)
                same[call.id] = (mine[place], call)
        behind = behind if place is None else place + 1


def _match_unasked(mine: list[ToolCall], theirs: list[ToolCall], same: Pairs) -> None:
    """Match a call without a recorded request if it is the only call of its tool that is left in both traces."""
    taken = {id(own) for own, _ in same.values()}
    free = [call for call in mine if id(call) not in taken]
    left = [call for call in theirs if call.id not in same]
    for call in left:
        if call.native == UNASKED and sum(_is_same_tool(call, other) for other in left) == 1:
            found = [own for own in free if _is_same_tool(own, call)]
            if len(found) == 1 and _may_be_same(found[0], call):
                same[call.id] = (found[0], call)


def _may_be_same(one: ToolCall, other: ToolCall) -> bool:
    if not _is_same_tool(one, other) or (one.arguments is not None and other.arguments is not None):
        return False
    form = _form_of(one.id)
    return not form or form != _form_of(other.id)


def _form_of(name: str) -> str:
    """Return the form of an id, which shows the program that assigned it; empty for an id that a reader made up."""
    if not is_recorded(name):
        return ""
    if _UUID.fullmatch(name):
        return "uuid"
    prefix = _PREFIX.match(name)
    return prefix[0] if prefix else "other"


def _is_same_tool(one: ToolCall, other: ToolCall) -> bool:
    return one.name == other.name or key_of(one) == key_of(other)


def _have_same_arguments(one: ToolCall, other: ToolCall) -> bool:
    """Return whether two calls have the same arguments, as JSON values; either may be truncated."""
    mine, theirs = one.arguments, other.arguments
    if mine is None or theirs is None:
        return False
    if without_blanks(mine) == without_blanks(theirs):
        return True
    values = _parsed(mine), _parsed(theirs)
    return _is_same_text(mine, theirs) if None in values else _is_same_value(*values)


def _is_same_value(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same_value(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_value, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return _is_same_text(one, other)
    return bool(one == other)


def _is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal, or one is the beginning of the other and marked as truncated."""
    one, other = without_blanks(one), without_blanks(other)
    if one == other:
        return True
    return any(
        (begun := _CUT_END.sub("", cut)) not in ("", cut) and whole.startswith(begun)
        for cut, whole in ((one, other), (other, one))
    )


def _parsed(arguments: str) -> Any:
    try:
        return jsonio.decode((arguments or "{}").encode("utf-8", "replace"))[0]
    except BadRecord:
        return None
