"""Conversations that are related to one: they share its rarest words, files and commands."""

from __future__ import annotations

import pytest

from copilog.errors import UsageError
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from tests.store.archive_rows import put_all
from tests.stored import concluded_entry, conversation


@pytest.fixture
def filled(archive: Archive) -> Archive:
    made = [
        conversation("lamp", ("Why does the lamp flicker at dusk?", "The ballast is worn: see ballast.md.")),
        conversation("ballast", ("Order a ballast", "It is for a lamp."), days=1),
        conversation("soup", ("Cook a soup", "With leeks.")),
        conversation("stew", ("Cook a stew", "With leeks and the rest."), days=2),
        *(conversation(f"other-{number}", (f"Question {number}", "The answer is the same.")) for number in range(8)),
    ]
    put_all(archive, *map(concluded_entry, made))
    archive.index_pending()
    return archive


def test_what_shares_rare_words_is_related_and_says_by_what(filled: Archive) -> None:
    [found] = filled.similar("vscode:lamp")

    assert (found.id, sorted(found.words)) == ("vscode:ballast", ["ballast", "lamp"])


def test_one_is_not_related_to_itself(filled: Archive) -> None:
    assert [each.id for each in filled.similar("soup")] == ["vscode:stew"]


def test_a_text_is_as_good_as_an_id(filled: Archive) -> None:
    assert [each.id for each in filled.similar("which leeks to cook")] == ["vscode:soup", "vscode:stew"]
    assert filled.similar("nothing of the kind") == []


def test_several_conversations_with_this_beginning_are_an_error(filled: Archive) -> None:
    with pytest.raises(UsageError, match="matches 8 conversations"):
        filled.similar("vscode:other")


def test_files_relate(archive: Archive) -> None:
    made = [
        conversation("one", ("Change it", "Done: `src/deep/lantern_post.py`"), tool="read_file"),
        conversation("two", ("Undo", "Gone."), tool="read_file"),
        *(conversation(f"other-{number}", (f"Ask {number}", "Said.")) for number in range(8)),
    ]
    put_all(archive, *(entry_of(each) for each in made))
    archive.index_pending()

    [found] = archive.similar("one")
    assert (found.id, found.files) == ("vscode:two", ["tides.py"])
