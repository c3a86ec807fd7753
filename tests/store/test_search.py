"""The result of a search: the best hits first, with position, highlights, and exact or marked counts."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.store import conditions, plans
from copilog.store import search as search_module
from copilog.store.query import QueryError, Text, parse
from copilog.store.search import Hit, SearchResult, search
from copilog.store.snippets import WIDTH, matchers_for, snippet_of
from copilog.store.substrings import literals_of, words_of
from tests.store.made_up_rows import MadeUp, Row, archive_of


def made_up(number: int, *rows: Row, title: str = "Notes", **facts: object) -> MadeUp:
    return MadeUp(f"vscode:{number}", title, list(rows), **facts)  # type: ignore[arg-type]


def user(text: str, turn: int = 0) -> Row:
    return Row("user", turn, {"user": text})


def answer(text: str, turn: int = 0, **more: str) -> Row:
    return Row("assistant", turn, {"answer": text, **more})


def result_of(text: str, turn: int = 0) -> Row:
    return Row("tool", turn, {"result": text})


TALKS = [
    made_up(1, user("how do the lanterns work"), answer("a lantern burns oil"), title="Oil"),
    made_up(2, user("why"), result_of("lantern found in the list of things"), title="Shed", workspace="/home/ana/shed"),
    made_up(3, user("please"), answer("done", arguments='{"path": "src/lantern_post.py"}'), title="The lantern"),
    made_up(
        4,
        user("first", 0),
        answer("I call get_user(id) here", 0),
        user("second", 1),
        answer("über den Café-Tisch", 1),
        title="Code",
        calls=[(1, "grep_search", False)],
        updated_at="2026-04-01T00:00:00.000Z",
    ),
]


@pytest.fixture(scope="module")
def archive() -> Iterator[sqlite3.Connection]:
    with closing(archive_of(TALKS)) as connection:
        yield connection


# For the index: its operators, its quotes, what it splits in its own way.
PUZZLING = [
    "NEAR",
    "NEAR(a",
    "^a",
    "a+b",
    "{a}",
    '"a""b"',
    "'a''b'",
    "a:b",
    "*a*",
    "½",
    "\ue000",
    "\u0301",
    "a\u0301*",
    "-a",
]


def ids(result: SearchResult) -> list[str]:
    return [hit.id for hit in result.hits]


def marked(hit: Hit) -> list[str]:
    return [hit.snippet[start:end] for start, end in hit.highlights]


# --- hits -----------------------------------------------------------------------------------------------------------


def test_titles_and_prompts_rank_before_results(archive: sqlite3.Connection) -> None:
    result = search(archive, "lantern")

    assert ids(result) == ["vscode:3#2", "vscode:1#1", "vscode:3#1", "vscode:2#1"]
    assert [hit.field for hit in result.hits] == ["title", "answer", "arguments", "result"]
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_a_hit_has_its_position_and_the_command_to_open_it(archive: sqlite3.Connection) -> None:
    (hit,) = search(archive, "tisch").hits

    assert hit.conversation == "vscode:4"
    assert (hit.title, hit.workspace, hit.updated_at) == ("Code", None, "2026-04-01T00:00:00.000Z")
    assert (hit.position, hit.turn, hit.role, hit.field) == (3, 1, "assistant", "answer")
    assert hit.open == "copilog show vscode:4 --turn 2"
    assert search(archive, "title:code").hits[0].open == "copilog show vscode:4"


def test_a_result_is_json_and_comes_back(archive: sqlite3.Connection) -> None:
    result = search(archive, "lantern*")

    assert msgspec.json.decode(msgspec.json.encode(result), type=SearchResult) == result


def test_hits_are_grouped_by_conversation(archive: sqlite3.Connection) -> None:
    groups = search(archive, "lantern* OR oil").groups()

    assert [group.conversation for group in groups] == ["vscode:1", "vscode:3", "vscode:2"]
    assert groups[0].title == "Oil"
    assert [hit.position for hit in groups[0].hits] == [2, 1, 0]


def test_one_hit_of_each_conversation_is_the_best_of_it(archive: sqlite3.Connection) -> None:
    everything = search(archive, "lantern* OR oil")
    result = search(archive, "lantern* OR oil", per_conversation=1)

    assert ids(result) == [group.hits[0].id for group in everything.groups()]
    assert result.total == everything.total
    assert ids(search(archive, "lantern* OR oil", per_conversation=1, offset=1, limit=1)) == ids(result)[1:2]


def test_hits_can_be_sorted_newest_first() -> None:
    march, april, unknown = "2026-03-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z", None
    all_made_up = [
        made_up(1, user("tide"), answer("tide"), updated_at=april),
        made_up(2, user("tide"), updated_at=unknown),
        made_up(3, user("tide"), updated_at=march),
    ]
    with closing(archive_of(all_made_up)) as archive:
        newest = ["vscode:1#0", "vscode:1#1", "vscode:3#0", "vscode:2#0"]
        assert ids(search(archive, "tide", order="newest")) == newest
        assert ids(search(archive, "~tid", order="newest")) == newest
        # Of equal hits the newer one is the better.
        assert ids(search(archive, "user:tide")) == ["vscode:1#0", "vscode:3#0", "vscode:2#0"]


def test_a_query_without_message_conditions_matches_titles_or_turns(archive: sqlite3.Connection) -> None:
    assert ids(search(archive, "workspace:shed")) == ["vscode:2#2"]
    assert ids(search(archive, "after:2026-04-01T00:00Z")) == ["vscode:4#4"]
    assert ids(search(archive, "tool:grep")) == ["vscode:4#2"]
    assert ids(search(archive, "tool:grep role:assistant")) == ["vscode:4#3"]
    assert ids(search(archive, "tool:grep code")) == ["vscode:4#4"]


def test_search_accepts_a_parsed_query_and_a_regular_expression(archive: sqlite3.Connection) -> None:
    assert ids(search(archive, parse("lantern"), regex="oil$")) == ["vscode:1#1"]
    assert ids(search(archive, "", regex=r"get_\w+\(")) == ["vscode:4#1"]
    with pytest.raises(QueryError, match="not a valid regular expression"):
        search(archive, "lantern", regex="(")


@given(st.text(max_size=40) | st.lists(st.sampled_from(PUZZLING), max_size=8).map(" ".join))
def test_any_text_is_answered_or_refused(archive: sqlite3.Connection, text: str) -> None:
    with contextlib.suppress(QueryError):
        search(archive, text)


@pytest.mark.parametrize("order", ["rank", "newest"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("(oil OR title:'Oil') tool:grep 'a lantern' role:user oil", []),
        ("/lan.*/ lantern role:assistant oil (oil OR 'get_user(') /lan.*/", ["vscode:1#1"]),
        ("(/lan.*/ OR 'get_user(') role:assistant 'get_user(' 'call' tool:grep", []),
        ("(tide OR 'get_user(') role:assistant 'get_user(' 'call' here", ["vscode:4#1"]),
    ],
)
def test_alternatives_among_many_conditions_leave_the_index_in_charge(
    archive: sqlite3.Connection, query: str, expected: list[str], order: Literal["rank", "newest"]
) -> None:
    plans: list[str] = []
    archive.set_trace_callback(plans.append)
    try:
        assert ids(search(archive, query, order=order)) == expected
        search_module.conversations_with(archive, query)
    finally:
        archive.set_trace_callback(None)
    for sql in plans:
        if "FROM words AS w" in sql:
            told = [detail for *_, detail in archive.execute(f"EXPLAIN QUERY PLAN {sql}")]
            assert not any("MULTI-INDEX OR" in step for step in told), told


# --- numbers --------------------------------------------------------------------------------------------------------


def test_counts_are_exact_or_marked_as_lower_bounds(archive: sqlite3.Connection) -> None:
    exact = search(archive, "lantern*", limit=1)
    scanned = search(archive, "~ant", limit=1)

    assert (exact.total, exact.total_is_exact) == (5, True)
    assert (exact.conversations, exact.conversations_is_exact) == (3, True)
    assert scanned.total <= 5
    assert search(archive, "nowhere").total == 0


def test_of_very_many_matches_titles_and_the_last_stored_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "MOST_RANKED", 5)
    all_made_up = [made_up(number, *[user("tide")] * 3) for number in range(20)]
    all_made_up[2].title = "Tide"
    with closing(archive_of(all_made_up)) as archive:
        result = search(archive, "tide", limit=3)
        unsure = search(archive, "tide is:starred OR tide", limit=3)

    assert ids(result) == ["vscode:2#3", "vscode:19#0", "vscode:19#1"]
    assert (result.total, result.total_is_exact) == (61, True)
    assert (result.conversations, result.conversations_is_exact) == (3, False)
    assert (unsure.total_is_exact, unsure.conversations_is_exact) == (False, False)


def test_a_note_reports_that_all_texts_were_read(archive: sqlite3.Connection) -> None:
    assert search(archive, "->").notes == [
        "the index cannot answer this query: texts were read one by one, newest first"
    ]
    assert search(archive, "get_user(").notes == []
    assert search(archive, "/get_.*id/").notes == []
    assert search(archive, "tool:grep").notes == []


def test_a_note_reports_conversations_that_are_not_indexed() -> None:
    with closing(archive_of(TALKS, is_indexed=False)) as archive:
        by_word = search(archive, "lantern")
        by_text = search(archive, "get_user(")

    assert by_word.hits == []
    assert by_word.notes == ["some conversations are not in the index yet; `copilog scan` adds them"]
    assert ids(by_text) == ["vscode:4#1"]


def test_parts_of_too_many_words_are_found_without_the_index() -> None:
    all_made_up = [made_up(number, user(f"tide{number}x")) for number in range(70)]
    with closing(archive_of(all_made_up)) as archive:
        assert search(archive, "~ide", limit=100).total == 70
        assert search(archive, "~de6").total == 11


@pytest.mark.parametrize("letters", ["ab12cd", "aя", "я"])  # one byte or two: a word may be cut within a letter
@pytest.mark.parametrize("start", ["", "x"])
def test_a_text_far_inside_a_run_of_letters_is_found(start: str, letters: str) -> None:
    run = start + letters * 20_000
    all_made_up = [
        made_up(1, user(f"before {run}MarkerZ{run}")),
        made_up(2, user(f"{run}tail, end")),
        made_up(3, user("marker z")),
    ]
    with closing(archive_of(all_made_up)) as archive:
        assert ids(search(archive, "~markerz")) == ["vscode:1#0"]
        assert ids(search(archive, "'MarkerZ'")) == ["vscode:1#0"]
        assert ids(search(archive, "/erz.*$/")) == ["vscode:1#0"]
        assert ids(search(archive, "'tail, end'")) == ["vscode:2#0"]
        assert ids(search(archive, "~markerzz")) == []


@pytest.mark.parametrize("text", ["İstanbul", "ISTANBUL İ", "Straße", "ÅNGSTRÖM", "ﬁnden", "Ǆ"])
def test_exact_text_finds_itself(text: str) -> None:
    with closing(archive_of([made_up(1, user(f"to {text} and back")), made_up(2, user("nowhere"))])) as archive:
        assert ids(search(archive, f"'{text}'")) == ["vscode:1#0"]
        assert ids(search(archive, f"'{text.lower()}'"))[:1] == ["vscode:1#0"] or len(text.lower()) != len(text)


def test_ctrl_c_during_an_expression_is_ctrl_c(archive: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_pattern: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conditions, "compiled", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search(archive, "/l.ntern/")


# --- snippets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("uber", ["über"]),
        ("caf*", ["Café"]),
        ('"cafe tisch"', ["Café-Tisch"]),
        ("'FÉ-T'", ["fé-T"]),
        ("/c.f.\\b/", ["Café"]),
        ("uber OR tisch", ["über", "Tisch"]),
        ("uber -nowhere", ["über"]),
        ("answer:uber user:nowhere OR tisch", ["Tisch", "über"]),
    ],
)
def test_whatever_matched_is_highlighted(archive: sqlite3.Connection, query: str, words: list[str]) -> None:
    (hit,) = search(archive, query).hits

    assert sorted(marked(hit)) == sorted(words)


def snippet(text: str, query: str) -> tuple[str, list[str]]:
    found = snippet_of({"answer": text}, matchers_for([Text("words", query)]))
    return found.text, [found.text[start:end] for start, end in found.highlights]


def test_a_snippet_is_one_line_around_the_match() -> None:
    text = "before " * 100 + "\n\n  high\ttide\x1b[1m now" + " after" * 100

    line, words = snippet(text, "tide")

    assert words == ["tide"]
    assert line.startswith("…before")
    assert " high tide[1m now after" in line
    assert line.endswith("after…")
    assert len(line) <= WIDTH + 2


def test_the_snippet_shows_the_position_with_most_words() -> None:
    text = "tide " + "filler " * 100 + "high tide " + "filler " * 100
    found = snippet_of({"answer": text}, matchers_for([Text("words", "high"), Text("words", "tide")]))

    assert "high tide" in found.text


def test_the_snippet_shows_the_column_with_most_words() -> None:
    texts = {"user": "tide", "answer": None, "result": "high tide"}
    found = snippet_of(texts, matchers_for([Text("words", "high"), Text("words", "tide")]))

    assert found.field == "result"


def test_a_long_match_is_cut_and_an_empty_one_is_not_marked() -> None:
    long = snippet_of({"answer": "x" * 1000}, matchers_for([Text("regex", "x+")]))
    empty = snippet_of({"answer": "tide"}, matchers_for([Text("regex", "z*")]))

    assert long.highlights == [(0, WIDTH)]
    assert (empty.text, empty.highlights) == ("tide", [])


def test_combining_accents_are_highlighted_too() -> None:
    assert snippet("the cafe\u0301 is open", "café") == ("the cafe\u0301 is open", ["cafe"])
    assert snippet("a cre\u0301me here", "creme") == ("a cre\u0301me here", ["cre\u0301me"])


# --- looking up parts of words --------------------------------------------------------------------------------------


def test_texts_are_split_as_the_index_splits_them() -> None:
    assert words_of("Foo->bar(") == (("foo", "bar"), True, False)
    assert words_of("--no-verify") == (("no", "verify"), False, True)
    assert words_of("Größe") == (("große",), True, True)
    assert words_of("->") == ((), False, False)


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("tide", ["tide"]),
        (r"get_\w+\(", ["get_"]),
        ("tides?", ["tide"]),
        ("tide{200}", ["tid"]),
        ("tide|ebb", []),
        ("(tide|ebb)flood", ["flood"]),
        ("[tide]flood", ["flood"]),
        ("[]tide]flood", ["flood"]),
        (r"\x74ide", []),
        ("(?x) t i d e", []),
        ("a.b", []),
        (r"src/app\.py", ["src/app.py"]),
        (r"\btide\b", ["tide"]),
    ],
)
def test_required_literals_of_an_expression_are_detected(pattern: str, literals: list[str]) -> None:
    assert literals_of(pattern) == literals
