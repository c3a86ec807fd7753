"""Count the lines that the arguments of an editing tool add and remove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from copilog.textdiff import unified_diff
from copilog.textdiff.changed_lines import added_and_removed, lines_of

Action = Literal["edit", "create", "delete", "rename"]
MOST_CHARACTERS = 32 << 20  # of one text that is taken apart
PATHS = ("filePath", "path", "file_path", "target_file", "filename", "uri")
BEFORE = ("oldString", "old_str", "old_string", "oldText", "old_text")
AFTER = ("newString", "new_str", "new_string", "newText", "new_text", "content", "contents", "file_text",
         "insert_text", "code", "code_edit", "newCode")  # fmt: skip
WHOLE = ("content", "contents", "file_text")  # the content of the file, not a piece of it
OF_A_CELL = "editType"  # the operation on one cell of a notebook
LISTS = ("replacements", "edits")
PATCHES = ("input", "patch")
PATCHED: dict[str, Action] = {
    "*** Add File: ": "create", "*** Update File: ": "edit", "*** Delete File: ": "delete", "*** Move to: ": "rename",
}  # fmt: skip


class Lines(msgspec.Struct):
    """Lines added and removed; None where they were not recorded."""

    added: list[str] = []
    removed: list[str] = []
    is_rough: bool = False
    action: Action = "edit"


def joined(pieces: Iterable[Lines]) -> Lines:
    """Return the lines of several pieces as those of one edit."""
    whole = Lines()
    for piece in pieces:
        whole.added += piece.added
        whole.removed += piece.removed
        whole.is_rough = whole.is_rough or piece.is_rough
        whole.action = piece.action
    return whole


def lines_in_arguments(arguments: str | None) -> Iterator[tuple[str, Lines]]:
    """Yield the lines that the arguments of an editing tool write, file by file; nothing for any other tool."""
    written = edits_in_arguments(arguments)
    if isinstance(written, str):
        yield from _lines_in_patch(written)
        return
    for named, piece in written:
        lines = _lines_in_piece(piece)
        if lines is not None:
            yield named, lines


def edits_in_arguments(arguments: str | None) -> str | list[tuple[str, dict[str, Any]]]:
    """Return what the arguments of an editing tool write: a patch, or pieces, each with its file."""
    if not arguments or len(arguments) > MOST_CHARACTERS:
        return []
    try:
        value = msgspec.json.decode(arguments.encode("utf-8", "replace"))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        value = arguments  # the patch may be the only argument
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return []
    patch = text_at(value, PATCHES)
    if patch is not None and "*** Begin Patch" in patch:
        return patch
    path = text_at(value, PATHS)
    pieces = next((value[name] for name in LISTS if isinstance(value.get(name), list)), [value])
    return [
        (named, piece)
        for piece in pieces
        if isinstance(piece, dict) and (named := text_at(piece, PATHS) or path) is not None and named
    ]


def _lines_in_piece(piece: dict[str, Any]) -> Lines | None:
    before, after = text_at(piece, BEFORE), text_at(piece, AFTER)
    if OF_A_CELL in piece:  # the earlier content of the cell is not recorded
        return Lines(lines_of(after or ""), is_rough=True)
    if after is None:
        return None
    if before is not None:
        old, new = (f"{text}\n" if text and not text.endswith("\n") else text for text in (before, after))
        return Lines(*added_and_removed(unified_diff(old, new, "file")))
    is_new = "insert_text" in piece or "insert_line" in piece or any(name in piece for name in WHOLE)
    return Lines(lines_of(after), [], is_rough=not is_new)


def _lines_in_patch(patch: str) -> Iterator[tuple[str, Lines]]:
    """Yield the lines of each file of a patch as models write them."""
    path: str | None = None
    lines = Lines()
    for line in lines_of(patch):
        if line.startswith("*** End of File"):
            continue  # other hunks of the file may follow
        if line.startswith("*** "):
            start = next((start for start in PATCHED if line.startswith(start)), None)
            if path is not None and start != "*** Move to: ":
                yield path, lines
                path, lines = None, Lines()
            if start is not None:
                path, lines.action = line[len(start) :].strip(), PATCHED[start]
        elif line[:1] == "+":
            lines.added.append(line[1:])
        elif line[:1] == "-":
            lines.removed.append(line[1:])
    if path is not None:
        yield path, lines


def text_at(value: dict[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first text that a value has under one of several names."""
    return next((text for name in names if isinstance(text := value.get(name), str)), None)
