"""A search finds exactly the rows that a plain check of every row finds, for any query.

Queries are made together with a function that says, in plain Python, for which rows they hold. Nothing of the search
is used for that, not even its parser.
"""

from __future__ import annotations

import random
import re
import sqlite3
import unicodedata
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.store.schema import TEXT_COLUMNS
from copilog.store.search import search
from tests.store.made_up_rows import MadeUp, Row, archive_of

# fmt: off
WORDS = (
    "tide", "café", "Café", "cafe\u0301", "naïve", "harbour", "harbor", "migrate", "migration", "migrations", "user",
    "users", "get", "getter", "foo", "bar", "fooBar", "über", "Öl", "größe", "GRÖSSE", "x1", "42", "v2", "AND", "not",
    "error", "errors", "漢字", "漢字検索", "Ωmega", "e", "ab", "abc", "abcd", "tidefoo",
)
# fmt: on
CODE = (
    "get_user(",
    "foo->bar();",
    "src/app.py",
    "src/app_test.py",
    "--no-verify",
    "std::vector<int>",
    "a+b",
    "100%",
    "C:\\temp\\x",
    "don't",
    "{}",
    "->",
    "get_users(id)",
    "fooget_user",
    "naïve_größe",
)
TOOLS = ("grep_search", "read_file", "run_in_terminal", "mcp_tide_read")
PATHS = ("/home/ana/shop/src/app.py", "/home/ana/shop/README.md", "/home/ana/tide/src/app_test.py", "C:\\ana\\x.ts")
GAPS = (" ", " ", " ", "\n", ", ", " - ", "\t", ". ")


class RowFacts(NamedTuple):
    """A row with everything that a query may test."""

    made_up: MadeUp
    row: Row
    position: int


class MadeUpQuery(NamedTuple):
    """A query and whether it holds for a row. `levels`: what it is about."""

    text: str
    holds: Callable[[RowFacts], bool]
    levels: frozenset[str]


# --- the archive ----------------------------------------------------------------------------------------------------


def made_up_text(chance: random.Random, longest: int) -> str:
    pieces = [chance.choice(WORDS if chance.random() < 0.7 else CODE) for _ in range(chance.randint(1, longest))]
    return "".join(piece + chance.choice(GAPS) for piece in pieces).strip()


def made_up_row(chance: random.Random, turn: int | None) -> Row:
    role = chance.choice(("user", "assistant", "assistant", "tool", "system"))
    columns = chance.sample(TEXT_COLUMNS[1:-1], chance.randint(0, 2))
    texts = {column: made_up_text(chance, 8) for column in columns}
    if chance.random() < 0.3:
        texts["paths"] = "\n".join(chance.sample(PATHS, 2))
    return Row(role, turn, texts)


def draw_made_up(chance: random.Random, number: int) -> MadeUp:
    turns = chance.randint(1, 4)
    rows = [made_up_row(chance, turn) for turn in range(turns) for _ in range(chance.randint(1, 3))]
    if chance.random() < 0.3:
        rows.insert(0, made_up_row(chance, None))
    return MadeUp(
        id=f"cli:{number:03}",
        title=made_up_text(chance, 4),
        rows=rows,
        workspace=chance.choice(("/home/ana/shop", "/home/ana/my project", "/home/ana/50%_done", None)),
        source=chance.choice(("cli-events", "vscode-session")),
        updated_at=chance.choice(("2026-03-01T12:00:00.000Z", "2026-04-15T08:00:00.000Z", None)),
        models=tuple(chance.sample(("gpt-5", "gpt-5-mini", "claude-sonnet-4"), chance.randint(0, 2))),
        modes=tuple(chance.sample(("agent", "ask", "edit"), chance.randint(0, 2))),
        agents=tuple(chance.sample(("reviewer", "planner"), chance.randint(0, 1))),
        skills=tuple(chance.sample(("pdf", "release notes"), chance.randint(0, 1))),
        labels=tuple(chance.sample(("bug", "debug", "later"), chance.randint(0, 2))),
        is_starred=chance.random() < 0.3,
        is_gone=chance.random() < 0.2,
        calls=[(chance.randrange(turns), chance.choice(TOOLS), chance.random() < 0.3) for _ in range(2)],
        edits=[(chance.choice((None, 0)), path) for path in chance.sample(PATHS, chance.randint(0, 1))],
        failed_turns=(0,) if chance.random() < 0.2 else (),
    )


CHANCE = random.Random(5)
TALKS = [draw_made_up(CHANCE, number) for number in range(40)]


@pytest.fixture(scope="module")
def archive() -> Iterator[sqlite3.Connection]:
    connection = archive_of(TALKS)
    yield connection
    connection.close()


# --- what texts hold ------------------------------------------------------------------------------------------------


def is_mark(character: str) -> bool:
    return unicodedata.category(character) == "Mn"


def split(text: str) -> list[str]:
    """Return the words of a text as the index has them: letters and digits, without case and accents."""
    words = [""]
    for character in unicodedata.normalize("NFD", text):
        if is_mark(character) and words[-1]:
            continue
        if unicodedata.category(character)[0] in "LN":
            words[-1] += character.lower()
        elif words[-1]:
            words.append("")
    return [word for word in words if word]


def has_phrase(text: str, phrase: str, *, is_prefix: bool) -> bool:
    words, wanted = split(text), split(phrase)
    for start in range(len(words) - len(wanted) + 1):
        here = words[start : start + len(wanted)]
        if here[:-1] == wanted[:-1] and (here[-1].startswith(wanted[-1]) if is_prefix else here[-1] == wanted[-1]):
            return True
    return False


def in_texts(test: Callable[[str], bool], column: str | None) -> Callable[[RowFacts], bool]:
    def holds(row_facts: RowFacts) -> bool:
        return any(test(text) for name, text in row_facts.row.texts.items() if column in (None, name))

    return holds


TEXT_FIELDS = {"": None} | {name: name for name in TEXT_COLUMNS[:-1]} | {"path": "paths"}
MESSAGE = frozenset({"message"})


@st.composite
def text_queries(draw: st.DrawFn) -> MadeUpQuery:
    name = draw(st.sampled_from(["", "", "", *TEXT_FIELDS]))
    written, test = draw(st.one_of(words(), phrases(), substrings(), code(), regexes()))
    text = f"{name}:{written}" if name else written
    return MadeUpQuery(text, in_texts(test, TEXT_FIELDS[name]), MESSAGE)


@st.composite
def words(draw: st.DrawFn) -> tuple[str, Callable[[str], bool]]:
    plain = [word for word in WORDS if word not in ("AND", "漢字", "漢字検索")]
    word = draw(st.sampled_from(plain))
    if draw(st.booleans()):
        return word, lambda text: has_phrase(text, word, is_prefix=False)
    stem = word[: draw(st.integers(1, len(word)))]
    return f"{stem}*", lambda text: has_phrase(text, stem, is_prefix=True)


@st.composite
def phrases(draw: st.DrawFn) -> tuple[str, Callable[[str], bool]]:
    phrase = draw(st.sampled_from(TEXT_PIECES).filter(lambda piece: bool(split(piece)) and '"' not in piece))
    is_prefix = draw(st.booleans())
    return f'"{phrase}"' + "*" * is_prefix, lambda text: has_phrase(text, phrase, is_prefix=is_prefix)


@st.composite
def substrings(draw: st.DrawFn) -> tuple[str, Callable[[str], bool]]:
    piece = draw(st.sampled_from(TEXT_PIECES))
    piece = draw(st.sampled_from([piece, piece.upper(), piece.lower()]))
    return "'" + piece.replace("'", "''") + "'", lambda text: piece.lower() in text.lower()


@st.composite
def code(draw: st.DrawFn) -> tuple[str, Callable[[str], bool]]:
    """Return a query without quotes for a text that is not a plain word, which is searched literally."""
    bare = [*CODE, "漢字", "get_us", "/app", "app.p", "r->b", "~oo", "~igrat", "~漢", "-verify"]
    written = draw(st.sampled_from([piece for piece in bare if not piece.startswith("-v")]))
    piece = written.removeprefix("~")
    return written, lambda text: piece.lower() in text.lower()


REGEXES = (
    r"get_\w+\(",
    r"migrat(e|ion)s?",
    r"^src",
    r"app(_test)?\.py$",
    r"fo{2}",
    r"a.?b",
    r"tide|harbou?r",
    r"[^a-z ]{3}",
    r"no-verify\b",
    r"us(?=ers)",
    r"\x67et",
    r"users? \S",
    r"err[o]r",
    r"(?-i:GR)",
)


@st.composite
def regexes(draw: st.DrawFn) -> tuple[str, Callable[[str], bool]]:
    pattern = draw(st.sampled_from(REGEXES))
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return f"/{pattern}/", lambda text: compiled.search(text) is not None


def pieces_of_texts() -> list[str]:
    """Return pieces cut from the texts anywhere, so that most are found and some are not."""
    chance = random.Random(6)
    texts = [text for made_up in TALKS for row in made_up.all_rows() for text in row.texts.values()]
    pieces: list[str] = []
    while len(pieces) < 400:
        text = chance.choice(texts)
        start = chance.randrange(len(text))
        piece = text[start : start + chance.randint(1, 14)]
        if chance.random() < 0.15:
            piece = piece[::-1]
        if piece.strip():
            pieces.append(piece)
    return pieces


TEXT_PIECES = pieces_of_texts()


# --- facts ----------------------------------------------------------------------------------------------------------


def turn_facts(facts: Callable[[MadeUp], list[int | None]]) -> Callable[[RowFacts], bool]:
    """Return a test on the turn that a row belongs to; the title belongs to all turns."""
    return lambda row_facts: (
        bool(facts(row_facts.made_up))
        if row_facts.row.role == "title"
        else row_facts.row.turn in facts(row_facts.made_up)
    )


def part_of(names: Callable[[MadeUp], tuple[str | None, ...]], value: str) -> Callable[[RowFacts], bool]:
    return lambda row_facts: any(value.lower() in (name or "").lower() for name in names(row_facts.made_up))


def turns_with_path(test: Callable[[str], bool]) -> Callable[[MadeUp], list[int | None]]:
    def turns(made_up: MadeUp) -> list[int | None]:
        named = [row.turn for row in made_up.rows if any(map(test, row.texts.get("paths", "").split("\n")))]
        return named + [turn for turn, path in made_up.edits if test(path)]

    return turns


def has_thinking(made_up: MadeUp) -> list[int | None]:
    return [row.turn for row in made_up.rows if "thinking" in row.texts]


def has_error(made_up: MadeUp) -> list[int | None]:
    return [*(turn for turn, _, has_failed in made_up.calls if has_failed), *made_up.failed_turns]


def touched(made_up: MadeUp) -> str:
    return made_up.updated_at or ""


FACTS: dict[str, tuple[str, Callable[[RowFacts], bool]]] = {
    "role:user": ("message", lambda row_facts: row_facts.row.role == "user"),
    "role:TITLE": ("message", lambda row_facts: row_facts.row.role == "title"),
    "tool:grep": ("turn", turn_facts(lambda made_up: [turn for turn, tool, _ in made_up.calls if "grep" in tool])),
    "tool:READ": ("turn", turn_facts(lambda made_up: [turn for turn, tool, _ in made_up.calls if "read" in tool])),
    "tool:read*": (
        "turn",
        turn_facts(lambda made_up: [turn for turn, tool, _ in made_up.calls if tool.startswith("read")]),
    ),
    "tool:n_t": ("turn", turn_facts(lambda made_up: [turn for turn, tool, _ in made_up.calls if "n_t" in tool])),
    "file:app": ("turn", turn_facts(turns_with_path(lambda path: "app" in path))),
    "file:src/app.py": ("turn", turn_facts(turns_with_path(lambda path: "src/app.py" in path))),
    "file:app*.py": ("turn", turn_facts(turns_with_path(lambda path: path.endswith(".py")))),
    "file:ana*.md": ("turn", turn_facts(turns_with_path(lambda path: path.endswith(".md")))),
    "file:zebra": ("turn", lambda row_facts: False),
    "has:error": ("turn", turn_facts(has_error)),
    "has:edit": ("turn", turn_facts(lambda made_up: [turn for turn, _ in made_up.edits])),
    "has:tool": ("turn", turn_facts(lambda made_up: [turn for turn, _, _ in made_up.calls])),
    "has:thinking": ("turn", turn_facts(has_thinking)),
    "workspace:SHOP": ("conversation", part_of(lambda made_up: (made_up.workspace,), "shop")),
    'workspace:"my project"': ("conversation", part_of(lambda made_up: (made_up.workspace,), "my project")),
    "workspace:0%_": ("conversation", part_of(lambda made_up: (made_up.workspace,), "0%_")),
    "source:cli-events": ("conversation", part_of(lambda made_up: (made_up.source,), "cli-events")),
    "model:gpt-5": ("conversation", part_of(lambda made_up: made_up.models, "gpt-5")),
    "model:*5": ("conversation", lambda row_facts: "gpt-5" in row_facts.made_up.models),
    "mode:ask": ("conversation", part_of(lambda made_up: made_up.modes, "ask")),
    "agent:review": ("conversation", part_of(lambda made_up: made_up.agents, "review")),
    "skill:'release n'": ("conversation", part_of(lambda made_up: made_up.skills, "release n")),
    "label:Bug": ("conversation", lambda row_facts: "bug" in row_facts.made_up.labels),
    "is:starred": ("conversation", lambda row_facts: row_facts.made_up.is_starred),
    "is:gone": ("conversation", lambda row_facts: row_facts.made_up.is_gone),
    "after:2026-04": ("conversation", lambda row_facts: touched(row_facts.made_up) >= "2026-04"),
    "before:2026-04": ("conversation", lambda row_facts: "" < touched(row_facts.made_up) < "2026-04"),
}


def fact_queries() -> st.SearchStrategy[MadeUpQuery]:
    return st.sampled_from([MadeUpQuery(text, holds, frozenset({level})) for text, (level, holds) in FACTS.items()])


# --- structure ------------------------------------------------------------------------------------------------------


def negated(made_up_query: MadeUpQuery, sign: str) -> MadeUpQuery:
    # A minus means NOT before a letter or a parenthesis; before punctuation it is punctuation. The spaces within are
    # for terms such as get_user( which would take the parenthesis for their own.
    text = f"( {made_up_query.text} )" if sign == "-" or made_up_query.text.startswith("-") else made_up_query.text
    return MadeUpQuery(f"{sign}{text}", lambda row_facts: not made_up_query.holds(row_facts), made_up_query.levels)


def joined(items: list[MadeUpQuery], operator: str) -> MadeUpQuery:
    every: Callable[..., Any] = any if operator == " OR " else all
    return MadeUpQuery(
        "( " + operator.join(item.text for item in items) + " )",
        lambda row_facts: every(item.holds(row_facts) for item in items),
        frozenset().union(*(item.levels for item in items)),
    )


def queries() -> st.SearchStrategy[MadeUpQuery]:
    return st.recursive(
        st.one_of(text_queries(), text_queries(), fact_queries()),
        lambda inner: st.one_of(
            st.builds(negated, inner, st.sampled_from(["-", "NOT "])),
            st.builds(joined, st.lists(inner, min_size=2, max_size=3), st.sampled_from([" ", " AND ", " OR "])),
        ),
        max_leaves=5,
    )


def expected(made_up_query: MadeUpQuery) -> set[tuple[str, int]]:
    found = set()
    for made_up in TALKS:
        rows = made_up.all_rows()
        for position, row in enumerate(rows):
            if made_up_query.levels == {"conversation"} and row.role != "title":
                continue
            is_first = row.role != "title" and (position == 0 or rows[position - 1].turn != row.turn)
            if "message" not in made_up_query.levels and "turn" in made_up_query.levels and not is_first:
                continue
            if made_up_query.holds(RowFacts(made_up, row, position)):
                found.add((made_up.id, position))
    return found


@settings(max_examples=1000)
@given(queries())
def test_a_search_agrees_with_checking_every_row(archive: sqlite3.Connection, made_up_query: MadeUpQuery) -> None:
    result = search(archive, made_up_query.text, reading="query", limit=10_000)

    assert {(hit.conversation, hit.position) for hit in result.hits} == expected(made_up_query)
    assert result.total == len(result.hits)
    assert result.total_is_exact


@given(queries(), st.sampled_from(REGEXES))
def test_a_regular_expression_is_a_further_condition_of_the_query(
    archive: sqlite3.Connection, made_up_query: MadeUpQuery, pattern: str
) -> None:
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    both = joined(
        [made_up_query, MadeUpQuery("", in_texts(lambda text: bool(compiled.search(text)), None), MESSAGE)], " "
    )

    result = search(archive, made_up_query.text, reading="query", regex=pattern, limit=10_000, order="newest")

    assert {(hit.conversation, hit.position) for hit in result.hits} == expected(both)


@given(queries(), st.integers(1, 7))
def test_pages_together_are_all_hits(archive: sqlite3.Connection, made_up_query: MadeUpQuery, size: int) -> None:
    whole = [hit.id for hit in search(archive, made_up_query.text, limit=40).hits]

    paged = [
        hit.id
        for start in range(0, 40, size)
        for hit in search(archive, made_up_query.text, limit=size, offset=start).hits
    ]

    assert paged[: len(whole)] == whole


@given(queries())
def test_highlights_are_within_one_line(archive: sqlite3.Connection, made_up_query: MadeUpQuery) -> None:
    for hit in search(archive, made_up_query.text).hits:
        ends = [0, *(place for span in hit.highlights for place in span), len(hit.snippet)]
        assert ends == sorted(ends)
        assert all(first < last for first, last in hit.highlights)
        assert "\n" not in hit.snippet
