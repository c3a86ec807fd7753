"""The versions that a file goes through in an editing session, and the change from one to another."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

from copilog.model import FileChange
from copilog.sources._vscode.notebooks import cells_as_text
from copilog.sources._vscode.uris import uri_to_path
from copilog.textdiff import Diff, diff_of

FIRST_STEP = "start"  # the step of a request before its first undo stop, which has no id


class Absence(Enum):
    """Why there is no text of a file."""

    NOT_THERE = "the file did not exist"
    UNKNOWN = "the text was not recorded, or is lost"


Version = str | Absence
Action = Literal["edit", "create", "delete", "rename"]


class ChangeMaker:
    """Makes file changes. The same two texts, of a request and of its only step, say, are compared once."""

    def __init__(self) -> None:
        # By the very objects, for to look a long text up means to read all of it; the change keeps them from ending.
        self._diffs: dict[tuple[int, int, str, str | None], tuple[Diff, FileChange]] = {}

    def change(
        self, uri: str, before: Version, after: Version, *, old_uri: str | None = None, **facts: Any
    ) -> FileChange:
        """The change of a file; without a diff where one of the two texts is unknown."""
        if old_uri == uri:
            old_uri = None
        change = FileChange(
            uri=uri,
            path=uri_to_path(uri),
            old_uri=old_uri,
            action=_action(before, after, is_renamed=old_uri is not None),
            before=before if isinstance(before, str) else None,
            after=after if isinstance(after, str) else None,
            **facts,
        )
        if Absence.UNKNOWN not in (before, after):
            change.diff, change.added, change.removed = self._diff(change)
        return change

    def _diff(self, change: FileChange) -> Diff:
        key = id(change.before), id(change.after), change.uri, change.old_uri
        known = self._diffs.get(key)
        if known is not None:
            return known[0]
        diff = diff_of(
            _readable(change.before),
            _readable(change.after),
            change.path or change.uri,
            uri_to_path(change.old_uri) if change.old_uri else None,
        )
        self._diffs[key] = diff, change
        return diff


def _action(before: Version, after: Version, *, is_renamed: bool) -> Action:
    if after is Absence.NOT_THERE:
        return "delete"
    if before is Absence.NOT_THERE:
        return "create"
    return "rename" if is_renamed else "edit"


def _readable(text: str | None) -> str | None:
    """The text to compare: of a notebook its cells, for as stored it is one endless line."""
    if text is None:
        return None
    cells = cells_as_text(text)
    return text if cells is None else cells
