"""What a person adds stays, whatever becomes of the conversation; what a person removes does not come back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.errors import UsageError
from copilog.store.archive import Archive
from copilog.store.units import Unit, put_unit, recorded_units
from tests.stored import entry

HARBOUR = ("When is high water?", "At noon, harbour time.")
MOORING = ("And the mooring?", "Two knots.")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(entry("a1", HARBOUR), "files-1")
        archive.put(entry("b2", MOORING), "files-1")
        archive.index_pending()
        yield archive


def test_a_star_is_set_and_removed(archive: Archive) -> None:
    assert archive.star("a1") == "vscode:a1"
    assert [each.id for each in archive.list(starred=True)] == ["vscode:a1"]

    archive.star("a1", on=False)

    assert archive.list(starred=True) == []


def test_labels_are_set_once_each_and_removed_by_name_or_all(archive: Archive) -> None:
    archive.label("a1", "tides", "  to   do ", "tides")
    archive.label("b2", "tides")

    assert archive.summaries(["vscode:a1"])["vscode:a1"].labels == ["tides", "to do"]
    assert archive.labels() == {"tides": 2, "to do": 1}
    assert [each.id for each in archive.list(label="To Do")] == ["vscode:a1"]

    archive.unlabel("b2", "tides")
    archive.unlabel("a1")

    assert archive.labels() == {}


def test_a_label_needs_a_name(archive: Archive) -> None:
    with pytest.raises(UsageError, match="a label needs a name"):
        archive.label("a1", " ")


def test_a_note_is_written_replaced_and_removed(archive: Archive) -> None:
    archive.note("a1", "ask Ben")
    archive.star("a1")
    archive.note("a1", " ask Cleo\n")

    assert [(each.note, each.is_starred) for each in archive.list(text="CLEO")] == [("ask Cleo", True)]

    archive.note("a1", "")

    assert archive.summaries(["vscode:a1"])["vscode:a1"].note is None


def test_all_of_it_stays_when_the_conversation_changes(archive: Archive) -> None:
    archive.star("a1")
    archive.label("a1", "tides")
    archive.note("a1", "ask Ben")

    archive.put(entry("a1", HARBOUR, MOORING), "files-2")

    summary = archive.summaries(["vscode:a1"])["vscode:a1"]
    assert (summary.turns, summary.is_starred, summary.labels, summary.note) == (2, True, ["tides"], "ask Ben")


def test_a_missing_conversation_cannot_be_annotated(archive: Archive) -> None:
    with pytest.raises(UsageError, match="no conversation"):
        archive.star("nowhere")


def test_a_removed_conversation_is_deleted_everywhere_and_not_stored_again(archive: Archive) -> None:
    assert archive.remove("a1") == "vscode:a1"

    assert archive.put(entry("a1", HARBOUR, MOORING), "files-2") == "removed"

    assert [each.id for each in archive.list()] == ["vscode:b2"]
    assert list(archive.removed()) == ["vscode:a1"]
    for table in ("conversation", "document", "message", "turn", "trace", "words_docsize"):
        (count,) = archive.connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert count == (3 if table in ("message", "words_docsize") else 1), table
    assert archive.check() == []


def test_the_number_of_a_removed_conversation_can_be_reused(archive: Archive) -> None:
    archive.remove("b2")

    archive.put(entry("c3", HARBOUR), "files-1")
    archive.index_pending()

    assert archive.get("c3").messages
    assert archive.check() == []


def test_a_restored_conversation_comes_back_with_the_next_scan(archive: Archive) -> None:
    put_unit(archive.connection, "/home/ana", "a1", Unit("files-1", ["vscode:a1"]))
    put_unit(archive.connection, "/home/ana", "b2", Unit("files-1", ["vscode:b2"]))
    archive.remove("a1")

    assert archive.restore("a1") == "vscode:a1"

    assert list(recorded_units(archive.connection, "/home/ana")) == ["b2"]  # a1 will be read as if never seen
    assert archive.put(entry("a1", HARBOUR), "files-1") == "new"


def test_only_removed_conversations_can_be_restored(archive: Archive) -> None:
    with pytest.raises(UsageError, match="a1: was not removed"):
        archive.restore("a1")
    archive.remove("a1")
    archive.remove("b2")
    with pytest.raises(UsageError, match="may be vscode:a1 or vscode:b2"):
        archive.restore("vscode:")
