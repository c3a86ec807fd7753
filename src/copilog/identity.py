"""When two conversations are one, and what the one is then.

Equal ids say so: a session as .json and as .jsonl, its copies in other workspaces, its entry in the index, its
editing history and its spilled tool output all carry the session's id. The fullest trace leads, gaps are filled
from the others, and every trace stays in `provenance`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import msgspec

from copilog.model import Conversation, FileEdit, Provenance, ToolResult, Turn, parts_of

PARTIAL = frozenset({"stub", "orphan-edits", "resource"})
BROKEN = frozenset({"damaged", "headless"})
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
FILLED = ("title", "assistant", "application", "location", "workspace", "started_at", "updated_at", "draft")


def merge(traces: list[Conversation]) -> Conversation:
    """One conversation from all its traces. Changes the one that leads, and returns it."""
    lead = _lead_of(traces)
    others = [trace for trace in traces if trace is not lead]
    if not others:
        return lead
    is_whole = not PARTIAL & set(lead.marks)
    for other in others:
        if PARTIAL.isdisjoint(other.marks):
            _fill_turns(lead, other)
    for other in others:
        _fill(lead, other)
        _join_edits(lead, other)
        _join_full_results(lead, other)
    if is_whole or any(mark in lead.marks for mark in ("stub", "orphan-edits")):
        _unite_marks(lead, others, is_whole)
    _unite_provenance(lead, others)
    return lead


def _lead_of(traces: list[Conversation]) -> Conversation:
    """The trace that leads: a whole conversation, the fullest; a sound log before the file it grew out of."""
    whole = [trace for trace in traces if PARTIAL.isdisjoint(trace.marks)]
    if not whole:
        return max(traces, key=lambda trace: (len(trace.file_changes), "stub" not in trace.marks))
    superseded = {
        _twin_key(trace) for trace in whole if trace.source == "vscode-session-log" and BROKEN.isdisjoint(trace.marks)
    }
    current = [trace for trace in whole if not (trace.source == "vscode-session" and _twin_key(trace) in superseded)]
    return max(current, key=_fullness)


def _twin_key(trace: Conversation) -> str:
    """The folder a trace lies in: a log there outdates the plain file of the same session."""
    return str(PurePath(trace.provenance[0].path).parent) if trace.provenance else ""


def _fullness(trace: Conversation) -> tuple[int, datetime, bool]:
    return len(trace.turns), trace.updated_at or LONG_AGO, trace.source == "vscode-session-log"


def _fill(lead: Conversation, other: Conversation) -> None:
    for name in FILLED:
        if getattr(lead, name) is None:
            setattr(lead, name, getattr(other, name))
    if lead.workspace is not None and other.workspace is not None:
        fill(lead.workspace, other.workspace)
    if lead.has_pending_edits is None:
        lead.has_pending_edits = other.has_pending_edits
    lead.relations += [relation for relation in other.relations if relation not in lead.relations]
    index = other.extra.get("index") if other.extra else None
    if index is not None and "stub" in other.marks:
        lead.extra = {**(lead.extra or {}), "index": index}


def fill(lead: Any, other: Any) -> None:
    """Fill what the lead lacks: what is absent or empty."""
    for name in msgspec.structs.fields(lead):
        if getattr(lead, name.name) in (None, []):
            setattr(lead, name.name, getattr(other, name.name))


def _fill_turns(lead: Conversation, other: Conversation) -> None:
    """Fill gaps of turns that both know; turns that only the other knows come back if the lead is damaged.

    A sound lead is trusted: what is missing there was removed by the user.
    """
    known = {turn.request_id: turn for turn in lead.turns if turn.request_id is not None}
    for turn in other.turns:
        mine = known.get(turn.request_id) if turn.request_id is not None else None
        if mine is not None:
            index, pointer = mine.index, mine.pointer
            fill(mine, turn)
            mine.index, mine.pointer = index, pointer
    if BROKEN & set(lead.marks):
        lost = [turn for turn in other.turns if turn.request_id is not None and turn.request_id not in known]
        _bring_back(lead, other, lost)


def _bring_back(lead: Conversation, other: Conversation, lost: list[Turn]) -> None:
    """Put turns that a damaged log has lost before those it still has, in the order of their times."""
    if not lost:
        return
    messages = {id(turn): [m for m in other.messages if m.turn == turn.index] for turn in lost}
    mine = {id(turn): [m for m in lead.messages if m.turn == turn.index] for turn in lead.turns}
    turns = sorted([*lost, *lead.turns], key=lambda turn: turn.timing.started_at or LONG_AGO)
    lead.turns = turns
    lead.messages = []
    for index, turn in enumerate(turns):
        turn.index = index
        for message in messages.get(id(turn)) or mine.get(id(turn), []):
            message.turn = index
            lead.messages.append(message)


def _join_edits(lead: Conversation, other: Conversation) -> None:
    if not other.file_changes and not other.files:
        return
    if not lead.file_changes:
        lead.file_changes = other.file_changes
    if not lead.files:
        lead.files = other.files
    index_of = {turn.request_id: turn.index for turn in lead.turns if turn.request_id is not None}
    diffs: dict[tuple[int, str], tuple[str, int | None, int | None]] = {}
    for change in lead.file_changes:
        change.turn = index_of.get(change.request_id) if change.request_id is not None else None
        if change.turn is not None and change.checkpoint is None and change.diff:
            diffs[change.turn, change.uri] = (change.diff, change.added, change.removed)
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


def _join_full_results(lead: Conversation, other: Conversation) -> None:
    if "resource" not in other.marks or lead.source == other.source:
        return
    full = {part.call_id: part for part in parts_of(other) if isinstance(part, ToolResult)}
    unclaimed = set(full)
    for part in parts_of(lead):
        if isinstance(part, ToolResult) and part.call_id in full:
            part.full_text = full[part.call_id].full_text
            part.full_text_path = full[part.call_id].full_text_path
            unclaimed.discard(part.call_id)
    lead.messages += [
        message
        for message in other.messages
        if any(isinstance(part, ToolResult) and part.call_id in unclaimed for part in message.parts)
    ]


def _unite_marks(lead: Conversation, others: list[Conversation], is_whole: bool) -> None:
    for other in others:
        for mark in other.marks:
            if mark in PARTIAL | BROKEN | {"inside", "empty"}:
                continue
            if mark not in lead.marks:
                lead.marks.append(mark)
    if is_whole:
        lead.marks = [mark for mark in lead.marks if mark not in PARTIAL]


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
