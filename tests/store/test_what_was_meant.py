"""What was pasted finds itself, a question finds its conversation, and a stated reading is kept."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from copilog.errors import UsageError
from copilog.store.query import QueryError, parse
from copilog.store.reading import spelled
from copilog.store.search import SearchResult, conversations_with, search
from copilog.store.selection import Selected, Selection
from copilog.store.stop_words import stop_words_in
from tests.store.made_up_rows import MadeUp, Row, archive_of

PASTED = (
    # commands
    "rm -rf build",
    "git push --force origin main",
    "git commit -m 'Fix the lamp'",
    'git commit -m "Fix the lamp" --no-verify',
    "git log --oneline -n 5 -- src/lamp.py",
    "npm run build -- --watch",
    "docker run -it --rm -p 8080:80 lamp",
    "curl -fsSL http://localhost:8080/lamps | sh",
    "grep -rn 'lamp' src/ | head -3",
    "find . -name '*.py' -delete",
    "ssh -i ~/.ssh/lamp ana@harbour",
    "tar -xzf lamp.tar.gz",
    "pytest -x tests/test_lamp.py::test_glow",
    "sed -i 's/dark/bright/g' lamp.txt",
    "kubectl get pods -n lamps -o wide",
    "python -c 'print(\"glow\")'",
    # flags
    "-rf",
    "-v",
    "--no-verify",
    "--max-lamps=3",
    "-Wno-unused",
    "+nightly",
    # paths
    "src/lamp.py",
    "/usr/local/bin/",
    "/etc/lamps",
    "~/.config/lamp",
    "C:\\lamps\\main.ts",
    "../lamp/*.css",
    "file:///home/ana/lamp.md",
    "lamp.py:12-14",
    # pieces of code
    "self.lamps[key] = None",
    "if (lamp > 0 && !dark) {",
    "lamp->glow();",
    "std::vector<Lamp> lamps;",
    "const [lamp, setLamp] = useState(null);",
    "for (let i = 0; i < n; i++) {",
    'x = "a lamp" + \'"\'',
    "SELECT name FROM lamp WHERE lit = 1 AND old = 0",
    "{'lamp': {'lit': True}}",
    "return None",
    "#include <lamp.h>",
    "@app.route('/lamps')",
    "def glow(self) -> None:",
    "lamp ||= Lamp.new(*args)",
    "(unbalanced",
    'say "never closed',
)


def about(number: int, *texts: str, title: str = "Notes", **facts: object) -> MadeUp:
    rows = [
        Row("user" if place % 2 == 0 else "assistant", place // 2, {column: text})
        for place, text in enumerate(texts)
        for column in ["user" if place % 2 == 0 else "answer"]
    ]
    return MadeUp(f"vscode:{number}", title, rows, **facts)  # type: ignore[arg-type]


def scattered(text: str) -> str:
    """The same words in another order, as a long file might have them."""
    return " and ".join(reversed(re.findall(r"\w+", text))) * 3


@pytest.fixture(scope="module")
def pasted() -> Iterator[sqlite3.Connection]:
    """Each pasted text in one message, among messages with the same words."""
    all_made_up = [about(number, "please", f"I would run {text} there") for number, text in enumerate(PASTED)]
    all_made_up += [about(100 + number, scattered(text), title=scattered(text)) for number, text in enumerate(PASTED)]
    with closing(archive_of(all_made_up)) as connection:
        yield connection


@pytest.mark.parametrize(("number", "text"), list(enumerate(PASTED)), ids=PASTED)
def test_what_was_pasted_finds_itself_first(pasted: sqlite3.Connection, number: int, text: str) -> None:
    assert search(pasted, text).hits[0].conversation == f"vscode:{number}"


# --- which reading was taken ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def archive() -> Iterator[sqlite3.Connection]:
    all_made_up = [
        about(1, "clear the folder", "run rm -rf build first"),
        about(2, "clear it", "rm only removes the file"),
        about(3, "why is rf not rm", "because"),
        about(4, "find tool:lamp in the notes", "it is the lamp"),
    ]
    with closing(archive_of(all_made_up)) as connection:
        yield connection


def ids(result: SearchResult) -> list[str]:
    return list(dict.fromkeys(hit.conversation.removeprefix("vscode:") for hit in result.hits))


def test_text_that_occurs_is_what_was_meant_and_a_note_names_the_other_reading(archive: sqlite3.Connection) -> None:
    result = search(archive, "rm -rf")

    assert (ids(result), result.reading, result.widened) == (["1"], "text", 0)
    assert result.notes == ["these have the text as it was typed; as a query it would be: rm NOT rf"]
    assert conversations_with(archive, "rm -rf") == [1]


def test_otherwise_a_word_after_a_dash_is_refused(archive: sqlite3.Connection) -> None:
    result = search(archive, "rm -build")

    assert (ids(result), result.reading) == (["3", "2"], "query")
    assert result.notes == ["no message has the text as it was typed; as a query it is: rm NOT build"]


def test_not_in_capitals_always_refuses(archive: sqlite3.Connection) -> None:
    assert ids(search(archive, "rm NOT rf")) == ["2"]


def test_single_quotes_always_mean_text(archive: sqlite3.Connection) -> None:
    assert ids(search(archive, "'rm -rf'", reading="query")) == ["1"]
    assert ids(search(archive, "'rm -rf'")) == ["1"]


@pytest.mark.parametrize(
    ("query", "reading", "found"),
    [
        ("rm -rf", "query", ["2"]),
        ("rm -rf", "text", ["1"]),
        ("rm -build", "text", []),
        ("clear rm", "query", []),
        ("rm OR clear", "text", []),
    ],
)
def test_a_stated_reading_does_not_depend_on_the_data(
    archive: sqlite3.Connection, query: str, reading: str, found: list[str]
) -> None:
    result = search(archive, query, reading=reading)  # type: ignore[arg-type]

    assert (ids(result), result.reading, result.widened) == (found, reading, 0)


def test_a_field_is_a_field_also_if_somebody_wrote_it(archive: sqlite3.Connection) -> None:
    assert search(archive, "role:user lamp").reading == "query"


def test_what_does_not_parse_is_an_error_unless_it_occurs(archive: sqlite3.Connection) -> None:
    with pytest.raises(QueryError):
        search(archive, '"no such text')
    with pytest.raises(UsageError, match="a reading is one of text, query"):
        search(archive, "rm", reading="words")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query",
    ["rm -rf", 'a -"b c" (d OR e*)', "get_user( -x", r"/t.de\/s/ -tool:grep", "title:a -user:'it''s'", "é +b -(c d)"],
)
def test_the_other_reading_is_written_as_a_query_that_means_the_same(query: str) -> None:
    root = parse(query).root

    assert parse(spelled(root)).root == root


def test_a_whole_message_is_found_that_would_be_too_long_a_query() -> None:
    text = "\n".join(f"line {number} (of many) -{number}" for number in range(200))
    with closing(archive_of([about(1, "x", f"first {text} last"), about(2, text[:-40])])) as connection:
        assert ids(search(connection, text)) == ["1"]


# --- questions --------------------------------------------------------------------------------------------------------

TALKS = [
    about(1, "Why does /lamps take a second?", "A request reads the station table.", title="Speed up the lamp lookup"),
    about(2, "Is the lamp green?", "No, the lamp is red.", "And slow?", "The lamp is quick.", title="Colours"),
    about(3, "Plan the harbour", "The stations are near the quay.", title="Harbour plan"),
    about(4, "What is it", "It is the what of the why.", title="Why is it"),
]


@pytest.fixture(scope="module")
def talks() -> Iterator[sqlite3.Connection]:
    with closing(archive_of(TALKS)) as connection:
        yield connection


def test_a_question_finds_its_conversation_and_a_note_says_that_the_search_was_widened(
    talks: sqlite3.Connection,
) -> None:
    result = search(talks, "why is the lamp lookup slow")

    assert ids(result)[0] == "1"
    assert result.widened == len(result.hits)
    assert result.notes == [
        "no message has all of these words: the search was widened to conversations with some of them; +word insists"
    ]


def test_words_that_say_nothing_find_nothing_by_themselves(talks: sqlite3.Connection) -> None:
    assert "4" not in ids(search(talks, "why is the lamp slow"))
    assert stop_words_in(["warum", "ist", "die", "Lampe", "rot"]) == {"warum", "ist", "die"}
    assert stop_words_in(["die", "process"]) == {"die"}
    assert stop_words_in(["to", "be"]) == frozenset()


def test_messages_with_all_words_come_before_those_of_a_widened_search(talks: sqlite3.Connection) -> None:
    result = search(talks, "lamp red")

    assert ids(result)[0] == "2"
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)
    assert 0 < result.widened < len(result.hits)


@pytest.mark.parametrize("query", ["+quay lamp slow", '"the quay" lamp slow', "lamp slow +quay"])
def test_plus_and_quotes_insist(talks: sqlite3.Connection, query: str) -> None:
    assert ids(search(talks, query)) == ["3"]


def test_what_is_refused_or_a_field_holds_in_a_widened_search(talks: sqlite3.Connection) -> None:
    assert "2" not in ids(search(talks, "lamp slow lookup -green"))
    assert ids(search(talks, "lamp lookup slow role:system")) == []


def test_operators_insist(talks: sqlite3.Connection) -> None:
    assert ids(search(talks, "lamp AND slow AND lookup")) == []


def test_other_forms_of_a_word_are_found_and_highlighted(talks: sqlite3.Connection) -> None:
    [hit] = search(talks, "speeding nowhere").hits
    assert (hit.conversation, [hit.snippet[start:end] for start, end in hit.highlights]) == ("vscode:1", ["Speed"])

    assert ids(search(talks, "stations nowhere")) == ["3", "1"]


def test_words_in_their_order_come_first() -> None:
    all_made_up = [
        about(11, "here: can None return then?", title="return then None of them? here, return then"),
        about(12, "x", "then return None here"),
    ]
    with closing(archive_of([*all_made_up, *TALKS])) as connection:
        assert ids(search(connection, "None here"))[0] == "12"
        assert ids(search(connection, "then return"))[0] == "12"


def test_filters_read_text_as_a_search_does_but_do_not_widen(talks: sqlite3.Connection) -> None:
    assert Selected(talks, Selection(query="lamp slow lookup")).found == []
    assert Selected(talks, Selection(query="lamp slow lookup"), widens=True).found[0] == 1
    with closing(archive_of([about(1, "rm -rf build"), about(2, "rm it")])) as connection:
        assert Selected(connection, Selection(query="rm -rf")).found == [1]


def test_words_that_say_nothing_are_not_highlighted_in_a_widened_search(talks: sqlite3.Connection) -> None:
    hit = search(talks, "why is the lamp lookup slow").hits[0]

    marked = {hit.snippet[start:end].lower() for start, end in hit.highlights}
    assert marked
    assert not marked & {"why", "is", "the"}
