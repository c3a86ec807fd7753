"""Queries as users write them, and the messages for queries that do not parse."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.errors import UsageError
from copilog.store.query import And, Field, Node, Not, Or, QueryError, Text, parse
from copilog.store.query_fields import FIELDS, TEXT_FIELDS

NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def word(value: str, column: str | None = None, *, is_prefix: bool = False) -> Text:
    return Text("words", value, is_prefix, column)


def exact(value: str, column: str | None = None) -> Text:
    return Text("substring", value, column=column)


def root_of(text: str) -> Node:
    return parse(text, NOW).root


# --- what parses ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("tide", word("tide")),
        ("  tide ", word("tide")),
        ("migrat*", word("migrat", is_prefix=True)),
        ('"high tide"', word("high tide")),
        ('"high ti"*', word("high ti", is_prefix=True)),
        ('"say ""hi"" now"', word('say "hi" now')),
        ('"->"', exact("->")),
        ("'get_user('", exact("get_user(")),
        ("'it''s'", exact("it's")),
        ("get_user", exact("get_user")),
        ("foo->bar(", exact("foo->bar(")),
        ("src/app.py", exact("src/app.py")),
        ("src/*", exact("src/")),
        ("--no-verify", exact("--no-verify")),
        ("->", exact("->")),
        ("std::vector", exact("std::vector")),
        ("http://example.com", exact("http://example.com")),
        ("TODO:", exact("TODO:")),
        ("~grat", exact("grat")),
        ("~/notes", exact("~/notes")),
        ("検索", exact("検索")),
        ("cafe\u0301", word("cafe\u0301")),
        ("/tid(e|al)/", Text("regex", "tid(e|al)")),
        (r"/a\/b/", Text("regex", "a/b")),
        ("/home/ana", exact("/home/ana")),
        ("and", word("and")),
        ("user:tide", word("tide", "user")),
        ("path:src/app.py", exact("src/app.py", "paths")),
        ("Title:tide", word("tide", "title")),
        ("result:/tid./", Text("regex", "tid.", column="result")),
        ("model:gpt-5", Field("model", "gpt-5")),
        ('workspace:"my project"', Field("workspace", "my project")),
        ("skill:'release notes'", Field("skill", "release notes")),
        ("has:Error", Field("has", "error")),
        ("after:2026-03-01T10:00:00Z", Field("period", "2026-03-01T10:00:00.000Z/")),
    ],
)
def test_one_condition(text: str, root: Node) -> None:
    assert root_of(text) == root


@pytest.mark.parametrize(
    ("text", "root"),
    [
        ("a b", And((word("a"), word("b")))),
        ("a AND b", And((word("a"), word("b")))),
        ("a b OR c", Or((And((word("a"), word("b"))), word("c")))),
        ("a (b OR c)", And((word("a"), Or((word("b"), word("c")))))),
        ("a NOT b", And((word("a"), Not(word("b"))))),
        ("a AND NOT b", And((word("a"), Not(word("b"))))),
        ("a -b", And((word("a"), Not(word("b"))))),
        ("NOT NOT a", Not(Not(word("a")))),
        ("NOT(a)", Not(word("a"))),
        ('-"a b"', Not(word("a b"))),
        ("-(a b)", Not(And((word("a"), word("b"))))),
        ("-tool:grep", Not(Field("tool", "grep"))),
        ("(f() OR g(x))", Or((exact("f()"), exact("g(x)")))),
        ("user:(a OR title:b)", Or((word("a", "user"), word("b", "title")))),
        ("tool:(grep OR find)", Or((Field("tool", "grep"), Field("tool", "find")))),
        (
            "(tool:grep OR file:app.py) NOT error",
            And((Or((Field("tool", "grep"), Field("file", "app.py"))), Not(word("error")))),
        ),
    ],
)
def test_several_conditions(text: str, root: Node) -> None:
    assert root_of(text) == root


def test_dates_are_periods_of_the_given_time_zone() -> None:
    assert parse("since:2026-05 until:2026-05", NOW, UTC).root == Field(
        "period", "2026-05-01T00:00:00.000Z/2026-06-01T00:00:00.000Z"
    )
    assert parse("after:2026-05-04", NOW, UTC).root == Field("period", "2026-05-04T00:00:00.000Z/")
    assert parse("before:2026-05-04", NOW, UTC).root == Field("period", "/2026-05-04T00:00:00.000Z")


def test_dates_joined_with_and_are_one_period() -> None:
    tide = Text("words", "tide")
    root = parse("since:2026 tide before:2026-05-04 AND until:2026-05-01 after:7d", NOW, UTC).root
    assert root == And((tide, Field("period", "2026-04-27T12:30:00.000Z/2026-05-02T00:00:00.000Z")))
    assert isinstance(parse("since:2026 OR until:2025", NOW, UTC).root, Or)


# --- what does not --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "position", "suggestion"),
    [
        ('tide "high', 'this " is not closed', 5, 'tide "high"'),
        ("'tide", "this ' is not closed", 0, "'tide'"),
        ("tide (high OR low", "this ( is not closed", 5, "tide (high OR low)"),
        ("tide) high", "this ) has no ( before it", 4, "tide high"),
        ("tide AND", "AND has nothing after it", 5, "tide"),
        ("(tide OR ) high", "OR has nothing after it", 6, "(tide ) high"),
        ("OR tide", "OR has nothing before it", 0, "tide"),
        ("tide AND OR high", "OR has nothing before it", 9, "tide AND high"),
        ("tide NOT", "NOT has nothing after it", 5, "tide"),
        ("tide ()", "there is nothing between ( and )", 5, "tide"),
        ('tide ""', "there is nothing in the quotes", 5, "tide"),
        ("tide *", "* needs the beginning of a word before it", 5, "tide"),
        ("tool: grep", "tool: needs a value right after it", 0, "tool:grep"),
        ("tool:", "tool: needs a value right after it", 0, "'tool:'"),
        ("has:errors", "has: must be one of error, command-error, edit, tool, thinking, not errors", 4, "has:error"),
        ("role:bot", "role: must be one of user, assistant, system, tool, document, title, not bot", 5, "role:tool"),
        ("/tide(/", "this is not a valid regular expression", 0, "'tide('"),
        ("before:soon tide", "'soon' is not a date; write 2026", 7, "before:today tide"),
        ("AND (", "AND has nothing before it", 0, "'AND ('"),
    ],
)
def test_a_fault_is_named_and_mended(text: str, reason: str, position: int, suggestion: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, NOW)

    assert caught.value.reason.startswith(reason)
    assert caught.value.position == position
    assert caught.value.suggestion == suggestion
    assert suggestion in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("modle", "model"), ("worspace", "workspace"), ("tooll", "tool"), ("befor", "before"), ("agents", "agent")],
)
def test_a_misspelt_field_is_recognised(wrong: str, right: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(f"tide {wrong}:x", NOW)

    assert caught.value.suggestion is not None
    assert caught.value.suggestion.startswith(f"tide {right}:")


def test_an_empty_query_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(UsageError, match="the query is empty"):
        parse(" \n")


def test_several_faults_are_mended_at_once() -> None:
    with pytest.raises(QueryError) as caught:
        parse('AND (tide OR modle:"gpt', NOW)

    assert caught.value.suggestion == '(tide OR model:"gpt")'


def test_queries_have_limits() -> None:
    with pytest.raises(QueryError, match="nested too deeply") as deep:
        parse("(" * 5000 + "tide" + ")" * 5000)
    with pytest.raises(QueryError, match="nested too deeply"):
        parse("NOT " * 5000 + "tide")
    with pytest.raises(QueryError, match="more than 150 conditions") as long:
        parse("tide " * 5000)

    assert deep.value.suggestion == "tide"
    assert long.value.suggestion == " ".join(["tide"] * 20)


PIECES = (
    ["tide", "high*", '"', "'", "(", ")", "AND", "OR", "NOT", "-", "~", "*", "/", "\\", ":", " ", "\0", "é", "字", "[a"]
    + [f"{name}:" for name in (*FIELDS, *TEXT_FIELDS)]
    + ["modle:", "2026-03", "starred", "error", '"a b"', "/t.de/", "get_user("]
)


def fault_in(text: str) -> QueryError | None:
    try:
        parse(text, NOW)
    except QueryError as error:
        return error
    return None


def check_that_it_parses_or_is_mended(text: str) -> None:
    fault = fault_in(text)
    if fault is None:
        return
    assert 0 <= fault.position <= len(text)
    if fault.suggestion is None:
        assert not text.replace("\0", " ").strip()
    else:
        assert fault_in(fault.suggestion) is None


@settings(max_examples=500)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.lists(st.sampled_from(PIECES)).map(" ".join))
def test_whatever_is_written_parses_or_is_mended(text: str) -> None:
    check_that_it_parses_or_is_mended(text)


@given(st.text(max_size=60))
def test_any_text_at_all_parses_or_is_mended(text: str) -> None:
    check_that_it_parses_or_is_mended(text)
