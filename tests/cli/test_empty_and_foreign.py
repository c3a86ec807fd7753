"""Empty values, empty and foreign files, unknown formats, and patterns without end."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from copilog import patterns
from copilog.errors import UsageError
from copilog.store.archive import Archive
from copilog.store.dates import period_of
from copilog.store.query import QueryError, parse
from copilog.store.query_fields import DATES
from copilog.store.selection import NAME_FIELDS, Selection, selection_of
from tests.cli.homes import Home, move_in, run, session

A_SESSION = "11111111-aaaa"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    home = Home(tmp_path / "home")
    home.add(home.workspace(1, "/home/ana/tides"), session(A_SESSION, "a" * 40 + "! and the tide"))
    home.add(home.workspace(2, "/home/ana/beds"), session("22222222-bbbb", "Plan the beds"))
    move_in(monkeypatch, tmp_path, home)
    return home


# --- empty values -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("home")
def test_an_empty_value_is_no_filter() -> None:
    everything = run("list").out
    assert len(everything.splitlines()) == 3  # with the heading

    for option in ("--workspace", "--source", "--model", "--since", "--until", "--query"):
        for value in ("", " "):
            assert run("list", option, value).out == everything, option
    assert selection_of(workspace="", since="", query=" ", starred=None) == Selection()


@pytest.mark.usefixtures("home")
def test_an_empty_name_in_a_selection_is_no_filter(tmp_path: Path) -> None:
    run("scan")
    with Archive(Path(os.environ["COPILOG_ARCHIVE"])) as archive:
        for name in ("workspace", "source", "model", "label"):
            assert len(archive.list_selected(msgspec.structs.replace(Selection(), **{name: ""}))) == 2


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("field", [*NAME_FIELDS, *DATES])
@pytest.mark.parametrize("query", ["peas {}", "{} peas", "peas -{}", "peas AND NOT {}", "peas OR {}", "({} {}) peas"])
def test_an_empty_name_or_date_in_a_query_is_no_condition(field: str, query: str) -> None:
    for empty in (f'{field}:""', f"{field}:' '", f'{field}:("")'):
        assert parse(query.replace("{}", empty)).root == parse("peas").root


def test_a_query_of_an_empty_name_alone_is_answered_with_what_may_be_meant() -> None:
    with pytest.raises(QueryError) as caught:
        parse('-workspace:""')

    assert caught.value.reason == 'workspace:"" selects all conversations'
    assert caught.value.suggestion == '-workspace:"(no workspace)"'


def test_an_empty_root_is_not_the_current_folder() -> None:
    outcome = run("list", "--root", "")

    assert outcome.code == 2
    assert "the path is empty" in outcome.err


# --- dates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["9999", "9999-12", "9999-12-31"])
def test_the_last_year_is_a_date(text: str) -> None:
    for zone in (None, UTC):
        assert period_of(text, zone=zone).end == datetime.max.replace(tzinfo=UTC)


def test_a_year_beyond_is_none() -> None:
    with pytest.raises(UsageError, match="is not a date"):
        period_of("9999-13-01")


# --- files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    shutil.copy(Path(__file__).parents[1] / "data" / "otel_file" / "ferry.jsonl", folder / "ferry.jsonl")
    return folder


@pytest.mark.usefixtures("home")
def test_a_bad_record_counts_with_strict_in_every_scan_of_its_folder(folder: Path) -> None:
    with (folder / "ferry.jsonl").open("a") as file:
        file.write("{torn\n")

    for _ in range(2):
        outcome = run("scan", "--strict", folder)
        assert (outcome.code, "1 bad record" in outcome.err) == (1, True)
    (folder / "ferry.jsonl").unlink()
    assert run("scan", "--strict", folder).code == 0


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", ["scan", "inspect"])
@pytest.mark.parametrize(("content", "words"), [("", "empty file"), ('{"some": "thing"}\n', "of unknown format")])
def test_an_empty_or_foreign_file_in_a_folder_counts_with_strict(
    folder: Path, command: str, content: str, words: str
) -> None:
    (folder / "other.json").write_text(content)

    outcome = run(command, folder)
    assert outcome.code == 0
    assert words in outcome.out + outcome.err

    (folder / "other.json").write_text(content + "\n" * bool(content))  # or a scan would not read it again
    os.utime(folder / "other.json", (1, 1))
    assert run(command, "--strict", folder).code == 1
    again = run(command, "--strict", folder)  # a scan reads nothing this time
    assert (again.code, words in again.out + again.err) == (1, True)
    (folder / "other.json").unlink()
    assert run(command, "--strict", folder).code == 0


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("command", ["scan", "tags", "extract"])
def test_an_empty_file_is_called_empty(tmp_path: Path, command: str) -> None:
    path = tmp_path / "empty.jsonl"
    path.touch()

    outcome = run(command, path)

    assert "empty" in outcome.err


@pytest.mark.usefixtures("home")
def test_a_foreign_file_is_among_the_problems(folder: Path) -> None:
    (folder / "other.json").write_text('{"some": "thing"}')
    run("scan", folder)

    assert "[unknown-format]" in run("problems", "--level", "info").out


def test_an_unknown_format_is_answered_with_the_nearest(folder: Path) -> None:
    outcome = run("inspect", "--source", "vscode-sesion", folder)

    assert outcome.code == 2
    assert "there is no format 'vscode-sesion'; the nearest are vscode-session, " in outcome.err
    assert "chat-replay" not in outcome.err


# --- patterns ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("home")
def test_a_search_with_a_pattern_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "PATTERN_SECONDS", 0.2)

    outcome = run("search", "--regex", "(a+)+$")

    assert outcome.code != 0
    assert "takes longer than 0.2 s on a text of" in outcome.err
    assert run("search", "--regex", "a+!").code == 0
