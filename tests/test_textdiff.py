"""Applying edits, and diffs that lead from one text to the other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import TextEdit
from copilog.textdiff import EditableText, apply_edits, count_changes, diff_of, matching, unified_diff
from copilog.textdiff.edits import _lines_with_breaks


def edit(start_line: int, start_column: int, end_line: int, end_column: int, text: str) -> TextEdit:
    return TextEdit(
        start_line=start_line, start_column=start_column, end_line=end_line, end_column=end_column, text=text
    )


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("", [edit(1, 1, 1, 1, "a")], "a"),
        ("one\ntwo\n", [edit(2, 1, 2, 4, "2")], "one\n2\n"),
        ("one\ntwo", [edit(1, 4, 2, 1, "")], "onetwo"),
        ("one\ntwo", [edit(1, 4, 1, 4, "\nand")], "one\nand\ntwo"),
        ("one\ntwo\nthree", [edit(1, 2, 3, 3, "X")], "oXree"),
        ("one", [edit(1, 4, 1, 2, "X")], "oX"),
    ],
    ids=["insert into nothing", "replace a word", "join lines", "split a line", "across lines", "range turned round"],
)
def test_a_single_edit_is_applied(text: str, edits: list[TextEdit], expected: str) -> None:
    assert apply_edits(text, edits) == expected


def test_ranges_refer_to_the_text_before_the_operation() -> None:
    edits = [edit(1, 1, 1, 4, "a\nlonger\nbeginning"), edit(2, 1, 2, 4, "second"), edit(2, 4, 2, 4, "!")]

    assert apply_edits("one\ntwo\n", edits) == "a\nlonger\nbeginning\nsecond!\n"


def test_insertions_at_one_position_keep_their_order() -> None:
    assert apply_edits("ad", [edit(1, 2, 1, 2, "b"), edit(1, 2, 1, 2, "c")]) == "abcd"


@pytest.mark.parametrize(
    ("range_", "expected"),
    [
        ((0, 0, 0, 5), "Xone\ntwo"),
        ((-3, 1, 1, 2), "Xne\ntwo"),
        ((1, -5, 1, 2), "Xne\ntwo"),
        ((1, 2, 1, 99), "oX\ntwo"),
        ((2, 4, 99, 1), "one\ntwoX"),
        ((7, 1, 9, 9), "one\ntwoX"),
    ],
)
def test_ranges_beyond_the_text_are_clamped(range_: tuple[int, int, int, int], expected: str) -> None:
    assert apply_edits("one\ntwo", [edit(*range_, "X")]) == expected


def test_columns_count_utf16_units() -> None:
    assert apply_edits("a😀b\nc", [edit(1, 4, 1, 5, "X")]) == "a😀X\nc"
    assert apply_edits("é😀", [edit(1, 2, 1, 4, "")]) == "é"


def test_half_a_character_is_never_left() -> None:
    assert apply_edits("a😀b", [edit(1, 3, 1, 5, "X")]) == "aX"
    assert apply_edits("a😀b", [edit(1, 1, 1, 3, "X")]) == "Xb"
    assert apply_edits("a😀b", [edit(1, 3, 1, 3, "X")]) == "aX😀b"


def test_inserted_lines_take_the_line_breaks_of_the_file() -> None:
    assert apply_edits("one\r\ntwo\r\n", [edit(2, 1, 2, 4, "2\n3")]) == "one\r\n2\r\n3\r\n"
    assert apply_edits("one\ntwo\n", [edit(2, 1, 2, 4, "2\r\n3")]) == "one\n2\n3\n"
    assert apply_edits("one", [edit(1, 4, 1, 4, "\r\ntwo")]) == "one\r\ntwo"


def test_where_edits_overlap_the_first_wins() -> None:
    assert apply_edits("abcdef", [edit(1, 1, 1, 4, "X"), edit(1, 3, 1, 6, "Y")]) == "XYf"


texts = st.text(alphabet=["a", "b", "é", "😀", "\n", "\r", " "], max_size=30)
positions = st.tuples(st.integers(-1, 8), st.integers(-1, 12))
some_edits = st.builds(
    lambda start, end, text: edit(start[0], start[1], end[0], end[1], text), positions, positions, texts
)


def offset_of(text: str, line: int, column: int, *, up: bool) -> int:
    """Return an offset slowly and simply, by counting all UTF-16 units."""
    lines = re.split("\r\n|\r|\n", text)
    if line < 1:
        return 0
    if line > len(lines):
        return len(text)
    start = [0, *(found.end() for found in re.finditer("\r\n|\r|\n", text))][line - 1]
    units = 0
    for index, character in enumerate(lines[line - 1]):
        if units >= column - 1:
            return start + index
        units += len(character.encode("utf-16-le")) // 2
        if units > column - 1:
            return start + index + up
    return start + len(lines[line - 1])


@given(texts, some_edits)
def test_an_edit_equals_a_character_by_character_edit(text: str, some: TextEdit) -> None:
    start, end = sorted([(some.start_line, some.start_column), (some.end_line, some.end_column)])
    first = offset_of(text, *start, up=False)
    last = first if start == end else offset_of(text, *end, up=True)

    result = apply_edits(text, [some])

    assert result.startswith(text[:first])
    assert result.endswith(text[last:])
    inserted = result[first : len(result) - (len(text) - last)]
    assert re.split("\r\n|\r|\n", inserted) == re.split("\r\n|\r|\n", some.text)


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@given(text=texts, edits=st.lists(some_edits, max_size=6))
def test_many_edits_at_once_equal_single_edits(line_break: str, text: str, edits: list[TextEdit]) -> None:
    text = line_break + re.sub("\r\n|\r|\n", line_break, text)
    at_once = EditableText(text)
    for some in edits:
        some.start_line, some.end_line = max(some.start_line, 2), max(some.end_line, 2)  # the first break stays
        at_once.apply([some])
        text = apply_edits(text, [some])

    assert at_once.text() == text


@given(st.text(alphabet="ab😀\n", max_size=30), st.lists(st.lists(some_edits, max_size=3), max_size=4))
def test_edits_are_equal_with_and_without_stored_line_breaks(text: str, rounds: list[list[TextEdit]]) -> None:
    without, carrying = EditableText(text), EditableText(text)
    carrying._lines, carrying._joint = _lines_with_breaks(text), ""
    for edits in rounds:
        without.apply(edits)
        carrying.apply(edits)

        assert without.text() == carrying.text()


@given(texts, st.lists(some_edits, max_size=6))
def test_any_edits_can_be_applied(text: str, edits: list[TextEdit]) -> None:
    apply_edits(text, edits)


def apply_diff(before: str, diff: str) -> str:
    """Apply a diff: each hunk replaces its old lines."""
    old = re.findall(r"[^\n]*\n|[^\n]+\Z", before)
    new: list[str] = []
    at = 0
    lines = diff.split("\n")[2:-1] if diff else []
    while lines:
        header = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", lines.pop(0))
        assert header
        start, old_count, _, new_count = (1 if number is None else int(number) for number in header.groups())
        start -= bool(old_count)
        new += old[at:start]
        assert len(new) == int(header[3]) - bool(new_count)
        at = start
        while lines and not lines[0].startswith("@@"):
            mark, line = lines[0][0], lines.pop(0)[1:] + "\n"
            if lines and lines[0].startswith("\\"):
                lines.pop(0)
                line = line[:-1]
            if mark != "+":
                assert old[at] == line
                at += 1
            if mark != "-":
                new.append(line)
    return "".join(new + old[at:])


lines_of_text = st.lists(st.sampled_from(["", "a", "b", "c", "-- d", "++ e", "f\r", "\u2028g"]), max_size=25)
line_texts = st.builds(lambda lines, end: "\n".join(lines) + end, lines_of_text, st.sampled_from(["", "\n"]))


@pytest.mark.parametrize("limit", [0, 20, 200_000])
@given(before=line_texts, after=line_texts, context=st.integers(0, 4))
def test_a_diff_leads_from_before_to_after(limit: int, before: str, after: str, context: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "LINES_SQUARED_LIMIT", limit)
        diff, added, removed = diff_of(before, after, "a.txt", context=context)

    assert apply_diff(before, diff) == after
    assert count_changes(diff) == (added, removed)
    assert added - removed == len(re.findall(r"\n|[^\n]\Z", after)) - len(re.findall(r"\n|[^\n]\Z", before))


def test_a_diff_equals_that_of_git() -> None:
    assert unified_diff("one\ntwo\nthree\n", "one\n2\nthree", "/src/a.py") == (
        "--- a/src/a.py\n"
        "+++ b/src/a.py\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "-three\n"
        "+2\n"
        "+three\n"
        "\\ No newline at end of file\n"
    )


def test_files_that_come_and_go() -> None:
    assert unified_diff(None, "new\n", "a") == "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+new\n"
    assert unified_diff("old\n", None, "a") == "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n"
    assert unified_diff("x\n", "y\n", "new", "old").startswith("--- a/old\n+++ b/new\n")
    assert unified_diff("same", "same", "new", "old") == ""


def test_a_path_cannot_break_the_diff() -> None:
    assert unified_diff("x", "y", 'a\n"b').splitlines()[1] == '+++ "b/a\\012\\"b"'


def test_lines_that_look_like_headers_are_counted() -> None:
    diff = unified_diff("-- a\n++ b\n@@ -1,9 +1,9 @@\n", "++ c\n", "a.sql")

    assert count_changes(diff) == (1, 3)
    assert count_changes("") == (0, 0)


def test_far_changes_in_a_large_file_stay_small() -> None:
    before = [f"line {number}\n" for number in range(5000)]
    after = ["first\n", *before[1:2500], *before[2510:-1], "last\n"]

    diff = unified_diff("".join(before), "".join(after), "large.txt")

    assert count_changes(diff) == (2, 12)
    assert apply_diff("".join(before), diff) == "".join(after)
