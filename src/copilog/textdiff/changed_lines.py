"""Unified diffs, parsed to the lines that they add and remove."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MOST_LINES = 1_000_000  # of one diff

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class ChangedLine(NamedTuple):
    """A line that was added (+) or removed (-), with its number on its side."""

    sign: str
    number: int
    text: str


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their line breaks, of any kind."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def changed_lines(diff: str) -> Iterator[ChangedLine]:
    """Yield the changes of a diff. Hunks are as long as their headers say, so that no line is taken for a header."""
    old = new = old_left = new_left = 0
    for line in diff.split("\n")[:MOST_LINES]:
        if old_left <= 0 and new_left <= 0:
            header = _HUNK.match(line)
            if header:
                old, new = int(header[1]), int(header[3])
                old_left, new_left = (1 if count is None else int(count) for count in (header[2], header[4]))
            continue
        sign, text = line[:1], line[1:].removesuffix("\r")
        if sign == "+":
            yield ChangedLine("+", new, text)
        elif sign == "-":
            yield ChangedLine("-", old, text)
        elif sign == "\\":
            continue
        if sign != "+":
            old, old_left = old + 1, old_left - 1
        if sign != "-":
            new, new_left = new + 1, new_left - 1


def added_and_removed(diff: str) -> tuple[list[str], list[str]]:
    added: list[str] = []
    removed: list[str] = []
    for change in changed_lines(diff):
        (added if change.sign == "+" else removed).append(change.text)
    return added, removed
