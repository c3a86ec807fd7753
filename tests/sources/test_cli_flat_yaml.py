"""workspace.yaml: a flat map of scalars, in all the ways in which YAML can write one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.sources.cli.flat_yaml import read_flat_map

WORKSPACE = """\
# written by the CLI
id: 3f0c2a51-0d8e-4f0b-9a58-6b1d5f0a7c11
cwd: c:\\Users\\ana\\src\\shop
repository: ana/shop
user_named: false
summary_count: 1
created_at: 2026-06-02T08:00:01.120Z
name: "Cart: rounding bug"
"""


def one(text: str) -> object:
    made = read_flat_map(text)
    assert made.problems == []
    (value,) = made.values.values()
    return value


def test_a_file_with_all_events_is_read() -> None:
    made = read_flat_map(WORKSPACE)

    assert made.problems == []
    assert made.values == {
        "id": "3f0c2a51-0d8e-4f0b-9a58-6b1d5f0a7c11",
        "cwd": "c:\\Users\\ana\\src\\shop",
        "repository": "ana/shop",
        "user_named": False,
        "summary_count": 1,
        "created_at": "2026-06-02T08:00:01.120Z",
        "name": "Cart: rounding bug",
    }
    assert made.text("summary_count") == "1"
    assert made.text("user_named") is made.text("missing") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: plain", "plain"),
        ("a: with: a colon", "with: a colon"),
        ("a: text # comment", "text"),
        ("a: text#no comment", "text#no comment"),
        ("a:", None),
        ("a: ~", None),
        ("a: null", None),
        ("a: true", True),
        ("a: FALSE", False),
        ("a: -7", -7),
        ("a: 007", 7),
        ("a: 1.5", 1.5),
        ("a: 1.5.2", "1.5.2"),
        ("a: 12345678901234567890", "12345678901234567890"),
        ("a: 2026-06-02", "2026-06-02"),
        ("a: two\n  lines\n   of text", "two lines of text"),
        ('"a b": x', "x"),
        ("'it''s': x", "x"),
        ("a : x", "x"),
        ("a:\tx", "x"),
    ],
)
def test_plain_scalars(text: str, value: object) -> None:
    assert one(text) == value
    assert type(one(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a: ""', ""),
        ("a: ''", ""),
        ('a: "true"', "true"),
        ("a: '12'", "12"),
        ("a: 'it''s # no comment'", "it's # no comment"),
        ('a: "\\"quoted\\" \\\\ \\t\\u00e9\\x41\\U0001F680"', '"quoted" \\ \té' + "A🚀"),
        ('a: "half \\ud83d"', "half \ufffd"),
        ('a: "closed" # comment', "closed"),
        ('a: "folded\n  line"', "folded line"),
        ('a: "one\n\n  two"', "one\ntwo"),
        ('a: "joined\\\n  \\ up"', "joined up"),
        ('a: "back\\\\\n  slash"', "back\\ slash"),
        ('a: "first\\r\n\n  second\\r\n\n  third"', "first\r\nsecond\r\nthird"),
        ("a: 'one\n\n\n  two'", "one\n\ntwo"),
    ],
)
def test_quoted_scalars(text: str, value: str) -> None:
    assert one(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: |-\n  one\n  two", "one\ntwo"),
        ("a: |\n  one\n  two\n", "one\ntwo\n"),
        ("a: |+\n  one\n\n\n", "one\n\n\n"),
        ("a: |-\n  one\n\n    deeper\n  two\n\n", "one\n\n  deeper\ntwo"),
        ("a: |-\n  - a list: in prose\n  # no comment", "- a list: in prose\n# no comment"),
        ("a: >-\n  one\n  line\n\n  another", "one line\nanother"),
        ("a: >\n  one\n    kept\n  two\n", "one\n  kept\ntwo\n"),
        ("a: |2-\n    indented", "  indented"),
        ("a: |-2\n    indented", "  indented"),
        ("a: |- # comment\n  one", "one"),
        ("a: |-\n", ""),
        ("a: |+\n\n", "\n"),
    ],
)
def test_block_scalars(text: str, value: str) -> None:
    assert one(text) == value


def test_a_block_ends_where_the_next_key_begins() -> None:
    made = read_flat_map("summary: |-\n  one: two\n\n  three\ncount: 2\r\nlast: x\r\n")

    assert made.values == {"summary": "one: two\n\nthree", "count": 2, "last": "x"}


@pytest.mark.parametrize(
    ("text", "values", "line"),
    [
        ("a: 1\nmap:\n  b: 2\nc: 3", {"a": 1, "map": "  b: 2", "c": 3}, 2),
        ("list:\n  - x\n  - y", {"list": "  - x\n  - y"}, 1),
        ("a: [1, 2]", {"a": "[1, 2]"}, 1),
        ("a: {b: 1}", {"a": "{b: 1}"}, 1),
        ("a: &anchor x", {"a": "&anchor x"}, 1),
        ("a: !tag x", {"a": "!tag x"}, 1),
        ("just words", {}, 1),
        ("- item", {}, 1),
        ('a: "never closed', {"a": "never closed"}, 1),
        ('a: "x" y', {"a": "x"}, 1),
        ("a: 1\na: 2", {"a": 2}, 2),
    ],
)
def test_yaml_that_is_not_a_flat_map_is_stored_as_text_and_reported(
    text: str, values: dict[str, object], line: int
) -> None:
    made = read_flat_map(text)

    assert made.values == values
    assert [problem[0] for problem in made.problems] == [line]


def test_nothing_is_an_empty_map() -> None:
    assert read_flat_map("").values == read_flat_map("---\n# only this\n...\n").values == {}


@given(st.text(alphabet=st.sampled_from("ab: \n\t'\"\\|>-+#2{[&~é\r"), max_size=60))
def test_any_text_is_segmented(text: str) -> None:
    made = read_flat_map(text)

    assert all(value is None or isinstance(value, str | int | float) for value in made.values.values())


@given(st.text())
def test_a_text_in_double_quotes_comes_back(text: str) -> None:
    escaped = "".join(f"\\U{ord(character):08x}" for character in text)

    assert read_flat_map(f'key: "{escaped}"').values == {"key": text}


@given(
    st.text(alphabet=st.sampled_from("ab1.: \t'\"|>-+~/\u3000\x0b\r"), max_size=12),
    st.sampled_from(["", " ", "c: d", " e", "\t"]),
)
def test_a_plain_line_is_read_like_an_unusual_one(value: str, below: str) -> None:
    assert_same(f"key: a{value}\n{below}", f"key:  a{value}\n{below}")
    assert_same(f"key: 1{value}\n{below}", f"key:  1{value}\n{below}")


def assert_same(plain: str, roundabout: str) -> None:
    one, other = read_flat_map(plain), read_flat_map(roundabout)
    assert (one.values, one.problems) == (other.values, other.problems)
