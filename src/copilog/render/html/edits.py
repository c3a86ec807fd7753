"""Edits of files: those of the answer, and those that only the editing history tells of."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.derive.line_counts import changed_lines
from copilog.derive.outcomes import is_made
from copilog.derive.unapplied import shown_diff
from copilog.model import Conversation, FileChange, FileEdit, Turn
from copilog.render.changes import UNMADE, VERBS, as_hunks
from copilog.render.html.blocks import Edit, Stage
from copilog.render.html.calls import cells_text
from copilog.render.html.passages import diff_of, long_text
from copilog.render.safe import clean_line
from copilog.render.words import counted, path_words


def edit_block(edit: FileEdit, turn: int | None, number: int, position: int, stage: Stage) -> Edit:
    """One edit of the answer, with what became of it."""
    ranges = [change for batch in edit.batches for change in batch]
    diff = edit.diff or (as_hunks(ranges) if ranges else "")
    facts = [
        counted(len(ranges), "text edit") if edit.diff is None and ranges else "",
        counted(len(edit.cells), "notebook operation") if edit.cells else "",
        "not finished" if edit.is_done is False else "",
        "not applied" if edit.is_applied is False else "",
        f"not made: the call {UNMADE.get(edit.outcome or '', '')}" if not is_made(edit) else "",
    ]
    added, removed = changed_lines(edit)
    return Edit(
        verb=VERBS.get(edit.action, clean_line(edit.action, 40)),
        path=_name(edit.path or edit.uri, stage),
        new_path=path_words(edit.new_uri, stage.folder) if edit.new_uri else "",
        added=added,
        removed=removed,
        fate=stage.fate_of(edit.uri, turn, False),
        facts=[fact for fact in facts if fact],
        diff=diff_of(diff, (added, removed)) if diff else None,
        body=long_text(cells_text(edit.cells), is_whole=stage.is_whole) if edit.cells else None,
        raw=stage.addresses.raw(number, position),
    )


def change_block(change: FileChange, stage: Stage, *, is_open: bool = False) -> Edit:
    """One change of the editing history."""
    old = change.old_uri if change.action == "rename" else None
    path = change.path or change.uri
    added, removed = changed_lines(change)
    return Edit(
        verb=VERBS.get(change.action, clean_line(change.action, 40)),
        path=_name(old or path, stage),
        new_path=_name(path, stage) if old else "",
        added=added,
        removed=removed,
        fate=stage.fate_of(change.uri, change.turn, change.is_undone),
        diff=diff_of(diff, (added, removed)) if (diff := shown_diff(change)) else None,
        is_open=is_open,
    )


def _name(path: str | None, stage: Stage) -> str:
    return path_words(path, stage.folder) if path else "an unknown file"


def changes_of(turn: Turn, numbers: list[int], stage: Stage) -> Iterator[Edit]:
    """What the editing history says of a turn beyond its answer: diffs where the answer shows none."""
    conversation = stage.conversation
    parts = [part for number in numbers for part in conversation.messages[number].parts if isinstance(part, FileEdit)]
    edited = {uri for part in parts for uri in (part.uri, part.new_uri)}
    told = {part.uri for part in parts if part.diff}
    for change in whole_changes(conversation, {turn.index}):
        if change.uri not in told and (change.uri not in edited or change.added or change.removed):
            yield change_block(change, stage, is_open=change.uri not in edited)


def whole_changes(conversation: Conversation, turns: set[int | None]) -> list[FileChange]:
    """The changes of these turns, those of single steps only where there are no others."""
    changes = [change for change in conversation.file_changes if change.turn in turns]
    return [change for change in changes if change.checkpoint is None] or changes
