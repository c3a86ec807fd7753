"""Search leaves superseded turns out, and `is:superseded` finds them and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.store.archive import Archive
from copilog.store.search import conversations_with
from copilog.store.selection import UnknownName
from tests.branched import branched_conversation
from tests.stored import concluded_entry, conversation


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(branched_conversation()), "made up")
        other = conversation("other", ("a ghost", "in another house"), title="House", tool="read_file")
        archive.put(concluded_entry(other), "made up")
        archive.index_pending()
        yield archive


def turns(archive: Archive, query: str, **more: Any) -> list[tuple[str, int | None]]:
    found = archive.search(query, **more)
    assert found.total == len(found.hits)
    return sorted({(hit.conversation.partition(":")[2], hit.turn) for hit in found.hits}, key=str)


@pytest.mark.parametrize("order", ["rank", "newest"])
def test_texts_of_superseded_turns_are_not_found(archive: Archive, order: str) -> None:
    assert turns(archive, "ghost", order=order) == [("other", 0)]


def test_parts_of_words_and_expressions_do_not_match_superseded_turns(archive: Archive) -> None:
    assert turns(archive, "'hos'") == [("other", 0)]
    assert turns(archive, "", regex="gh[o]st") == [("other", 0)]


@pytest.mark.parametrize("query", ["tool:ghost*", "file:ghost*", "has:error"])
def test_fields_do_not_match_superseded_turns(archive: Archive, query: str) -> None:
    assert turns(archive, query) == []
    assert conversations_with(archive.connection, query) == []


def test_a_title_does_not_match_for_superseded_turns(archive: Archive) -> None:
    assert turns(archive, "copies tool:run*") == [("1c", None)]
    assert turns(archive, "copies tool:ghost*") == []


def test_is_superseded_finds_superseded_turns_and_only_them(archive: Archive) -> None:
    assert turns(archive, "is:superseded") == [("1c", 1), ("1c", 5)]
    assert turns(archive, "is:superseded ghost") == [("1c", 1), ("1c", 5)]
    assert turns(archive, "is:superseded tool:ghost* harbour") == [("1c", 1)]
    assert turns(archive, "is:superseded gauges") == []
    assert turns(archive, "is:superseded copies") == []  # the title


@pytest.mark.parametrize("name", ["model", "mode", "agent", "skill"])
def test_superseded_turns_are_found_if_the_query_selects_them(archive: Archive, name: str) -> None:
    ghosts = [("1c", 1), ("1c", 5)]
    assert turns(archive, f"is:superseded {name}:ghost*") == ghosts
    assert turns(archive, f"is:superseded {name}:ghost* harbour") == [("1c", 1)]
    assert turns(archive, f"is:superseded {name}:nobody*") == []
    assert turns(archive, f"{name}:ghost* -is:superseded") == []
    with pytest.raises(UnknownName):
        turns(archive, f"{name}:ghost*")


def test_a_query_can_exclude_or_combine_superseded_turns(archive: Archive) -> None:
    assert turns(archive, "-is:superseded ghost") == turns(archive, "ghost")
    assert turns(archive, "is:superseded OR gauges") == [("1c", 0), ("1c", 1), ("1c", 5)]


def test_a_hit_has_the_reason_why_its_turn_is_superseded_and_the_command_to_show_it(archive: Archive) -> None:
    [hit] = archive.search("is:superseded summon").hits

    assert hit.superseded == "undone"
    assert hit.open == "copilog show vscode:1c --turn 6 --superseded"
    [other] = archive.search("another house").hits
    assert other.superseded is None
    assert "--superseded" not in other.open
