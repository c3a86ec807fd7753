"""Texts before and after: apply edits to a text, and show two texts as a unified diff.

Edits name lines and columns as VS Code does: both start at 1, columns count UTF-16 units, and a line ends at
CR LF, LF or CR. A diff is what `git diff` would show: there a line ends at LF alone, and a CR is a character.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from copilog.model import TextEdit

# difflib is quadratic at best; above this product of lengths the lines that are unique on both sides cut it down.
LINES_SQUARED_LIMIT = 200_000

_line_break = re.compile(r"\r\n|\r|\n")
_beyond_16_bits = re.compile("[\U00010000-\U0010ffff]")
_hunk_header = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_odd_in_path = re.compile(r'[\x00-\x1f"\x7f]')


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after the edits of one operation, all of whose ranges refer to the text as it is now."""
    document = EditableText(text)
    document.apply(edits)
    return document.text()


class EditableText:
    """A text as a list of lines, so that thousands of small edits to a large file stay cheap."""

    def __init__(self, text: str) -> None:
        self._lines = _lines_with_breaks(text)
        self._eol = _main_line_break(text)

    def text(self) -> str:
        return "".join(self._lines)

    def apply(self, edits: Sequence[TextEdit]) -> None:
        """Apply edits simultaneously. Ranges beyond the text are clamped, and where two overlap the first one wins.

        Like VS Code, what is inserted takes over the line breaks that the text has.
        """
        spans = [self._span(edit) for edit in edits]
        order = sorted(range(len(edits)), key=lambda index: (spans[index], index))
        done_until = (0, 0)
        replacements = []
        for index in order:
            end, start = spans[index]
            replacements.append((max(start, done_until), max(end, done_until), edits[index].text))
            done_until = max(end, done_until)
        for start, end, text in reversed(replacements):  # from the end, so that earlier positions stay true
            self._replace(start, end, text)

    def _span(self, edit: TextEdit) -> tuple[tuple[int, int], tuple[int, int]]:
        """Where the range of an edit ends and starts, as row and offset from 0. They sort by the end, as in VS Code."""
        start = (edit.start_line, edit.start_column)
        end = (edit.end_line, edit.end_column)
        start, end = min(start, end), max(start, end)
        first = self._position(*start, round_up=False)
        return first if start == end else self._position(*end, round_up=True), first

    def _position(self, line: int, column: int, *, round_up: bool) -> tuple[int, int]:
        if line < 1:
            return 0, 0
        if line > len(self._lines):
            return len(self._lines) - 1, len(self._lines[-1])
        content = self._lines[line - 1].rstrip("\r\n")
        if content.isascii() or not _beyond_16_bits.search(content):
            return line - 1, min(max(column - 1, 0), len(content))
        return line - 1, _offset_of_utf16_unit(content, max(column - 1, 0), round_up=round_up)

    def _replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        lines = self._lines
        (row, offset), (last_row, end_offset) = start, end
        if self._eol is None:
            self._eol = _main_line_break(text)
        elif "\r" in text or (self._eol != "\n" and "\n" in text):
            text = _line_break.sub(self._eol, text)
        joined = lines[row][:offset] + text + lines[last_row][end_offset:]
        if row and joined.startswith("\n") and lines[row - 1].endswith("\r"):  # the two become one line break
            row -= 1
            joined = lines[row] + joined
        new = _lines_with_breaks(joined)
        if last_row < len(lines) - 1:
            new.pop()  # the line break belongs to the lines replaced; what follows it is the next line
        lines[row : last_row + 1] = new


def _offset_of_utf16_unit(line: str, units: int, *, round_up: bool) -> int:
    """The index of the character at a UTF-16 offset; the middle of a surrogate pair is rounded."""
    head = line.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")
    is_cut = "\ud800" <= head[-1:] <= "\udbff"
    return len(head) - 1 if is_cut and not round_up else len(head)


def _lines_with_breaks(text: str) -> list[str]:
    """The lines with their breaks; the last one has none, and is empty when the text ends in one."""
    if "\r" not in text:
        lines = [line + "\n" for line in text.split("\n")]
        lines[-1] = lines[-1][:-1]
        return lines
    lines = []
    start = 0
    for line_break in _line_break.finditer(text):
        lines.append(text[start : line_break.end()])
        start = line_break.end()
    lines.append(text[start:])
    return lines


def _main_line_break(text: str) -> str | None:
    pairs = text.count("\r\n")
    returns, feeds = text.count("\r"), text.count("\n")
    total = returns + feeds - pairs
    if not total:
        return None
    return "\r\n" if 2 * returns > total else "\n"


def unified_diff(
    before: str | None, after: str | None, path: str, old_path: str | None = None, context: int = 3
) -> str:
    """A diff as git shows it, None standing for a file that does not exist; empty when the texts are equal."""
    old_text, new_text = before or "", after or ""
    start, same_at_end = _equal_ends(old_text, new_text, context)
    old = _lines_of(old_text[start : len(old_text) - same_at_end])
    new = _lines_of(new_text[start : len(new_text) - same_at_end])
    changes = list(_changes(old, new))
    if not changes:
        return ""
    output = [
        f"--- {'/dev/null' if before is None else _shown_path('a', old_path or path)}\n",
        f"+++ {'/dev/null' if after is None else _shown_path('b', path)}\n",
    ]
    skipped = old_text.count("\n", 0, start)
    for group in _groups(changes, 2 * context):
        _write_hunk(output, old, new, group, context, skipped)
    return "".join(output)


def count_changes(diff: str) -> tuple[int, int]:
    """How many lines a unified diff adds, and how many it removes."""
    return _count_at_once(diff) or _count_line_by_line(diff)


def _count_at_once(diff: str) -> tuple[int, int] | None:
    """The counts from the text as a whole, if its hunks are as long as their headers say; None if they are not."""
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
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _equal_ends(old: str, new: str, context: int) -> tuple[int, int]:
    """How many characters two texts have in common at their ends, in whole lines, less the lines of a context.

    Most edits are small: what is cut off here need not be taken apart into lines.
    """
    shorter = min(len(old), len(new))
    head = _longest(shorter, lambda low, high: old[low:high] == new[low:high])
    head = old.rfind("\n", 0, head) + 1
    old_end, new_end = len(old), len(new)
    tail = _longest(
        shorter - head,
        lambda low, high: old[old_end - high : old_end - low] == new[new_end - high : new_end - low],
    )
    after_tail = old.find("\n", old_end - tail)
    tail = old_end - after_tail - 1 if after_tail >= 0 else 0
    for _ in range(context):
        head = old.rfind("\n", 0, head - 1) + 1 if head else 0
        line_break = old.find("\n", old_end - tail) if tail else -1
        tail = old_end - line_break - 1 if line_break >= 0 else 0
    return head, tail


def _longest(limit: int, is_equal: Callable[[int, int], bool]) -> int:
    """The largest number up to a limit so that all before is equal, given that of two equal ranges all parts are."""
    low, high = 0, limit
    while low < high:
        middle = high if low == 0 and high == limit else (low + high + 1) // 2
        if is_equal(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


def _changes(old: list[str], new: list[str]) -> Iterator[_Change]:
    """What lies between the lines that match."""
    old_at = new_at = 0
    for old_index, new_index, count in [*_matches(old, new), (len(old), len(new), 0)]:
        if old_index > old_at or new_index > new_at:
            yield _Change(old_at, old_index, new_at, new_index)
        old_at, new_at = old_index + count, new_index + count


def _matches(old: list[str], new: list[str], *, may_anchor: bool = True) -> Iterator[tuple[int, int, int]]:
    """Runs of equal lines, ascending: their index in `old`, in `new`, and how many. Not always the most there are."""
    head = _equal_lines(old, new)
    if head:
        yield 0, 0, head
    tail = _equal_lines(old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1])
    old_end, new_end = len(old) - tail, len(new) - tail
    if head < old_end and head < new_end:
        middle = old[head:old_end], new[head:new_end]
        if set(middle[0]).isdisjoint(middle[1]):
            found: Iterator[tuple[int, int, int]] = iter(())
        elif len(middle[0]) * len(middle[1]) <= LINES_SQUARED_LIMIT:
            found = iter(SequenceMatcher(None, *middle).get_matching_blocks())
        else:
            found = _matches_between_anchors(*middle) if may_anchor else iter(())
        for old_index, new_index, count in found:
            if count:
                yield head + old_index, head + new_index, count
    if tail:
        yield old_end, new_end, tail


def _equal_lines(one: list[str], other: list[str]) -> int:
    """How many lines two lists have in common at their beginning. Whole slices are compared first: that is quick."""
    end = min(len(one), len(other))
    at, step = 0, 64
    while at < end and one[at : at + step] == other[at : at + step] and at + step <= end:
        at += step
    while at < end and one[at] == other[at]:
        at += 1
    return at


def _matches_between_anchors(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int]]:
    """Match the lines that occur once on both sides, then what stands between each two of them."""
    old_at = new_at = 0
    for old_index, new_index in [*_anchors(old, new), (len(old), len(new))]:
        if old_index > old_at and new_index > new_at:
            gap = _matches(old[old_at:old_index], new[new_at:new_index], may_anchor=False)
            for old_offset, new_offset, count in gap:
                yield old_at + old_offset, new_at + new_offset, count
        if old_index < len(old):
            yield old_index, new_index, 1
        old_at, new_at = old_index + 1, new_index + 1


def _anchors(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The longest ascending row of lines that occur exactly once on both sides."""
    old_counts, new_counts = Counter(old), Counter(new)
    new_places = {line: index for index, line in enumerate(new) if new_counts[line] == 1}
    pairs = [
        (index, new_places[line]) for index, line in enumerate(old) if old_counts[line] == 1 and line in new_places
    ]
    return _longest_ascending(pairs)


def _longest_ascending(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest row of pairs that ascends in the second number, found by patience sorting."""
    tops: list[int] = []
    piles: list[int] = []  # the pair on top of each pile
    before: list[int] = []  # for each pair, the top of the pile to its left
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(piles[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(value)
            piles.append(index)
        else:
            tops[pile] = value
            piles[pile] = index
    row = []
    at = piles[-1] if piles else -1
    while at >= 0:
        row.append(pairs[at])
        at = before[at]
    return row[::-1]


def _groups(changes: list[_Change], distance: int) -> Iterator[list[_Change]]:
    """Changes so near to each other that they share a hunk."""
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
    output.extend([mark + line for line in lines])
    if lines and not lines[-1].endswith("\n"):
        output.append("\n\\ No newline at end of file\n")


def _range(start: int, end: int) -> str:
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _shown_path(side: str, path: str) -> str:
    shown = f"{side}/{path.lstrip('/')}"
    if not _odd_in_path.search(shown):
        return shown
    escaped = shown.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\{ord(match[0]):03o}", escaped) + '"'
