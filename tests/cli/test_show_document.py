"""`copilog show --document`: one document of a conversation, as a search hit names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.made_up_edits import Shelf
from tests.cli.homes import Outcome, run
from tests.made_up_documents import WORDS, documented_conversation


@pytest.fixture
def archive(tmp_path: Path) -> str:
    Shelf(tmp_path).put(documented_conversation()).close()
    return str(tmp_path / "archive.db")


def show(archive: str, *options: str) -> Outcome:
    return run("--archive", archive, "--no-scan", "show", "t1", *options)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("wick.md", "memory"), ("plan.md", "plan"), ("research", "research"), ("Masts", "checkpoint"),
        ("todos", "todos"), ("files/ship.txt", "artifact"),
    ],
)  # fmt: skip
def test_a_document_is_shown_alone(archive: str, name: str, word: str) -> None:
    shown = show(archive, "--document", name)

    assert shown.code == 0
    assert WORDS[word] in shown.out
    assert "Light the lantern" not in shown.out
    assert sum(each in shown.out for each in WORDS.values()) == 1


def test_a_document_that_a_message_shows_is_found_too(archive: str) -> None:
    assert "Trim the wick." in show(archive, "--document", "checkpoint").out


def test_an_unknown_name_lists_the_documents(archive: str) -> None:
    shown = show(archive, "--document", "moon")

    assert shown.code != 0
    assert "no document of the conversation has 'moon' in its name; it has Checkpoint" in shown.err
    assert "Plan · plan.md" in shown.err


def test_it_goes_with_neither_turns_nor_json(archive: str) -> None:
    assert show(archive, "--document", "plan", "--turn", "1").code == 2
    assert show(archive, "--document", "plan", "--json").code == 2


def test_search_says_how_a_document_is_opened(archive: str) -> None:
    assert "or `--document NAME` opens one" in run("--archive", archive, "--no-scan", "search", "binnacle").err
    assert "--document" not in run("--archive", archive, "--no-scan", "search", "burns").err
