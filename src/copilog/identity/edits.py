"""Attach what is stored next to a session to its turns and calls: the history of edits, and spilled tool output."""

from __future__ import annotations

from typing import Any

import msgspec

from copilog.identity.field_union import conflicts_of
from copilog.identity.messages import insert_after_call
from copilog.model import Conflict, Conversation, FileChange, FileEdit, ToolCall, ToolResult
from copilog.model.recorded_names import UNDONE_REQUESTS

Diff = tuple[str, int | None, int | None]


def mark_undone(lead: Conversation, others: list[Conversation]) -> None:
    """Mark the last turns as undone where the history of edits was rewound to before them.

    A log of VS Code lacks this mark for a request that was saved after it had ended.
    """
    extras = [other.extra for other in others if other.extra and "orphan-edits" in other.marks]
    undone = {name for extra in extras for name in extra.get(UNDONE_REQUESTS, ())}
    for turn in reversed(lead.turns if undone else []):
        if turn.request_id in undone:
            turn.superseded, turn.is_undone = turn.superseded or "undone", True
        elif turn.superseded is None:
            break


def join_edits(lead: Conversation, others: list[Conversation]) -> None:
    """Unite the histories of edits, and attach each change to the turn of its request."""
    for other in others:
        if not other.file_changes and not other.files:
            continue
        if not lead.file_changes and not lead.files:
            lead.file_changes, lead.files = other.file_changes, other.files
            continue
        conflicts = conflicts_of(other)
        known = {_key(change): change for change in lead.file_changes}
        added = [change for change in other.file_changes if _key(change) not in known]
        for change in other.file_changes:
            if _key(change) in known and _content(change) != _content(known[_key(change)]):
                conflicts.append(Conflict(field="file change", value=msgspec.to_builtins(change)))
        states = {state.uri: state for state in lead.files}
        for state in other.files:
            if state.uri in states and state != states[state.uri]:
                conflicts.append(Conflict(field="file state", value=msgspec.to_builtins(state)))
        lead.file_changes = lead.file_changes + added
        lead.files = lead.files + [state for state in other.files if state.uri not in states]
    if not lead.file_changes:
        return
    index_of = {turn.request_id: turn.index for turn in lead.turns if turn.request_id is not None}
    diffs: dict[tuple[int, str], Diff] = {}
    for change in lead.file_changes:
        change.turn = index_of.get(change.request_id) if change.request_id is not None else None
        if change.turn is not None and change.checkpoint is None and change.diff:
            diffs[change.turn, change.uri] = (change.diff, change.added, change.removed)
    if diffs:
        _give_diffs(lead, diffs)


def _key(change: FileChange) -> tuple[Any, ...]:
    """Return the key that identifies a change; its whole content if it has no request."""
    if change.request_id is None:
        return change.uri, *_content(change)
    return change.request_id, change.uri, change.checkpoint


def _content(change: FileChange) -> tuple[str | None, ...]:
    return change.before, change.after, change.diff


def _give_diffs(lead: Conversation, diffs: dict[tuple[int, str], Diff]) -> None:
    """Copy the diff of the history to the edit of a file, if the turn has only one edit of it."""
    edits: dict[tuple[int, str], list[FileEdit]] = {}
    for message in lead.messages:
        for part in message.parts:
            if isinstance(part, FileEdit) and part.uri is not None and message.turn is not None:
                edits.setdefault((message.turn, part.uri), []).append(part)
    for key, parts in edits.items():
        if len(parts) == 1 and key in diffs:
            parts[0].diff, parts[0].added, parts[0].removed = diffs[key]


def join_full_results(lead: Conversation, others: list[Conversation]) -> None:
    """Give results their full text; text without a result becomes a message after its call, or at the end."""
    spilled = [message for other in others if "resource" in other.marks for message in other.messages]
    if not spilled:
        return
    parts = [(message.turn, part) for message in lead.messages for part in message.parts]
    calls = [(turn, part) for turn, part in parts if isinstance(part, ToolCall)]
    results = [(turn, part) for turn, part in parts if isinstance(part, ToolResult)]
    for message in spilled:
        for full in [part for part in message.parts if isinstance(part, ToolResult)]:
            turn, full.call_id = _owner_of(full, calls)
            is_shared = any(at != turn and call.id == full.call_id for at, call in calls)
            known = [one for at, one in results if one.call_id == full.call_id and (at == turn or not is_shared)]
            lacking = [result for result in known if result.full_text is None]
            for result in lacking:
                result.full_text, result.full_text_path = full.full_text, full.full_text_path
            if not lacking and all(result.full_text != full.full_text for result in known):
                results.append((turn, full))
                insert_after_call(lead.messages, message, full.call_id, turn)


def _owner_of(full: ToolResult, calls: list[tuple[int | None, ToolCall]]) -> tuple[int | None, str]:
    """Return the turn and the id of the call whose output was spilled; None as the turn if there is no such call.

    Calls of several turns may share an id. The folder of the output is named by the id of the extension, which no
    other call has; without that, the last call has overwritten the output of the others.
    """
    folder = (full.full_text_path or "").replace("\\", "/").split("/")[-2:-1]
    for name in (*folder, full.call_id):
        found = [(turn, call.id) for turn, call in calls if name == call.id or name in call.native_ids]
        if found:
            return found[-1]
    return None, full.call_id
