"""Count the lines that edits added and removed: for figures, for every view of a conversation, and for blame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from copilog.derive.argued_edits import is_among, is_vague
from copilog.derive.outcomes import is_made
from copilog.model import AnyPart, ArguedEdit, Conversation, FileChange, FileEdit, ToolCall, is_counted, parts_of
from copilog.textdiff import count_changes

UNKNOWN = (None, None)

AnyEdit = FileEdit | FileChange | ArguedEdit
Lines = tuple[int | None, int | None]  # added, removed; None if unknown


def changed_lines(edit: AnyEdit) -> Lines:
    """Return the lines that an edit added and removed; None if unknown, or if the edit was not applied."""
    if type(edit) is FileEdit and not is_made(edit):
        return UNKNOWN
    if not isinstance(edit, ArguedEdit) and edit.added is None and edit.removed is None and edit.diff:
        return count_changes(edit.diff)
    return edit.added, edit.removed


def lines_of_call(call: ToolCall) -> Lines:
    """Return the lines added and removed by edits that only the arguments of a call record."""
    return total_lines(call.edits)


def counted_edits(conversation: Conversation) -> list[AnyEdit]:
    """Return the edits of a conversation that count, each once, without those of superseded turns."""
    counted = {turn.index for turn in conversation.turns if is_counted(turn)}
    repeated = RepeatedEdits(conversation.file_changes, parts_of(conversation))
    edits: list[AnyEdit] = []
    for message in conversation.messages:
        turn = message.turn
        if turn is not None and turn not in counted:
            continue
        for part in message.parts:
            if type(part) is FileEdit and is_made(part) and not repeated.has(turn, part):
                edits.append(part)
            elif type(part) is ToolCall:
                edits += [edit for edit in part.edits if not repeated.has(turn, edit)]
    changes = total_changes(conversation.file_changes)
    return [*edits, *(change for change in changes if change.turn is None or change.turn in counted)]


class RepeatedEdits:
    """The edits of answers that are recorded a second time, in more detail.

    The same edit may be recorded twice, in the answer and in the editing history. The history is exact, so where a
    turn has it for a file, the edits of its answer to that file are not counted. And where an edit in the
    answer has no line counts, and the arguments of its call have, those count.
    """

    def __init__(self, changes: list[FileChange], parts: Iterable[AnyPart]) -> None:
        self._exact: dict[int | None, set[str]] = {}
        for change in changes:
            self._exact.setdefault(change.turn, set()).add(change.path or change.uri)
        self._argued = {part.id: part.edits for part in parts if type(part) is ToolCall and part.edits}

    def has(self, turn: int | None, edit: FileEdit | ArguedEdit) -> bool:
        """Return whether an edit of this turn is a repetition, which is not counted."""
        path = edit.path or (edit.uri if isinstance(edit, FileEdit) else None)
        if path is None:
            return False
        if turn in self._exact and is_among(path, self._exact[turn]):
            return True
        if not isinstance(edit, FileEdit) or edit.call_id not in self._argued or not is_vague(edit):
            return False
        return is_among(path, [argued.path for argued in self._argued[edit.call_id or ""]])


def total_lines(edits: Iterable[AnyEdit]) -> Lines:
    """Return the lines that edits added and removed in total; None if no edit has counts."""
    return sum_of_lines(map(changed_lines, edits))


def sum_of_lines(each: Iterable[Lines]) -> Lines:
    """Return the sums of lines added and removed; None if no count is known."""
    added: list[int] = []
    removed: list[int] = []
    for lines in each:
        for known, count in zip((added, removed), lines, strict=True):
            if count is not None:
                known.append(count)
    return sum(added) if added else None, sum(removed) if removed else None


def signed_lines(lines: Lines, minus: str = "-") -> list[str]:
    """Return `+12` and `-3`; leave out unknown counts, and edits that changed no line."""
    if not any(lines):
        return []
    return [f"{sign}{count:,}" for sign, count in zip(("+", minus), lines, strict=True) if count is not None]


def line_counts_text(lines: Lines, minus: str = "-") -> str:
    """Return `+12 -3`, without unknown counts; empty if no line changed."""
    return " ".join(signed_lines(lines, minus))


def total_changes(changes: list[FileChange]) -> Iterator[FileChange]:
    """Yield the change of each file by each request; the steps of a request only if its total is not recorded."""
    whole = {(change.request_id, change.uri) for change in changes if change.checkpoint is None}
    for change in changes:
        if change.checkpoint is None or (change.request_id, change.uri) not in whole:
            yield change
