"""`copilog search`: output, exit codes, and imports."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.homes import Home, move_in, run, session

ONE, TWO = "11111111-aaaa", "22222222-bbbb"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    tides = home.workspace(1, "/home/ana/tide-tables")
    home.add(tides, session(ONE, "Parse the tide file", "And test the harbour", customTitle="Tide parser"))
    home.add(home.workspace(2, "/home/ana/garden-planner"), session(TWO, "Plan the beds"))
    return home


@pytest.fixture(autouse=True)
def archive(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_in(monkeypatch, tmp_path, home)


def found(*words: object) -> list[tuple[str, int | None]]:
    """Return the hits: conversation and turn."""
    groups = run("search", "--json", *words).json["groups"]
    return [(hit["conversation"].removeprefix("vscode:"), hit["turn"]) for group in groups for hit in group["hits"]]


def test_hits_are_listed_below_their_conversation_with_the_turn_to_open() -> None:
    run("scan")

    outcome = run("search", "harbour")

    assert outcome.code == 0
    head, hit = outcome.out.splitlines()
    assert head.split()[0] == "11111111"
    assert head.endswith("tide-tables  Tide parser")
    assert hit == "  --turn 2   user       And test the harbour"
    assert outcome.err == "1 hit in 1 conversation; `copilog show ID --turn N` opens one\n"


def test_several_arguments_are_one_query() -> None:
    assert found("tide", "file") == [(ONE, 0)]
    assert found("tide file") == [(ONE, 0)]
    assert found("tide", "AND", "beds") == []
    assert {place for place, _ in found("harbour", "OR", "beds")} == {ONE, TWO}
    assert found('"the tide"') == [(ONE, 0)]
    assert found("the", "workspace:garden-planner", "role:user") == [(TWO, 0)]


def test_json_has_stable_ids_and_the_command_to_open_a_hit() -> None:
    document = run("search", "harbour", "--json").json

    assert (document["query"], document["total"], document["total_is_exact"]) == ("harbour", 1, True)
    [group] = document["groups"]
    assert (group["conversation"], group["title"], group["workspace"]) == (
        f"vscode:{ONE}",
        "Tide parser",
        "/home/ana/tide-tables",
    )
    [hit] = group["hits"]
    [[start, end]] = hit["highlights"]
    assert hit["snippet"][start:end] == "harbour"
    assert run(*hit["open"].split()[1:]).code == 0
    assert document == run("search", "harbour", "--json").json


def test_nothing_found_is_exit_code_1_as_with_grep() -> None:
    outcome = run("search", "xylophone")

    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.endswith("no hits\n")


def test_a_query_that_does_not_parse_shows_where_and_what_would() -> None:
    run("scan")

    outcome = run("search", 'tide "file')

    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.splitlines() == [
        'copilog: this " is not closed',
        '  tide "file',
        "       ^",
        'the nearest query that works: tide "file"',
    ]


def test_an_invalid_query_is_reported_as_json() -> None:
    outcome = run("search", 'tide "file', "--json")

    assert outcome.code == 2
    fault = {"reason": 'this " is not closed', "position": 5, "suggestion": 'tide "file"'}
    assert outcome.json == {"query": 'tide "file', "error": fault}


def test_query_errors_contain_no_control_characters() -> None:
    outcome = run("search", "before:\u202e\x9bx" + "x" * 30_000)

    assert outcome.code == 2
    assert "\u202e" not in outcome.err
    assert "\x9b" not in outcome.err
    assert len(outcome.err) < 2_000


def test_a_long_query_is_shown_around_its_error() -> None:
    outcome = run("search", "tide " * 40 + '"file')

    *_, shown, mark, _ = outcome.err.splitlines()
    assert shown.endswith('tide "file')
    assert len(shown) < 120
    assert shown[mark.index("^")] == '"'


@pytest.mark.parametrize("arguments", [[], [" "], ["--regex", "("]])
def test_no_query_and_a_wrong_pattern_are_usage_errors(arguments: list[str]) -> None:
    outcome = run("search", *arguments)

    assert outcome.code == 2
    assert outcome.out == ""


def test_a_regular_expression_alone_or_with_words() -> None:
    assert found("--regex", r"harb\w+r") == [(ONE, 1)]
    assert found("--regex", r"^And", "tide") == []
    assert found("--regex", r"^And", "test") == [(ONE, 1)]


def test_limit_and_offset_go_through_the_hits() -> None:
    run("scan")
    everything = found("the", "role:user")
    assert len(everything) == 3

    assert [*found("the", "role:user", "--limit", 2), *found("the", "role:user", "--offset", 2)] == everything
    outcome = run("search", "the", "role:user", "--limit", 2)
    assert outcome.err.startswith("hits 1-2 of 3 hits in 2 conversations (--limit N and --offset 2 for more)")
    beyond = run("search", "the", "role:user", "--offset", 9)
    assert beyond.code == 0
    assert "--offset 9 skips all of them" in beyond.err


def test_new_conversations_are_found_unless_no_scan_is_set(home: Home) -> None:
    run("scan")
    home.add(home.workspace(1), session("33333333-cccc", "Buy a xylophone"))

    assert run("search", "xylophone", "--no-scan").code == 1
    assert run("search", "xylophone").code == 0


def test_named_roots_are_searched_without_storing_anything(tmp_path: Path, archive: Path) -> None:
    other = Home(tmp_path / "other")
    other.add(other.workspace(7), session("33333333-cccc", "Buy a xylophone"))

    assert {place for place, _ in found("xylophone", "--root", other.root)} == {"33333333-cccc"}
    assert found("tide", "--root", other.root) == []
    assert not archive.exists()


def test_colours_are_printed_on_terminals_or_on_request() -> None:
    run("scan")

    assert "\x1b" not in run("search", "harbour").out
    assert "the \x1b[33m\x1b[1mharbour\x1b[0m" in run("--color", "search", "harbour").out
    assert "\x1b" not in run("--no-color", "search", "harbour").out


def test_message_texts_cannot_control_the_terminal(home: Home) -> None:
    home.add(
        home.workspace(1), session("33333333-cccc", "A xylophone \x1b]0;owned\x07 plays", customTitle="\x1b[31mRed")
    )

    outcome = run("search", "xylophone")

    assert outcome.code == 0
    assert "\x1b" not in outcome.out
    assert "\x07" not in outcome.out


def test_nothing_heavy_is_imported_for_a_search_without_a_scan() -> None:
    run("scan")
    script = """
import sys
sys.argv = ["copilog", "search", "--no-scan", "harbour"]
from copilog.__main__ import main
try:
    main()
except SystemExit as end:
    print("MODULES", end.code, *sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={**os.environ}
    )

    code, *loaded = done.stdout.partition("MODULES ")[2].split()
    assert code == "0"
    assert not set(loaded) & {"rich", "copilog.ingest", "copilog.sources", "copilog.identity", "copilog.render", "yaml"}
    assert json.dumps(sorted(loaded)).count("copilog.sources") == 0


def test_words_with_a_dash_need_no_quotes_but_a_misspelt_option_is_refused() -> None:
    outcome = run("search", "--json", "tide", "-file")

    assert outcome.json["query"] == "tide -file"
    assert outcome.json["reading"] == "query"
    assert run("search", "tide", "--newst").code == 2
    assert run("search", "--json", "--", "--newest").json["query"] == "--newest"


def test_the_reading_can_be_stated() -> None:
    assert run("search", "--json", "--reading", "text", "tide OR harbour").json["reading"] == "text"
    assert run("search", "--reading", "query", "tide", "beds").err == "no hits\n"


def test_a_widened_search_says_so() -> None:
    outcome = run("search", "tide", "beds")

    assert outcome.code == 0
    assert "the search was widened" in outcome.err


def test_hits_as_csv_have_the_fields_of_json() -> None:
    [group] = run("search", "--json", "harbour").json["groups"]
    rows = list(csv.DictReader(io.StringIO(run("search", "--csv", "harbour").out)))

    assert [row["id"] for row in rows] == [hit["id"] for hit in group["hits"]]
    assert list(rows[0]) == list(group["hits"][0])
    assert run("search", "--csv", "nowhere").out.startswith("id,conversation,title")
    assert run("search", "--csv", "--json", "harbour").code == 2
