"""A parser of unified diffs: files, hunks, numbered lines. Accepts what git writes, and similar text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)")
_LOOSE_HUNK = re.compile(r"@@?(?: .*)?")  # of patches with the context of a hunk instead of line numbers
_PATCHED_FILE = re.compile(r"\*\*\* (?:Update|Add|Delete) File: (.+)")
_AROUND_PATCH = ("*** Begin Patch", "*** End Patch", "*** End of File")
_NO_FILE = "/dev/null"


class Line(NamedTuple):
    """One line: unchanged, removed or added, or a remark such as the one on a missing line break."""

    kind: Literal["same", "removed", "added", "remark"]
    old: int | None
    new: int | None
    text: str


SIGNED: dict[str, Literal["same", "removed", "added"]] = {" ": "same", "-": "removed", "+": "added"}


@dataclass
class Hunk:
    """Consecutive lines; `heading` is the context in the hunk's header."""

    heading: str
    lines: list[Line] = field(default_factory=list)


@dataclass
class FileDiff:
    """The changes to one file."""

    old_path: str | None = None
    new_path: str | None = None
    remarks: list[str] = field(default_factory=list)  # renames, modes, binary files
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def name(self) -> str:
        if self.old_path and self.new_path and self.old_path != self.new_path:
            return f"{self.old_path} → {self.new_path}"
        return self.new_path or self.old_path or ""


def files_of(lines: Iterator[str]) -> list[FileDiff]:
    """Return the files of a diff. Text that does not belong to a hunk is a remark: no line is lost."""
    reader = _Reader()
    for line in lines:
        reader.take(line)
    return reader.files


class _Reader:
    def __init__(self) -> None:
        self.files: list[FileDiff] = []
        self._old = self._new = 0  # numbers of the next line
        self._old_left = self._new_left = 0  # numbers that the hunk's header gives
        self._is_loose = False  # in a hunk whose header has no numbers

    def take(self, line: str) -> None:
        if self._old_left > 0 or self._new_left > 0:
            if self._take_in_hunk(line):
                return
            self._old_left = self._new_left = 0  # the header gives too many lines
        if self._is_loose and self._take_loosely(line):
            return
        if line.startswith("\\") and self.files and self.files[-1].hunks:
            self.files[-1].hunks[-1].lines.append(Line("remark", None, None, line[1:].strip()))
        else:
            self._take_outside(line)

    def _take_in_hunk(self, line: str) -> bool:
        lines = self.files[-1].hunks[-1].lines
        sign, text = line[:1], line[1:]
        if sign == "-" and self._old_left > 0:
            lines.append(Line("removed", self._old, None, text))
            self._old, self._old_left = self._old + 1, self._old_left - 1
        elif sign == "+" and self._new_left > 0:
            lines.append(Line("added", None, self._new, text))
            self._new, self._new_left = self._new + 1, self._new_left - 1
        elif sign == "\\":
            lines.append(Line("remark", None, None, text.strip()))
        elif sign in (" ", "") and self._old_left > 0 and self._new_left > 0:
            lines.append(Line("same", self._old, self._new, text))
            self._old, self._old_left = self._old + 1, self._old_left - 1
            self._new, self._new_left = self._new + 1, self._new_left - 1
        else:
            return False
        return True

    def _take_loosely(self, line: str) -> bool:
        """Add a line of a hunk without numbers. Such a hunk ends where another header begins."""
        kind = SIGNED.get(line[:1])
        if kind is None or line.startswith(("--- ", "+++ ")):
            return False
        if not self.files[-1].hunks:
            self.files[-1].hunks.append(Hunk(""))
        self.files[-1].hunks[-1].lines.append(Line(kind, None, None, line[1:]))
        return True

    def _take_outside(self, line: str) -> None:
        hunk = _HUNK.match(line)
        patched = _PATCHED_FILE.fullmatch(line)
        if hunk:
            self._begin_hunk(hunk)
        elif patched:
            self.files.append(FileDiff(new_path=patched[1].strip()))
            self._is_loose = True
        elif _LOOSE_HUNK.fullmatch(line):
            if not self.files:
                self.files.append(FileDiff())
            self.files[-1].hunks.append(Hunk(line))
            self._is_loose = True
        elif line.startswith("diff --git "):
            self.files.append(FileDiff())
        elif line.startswith("--- "):
            if not self.files or self.files[-1].hunks or self.files[-1].old_path:
                self.files.append(FileDiff())
            self.files[-1].old_path = _path(line[4:], "a/")
        elif line.startswith("+++ "):
            if not self.files or self.files[-1].hunks:
                self.files.append(FileDiff())
            self.files[-1].new_path = _path(line[4:], "b/")
        elif line.strip() and not line.startswith("index ") and line not in _AROUND_PATCH:
            self._remark(line)

    def _begin_hunk(self, match: re.Match[str]) -> None:
        if not self.files:
            self.files.append(FileDiff())
        self._is_loose = False
        old, old_count, new, new_count, _ = match.groups()
        self._old, self._new = int(old), int(new)
        self._old_left = 1 if old_count is None else int(old_count)
        self._new_left = 1 if new_count is None else int(new_count)
        self.files[-1].hunks.append(Hunk(match[0]))

    def _remark(self, line: str) -> None:
        if not self.files:
            self.files.append(FileDiff())
        file = self.files[-1]
        if file.hunks:  # after a hunk it can only be a line that its header did not count
            file.hunks[-1].lines.append(Line("remark", None, None, line))
        else:
            file.remarks.append(line)


def _path(text: str, prefix: str) -> str | None:
    path = text.partition("\t")[0].strip()
    return None if path == _NO_FILE else path.removeprefix(prefix)
