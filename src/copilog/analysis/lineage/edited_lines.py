"""Find the lines that a conversation wrote into files, and those that it removed.

The editing history has the text of a file before and after each request; edits in answers have a diff, or ranges and
the new text; without either, the text comes from the arguments of the tools that edit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from copilog.analysis.lineage.path_matching import Likeness, plain_path
from copilog.derive.argued_edits import is_among, is_vague
from copilog.derive.edit_arguments import MOST_CHARACTERS, Lines, joined, lines_in_arguments
from copilog.derive.edit_outcomes import EditOutcomes, is_edit_undone
from copilog.derive.line_counts import UNKNOWN, changed_lines, total_changes, total_lines
from copilog.derive.outcomes import is_done, is_made, is_partly_done
from copilog.model import Conversation, FileChange, FileEdit, Message, ToolCall, Turn
from copilog.textdiff import unified_diff
from copilog.textdiff.changed_lines import added_and_removed, lines_of

Kind = Literal["edit", "snapshot", "tool-call"]

# Returns the requested file that a recorded path is, and the likeness of the paths; None if it is another file.
FileMatcher = Callable[[str], tuple[str, Likeness] | None]


class Edit(msgspec.Struct, kw_only=True):
    """One change of a requested file."""

    kind: Kind
    file: str  # the requested file
    path: str  # as recorded
    likeness: Likeness
    turn: int | None = None
    at: datetime | None = None
    action: str = "edit"
    added: list[str] = []
    removed: list[str] = []
    added_count: int | None = None  # as all other views count them; None if unknown
    removed_count: int | None = None
    fate: str | None = None  # kept, undone, changed, pending; None if not recorded
    is_rough: bool = False  # the text before is not recorded: some lines may not be new


def edits_in(conversation: Conversation, matcher: FileMatcher) -> list[Edit]:
    """Return the changes of files that a conversation made: by its answers in order, then by its editing history."""
    reader = _Reader(conversation, matcher)
    edits = list(reader.edits())
    recorded = {edit.file for edit in edits}
    return [*edits, *(edit for edit in reader.edits_by_states() if edit.file not in recorded)]


class _Reader:
    """One conversation while its edits of files are collected."""

    def __init__(self, conversation: Conversation, matcher: FileMatcher) -> None:
        self.conversation = conversation
        self.matcher = matcher
        self.fates = EditOutcomes(conversation)
        self.turns = {turn.index: turn for turn in conversation.turns}
        self.calls: dict[str, ToolCall] = {}
        self.explained: set[str] = set()  # calls whose edits are parts of the answer
        for message in conversation.messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self.calls[part.id] = part
                elif isinstance(part, FileEdit) and part.call_id is not None:
                    self.explained.add(part.call_id)

    def edits(self) -> Iterator[Edit]:
        before = self._lines_before()
        for message in self.conversation.messages:
            for part in message.parts:
                made: Iterable[Edit] = ()
                if isinstance(part, FileEdit):
                    made = self._of_answer(part, message) if is_made(part) else ()
                elif isinstance(part, ToolCall) and part.id not in self.explained:
                    made = self._of_call(part, message)
                for edit in made:
                    if edit.is_rough and edit.file in before:
                        edit.added = [line for line in edit.added if line not in before[edit.file]]
                        edit.is_rough = False
                    yield edit
        for change in total_changes(self.conversation.file_changes):
            yield from self._of_snapshot(change)

    def edits_by_states(self) -> Iterator[Edit]:
        """Yield the entire change of a file, if only its first and its last text were recorded."""
        for state in self.conversation.files:
            if state.initial is None or state.current is None or state.initial == state.current:
                continue
            turn = next((turn for turn in self.conversation.turns if turn.request_id == state.request_id), None)
            yield from self._of_snapshot(
                FileChange(
                    uri=state.uri,
                    path=state.path,
                    before=state.initial,
                    after=state.current,
                    diff=_diff_between(state.initial, state.current),
                    turn=turn.index if turn is not None else None,
                )
            )

    def _lines_before(self) -> dict[str, frozenset[str]]:
        """Return the lines of files before the conversation touched them, from a backup or a snapshot."""
        found: dict[str, frozenset[str]] = {}
        for state in self.conversation.files:
            judged = self.matcher(_spelled(state.path, state.uri)) if state.initial is not None else None
            if judged is not None:
                found[judged[0]] = frozenset(lines_of(state.initial or ""))
        return found

    # --- parts of answers -------------------------------------------------------------------------------------------

    def _of_answer(self, part: FileEdit, message: Message) -> Iterator[Edit]:
        for name in dict.fromkeys((_spelled(part.path, part.uri), part.new_uri or "")):
            judged = self.matcher(name) if name else None
            if judged is None:
                continue
            turn = self._turn(message.turn)
            is_undone = turn is not None and is_edit_undone(part, turn)
            lines = self._lines_of(part, plain_path(name))
            added, removed = self._counts_of(part)
            yield self._edit(
                "edit",
                name,
                judged,
                lines,
                turn=message.turn,
                at=self._time_of_edit(message, turn),
                action=part.action,
                added_count=added,
                removed_count=removed,
                fate=self.fates.of(part.uri, message.turn, is_undone),
            )
            return

    def _counts_of(self, part: FileEdit) -> tuple[int | None, int | None]:
        """Return how many lines were added and removed, as figures count them."""
        call = self.calls.get(part.call_id or "")
        argued = [edit for edit in call.edits if is_among(edit.path, [part.path or part.uri or ""])] if call else []
        return changed_lines(part) if not is_vague(part) else total_lines(argued)

    def _lines_of(self, part: FileEdit, path: str) -> Lines:
        if part.diff is not None and len(part.diff) <= MOST_CHARACTERS:
            return Lines(*added_and_removed(part.diff))
        if part.batches:
            return _lines_of_batches(part)
        call = self.calls.get(part.call_id or "")
        if call is not None and not is_partly_done(call) and part.action in ("edit", "create"):
            return joined(lines for named, lines in lines_in_arguments(call.arguments) if _is_like(path, named))
        return Lines()

    def _of_call(self, call: ToolCall, message: Message) -> Iterator[Edit]:
        """Yield the edits in a call's arguments, if no edit was recorded for the call."""
        if not is_done(call) or call.status == "prepared":
            return
        at = call.started_at or self._time_of_edit(message, self._turn(message.turn))
        pieces: dict[str, list[Lines]] = {}
        for named, lines in lines_in_arguments(call.arguments):
            pieces.setdefault(named, []).append(lines)
        counts = {edit.path: changed_lines(edit) for edit in call.edits}
        is_partly = is_partly_done(call)
        for named, parts in pieces.items():
            judged = self.matcher(named) if named in counts or not is_partly else None
            if judged is not None:
                added, removed = counts.get(named, UNKNOWN)
                facts = {"turn": message.turn, "at": at, "added_count": added, "removed_count": removed}
                yield self._edit("tool-call", named, judged, Lines() if is_partly else joined(parts), **facts)

    # --- the editing history ----------------------------------------------------------------------------------------

    def _of_snapshot(self, change: FileChange) -> Iterator[Edit]:
        for name in dict.fromkeys((_spelled(change.path, change.uri), change.old_uri or "")):
            judged = self.matcher(name) if name else None
            if judged is None:
                continue
            lines = _lines_of_change(change)
            added, removed = changed_lines(change)
            yield self._edit(
                "snapshot",
                name,
                judged,
                lines,
                turn=change.turn,
                at=self._time_of_edit(None, self._turn(change.turn)),
                action=change.action,
                added_count=added,
                removed_count=removed,
                fate=self.fates.of(change.uri, change.turn, change.is_undone),
            )
            return

    # --- details ----------------------------------------------------------------------------------------------------

    def _edit(self, kind: Kind, name: str, judged: tuple[str, Likeness], lines: Lines, **facts: Any) -> Edit:
        file, likeness = judged
        counts = {} if lines.is_rough else {"added_count": len(lines.added), "removed_count": len(lines.removed)}
        return Edit(
            kind=kind,
            file=file,
            path=plain_path(name),
            likeness=likeness,
            added=lines.added,
            removed=lines.removed,
            is_rough=lines.is_rough,
            **(counts | facts),
        )

    def _turn(self, index: int | None) -> Turn | None:
        return self.turns.get(index) if index is not None else None

    def _time_of_edit(self, message: Message | None, turn: Turn | None) -> datetime | None:
        if message is not None and message.created_at is not None:
            return message.created_at
        if turn is not None and turn.timing.started_at is not None:
            return turn.timing.started_at
        return self.conversation.started_at or self.conversation.updated_at


def _spelled(path: str | None, uri: str | None) -> str:
    """Return a file as it was recorded; the address of one on another machine identifies the machine, its path does
    not.
    """
    if uri and path and not uri.startswith("file:") and "://" in uri:
        return uri
    return path or uri or ""


def _is_like(path: str, named: str) -> bool:
    """Return whether a call names this file, possibly relative to some folder."""
    plain = plain_path(named)
    return path == plain or path.endswith(f"/{plain.lstrip('/')}") or plain.endswith(f"/{path.lstrip('/')}")


# --- lines ----------------------------------------------------------------------------------------------------------


def _lines_of_batches(part: FileEdit) -> Lines:
    """Return the inserted texts. What they replaced is not recorded, unless they replaced nothing."""
    lines = Lines()
    for batch in part.batches:
        for edit in batch:
            lines.added += lines_of(edit.text[:MOST_CHARACTERS])
            is_insertion = (edit.start_line, edit.start_column) == (edit.end_line, edit.end_column)
            lines.is_rough = lines.is_rough or not is_insertion
    if part.action == "create":
        lines.is_rough = False
    return lines


def _diff_between(before: str, after: str) -> str | None:
    return unified_diff(before, after, "file") if len(before) + len(after) <= MOST_CHARACTERS else None


def _lines_of_change(change: FileChange) -> Lines:
    if change.diff is not None:
        return Lines(*added_and_removed(change.diff))
    before = None if change.action == "create" else change.before
    is_known = change.after is not None and (before is not None or change.action == "create")
    if not is_known or len(change.after or "") + len(before or "") > MOST_CHARACTERS:
        return Lines()
    return Lines(*added_and_removed(unified_diff(before, change.after, "file")))
