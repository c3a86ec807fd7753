"""Match tool calls of two traces of a turn that are the same call.

Calls with one id are. VS Code, its extension and the model may each have an id of their own for the same call; then
equal arguments prove it, or, where a trace has no arguments, its position. Two recorded ids of one form with other
arguments are two calls.

Within one turn, writers also record other arguments of one call: with defaults filled in, or as it was corrected
before it ran. There the same result proves it, or the position between the same neighbours, unless the results differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from copilog import jsonio
from copilog.derive.tool_names import key_of
from copilog.errors import BadRecord
from copilog.identity.part_union import without_cut_mark
from copilog.model import UNASKED, Message, ToolCall, ToolResult
from copilog.similarity import DISTINCTIVE_LENGTH, without_blanks
from copilog.uris import uri_to_path

_MADE_UP = re.compile(
    r"(?:(?:part|call|prepared)-\d+|[0-9a-f]{16}(?::\d+)?)?"
)  # ids that readers make up where a trace has none
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PREFIX = re.compile(r"[A-Za-z]+(?=[_-])")  # call_..., toolu_..., tooluse_...

Pairs = dict[str, tuple[ToolCall, ToolCall]]


def same_calls(mine: list[ToolCall], theirs: list[ToolCall]) -> Pairs:
    """Pair the calls that both have, by the other's id: by ids, else by tool and arguments, else by position."""
    same = _same_by_id(mine, theirs)
    if len(same) < len(theirs):
        _match_without_id(mine, theirs, same)
    return same


def same_calls_of_turn(mine: list[Message], theirs: list[Message]) -> Pairs:
    """Pair the calls that both traces of one turn have, also those with other arguments."""
    calls, others = _calls_in(mine), _calls_in(theirs)
    same = _same_by_id(calls, others)
    if len(same) == len(others):
        return same
    texts, other_texts = _results_in(mine), _results_in(theirs)

    def have_same_result(own: ToolCall, call: ToolCall) -> bool:
        text, other = texts.get(own.id, ""), other_texts.get(call.id, "")
        is_distinctive = min(len(text), len(other)) >= DISTINCTIVE_LENGTH
        return is_distinctive and _have_different_writers(own, call) and _is_same_text(text, other)

    def may_have_same_result(own: ToolCall, call: ToolCall) -> bool:
        text, other = texts.get(own.id), other_texts.get(call.id)
        return not text or not other or _is_same_text(text, other)

    def have_similar_arguments(own: ToolCall, call: ToolCall) -> bool:
        return _have_different_writers(own, call) and _share_arguments(own, call)

    if texts and other_texts:  # of several calls with the same arguments each has its own result
        _match(calls, others, same, lambda *pair: have_same_result(*pair) and _share_arguments(*pair))
    _match_without_id(calls, others, same)
    if len(same) < len(others) and len({id(own) for own, _ in same.values()}) < len(calls):
        _match(calls, others, same, lambda *pair: may_have_same_result(*pair) and have_similar_arguments(*pair))
        _match(calls, others, same, have_same_result)
        _match_between_neighbours(calls, others, same, may_have_same_result)
    return same


def _same_by_id(mine: list[ToolCall], theirs: list[ToolCall]) -> Pairs:
    by_id = {name: call for call in mine for name in (call.id, *call.native_ids)}
    same: Pairs = {}
    for call in theirs:
        own = next((by_id[name] for name in (call.id, *call.native_ids) if name in by_id), None)
        if own is not None:
            same[call.id] = (own, call)
    return same


def _match_without_id(mine: list[ToolCall], theirs: list[ToolCall], same: Pairs) -> None:
    _match(mine, theirs, same, have_same_arguments)
    _match_by_position(mine, theirs, same)
    _match_unasked(mine, theirs, same)


def is_recorded(name: str) -> bool:
    """Return whether a trace recorded an id, rather than a reader making it up."""
    return _MADE_UP.fullmatch(name) is None


def _match(
    mine: list[ToolCall], theirs: list[ToolCall], same: Pairs, is_same: Callable[[ToolCall, ToolCall], bool]
) -> None:
    """Match calls of one tool that are left in both, each with the first one that fits."""
    taken = {id(own) for own, _ in same.values()}
    free = [call for call in mine if id(call) not in taken]
    for call in theirs:
        if call.id not in same:
            twin = next((own for own in free if _is_same_tool(own, call) and is_same(own, call)), None)
            if twin is not None:
                free.remove(twin)
                same[call.id] = (twin, call)


def _match_between_neighbours(
    mine: list[ToolCall], theirs: list[ToolCall], same: Pairs, may_be_same: Callable[[ToolCall, ToolCall], bool]
) -> None:
    """Match the calls between two that both traces have, or before or after all of them, if their tools agree."""
    ends = [same[call.id] for call in theirs if call.id in same]
    taken = {id(own) for own, _ in ends}
    begin = other_begin = 0
    for own, other in (*ends, (None, None)):
        end = _index_of(own, mine) if own is not None else len(mine)
        other_end = _index_of(other, theirs) if other is not None else len(theirs)
        gap, other_gap = mine[begin:end], theirs[other_begin:other_end]
        is_alike = len(gap) == len(other_gap) and all(
            id(one) not in taken
            and _is_same_tool(one, call)
            and _have_different_writers(one, call)
            and may_be_same(one, call)
            for one, call in zip(gap, other_gap, strict=True)
        )
        if is_alike:
            same.update({call.id: (one, call) for one, call in zip(gap, other_gap, strict=True)})
        begin, other_begin = max(begin, end + 1), other_end + 1


def _index_of(call: ToolCall, calls: list[ToolCall]) -> int:
    return next(at for at, one in enumerate(calls) if one is call)


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
    return _have_different_writers(one, other)


def _have_different_writers(one: ToolCall, other: ToolCall) -> bool:
    """Return whether two ids may be of one call: they are not ids of one form."""
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


def have_same_arguments(one: ToolCall, other: ToolCall) -> bool:
    """Return whether two calls have the same arguments, as JSON values; either may be truncated."""
    mine, theirs = one.arguments, other.arguments
    if mine is None or theirs is None:
        return False
    if without_blanks(mine) == without_blanks(theirs):
        return True
    values = _parsed(mine), _parsed(theirs)
    return _is_same_text(mine, theirs) if None in values else _is_same_value(*values)


def _share_arguments(one: ToolCall, other: ToolCall) -> bool:
    """Return whether the arguments that both calls have are the same, and one of them has no other arguments."""
    mine, theirs = _parsed(one.arguments or ""), _parsed(other.arguments or "")
    if not isinstance(mine, dict) or not isinstance(theirs, dict):
        return False
    shared = mine.keys() & theirs.keys()
    if len(shared) < min(len(mine), len(theirs)) or not any(mine[name] for name in shared):
        return False
    return all(_is_same_value(mine[name], theirs[name]) or str(mine[name]) == str(theirs[name]) for name in shared)


def _is_same_value(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same_value(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_value, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return _is_same_text(one, other) or _is_same_file(one, other)
    return bool(one == other)


def _is_same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal, or one is the beginning of the other and marked as truncated."""
    one, other = without_blanks(one), without_blanks(other)
    if one == other:
        return True
    return any(
        (begun := without_cut_mark(cut)) not in ("", cut) and whole.startswith(begun)
        for cut, whole in ((one, other), (other, one))
    )


def _is_same_file(one: str, other: str) -> bool:
    """Return whether two texts name one file: as a URI and as a path, or with the separators of Windows."""
    if not any(text.startswith("file:") or "\\" in text for text in (one, other)):
        return False
    return _plain_path(one) == _plain_path(other)


def _plain_path(text: str) -> str:
    path = (uri_to_path(text) or text).replace("\\", "/")
    return path[0].lower() + path[1:] if path[1:2] == ":" else path


def _calls_in(messages: list[Message]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolCall)]


def _results_in(messages: list[Message]) -> dict[str, str]:
    parts = (part for message in messages for part in message.parts)
    return {part.call_id: part.text for part in parts if isinstance(part, ToolResult) and part.text}


def _parsed(arguments: str) -> Any:
    try:
        return jsonio.decode((arguments or "{}").encode("utf-8", "replace"))[0]
    except BadRecord:
        return None
