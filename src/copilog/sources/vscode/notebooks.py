"""Read and edit notebooks as editing sessions store them: `[options, data]`, both JSON in a string."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.model import TextEdit
from copilog.textdiff import apply_edits
from copilog.uris import uri_parts, uri_to_string

Json = dict[str, Any]

CELL_SCHEME = "vscode-notebook-cell"
REPLACE, LANGUAGE, MOVE = 1, 4, 6  # the kinds of cell edit that change the text
_NEEDED_NUMBERS = {REPLACE: ("index", "count"), LANGUAGE: ("index",), MOVE: ("index", "length", "newIdx")}


def notebook_uri(uri: object) -> str | None:
    """Return the notebook of a cell's URI, or None for any other URI. The fragment ends in `s<scheme in base64>`."""
    if isinstance(uri, str) and uri[: len(CELL_SCHEME)].lower() != CELL_SCHEME:
        return None  # the usual case; parsing the URI takes longer
    parts = uri_parts(uri)
    if parts is None or parts.scheme != CELL_SCHEME:
        return None
    try:
        scheme = base64.b64decode(parts.fragment.partition("s")[2]).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        scheme = ""
    return uri_to_string({"scheme": scheme or "file", "authority": parts.authority, "path": parts.path})


class Notebook:
    """A notebook whose cells can be edited."""

    def __init__(self, options: Any, data: Json) -> None:
        self._options = options
        self._data = data
        self.cells: list[Json] = data["cells"]

    def text(self) -> str:
        """Return the notebook in its stored form."""
        return jsonio.encode([self._options, jsonio.encode(self._data)])

    def edit_cell(self, index: int, edits: Sequence[TextEdit]) -> bool:
        """Edit the text of one cell; return False if there is no such cell."""
        if not 0 <= index < len(self.cells):
            return False
        cell = self.cells[index]
        if not isinstance(cell.get("source"), str):
            return False
        self.cells[index] = {**cell, "source": apply_edits(cell["source"], edits)}
        return True

    def edit_cells(self, edit: Json) -> bool:
        """Apply an edit that `check_cell_edit` accepted; return False if edits of its kind do not change the text."""
        kind = edit["editType"]
        if kind == REPLACE:
            self.cells[edit["index"] : edit["index"] + edit["count"]] = edit["cells"]
        elif kind == MOVE:
            end = edit["index"] + edit["length"]
            moved = self.cells[edit["index"] : end]
            del self.cells[edit["index"] : end]
            self.cells[edit["newIdx"] : edit["newIdx"]] = moved
        elif kind == LANGUAGE and edit["index"] < len(self.cells):
            self.cells[edit["index"]] = {**self.cells[edit["index"]], "language": edit.get("language")}
        else:
            return False
        return True


def check_cell_edit(edit: object) -> Json:
    """Return the same value, checked to have the fields that its kind needs; raise BadRecord otherwise."""
    if not isinstance(edit, dict) or not _is_count(edit.get("editType")):
        raise BadRecord("a cell edit without a kind")
    if not all(_is_count(edit.get(key)) for key in _NEEDED_NUMBERS.get(edit["editType"], ())):
        raise BadRecord("a cell edit without its numbers")
    if edit["editType"] == REPLACE and not _are_cells(edit.get("cells")):
        raise BadRecord("a cell edit without cells")
    return edit


def notebook_from(text: str) -> Notebook | None:
    """Return the notebook of a stored form, or None for any other text."""
    if not text.startswith(("[null,", '["{')):
        return None
    try:
        stored, _ = jsonio.decode(text.encode("utf-8", "replace"))
        if not isinstance(stored, list) or len(stored) != 2 or not isinstance(stored[1], str):
            return None
        data, _ = jsonio.decode(stored[1].encode("utf-8", "replace"))
    except BadRecord:
        return None
    if not isinstance(data, dict) or not _are_cells(data.get("cells")):
        return None
    return Notebook(stored[0], data)


def cells_as_text(text: str) -> str | None:
    """Return the cells of a stored notebook in readable form, without outputs, or None for any other text."""
    notebook = notebook_from(text)
    if notebook is None:
        return None
    pieces = []
    for cell in notebook.cells:
        source = cell.get("source")
        pieces.append(f"# %% [{cell.get('language')}]\n")
        pieces.append(source if isinstance(source, str) else jsonio.encode(source))
        pieces.append("\n\n")
    return "".join(pieces)


def _are_cells(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(cell, dict) for cell in value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
