"""`copilog report`: where the page goes, who may read it, and what is on it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.cli.homes import Home, move_in, request, run, session

FOLDER = "/home/ana/tide-tables"
TITLE, QUESTION = "Tide parser", "Parse the tide file of Quillhaven"


@pytest.fixture(autouse=True)
def archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    home = Home(tmp_path / "home")
    home.add(home.workspace(1, FOLDER), session("11111111-aaaa", QUESTION, "And test it", customTitle=TITLE))
    home.add(
        home.workspace(2, "/home/ana/garden-planner"), session("22222222-bbbb", requests=[request(9, "Plan the beds")])
    )
    return move_in(monkeypatch, tmp_path, home)


def test_the_page_is_written_and_its_path_printed(tmp_path: Path) -> None:
    run("scan")
    path = tmp_path / "report.html"

    outcome = run("report", "-o", path)

    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"{path}: 3 turns of 2 conversations\n"
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert "tide-tables" in page
    assert TITLE in page
    assert QUESTION not in page  # figures name conversations, and quote none


@pytest.mark.skipif(os.name == "nt", reason="rights of this kind are those of other systems")
def test_the_page_is_readable_only_by_the_user(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    before = os.umask(0)
    os.umask(before)

    run("report", "-o", path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    after = os.umask(before)
    assert after == before


def test_a_page_that_was_there_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    path = folder / "report.html"
    path.write_text("old")

    run("report", "-o", path)

    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(folder.iterdir()) == [path]


def test_a_folder_is_not_overwritten_and_none_is_made(tmp_path: Path) -> None:
    outcome = run("report", "-o", tmp_path)
    assert outcome.code == 2
    assert "is a folder; name a file" in outcome.err

    outcome = run("report", "-o", tmp_path / "nowhere" / "report.html")
    assert outcome.code == 2
    assert "create it first" in outcome.err


def test_a_dash_is_standard_output() -> None:
    outcome = run("report", "-o", "-")

    assert outcome.code == 0
    assert outcome.out.startswith("<!DOCTYPE html>")
    assert outcome.err.endswith("3 turns of 2 conversations\n")


def test_a_report_needs_an_output() -> None:
    outcome = run("report")

    assert outcome.code == 2
    assert "-o report.html" in outcome.err
    assert run("report", "--json", "-o", "-").code == 2


def test_json_has_the_figures_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "report.html"

    figures = run("report", "--json").json
    outcome = run("report", "--json", "-o", path)

    assert figures["totals"]["conversations"] == 2
    assert outcome.json == figures
    assert path.exists()
    assert figures == run("stats", "--json").json


def test_a_title_and_a_selection_are_on_the_page() -> None:
    page = run("report", "-o", "-", "--title", "Our <spring>", "-w", "tide", "-q", "tide file").out

    assert "<title>Our &lt;spring&gt;</title>" in page
    assert '<dt>Workspace</dt><dd dir="auto">tide</dd>' in page
    assert '<dt>Search</dt><dd dir="auto">tide file</dd>' in page
    assert "garden-planner" not in page


def test_a_period_is_on_the_page() -> None:
    page = run("report", "-o", "-", "--since", "2030-01-01").out

    assert "0 conversations, since 2030-01-01" in page


def test_an_anonymous_page_contains_no_names(tmp_path: Path) -> None:
    choice = ("-w", "tide", "-q", "Quillhaven")

    page = run("report", "-o", "-", "--anonymous", *choice).out
    figures = run("report", "--json", "--anonymous", *choice).out

    for text in (page, figures):
        for private in ("/ana", "/home", "tide", "Tide", "11111111", "Quillhaven", "garden"):
            assert private not in text, private
    assert "workspace 1" in page
    assert "conversation 1" in page
    assert '<dt>Chosen by</dt><dd dir="auto">workspace, search</dd>' in page


def test_the_sample_gives_a_page_of_every_section() -> None:
    page = run("report", "--sample", "-o", "-").out

    for key in ("overview", "activity", "tokens", "models", "tools", "agents", "work", "method"):
        assert f'<section id="{key}"' in page
    anonymous = run("report", "--sample", "-o", "-", "--anonymous").out
    for private in (
        "/ana",
        "/home",
        "tide",
        "garden",
        "Reviewer",
        "release-helper",
        "devhost",
        "Coast Weather",
        "example.com",
    ):
        assert private not in anonymous, private
