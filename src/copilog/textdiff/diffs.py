"""Two texts as a unified diff, as git shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from copilog.textdiff.matching import matches

_NO_BREAK_AT_END = "\n\\ No newline at end of file"

_hunk_header = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_odd_in_path = re.compile(r'[\x00-\x1f"\x7f]')


class Diff(NamedTuple):
    """A unified diff, and how many lines it adds and removes."""

    text: str
    added: int
    removed: int


def unified_diff(
    before: str | None, after: str | None, path: str, old_path: str | None = None, context: int = 3
) -> str:
    """Return a diff as git shows it; empty if the texts are equal. None is a file that does not exist."""
    return diff_of(before, after, path, old_path, context).text


def diff_of(before: str | None, after: str | None, path: str, old_path: str | None = None, context: int = 3) -> Diff:
    """Return a diff as git shows it, with its counts."""
    old_text, new_text = before or "", after or ""
    start, same_at_end = _equal_ends(old_text, new_text, context)
    old = _lines_of(old_text[start : len(old_text) - same_at_end])
    new = _lines_of(new_text[start : len(new_text) - same_at_end])
    changes = list(_changes(old, new))
    if not changes:
        return Diff("", 0, 0)
    output = [
        f"--- {'/dev/null' if before is None else shown_path('a', old_path or path)}\n",
        f"+++ {'/dev/null' if after is None else shown_path('b', path)}\n",
    ]
    skipped = old_text.count("\n", 0, start)
    for group in _groups(changes, 2 * context):
        _write_hunk(output, old, new, group, context, skipped)
    added = sum([change.new_end - change.new for change in changes])
    removed = sum([change.old_end - change.old for change in changes])
    return Diff("".join(output), added, removed)


def count_changes(diff: str) -> tuple[int, int]:
    """Return how many lines a unified diff adds, and how many it removes."""
    return _count_at_once(diff) or _count_line_by_line(diff)


def _count_at_once(diff: str) -> tuple[int, int] | None:
    """Count in one pass over the text if its hunks are as long as their headers say. Return None if they are not."""
    first = at = 0 if diff.startswith("@@ ") else diff.find("\n@@ ") + 1
    old_lines = new_lines = 0
    hunks = 0
    while at or not hunks:
        header = _hunk_header.match(diff, at)
        if header is None:
            return None
        old, new = header.groups()
        old_lines += 1 if old is None else int(old)
        new_lines += 1 if new is None else int(new)
        hunks += 1
        at = diff.find("\n@@ ", at) + 1
    lines = diff.count("\n", first) + (not diff.endswith("\n"))
    added, removed, kept, remarks = (diff.count(mark, first) for mark in ("\n+", "\n-", "\n ", "\n\\"))
    is_sound = (old_lines, new_lines, lines) == (removed + kept, added + kept, hunks + added + removed + kept + remarks)
    return (added, removed) if is_sound else None


def _count_line_by_line(diff: str) -> tuple[int, int]:
    added = removed = 0
    old_left = new_left = 0
    for line in diff.split("\n"):
        if old_left <= 0 and new_left <= 0:
            header = _hunk_header.match(line)
            if header:
                old_left, new_left = (1 if count is None else int(count) for count in header.groups())
        elif line.startswith("+"):
            added += 1
            new_left -= 1
        elif line.startswith("-"):
            removed += 1
            old_left -= 1
        elif not line.startswith("\\"):
            old_left -= 1
            new_left -= 1
    return added, removed


class _Change(NamedTuple):
    """Lines `old` to `old_end` became lines `new` to `new_end`."""

    old: int
    old_end: int
    new: int
    new_end: int


def _lines_of(text: str) -> list[str]:
    """Return the lines without their breaks. The last one without a line break has the diff's note on that."""
    lines = text.split("\n")
    if lines[-1]:
        lines[-1] += _NO_BREAK_AT_END
    else:
        lines.pop()
    return lines


def _equal_ends(old: str, new: str, context: int) -> tuple[int, int]:
    """Return how many characters two texts share at start and end, in complete lines, less the lines of a context.

    Most edits are small: the text cut off here does not have to be split into lines.
    """
    shorter = min(len(old), len(new))
    head = old.rfind("\n", 0, _equal_at_start(old, new, shorter)) + 1
    old_end = len(old)
    after_tail = old.find("\n", old_end - _equal_at_end(old, new, shorter - head))
    tail = old_end - after_tail - 1 if after_tail >= 0 else 0
    for _ in range(context):
        head = old.rfind("\n", 0, head - 1) + 1 if head else 0
        line_break = old.find("\n", old_end - tail) if tail else -1
        tail = old_end - line_break - 1 if line_break >= 0 else 0
    return head, tail


def _equal_at_start(one: str, other: str, limit: int) -> int:
    """Return how many characters two texts share at the start. Halving a range is faster than comparing each."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _equal_at_end(one: str, other: str, limit: int) -> int:
    """Return how many characters two texts have in common at the end."""
    low, high = 0, limit
    one_end, other_end = len(one), len(other)
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[other_end - middle : other_end - low], one_end - middle):
            low = middle
        else:
            high = middle - 1
    return low


def _changes(old: list[str], new: list[str]) -> Iterator[_Change]:
    """Yield the ranges between the lines that match."""
    old_at = new_at = 0
    for old_index, new_index, count in [*matches(old, new), (len(old), len(new), 0)]:
        if old_index > old_at or new_index > new_at:
            yield _Change(old_at, old_index, new_at, new_index)
        old_at, new_at = old_index + count, new_index + count


def _groups(changes: list[_Change], distance: int) -> Iterator[list[_Change]]:
    """Yield groups of changes that are near enough to share a hunk."""
    group: list[_Change] = []
    for change in changes:
        if group and change.old - group[-1].old_end > distance:
            yield group
            group = []
        group.append(change)
    yield group


def _write_hunk(
    output: list[str], old: list[str], new: list[str], group: list[_Change], context: int, skipped: int
) -> None:
    first, last = group[0], group[-1]
    lead = min(context, first.old)
    trail = min(context, len(old) - last.old_end)
    at = first.old - lead
    old_range = _range(skipped + at, skipped + last.old_end + trail)
    new_range = _range(skipped + first.new - lead, skipped + last.new_end + trail)
    output.append(f"@@ -{old_range} +{new_range} @@\n")
    for change in group:
        _write_lines(output, " ", old[at : change.old])
        _write_lines(output, "-", old[change.old : change.old_end])
        _write_lines(output, "+", new[change.new : change.new_end])
        at = change.old_end
    _write_lines(output, " ", old[at : at + trail])


def _write_lines(output: list[str], mark: str, lines: list[str]) -> None:
    if lines:
        output += (mark, f"\n{mark}".join(lines), "\n")


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def shown_path(side: str, path: str) -> str:
    """Return a path as git writes it below a side, `a` or `b`, of a diff; below none if `side` is empty."""
    shown = f"{side}/{path.lstrip('/')}" if side else path
    if not _odd_in_path.search(shown):
        return shown
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", escaped) + '"'
