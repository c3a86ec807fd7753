"""Unite fields of all traces of a conversation: fill gaps, and keep overruled values in the provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from copilog.chat_json.sessions import WRITTEN
from copilog.derive import one_agent
from copilog.derive.document_union import add_document
from copilog.derive.model_names import is_same_model
from copilog.derive.running import OPEN
from copilog.identity.contradictions import agrees
from copilog.identity.part_union import fill_value
from copilog.identity.traces import EARLIER, OF_ONE_TRACE
from copilog.identity.turn_views import SAME_TIME
from copilog.model import (
    RECORDED,
    Conflict,
    Conversation,
    Model,
    Provenance,
    Turn,
    Usage,
    Value,
    is_recorded,
    read_traces,
)

# Fields of a turn in which traces can contradict each other. Ids differ by writer; lists are united.
CONTESTED = (
    "status", "agent", "command", "mode", "custom_agent", "model", "details", "error", "vote", "confirmation",
    "reason_without_vote", "undone_from", "system_label",
)  # fmt: skip
COUNTS = (
    "input", "output", "cache_read", "cache_write", "reasoning", "last_prompt", "premium_requests", "credits",
    "session_credits",
)  # fmt: skip
UNITED_LISTS = ("skills", "followups", "references", "citations", "edited_files")
CONTESTED_TIMES = ("started_at", "completed_at", "first_progress_ms", "elapsed_ms", "generated_ms", "waited_ms")
NAMED_OTHERWISE = frozenset({"agent"})  # the extension's own records call the participant by its title
OF_ONE_FILE = frozenset({
    "index", "pointer", "superseded", "branch", "traces", "part_orders", "duration", "ran_model", "extra",
})  # fmt: skip
# What the user may have withdrawn since: an outdated file must not bring it back into a newer one.
WITHDRAWABLE = frozenset({"undone_from", "is_undone", "is_hidden", "error"})
FILLED = ("assistant", "application", "location", "started_at", "updated_at", "has_pending_edits")
# These change, and each writer records another step; the lead wins.
NOT_CONTESTED = frozenset({"started_at", "updated_at", "has_pending_edits"})


def fill(lead: Any, other: Any, *, but: Iterable[str] = ()) -> None:
    """Fill absent and empty fields of the lead from the other."""
    for name in lead.__struct_fields__:
        if name not in but and getattr(lead, name) in (None, []):
            setattr(lead, name, getattr(other, name))


# --- turns ------------------------------------------------------------------------------------------------------


def fill_turn(mine: Turn, theirs: Turn, conflicts: list[Conflict], *, is_stale: bool, is_secondary: bool) -> None:
    """Fill the gaps of a turn from the same turn of another trace, and note where the two contradict each other.

    A turn whose recorded status differs from the other's gets no error from it.
    """
    has_ended = mine.status in OPEN and theirs.status not in (None, *OPEN) and not is_stale and not is_secondary
    if has_ended:  # an unfinished state does not contradict a finished one
        mine.status = theirs.status
    conflicts += _contradictions(mine, theirs, mine.index, is_secondary=is_secondary)
    but = OF_ONE_FILE | WITHDRAWABLE if is_stale else OF_ONE_FILE
    if mine.status is not None and mine.status != theirs.status:
        but |= {"error"}
    fill(mine, theirs, but=but)
    for name in CONTESTED:
        value = getattr(mine, name)
        if name not in but and isinstance(value, Value):
            setattr(mine, name, fill_value(value, getattr(theirs, name)))
    fill(mine.timing, theirs.timing)
    for name in UNITED_LISTS:
        _unite_list(mine, theirs, name, conflicts, is_stale=is_stale)
    for flag in ("is_undone", "is_hidden", "is_request_hidden", "is_system_initiated"):
        if flag not in but:
            setattr(mine, flag, getattr(mine, flag) or getattr(theirs, flag))
    if has_ended and not any(_lost_usage(theirs.usage, mine.usage, mine.index, is_earlier=True)):
        mine.usage = _united_usage(theirs.usage, mine.usage)
    else:
        conflicts += _lost_usage(mine.usage, theirs.usage, mine.index, is_earlier=theirs.status in OPEN)
        mine.usage = _united_usage(mine.usage, theirs.usage)
    if not is_stale:
        mine.extra = joined_extra(mine.extra, theirs.extra, conflicts, mine.index)


def _unite_list(mine: Turn, theirs: Turn, name: str, conflicts: list[Conflict], *, is_stale: bool) -> None:
    """Add the items that only the other trace has; items of an outdated file are overruled."""
    known = getattr(mine, name)
    missing = [item for item in getattr(theirs, name) if item not in known]
    if missing and is_stale:
        conflicts.append(Conflict(field=name, value=msgspec.to_builtins(missing), turn=mine.index))
    elif missing:
        setattr(mine, name, [*known, *missing])


def _united_usage(mine: list[Usage], theirs: list[Usage]) -> list[Usage]:
    """Return the usage of both; of a source that both have, add only the calls that one of them lacks.

    Each source counts the same calls: readers choose one source.
    """
    known = {usage.source for usage in mine}
    return [
        *mine,
        *(one for one in theirs if one.source not in known or (one.scope == "call" and one not in mine)),
    ]


def _lost_usage(mine: list[Usage], theirs: list[Usage], index: int | None, *, is_earlier: bool) -> Iterator[Conflict]:
    """Yield the totals of the other trace that contradict those of the same source.

    `is_earlier` tells that the other trace is of an earlier time: then smaller totals are an earlier state.
    """
    known = {usage.source: usage for usage in reversed(mine) if usage.scope != "call"}
    lost = [
        usage
        for usage in theirs
        if usage.scope != "call" and usage not in mine and _has_other_counts(usage, known.get(usage.source), is_earlier)
    ]
    if lost:
        yield Conflict(field="usage", value=msgspec.to_builtins(lost), turn=index)


def _has_other_counts(usage: Usage, mine: Usage | None, is_earlier: bool) -> bool:
    """Return whether two totals contradict each other in a number that both have."""
    if mine is None or (usage.model, usage.parent_call_id) != (mine.model, mine.parent_call_id):
        return mine is not None
    pairs = [(getattr(usage, name), getattr(mine, name)) for name in COUNTS]
    other = [(one, known) for one, known in pairs if one is not None and known is not None and one != known]
    return bool(other) and not (is_earlier and all(one < known for one, known in other))


def _contradictions(mine: Turn, theirs: Turn, index: int, *, is_secondary: bool) -> Iterable[Conflict]:
    for name in CONTESTED:
        if not (is_secondary and name in NAMED_OTHERWISE):
            yield from _conflict(name, getattr(mine, name), getattr(theirs, name), index)
    # The extension's own records measure other spans: from the first call of a model, or until a row is written.
    for name in () if is_secondary else CONTESTED_TIMES:
        yield from _conflict(name, getattr(mine.timing, name), getattr(theirs.timing, name), index)


def _conflict(name: str, mine: Any, theirs: Any, index: int | None) -> Iterable[Conflict]:
    if mine is None or theirs is None or mine == theirs or _is_about(name, mine, theirs):
        return
    yield Conflict(field=name, value=msgspec.to_builtins(theirs), turn=index)


def _is_about(name: str, mine: Any, theirs: Any) -> bool:
    """Return whether two values agree: times and durations within tolerance, structs where both have a value."""
    if isinstance(mine, datetime) and isinstance(theirs, datetime):
        return abs(mine - theirs) <= SAME_TIME
    if isinstance(mine, float | int) and isinstance(theirs, float | int):
        return agrees(name, mine, theirs)
    if isinstance(mine, Model) and isinstance(theirs, Model):
        return any(is_same_model(one, other) for one in _names(mine) for other in _names(theirs))
    if isinstance(mine, msgspec.Struct) and isinstance(theirs, msgspec.Struct):
        # A value with fewer fields does not contradict one with more.
        pairs = [(getattr(mine, name), getattr(theirs, name, None)) for name in mine.__struct_fields__]
        said = [(one, other) for one, other in pairs if one not in (None, "", []) and other not in (None, "", [])]
        return all(one == other for one, other in said)
    return False


def _names(model: Model) -> set[str]:
    """Return the names of a model without its vendor."""
    return {name.rpartition("/")[2] for name in (model.id, model.name, model.resolved) if name}


def own_turn(turn: Turn) -> Turn:
    """Return a copy of a turn that can be filled without changing the original."""
    return msgspec.structs.replace(turn, timing=msgspec.structs.replace(turn.timing))


# --- the conversation -------------------------------------------------------------------------------------------


def fill_conversation(lead: Conversation, other: Conversation, *, is_stale: bool) -> None:
    """Fill the fields that belong to no turn."""
    conflicts = conflicts_of(other)
    for name in FILLED:
        mine, theirs = getattr(lead, name), getattr(other, name)
        if mine is None:
            setattr(lead, name, theirs)
        elif name == "assistant" and theirs is not None:
            conflicts += _conflict(name, one_agent(mine), one_agent(theirs), None)
        elif name not in NOT_CONTESTED:
            conflicts += _conflict(name, mine, theirs, None)
    for name in ("draft", "queued"):
        mine, theirs = getattr(lead, name), getattr(other, name)
        if not mine and not is_stale:
            setattr(lead, name, theirs)
        elif theirs and mine != theirs:
            conflicts.append(Conflict(field=name, value=msgspec.to_builtins(theirs)))
    fill_workspace(lead, other)
    if other.documents:
        lead.documents = list(lead.documents)
        for document in other.documents:
            add_document(lead.documents, document)
    if other.relations:
        lead.relations = lead.relations + [relation for relation in other.relations if relation not in lead.relations]
    extra = {"edits": other.extra} if other.extra and "orphan-edits" in other.marks else other.extra
    if extra:
        lead.extra = joined_extra(lead.extra, extra, conflicts, None)
    if other.usage:
        is_earlier = len(other.turns) < len(lead.turns)
        conflicts += _lost_usage(lead.usage, other.usage, None, is_earlier=is_earlier)
        lead.usage = _united_usage(lead.usage, other.usage)
    if other.turns:
        lead.updated_at = max(filter(None, (lead.updated_at, other.updated_at)), default=None)


def conflicts_of(conversation: Conversation) -> list[Conflict]:
    """Return the list of the provenance that records overruled values of a conversation."""
    if not conversation.provenance:
        return []
    place = conversation.provenance[0]
    if not place.conflicts:
        place.conflicts = []
    return place.conflicts


def joined_extra(
    mine: dict[str, Any] | None, theirs: dict[str, Any] | None, conflicts: list[Conflict], index: int | None
) -> dict[str, Any] | None:
    """Return the united `extra` of both, and record values that contradict each other.

    What an export's JSON has more than the model is a fact about that file, and no other trace can use it.
    """
    theirs = {name: value for name, value in theirs.items() if name != WRITTEN} if theirs else None
    if not theirs or mine == theirs:
        return mine
    if not mine:
        return theirs
    joined = {**theirs, **mine}
    conflicts += [
        Conflict(field=f"extra.{name}", value=msgspec.to_builtins(theirs[name]), turn=index)
        for name in sorted(mine.keys() & theirs.keys())
        if mine[name] != theirs[name]
    ]
    return joined


def fill_workspace(lead: Conversation, other: Conversation) -> None:
    """Fill the fields of the workspace, but not from a copy that belongs to another folder."""
    mine, theirs = lead.workspace, other.workspace
    if mine is None or theirs is None:
        lead.workspace = mine or theirs
    elif mine != theirs:
        if mine.uri is None or theirs.uri in (None, mine.uri):
            lead.workspace = msgspec.structs.replace(mine)  # conversations of one folder may share the object
            fill(lead.workspace, theirs)
        if not _is_about("workspace", lead.workspace, theirs):
            conflicts_of(other).append(Conflict(field="workspace", value=msgspec.to_builtins(theirs)))


def leave_out_read_traces(traces: list[Conversation]) -> list[Provenance]:
    """Leave out of files of copilog's own the traces that were read themselves; return the traces of these files.

    The other traces that such a file names stay, with a mark, as they were not read.
    """
    read = {_key(place) for trace in traces for place in read_traces(trace) if RECORDED not in place.marks}
    recorded = [trace for trace in traces if is_recorded(trace)]
    for trace in recorded:
        own, *named = trace.provenance
        trace.provenance = [own] + [
            msgspec.structs.replace(place, marks=sorted({*place.marks, RECORDED}))
            for place in named
            if _key(place) not in read
        ]
    return [trace.provenance[0] for trace in recorded]


def unite_provenance(lead: Conversation, others: list[Conversation]) -> None:
    seen: dict[tuple[object, ...], Provenance] = {_key(place): place for place in lead.provenance}
    for other in others:
        for position, place in enumerate(other.provenance):
            if position == 0:
                place.marks = sorted({*place.marks, *OF_ONE_TRACE.intersection(other.marks)} - {EARLIER})
            if (known := seen.get(_key(place))) is not None:
                known.conflicts = [*known.conflicts, *(one for one in place.conflicts if one not in known.conflicts)]
                continue
            seen[_key(place)] = place
            if place.role == "lead":
                place.role = "copy"
            lead.provenance.append(place)


def _key(place: Provenance) -> tuple[object, ...]:
    return place.path, place.row, place.pointer, place.role == EARLIER
