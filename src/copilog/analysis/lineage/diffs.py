"""Split patches of git into files."""

from __future__ import annotations

import re
from typing import NamedTuple

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class FileDiff(NamedTuple):
    """The changes of one file in a patch."""

    added: list[str]
    removed: list[str]
    is_binary: bool


def diffs_from(patch: bytes) -> list[FileDiff]:
    """Return the files of a patch that git made without context, in order. Their names are not read."""
    files: list[FileDiff] = []
    removed_left = added_left = 0
    for line in patch.split(b"\n"):
        if removed_left or added_left:
            if line[:1] == b"-":
                files[-1].removed.append(_text(line))
                removed_left -= 1
            elif line[:1] == b"+":
                files[-1].added.append(_text(line))
                added_left -= 1
        elif line.startswith(b"diff --git "):
            files.append(FileDiff([], [], False))
        elif files and line.startswith((b"Binary files ", b"GIT binary patch")):
            files[-1] = files[-1]._replace(is_binary=True)
        elif files and (header := _HUNK.match(line[:200].decode("ascii", "replace"))):
            removed_left, added_left = (1 if count is None else int(count) for count in (header[2], header[4]))
    return files


def _text(line: bytes) -> str:
    return line[1:].decode("utf-8", "replace").removesuffix("\r")
