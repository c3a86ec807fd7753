"""Changes to files: every line with its numbers, changed words marked, long stretches folded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.textdiff import unified_diff
from copilog.writers.html import diffs, side_by_side_html, unified_html
from copilog.writers.html.changed_words import changed_words
from copilog.writers.html.diff_lines import files_of
from tests.safe_html import confusing_text, harmless

BEFORE = "import os\n\ndef greet(name):\n    print('hello ' + name)\n    return 1\n"
AFTER = "import os\n\ndef greet(name):\n    print('goodbye ' + name)\n    return 1\n\n# end\n"
DIFF = unified_diff(BEFORE, AFTER, "src/greet.py")


def test_a_diff_in_one_column_numbers_its_lines_and_marks_words() -> None:
    page = harmless(unified_html(DIFF))
    assert "src/greet.py +3 −1" in page.text
    assert page.text.count("import os") == 1
    assert len(page.attributes("mark")) == 2
    assert "<mark>hello</mark>" in unified_html(DIFF)
    assert "<mark>goodbye</mark>" in unified_html(DIFF)


def test_a_diff_in_two_columns_shows_both_sides() -> None:
    page = harmless(side_by_side_html(DIFF))
    assert page.text.count("import os") == 2
    assert page.text.count("# end") == 1
    assert "nothing" in page.classes()


def test_long_unchanged_stretches_are_folded() -> None:
    before = "".join(f"line {number}\n" for number in range(100))
    diff = unified_diff(before, before.replace("line 50\n", "line fifty\n"), "a.txt", context=1000)
    for html in (unified_html(diff), side_by_side_html(diff)):
        page = harmless(html)
        assert "44 unchanged lines" in page.text
        assert "line 47" in page.text
        assert len(page.attributes("details")) == 2


def test_a_new_file_and_a_removed_one_go_by_the_name_they_have() -> None:
    made = unified_diff(None, "x\n", "new.py")
    gone = unified_diff("x\n", None, "old.py")
    assert harmless(unified_html(made)).text.startswith("new.py +1 −0")
    assert harmless(unified_html(gone)).text.startswith("old.py +0 −1")


def test_several_files_and_what_git_says_about_them() -> None:
    diff = (
        "diff --git a/one.py b/two.py\nsimilarity index 90%\nrename from one.py\nrename to two.py\nindex 1..2 100644\n"
        "--- a/one.py\n+++ b/two.py\n@@ -1 +1 @@ def f():\n-a\n+b\n\\ No newline at end of file\n"
        "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
    )
    page = harmless(unified_html(diff))
    for words in (
        "one.py → two.py +1 −1",
        "rename from one.py",
        "No newline at end of file",
        "Binary files",
        "def f():",
    ):
        assert words in page.text


def test_lines_that_look_like_headers_are_lines_while_a_hunk_lasts() -> None:
    diff = unified_diff("-- a\nx\n", "++ b\nx\n", "q.sql")
    (file,) = files_of(iter(diff.split("\n")))
    assert [(line.kind, line.text) for line in file.hunks[0].lines] == [
        ("removed", "-- a"),
        ("added", "++ b"),
        ("same", "x"),
    ]


def test_text_that_is_not_a_diff_is_shown_as_it_is() -> None:
    assert "just words" in harmless(unified_html("just words")).text
    assert harmless(unified_html("")).text == "No changes"


@pytest.mark.parametrize("show", [unified_html, side_by_side_html])
def test_a_hunk_with_a_wrong_header_loses_no_line(show: object) -> None:
    for diff in (
        "@@ -1,9 +1,9 @@\n a\n-b\n+c",
        "@@ -1 +1 @@\n-b\n+c\n+d\n e\nrest",
        "@@ -1,3 +1,3 @@\n-b\n@@ -9 +9 @@\n-y\n+z",
    ):
        text = harmless(show(diff)).text  # type: ignore[operator]
        for letter in diff.replace("@@", "").split():
            assert letter.strip("-+, ") in text


def test_huge_diffs_are_cut_with_a_note() -> None:
    many = unified_diff("", "".join(f"line {number}\n" for number in range(20_000)), "big.txt")
    page = harmless(unified_html(many))
    assert "more lines not shown here" in page.text
    assert len(page.attributes("div")) < 2 * diffs.MOST_LINES
    wide = harmless(side_by_side_html(unified_diff("a" * 50_000, "b" * 50_000, "min.js")))
    assert wide.text.count("48,000 more characters") == 2


def test_words_of_lines_that_have_little_in_common_are_not_marked() -> None:
    assert "<mark>" not in "".join(changed_words("return value", "class Garden(Base):"))
    assert changed_words("x = 1", "x = 2") == ("x = <mark>1</mark>", "x = <mark>2</mark>")
    assert changed_words("a < b", "a < c")[0] == "a &lt; <mark>b</mark>"


@given(st.text("ab <&;1", max_size=60), st.text("ab <&;1", max_size=60))
def test_marks_change_no_word(before: str, after: str) -> None:
    assert tuple(harmless(side).text for side in changed_words(before, after)) == (before, after)


@given(confusing_text, confusing_text)
def test_any_diff_gives_valid_html(before: str, after: str) -> None:
    for diff in (unified_diff(before, after, "x"), before):
        harmless(unified_html(diff))
        harmless(side_by_side_html(diff))


def test_a_patch_without_line_numbers_is_a_diff_without_numbers() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n x = 1\n-y = 2\n+y = 3\n*** Add File: b.py\n+new\n"
    page = harmless(unified_html(patch))
    assert "a.py +1 −1" in page.text
    assert "b.py +1 −0" in page.text
    assert "<mark>2</mark>" in unified_html(patch)
    assert "added" in harmless(side_by_side_html("@ lines 3-4\n+one\n+two\n@ line 9 deleted")).classes()


def test_line_counts_of_an_edit_do_not_depend_on_the_shown_diff() -> None:
    diff = f"--- a/x.py\n+++ b/x.py\n@@ -0,0 +1,{diffs.MOST_LINES + 50} @@\n" + "+line\n" * (diffs.MOST_LINES + 50)

    for write in (unified_html, side_by_side_html):
        assert f"x.py +{diffs.MOST_LINES + 50} −2" in write(diff, (diffs.MOST_LINES + 50, 2)).striptags()
        for lines in (None, (None, None)):
            assert "diff-count" not in write(diff, lines)
