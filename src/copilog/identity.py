"""When two conversations are one, and what the one is then.

Equal ids say so: a session as .json and as .jsonl, its copies in other workspaces, its entry in the index, its
editing history and its spilled tool output all carry the session's id. The fullest trace leads, gaps are filled
from the others, and every trace stays in `provenance`. The order of the traces makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import msgspec

from copilog.likeness import pairs_of
from copilog.model import (
    Conversation,
    FileEdit,
    Message,
    Provenance,
    ToolCall,
    ToolResult,
    Turn,
    parts_of,
    results_by_call,
)

PARTIAL = frozenset({"stub", "orphan-edits", "resource", "memory", "todos", "rewind"})
# Marks of traces that retell a conversation with less than its own file has: they fill gaps and never lead over it.
RETOLD = frozenset({"transcript", "debug-log", "trace", "store-row", "trajectory"})
BROKEN = frozenset({"damaged", "headless"})
OF_ONE_TRACE = PARTIAL | RETOLD | BROKEN | {"inside", "empty"}  # marks that need not hold for the whole
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
LOG, FILE, STORE = "vscode-session-log", "vscode-session", "vscode-state"

FILLED = ("title", "assistant", "application", "location", "started_at", "updated_at", "has_pending_edits")
# What a person may have taken back since: an older trace must not bring it into a sound one again.
TAKEN_BACK = frozenset({"undone_from", "error", "extra"})
OF_ONE_FILE = frozenset({"index", "pointer"})


def merge(traces: list[Conversation]) -> Conversation:
    """One conversation from all its traces. Changes the one that leads, and returns it."""
    if len(traces) == 1:
        return traces[0]
    lead = _lead_of(traces)
    others = sorted((trace for trace in traces if trace is not lead), key=_fullness, reverse=True)
    for other in others:
        if _is_whole(other):
            _fill_turns(lead, other)
            _fill_calls(lead, other)
    _take_name(lead, others)
    for other in others:
        _fill(lead, other)
    _join_edits(lead, others)
    _join_full_results(lead, others)
    for other in others:
        lead.marks += [mark for mark in other.marks if mark not in OF_ONE_TRACE and mark not in lead.marks]
    _unite_provenance(lead, others)
    return lead


def together(traces: list[Conversation]) -> list[list[Conversation]]:
    """Traces by conversation. A trajectory cannot tell whose session it is of: it goes with one that has its id."""
    named: dict[str, str] = {}
    for trace in traces:
        if trace.native_id is not None and "trajectory" not in trace.marks:
            named.setdefault(trace.native_id, trace.id)
    groups: dict[str, list[Conversation]] = {}
    for trace in traces:
        if trace.native_id is not None and "trajectory" in trace.marks:
            trace.id = named.get(trace.native_id, trace.id)
        groups.setdefault(trace.id, []).append(trace)
    return list(groups.values())


def copy_of(trace: Conversation) -> Conversation:
    """A copy that can be merged without changing the original: its lists are its own."""
    return msgspec.structs.replace(
        trace,
        marks=list(trace.marks),
        relations=list(trace.relations),
        provenance=[msgspec.structs.replace(place) for place in trace.provenance],
        turns=list(trace.turns),
        messages=list(trace.messages),
    )


# --- which trace leads ------------------------------------------------------------------------------------------


def _lead_of(traces: list[Conversation]) -> Conversation:
    """The fullest trace of those that VS Code did not leave behind when it went on in another file."""
    current = [trace for trace in traces if not any(_outdates(other, trace) for other in traces)]
    fullest = max(current, key=_fullness)
    if fullest.source == FILE:
        # A log is newer than any plain file. A broken one is completed from the file, so it may well be the shorter.
        broken_logs = [trace for trace in current if trace.source == LOG and trace.turns and _is_broken(trace)]
        return max(broken_logs, key=_fullness, default=fullest)
    return fullest


def _outdates(newer: Conversation, older: Conversation) -> bool:
    """Whether VS Code turned one trace into the other, and left the older one as it was.

    A log without any turn does not count: that is what a failed write leaves.
    """
    if older.source not in (FILE, STORE):  # first: this leaves few
        return False
    if not newer.turns or _is_broken(newer) or not newer.provenance or not older.provenance:
        return False
    if older.source == FILE:
        return newer.source == LOG and _folder_of(newer) == _folder_of(older)
    is_store = older.source == STORE and _is_whole(older)
    return is_store and newer.source in (LOG, FILE) and _folder_of(newer).parent == _folder_of(older)


def _fullness(trace: Conversation) -> tuple[Any, ...]:
    """What traces are ranked by; the places at the end only see to it that no two are equal."""
    return (
        _is_whole(trace),
        RETOLD.isdisjoint(trace.marks),
        len(trace.turns),
        not _is_broken(trace),
        len(trace.file_changes),
        "stub" not in trace.marks,
        trace.updated_at or LONG_AGO,
        trace.source == LOG,
        [(place.path, place.row or "", place.pointer or "") for place in trace.provenance],
    )


def _is_whole(trace: Conversation) -> bool:
    return PARTIAL.isdisjoint(trace.marks)


def _is_broken(trace: Conversation) -> bool:
    return not BROKEN.isdisjoint(trace.marks)


def _folder_of(trace: Conversation) -> PurePath:
    return PurePath(trace.provenance[0].path).parent


# --- gaps -------------------------------------------------------------------------------------------------------


def fill(lead: Any, other: Any, *, but: Iterable[str] = ()) -> None:
    """Fill what the lead lacks: what is absent or empty."""
    for name in lead.__struct_fields__:
        if name not in but and getattr(lead, name) in (None, []):
            setattr(lead, name, getattr(other, name))


def _fill(lead: Conversation, other: Conversation) -> None:
    for name in FILLED:
        if getattr(lead, name) is None:
            setattr(lead, name, getattr(other, name))
    if _is_broken(lead) and _is_whole(other):
        lead.draft = lead.draft or other.draft
        lead.queued = lead.queued or other.queued
    _fill_workspace(lead, other)
    lead.relations += [relation for relation in other.relations if relation not in lead.relations]
    extra = {"edits": other.extra} if other.extra and "orphan-edits" in other.marks else other.extra
    if extra:
        lead.extra = _joined_extra(lead.extra or {}, extra)
    known = {usage.source for usage in lead.usage}  # each source counts the same calls: views choose one
    lead.usage = [*lead.usage, *(usage for usage in other.usage if usage.source not in known)]


def _joined_extra(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """What both know beyond the model; each memory file brings a list of its own."""
    joined = {**theirs, **mine}
    memories = [memory for extra in (mine, theirs) for memory in extra.get("memories", [])]
    if memories:
        joined["memories"] = [memory for place, memory in enumerate(memories) if memory not in memories[:place]]
    return joined


def _fill_workspace(lead: Conversation, other: Conversation) -> None:
    """Fill what is known of the folder, but not from a copy that belongs to another one."""
    mine, theirs = lead.workspace, other.workspace
    if mine is None or theirs is None:
        lead.workspace = mine or theirs
    elif mine.uri is None or theirs.uri in (None, mine.uri):
        lead.workspace = msgspec.structs.replace(mine)  # the same object may stand for a whole folder
        fill(lead.workspace, theirs)


def _fill_turns(lead: Conversation, other: Conversation) -> None:
    """Fill gaps of turns that both know; turns and answers that only the other knows come back if the lead is broken.

    A sound lead is trusted: what is missing there was removed by the user.
    """
    is_broken = _is_broken(lead)
    my_messages, their_messages = _by_turn(lead), _by_turn(other)
    for mine, theirs in pairs_of(lead, other):
        fill(mine, theirs, but=OF_ONE_FILE if is_broken else OF_ONE_FILE | TAKEN_BACK)
        fill(mine.timing, theirs.timing)
        _fill_messages(my_messages.get(mine.index, []), their_messages.get(theirs.index, []))
    if is_broken:
        known: dict[str | None, Turn] = {turn.request_id: turn for turn in lead.turns if turn.request_id is not None}
        _bring_back(lead, other, known)


def _fill_messages(mine: list[Message], theirs: list[Message]) -> None:
    """Tell the mode of the user's message, and the model of the answers where the other trace knows of only one."""
    mode = next((message.mode for message in theirs if message.role == "user" and message.mode), None)
    known = {message.model: message for message in theirs if message.role == "assistant" and message.model}
    answer = known.popitem()[1] if len(known) == 1 else None
    for message in mine:
        if message.parent_call_id is not None:
            continue
        if message.role == "user" and message.mode is None:
            message.mode = mode
        elif message.role == "assistant" and message.model is None and answer is not None:
            message.model, message.model_source = answer.model, answer.model_source


def _take_name(lead: Conversation, others: list[Conversation]) -> None:
    """A conversation that was found without its id takes it from a trace that has one."""
    if lead.native_id is None:
        named = next((other for other in others if other.native_id is not None), None)
        if named is not None:
            lead.id, lead.native_id = named.id, named.native_id


def _fill_calls(lead: Conversation, other: Conversation) -> None:
    """Give calls the arguments and results that only the other trace recorded."""
    theirs = {part.id: part for part in parts_of(other) if isinstance(part, ToolCall)}
    if not theirs:
        return
    results = results_by_call(other)
    answered = results_by_call(lead)
    calls = [part for part in parts_of(lead) if isinstance(part, ToolCall) and part.id in theirs]
    for call in calls:
        if call.arguments is None:
            call.arguments = theirs[call.id].arguments
        if call.id not in answered and call.id in results:
            _place_behind_call(lead, Message(role="tool", parts=[results[call.id]]), call.id)


def _bring_back(lead: Conversation, other: Conversation, known: dict[str | None, Turn]) -> None:
    """Put turns that a broken log has lost behind the turn that they followed, else by time, else first.

    A turn whose whole answer is lost gets the one that the other has.
    """
    mine, theirs = _by_turn(lead), _by_turn(other)
    order = [(turn, mine.get(turn.index, [])) for turn in lead.turns]
    their_ids = {turn.request_id for turn in other.turns}
    place = 0
    for turn in other.turns:
        my_turn, messages = known.get(turn.request_id), theirs.get(turn.index, [])
        if my_turn is not None:
            place = 1 + next(index for index, (placed, _) in enumerate(order) if placed is my_turn)
            _bring_back_answer(my_turn, order[place - 1][1], turn, messages)
        elif turn.request_id is not None:
            while place < len(order) and order[place][0].request_id not in their_ids and _began(order[place][0], turn):
                place += 1
            turn.pointer = None  # it leads into another file
            order.insert(place, (turn, messages))
            place += 1
    _number(lead, order, mine.get(None, []))


def _bring_back_answer(turn: Turn, messages: list[Message], other: Turn, theirs: list[Message]) -> None:
    answer = [message for message in theirs if message.role != "user"]
    if answer and all(message.role == "user" for message in messages):
        messages += answer
        turn.status = other.status


def _began(one: Turn, other: Turn) -> bool:
    """Whether a turn is known to have begun before another."""
    first, second = one.timing.started_at, other.timing.started_at
    return first is not None and second is not None and first < second


def _by_turn(conversation: Conversation) -> dict[int | None, list[Message]]:
    messages: dict[int | None, list[Message]] = {}
    for message in conversation.messages:
        messages.setdefault(message.turn, []).append(message)
    return messages


def _number(lead: Conversation, order: list[tuple[Turn, list[Message]]], loose: list[Message]) -> None:
    """Give the lead these turns with their messages, and then those that belong to no turn."""
    lead.turns = [turn for turn, _ in order]
    lead.messages = []
    for index, (turn, messages) in enumerate(order):
        turn.index = index
        for message in messages:
            message.turn = index
        lead.messages += messages
    lead.messages += loose


# --- edits ------------------------------------------------------------------------------------------------------


def _join_edits(lead: Conversation, others: list[Conversation]) -> None:
    for other in others:
        requests = {change.request_id for change in lead.file_changes}
        uris = {state.uri for state in lead.files}
        lead.file_changes = lead.file_changes + [c for c in other.file_changes if c.request_id not in requests]
        lead.files = lead.files + [state for state in other.files if state.uri not in uris]
    if not lead.file_changes:
        return
    index_of = {turn.request_id: turn.index for turn in lead.turns if turn.request_id is not None}
    diffs: dict[tuple[int, str], tuple[str, int | None, int | None]] = {}
    for change in lead.file_changes:
        change.turn = index_of.get(change.request_id) if change.request_id is not None else None
        if change.turn is not None and change.checkpoint is None and change.diff:
            diffs[change.turn, change.uri] = (change.diff, change.added, change.removed)
    if diffs:
        _give_diffs(lead, diffs)


def _give_diffs(lead: Conversation, diffs: dict[tuple[int, str], tuple[str, int | None, int | None]]) -> None:
    """A file that one part of a turn edits, and no other, has that part's diff in its history."""
    edits: dict[tuple[int, str], list[FileEdit]] = {}
    for message in lead.messages:
        for part in message.parts:
            if isinstance(part, FileEdit) and part.uri is not None and message.turn is not None:
                edits.setdefault((message.turn, part.uri), []).append(part)
    for key, parts in edits.items():
        if len(parts) == 1 and key in diffs:
            parts[0].diff, parts[0].added, parts[0].removed = diffs[key]


# --- spilled tool output ----------------------------------------------------------------------------------------


def _join_full_results(lead: Conversation, others: list[Conversation]) -> None:
    """Give results their full text; what fits nowhere becomes a message behind its call, or at the end."""
    spilled = [message for other in others if "resource" in other.marks for message in other.messages]
    if not spilled:
        return
    results: dict[str, list[ToolResult]] = {}
    id_of: dict[str, str] = {}
    for part in parts_of(lead):
        if isinstance(part, ToolResult):
            results.setdefault(part.call_id, []).append(part)
        elif isinstance(part, ToolCall):
            id_of.update(dict.fromkeys(part.native_ids, part.id))
    for message in spilled:
        for full in [part for part in message.parts if isinstance(part, ToolResult)]:
            full.call_id = id_of.get(full.call_id, full.call_id)
            known = results.setdefault(full.call_id, [])
            lacking = [result for result in known if result.full_text is None]
            for result in lacking:
                result.full_text, result.full_text_path = full.full_text, full.full_text_path
            if not lacking and all(result.full_text != full.full_text for result in known):
                known.append(full)
                _place_behind_call(lead, message, full.call_id)


def _place_behind_call(lead: Conversation, message: Message, call_id: str) -> None:
    for position, asking in enumerate(lead.messages):
        if any(isinstance(part, ToolCall) and part.id == call_id for part in asking.parts):
            message.turn, message.parent_call_id = asking.turn, asking.parent_call_id
            lead.messages.insert(position + 1, message)
            return
    lead.messages.append(message)


# --- provenance -------------------------------------------------------------------------------------------------


def _unite_provenance(lead: Conversation, others: list[Conversation]) -> None:
    seen = {_trace_key(trace) for trace in lead.provenance}
    for other in others:
        for trace in other.provenance:
            if _trace_key(trace) in seen:
                continue
            seen.add(_trace_key(trace))
            if trace.role == "lead":
                trace.role = "copy"
            lead.provenance.append(trace)


def _trace_key(trace: Provenance) -> tuple[str, str | None, str | None]:
    return trace.path, trace.row, trace.pointer
