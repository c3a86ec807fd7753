"""The operations of an editing session's timeline, decoded and checked; and a file while they are replayed on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from copilog.errors import BadRecord
from copilog.model import TextEdit
from copilog.sources._vscode.file_versions import Absence, Version
from copilog.sources._vscode.notebooks import Notebook, check_cell_edit, notebook_from, notebook_uri
from copilog.sources._vscode.parts import text_edit_from
from copilog.sources._vscode.uris import uri_to_string
from copilog.textdiff import EditableText

Json = dict[str, Any]

KNOWN_TYPES = frozenset({"create", "delete", "rename", "textEdit", "notebookEdit"})


@dataclass(slots=True)
class Operation:
    """One operation on one file. `uri` is the name before it; cells count as their notebook."""

    type: str
    uri: str
    epoch: int
    request_id: str | None
    raw: Json
    text: str | None = None  # of the file that was created, or deleted
    new_uri: str | None = None
    edits: list[TextEdit] = field(default_factory=list)
    cell_index: int | None = None
    cell_edits: list[Json] = field(default_factory=list)


def operation_from(raw: object) -> Operation | None:
    """An operation; None for one of an unknown type. Raise BadRecord when it lacks what its type needs."""
    if not isinstance(raw, dict) or not isinstance(kind := raw.get("type"), str):
        raise BadRecord("an operation without a type")
    if kind not in KNOWN_TYPES:
        return None
    operation = Operation(
        type=kind,
        uri=_file(raw, "oldUri" if kind == "rename" else "uri"),
        epoch=whole_number(raw, "epoch"),
        request_id=_optional_text(raw, "requestId"),
        raw=raw,
    )
    if kind == "create":
        operation.text = _optional_text(raw, "initialContent")
        if operation.text is None:
            raise BadRecord("a created file without its text")
    elif kind == "delete":
        operation.text = _optional_text(raw, "finalContent")
    elif kind == "rename":
        operation.new_uri = _file(raw, "newUri")
    elif kind == "textEdit":
        operation.edits = [_edit(edit) for edit in _list(raw, "edits")]
        if raw.get("cellIndex") is not None:
            operation.cell_index = whole_number(raw, "cellIndex")
    else:
        operation.cell_edits = [check_cell_edit(edit) for edit in _list(raw, "cellEdits")]
    return operation


def whole_number(raw: Json, key: str) -> int:
    """A number of an object; raise BadRecord when it is none."""
    value = raw.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRecord(f"{key} is no whole number")
    return value


def _optional_text(raw: Json, key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRecord(f"{key} is no text")
    return value


def _list(raw: Json, key: str) -> list[Any]:
    value = raw.get(key)
    if not isinstance(value, list):
        raise BadRecord(f"{key} is no list")
    return value


def _file(raw: Json, key: str) -> str:
    uri = uri_to_string(raw.get(key))
    if uri is None:
        raise BadRecord(f"{key} names no file")
    return notebook_uri(uri) or uri


def _edit(raw: object) -> TextEdit:
    edit = text_edit_from(raw)
    if edit is None:
        raise BadRecord("a text edit without range or text")
    return edit


class Document:
    """A file in the middle of a replay."""

    def __init__(self, version: Version) -> None:
        self._version: Version | None = version  # None while `_body` is ahead of it
        self._body: EditableText | Notebook | None = None

    def version(self) -> Version:
        """The file as it is now."""
        if self._version is None:
            assert self._body is not None
            self._version = self._body.text()
        return self._version

    @property
    def is_unknown(self) -> bool:
        return self._version is Absence.UNKNOWN

    def replace(self, version: Version) -> None:
        self._version, self._body = version, None

    def edit(self, edits: Sequence[TextEdit]) -> None:
        """Edit the text; what was edited without being known, or being there, stays unknown."""
        if not isinstance(self._body, EditableText):
            text = self.version()
            if not isinstance(text, str):
                self.replace(Absence.UNKNOWN)
                return
            self._body = EditableText(text)
        self._body.apply(edits)
        self._version = None

    def edit_cell(self, index: int, edits: Sequence[TextEdit]) -> None:
        notebook = self._notebook()
        if notebook is None or not notebook.edit_cell(index, edits):
            self.replace(Absence.UNKNOWN)
        else:
            self._version = None

    def edit_cells(self, cell_edits: Sequence[Json]) -> bool:
        """Edit the list of cells; False when some of it could not be replayed."""
        notebook = self._notebook()
        if notebook is None:
            self.replace(Absence.UNKNOWN)
            return False
        self._version = None
        replayed = [notebook.edit_cells(edit) for edit in cell_edits]
        return all(replayed)

    def _notebook(self) -> Notebook | None:
        if not isinstance(self._body, Notebook):
            text = self.version()
            self._body = notebook_from(text) if isinstance(text, str) else None
        return self._body
