"""Changes to files, in one column or in two, with line numbers and the changed words within a line marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, zip_longest

from markupsafe import Markup, escape

from copilog.derive.line_counts import UNKNOWN, Lines
from copilog.writers.html.changed_words import changed_words
from copilog.writers.html.characters import cut, visible
from copilog.writers.html.code import code_html, cut_note
from copilog.writers.html.diff_lines import FileDiff, Hunk, Line, files_of

MOST_LINES = 5_000
LONGEST_LINE = 2_000
LONGEST_DIFF = 2_000_000
MOST_COMPARED = 1_000  # pairs of lines whose words are compared
FOLDED = 12  # consecutive unchanged lines that are folded
KEPT = 3  # of these, how many stay visible next to a change

SIGNS = {"same": " ", "removed": "−", "added": "+", "remark": " "}
NOTHING = Line("same", None, None, "")


def unified_html(diff: str, lines: Lines | None = None) -> Markup:
    """Return a diff in one column. `lines` are the numbers of added and removed lines, if it is the diff of an edit."""
    return _diff_html(diff, _unified, "unified", lines)


def side_by_side_html(diff: str, lines: Lines | None = None) -> Markup:
    """Return a diff in two columns: before and after."""
    return _diff_html(diff, _side_by_side, "sides", lines)


def _diff_html(
    diff: str, layout: Callable[[Hunk, _Budget], Iterator[Markup]], css_class: str, known: Lines | None
) -> Markup:
    text, left_out = cut(diff, LONGEST_DIFF)
    lines = visible(text).removesuffix("\n").split("\n")
    files = files_of(iter(lines[:MOST_LINES]))
    if not any(file.hunks or file.remarks for file in files) or not any(file.hunks or file.name for file in files):
        return code_html(diff, "diff") if diff.strip() else Markup('<p class="cut">No changes</p>')
    budget = _Budget()
    counts = [_counts_of(file) if known != UNKNOWN else UNKNOWN for file in files]
    if left_out or len(lines) > MOST_LINES:
        counts[-1] = UNKNOWN  # later lines were not counted
    if known is not None and len(files) == 1:
        counts = [known]
    pieces = [_file_html(file, layout, css_class, budget, count) for file, count in zip(files, counts, strict=True)]
    if left_out:
        pieces.append(cut_note(left_out, "character"))
    elif len(lines) > MOST_LINES:
        pieces.append(cut_note(len(lines) - MOST_LINES, "line"))
    return Markup("").join(pieces)


class _Budget:
    """The number of line pairs that may still be compared word by word."""

    def __init__(self) -> None:
        self.pairs = MOST_COMPARED

    def words(self, old: Line | None, new: Line | None) -> tuple[Markup, Markup]:
        before, after = old.text if old else "", new.text if new else ""
        if old and new and self.pairs > 0 and max(len(before), len(after)) <= LONGEST_LINE:
            self.pairs -= 1
            return changed_words(before, after)
        return _text(before), _text(after)


def _file_html(
    file: FileDiff,
    layout: Callable[[Hunk, _Budget], Iterator[Markup]],
    css_class: str,
    budget: _Budget,
    counts: Lines,
) -> Markup:
    added, removed = counts
    marks = [Markup('<span class="more">+{}</span>').format(added)] if added is not None else []
    marks += [Markup('<span class="less">−{}</span>').format(removed)] if removed is not None else []
    count = Markup(' <span class="diff-count">{}</span>').format(Markup(" ").join(marks)) if marks else ""
    head = Markup('<div class="diff-head"><span class="diff-name">{}</span>{}</div>').format(
        file.name or "changes", count
    )
    pieces = [Markup('<div class="diff-remark">{}</div>').format(_text(remark)) for remark in file.remarks]
    for hunk in file.hunks:
        if hunk.heading:
            pieces.append(Markup('<div class="diff-hunk">{}</div>').format(_text(hunk.heading)))
        pieces.extend(layout(hunk, budget))
    body = Markup("\n").join(pieces)
    return Markup('<div class="diff {}">{}<div class="diff-body" tabindex="0">{}</div></div>').format(
        css_class, head, body
    )


def _counts_of(file: FileDiff) -> Lines:
    kinds = [line.kind for hunk in file.hunks for line in hunk.lines]
    return kinds.count("added"), kinds.count("removed")


# --- the two layouts ------------------------------------------------------------------------------------------------


def _unified(hunk: Hunk, budget: _Budget) -> Iterator[Markup]:
    for is_same, lines in _stretches(hunk):
        if is_same:
            yield from _folded([_one_line(line, _text(line.text)) for line in lines])
            continue
        removed = [line for line in lines if line.kind == "removed"]
        added = [line for line in lines if line.kind == "added"]
        pairs = [budget.words(old, new) for old, new in zip_longest(removed, added)]
        old_texts, new_texts = iter([old for old, _ in pairs]), iter([new for _, new in pairs])
        for line in lines:
            if line.kind == "remark":
                yield _one_line(line, _text(line.text))
            else:
                yield _one_line(line, next(old_texts if line.kind == "removed" else new_texts))


def _side_by_side(hunk: Hunk, budget: _Budget) -> Iterator[Markup]:
    for is_same, lines in _stretches(hunk):
        if is_same:
            yield from _folded([_two_lines(line, line, _text(line.text), _text(line.text)) for line in lines])
            continue
        removed = [line for line in lines if line.kind == "removed"]
        added = [line for line in lines if line.kind == "added"]
        for old, new in zip_longest(removed, added):
            before, after = budget.words(old, new)
            yield _two_lines(old, new, before, after)
        for line in lines:
            if line.kind == "remark":
                yield _one_line(line, _text(line.text))


def _stretches(hunk: Hunk) -> Iterator[tuple[bool, list[Line]]]:
    """Yield runs of unchanged lines and runs of changes."""
    for is_same, lines in groupby(hunk.lines, key=lambda line: line.kind == "same"):
        yield is_same, list(lines)


def _folded(rows: list[Markup]) -> Iterator[Markup]:
    """Yield the rows; of many, those at both ends with the rest folded between them."""
    if len(rows) < FOLDED:
        yield from rows
        return
    middle = rows[KEPT:-KEPT]
    yield from rows[:KEPT]
    yield Markup('<details class="diff-fold"><summary>{} unchanged lines</summary>{}</details>').format(
        f"{len(middle):,}", Markup("\n").join(middle)
    )
    yield from rows[-KEPT:]


def _one_line(line: Line, text: Markup) -> Markup:
    return Markup(
        '<div class="dl {}"><span class="no">{}</span><span class="no">{}</span>'
        '<span class="sign">{}</span><span class="dt">{}</span></div>'
    ).format(line.kind, line.old or "", line.new or "", SIGNS[line.kind], text)


def _two_lines(old: Line | None, new: Line | None, before: Markup, after: Markup) -> Markup:
    return Markup('<div class="pair">{}{}</div>').format(
        _half(old, old.old if old else None, before), _half(new, new.new if new else None, after)
    )


def _half(line: Line | None, number: int | None, text: Markup) -> Markup:
    return Markup(
        '<div class="dl {}"><span class="no">{}</span><span class="sign">{}</span><span class="dt">{}</span></div>'
    ).format(line.kind if line else "nothing", number or "", SIGNS[line.kind] if line else "", text)


def _text(text: str) -> Markup:
    kept, left_out = cut(text, LONGEST_LINE)
    return escape(kept) + (f" … {left_out:,} more characters" if left_out else "")
