"""Edits applied to a text, as VS Code does it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from copilog.model import TextEdit

Position = tuple[int, int]  # row and offset, both from 0

_line_break = re.compile(r"\r\n|\r|\n")
_beyond_16_bits = re.compile("[\U00010000-\U0010ffff]")


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Return the text after the edits of one operation, whose ranges all refer to the text before it."""
    document = EditableText(text)
    document.apply(edits)
    return document.text()


class EditableText:
    """A text as a list of lines, so that thousands of small edits to a large file are cheap.

    Mostly all line breaks are LF: then `_joint` is LF, and joins the lines. In a text with others it is empty, and the
    lines include their breaks.
    """

    def __init__(self, text: str) -> None:
        self._joint = "" if "\r" in text else "\n"
        self._lines = text.split("\n") if self._joint else _lines_with_breaks(text)
        self._eol = _main_line_break(text)

    def text(self) -> str:
        return self._joint.join(self._lines)

    def apply(self, edits: Sequence[TextEdit]) -> None:
        """Apply edits simultaneously. Ranges beyond the text are clamped, and of two that overlap the first one wins.

        As in VS Code, inserted text gets the line breaks of the text.
        """
        if len(edits) == 1:
            end, start = self._span(edits[0])
            self._replace(start, end, edits[0].text)
            return
        spans = [self._span(edit) for edit in edits]
        order = sorted(range(len(edits)), key=lambda index: (spans[index], index))
        done_until = (0, 0)
        replacements = []
        for index in order:
            end, start = spans[index]
            replacements.append((max(start, done_until), max(end, done_until), edits[index].text))
            done_until = max(end, done_until)
        for start, end, text in reversed(replacements):  # from the end, so that earlier positions stay valid
            self._replace(start, end, text)

    def _span(self, edit: TextEdit) -> tuple[Position, Position]:
        """Return the end and the start of the range of an edit. They sort by the end, as in VS Code."""
        start = (edit.start_line, edit.start_column)
        end = (edit.end_line, edit.end_column)
        if start > end:
            start, end = end, start
        first = self._position(*start, round_up=False)
        return first if start == end else self._position(*end, round_up=True), first

    def _position(self, line: int, column: int, *, round_up: bool) -> Position:
        if line < 1:
            return 0, 0
        if line > len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        content = self._lines[line - 1]
        if not self._joint:
            content = content.rstrip("\r\n")
        if column <= 1:
            return line - 1, 0
        if content.isascii() or not _beyond_16_bits.search(content):
            return line - 1, min(column - 1, len(content))
        return line - 1, _offset_of_utf16_unit(content, column - 1, round_up=round_up)

    def _replace(self, start: Position, end: Position, text: str) -> None:
        lines = self._lines
        (row, offset), (last_row, end_offset) = start, end
        if self._eol is None:
            self._eol = _main_line_break(text)
            if "\r" in text:
                self._joint = ""  # the one line that there is has no break to carry
        elif "\r" in text or (self._eol != "\n" and "\n" in text):
            text = _line_break.sub(self._eol, text)
        joined = lines[row][:offset] + text + lines[last_row][end_offset:]
        if self._joint:
            lines[row : last_row + 1] = joined.split("\n")
            return
        if row and joined.startswith("\n") and lines[row - 1].endswith("\r"):  # the two become one line break
            row -= 1
            joined = lines[row] + joined
        new = _lines_with_breaks(joined)
        if last_row < len(lines) - 1:
            new.pop()  # the line break belongs to the lines replaced; what follows it is the next line
        lines[row : last_row + 1] = new


def _offset_of_utf16_unit(line: str, units: int, *, round_up: bool) -> int:
    """Return the index of the character at a UTF-16 offset; the middle of a surrogate pair is rounded."""
    head = line.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")
    is_cut = "\ud800" <= head[-1:] <= "\udbff"
    return len(head) - 1 if is_cut and not round_up else len(head)


def _lines_with_breaks(text: str) -> list[str]:
    """Return the lines with their breaks; the last one has none, and is empty when the text ends in one."""
    lines = []
    start = 0
    for line_break in _line_break.finditer(text):
        lines.append(text[start : line_break.end()])
        start = line_break.end()
    lines.append(text[start:])
    return lines


def _main_line_break(text: str) -> str | None:
    if "\r" not in text:
        return "\n" if "\n" in text else None
    pairs = text.count("\r\n")
    returns, feeds = text.count("\r"), text.count("\n")
    total = returns + feeds - pairs
    return "\r\n" if 2 * returns > total else "\n"
