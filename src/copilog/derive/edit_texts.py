"""Find the exact texts that an edit replaces and inserts: in the arguments of its call, or in its diff.

Line counts need only lines (`edit_arguments`); to repeat an edit, every character is needed, and the old text must be
found exactly once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from copilog.derive.edit_arguments import (
    AFTER,
    BEFORE,
    OF_A_CELL,
    PATCHED,
    WHOLE,
    Action,
    edits_in_arguments,
    text_at,
)

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

NOT_FOUND = "the old text is not in the file"
FOUND_SEVERAL = "the old text is in the file several times"


class Replacement(msgspec.Struct, frozen=True):
    """A text, and what replaces it. `old` is empty where nothing was replaced: the file was empty, or new."""

    old: str
    new: str
    has_lines: bool = False  # made of complete lines, with their breaks, except perhaps that of the last line


class Written(msgspec.Struct):
    """What a call writes to one file. With `why_not`, the arguments do not determine the text."""

    path: str
    action: Action = "edit"
    whole: str | None = None  # the complete text of the file
    pieces: list[Replacement] = []
    new_path: str | None = None
    why_not: str | None = None


def written_by(arguments: str | None) -> list[Written]:
    """Return what the arguments of an editing tool write, file by file, in order."""
    written = edits_in_arguments(arguments)
    if isinstance(written, str):
        return list(_in_patch(written))
    files: dict[str, Written] = {}
    for path, piece in written:
        _add_piece(files.setdefault(path, Written(path)), piece)
    return [file for file in files.values() if file.pieces or file.whole is not None or file.why_not]


def _add_piece(file: Written, piece: dict[str, Any]) -> None:
    before, after = text_at(piece, BEFORE), text_at(piece, AFTER)
    if after is None:
        return
    if OF_A_CELL in piece:
        file.why_not = "the earlier text of the cell is not recorded"
    elif before is not None:
        file.pieces = [*file.pieces, Replacement(before, after)]
    elif any(isinstance(piece.get(name), str) for name in WHOLE):
        file.whole = after
    elif "insert_line" in piece or "insert_text" in piece:
        file.pieces = [*file.pieces, Replacement("", after)]
        file.why_not = "only the number of the line is recorded where the text was inserted"
    else:
        file.pieces = [*file.pieces, Replacement("", after)]
        file.why_not = "the text that it replaced is not recorded"


def pieces_of_diff(diff: str) -> list[Replacement]:
    """Return the hunks of a unified diff as texts, as long as their headers say; none if one is cut."""
    pieces: list[Replacement] = []
    old: list[str] = []
    new: list[str] = []
    old_left = new_left = 0
    last = ""  # the sign of the last line
    for line in diff.split("\n"):
        sign = line[:1]
        if sign == "\\" and (old or new):
            if last != "+":
                old[-1] = old[-1].removesuffix("\n")
            if last != "-":
                new[-1] = new[-1].removesuffix("\n")
        elif old_left <= 0 and new_left <= 0:
            header = _HUNK.match(line)
            if header:
                if old or new:
                    pieces.append(Replacement("".join(old), "".join(new), has_lines=True))
                old_left, new_left = (1 if count is None else int(count) for count in header.groups())
                old, new = [], []
        else:
            last = sign if sign in ("+", "-") else " "
            if last != "+":
                old.append(f"{line[1:]}\n")
                old_left -= 1
            if last != "-":
                new.append(f"{line[1:]}\n")
                new_left -= 1
    if old or new:
        pieces.append(Replacement("".join(old), "".join(new), has_lines=True))
    return pieces if old_left <= 0 and new_left <= 0 else []


# --- patches as models write them -------------------------------------------------------------------------------------


def _in_patch(patch: str) -> Iterator[Written]:
    """Yield the files of a patch: each hunk is a text of complete lines."""
    file: Written | None = None
    hunk: list[str] = []
    for line in [*patch.replace("\r\n", "\n").split("\n"), "*** End Patch"]:
        start = next((start for start in PATCHED if line.startswith(start)), None)
        is_mark = line.startswith(("*** ", "@@"))
        if is_mark:
            if file is not None and hunk:
                _add_hunk(file, hunk)
            hunk = []
        if file is not None and line.startswith("*** Move to: "):
            file.new_path, file.action = line.removeprefix("*** Move to: ").strip(), "rename"
        elif line.startswith("*** ") and not line.startswith("*** End of File"):
            if file is not None:
                yield file
            file = Written(line[len(start) :].strip(), PATCHED[start]) if start is not None else None
        elif file is not None and not is_mark:
            hunk.append(line)


def _add_hunk(file: Written, lines: list[str]) -> None:
    if lines and not lines[-1]:
        lines = lines[:-1]  # the blank line before the next mark
    if file.action == "create":
        file.whole = "".join(f"{line[1:]}\n" for line in lines if line.startswith("+"))
        return
    old = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in lines if not line.startswith("-"))
    if old or new:
        file.pieces = [*file.pieces, Replacement(old, new, has_lines=True)]


# --- applied ----------------------------------------------------------------------------------------------------------


def replaced(text: str, pieces: Iterable[Replacement]) -> str:
    """Return a text with pieces of it replaced, one after the other. Raise ValueError with the reason if one is not
    found exactly once.
    """
    for piece in pieces:
        text = _replaced(text, piece)
    return text


def _replaced(text: str, piece: Replacement) -> str:
    if not piece.old:
        if text:
            raise ValueError("the place where the text was inserted is not recorded")
        return piece.new
    old, new = piece.old, piece.new
    if "\r\n" in text and "\r\n" not in old:  # models write LF, and the tools convert it
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    if piece.has_lines:
        return _with_lines_replaced(text, old, new)
    at = text.find(old)
    if at < 0:
        raise ValueError(NOT_FOUND)
    if text.find(old, at + 1) >= 0:
        raise ValueError(FOUND_SEVERAL)
    return text[:at] + new + text[at + len(old) :]


def _with_lines_replaced(text: str, old: str, new: str) -> str:
    """Replace complete lines. The last line of the file may lack its break."""
    is_end_open = bool(text) and not text.endswith("\n")
    whole = f"{text}\n" if is_end_open and old.endswith("\n") else text
    at = found = -1
    while (at := whole.find(old, at + 1)) >= 0:
        if (at == 0 or whole[at - 1] == "\n") and (old.endswith("\n") or at + len(old) == len(whole)):
            if found >= 0:
                raise ValueError(FOUND_SEVERAL)
            found = at
    if found < 0:
        raise ValueError(NOT_FOUND)
    result = whole[:found] + new + whole[found + len(old) :]
    return result.removesuffix("\n") if whole is not text else result
