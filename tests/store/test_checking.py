"""A wrong bit in the archive is found, and the conversation named, whether or not SQLite notices it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive
from copilog.store.checking import Fault, faults, sampled_fault
from copilog.store.checksum_tables import COVERED
from copilog.store.checksums import is_sealed
from copilog.store.schema import DETAIL_TABLES
from tests.cli.homes import run
from tests.store.archive_rows import HARBOUR, MOORING
from tests.stored import entry

LONG = tuple((f"Question {number} of the harbour", f"Answer {number}: half tide.") for number in range(140))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """An archive at rest with two conversations, one of them long, and what a person added."""
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR, tool="read_file"), "files-1")
        archive.put(entry("b2", MOORING, *LONG), "files-2")
        archive.index_pending()
        archive.note("a1", "the dates of November were wrong")
        archive.label("b2", "harbour")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def found_in(path: Path) -> list[Fault]:
    with Archive(path, write=True) as archive:
        return faults(archive.connection)


def flip(path: Path, text: bytes, which: int = -1) -> None:
    """Change one bit of a text in the file, so that it stays text."""
    data = bytearray(path.read_bytes())
    places = [place for place in range(len(data)) if data.startswith(text, place)]
    data[places[which]] ^= 1
    path.write_bytes(data)


def blob_of(path: Path, query: str) -> bytes:
    with closing(sqlite3.connect(path)) as connection:
        return bytes(connection.execute(query).fetchone()[0])


def test_a_sound_archive_has_no_fault(path: Path) -> None:
    assert found_in(path) == []


@pytest.mark.parametrize(
    ("query", "what", "name"),
    [
        (
            "SELECT data FROM document JOIN conversation c ON c.rowid = conversation WHERE id LIKE '%a1'",
            "document",
            "a1",
        ),
        ("SELECT data FROM chapter ORDER BY position LIMIT 1", "document", "b2"),
        ("SELECT 'the dates of November'", "user", "a1"),
    ],
)
def test_a_flipped_bit_that_sqlite_does_not_notice_is_found(path: Path, query: str, what: str, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (value,) = connection.execute(query).fetchone()
    flip(path, (value if isinstance(value, bytes) else value.encode())[:24])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    [fault] = found_in(path)

    assert (fault.what, fault.id) == (what, f"vscode:{name}")


@pytest.mark.parametrize("table", [*DETAIL_TABLES, "message"])
def test_every_table_of_a_conversation_has_a_checksum(table: str) -> None:
    assert table in {name for tables in COVERED.values() for name in tables}


def test_a_changed_message_and_a_changed_call_are_found(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE tool_call SET name = 'read_fole'")
        connection.execute("UPDATE message SET answer = 'At nine' WHERE answer LIKE 'At noon%'")

    found = found_in(path)

    assert {(fault.what, fault.id) for fault in found if fault.id} == {("rows", "vscode:a1"), ("messages", "vscode:a1")}
    assert any(fault.what == "index" for fault in found)


def test_what_is_written_gets_a_new_checksum(path: Path) -> None:
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR, MOORING), "files-3")
        archive.note("a1", "right after all")
        archive.unlabel("b2")
        archive.remove("b2")
    with Archive(path, write=True) as archive:
        assert is_sealed(archive.connection)
        assert archive.check() == []


def test_a_conversation_that_is_lost_from_the_table_is_found(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER checksum_document_delete")
        connection.execute("DELETE FROM document WHERE conversation = 1")

    assert [(fault.what, fault.id, fault.reason) for fault in found_in(path)] == [
        ("document", "vscode:a1", "is missing")
    ]


def test_each_scan_checks_a_sample(path: Path) -> None:
    flip(path, blob_of(path, "SELECT data FROM document WHERE conversation = 2")[:24])
    with Archive(path, write=True) as archive:
        fault = sampled_fault(archive.connection, seconds=5)
        seen = {sampled_fault(archive.connection, seconds=5) for _ in range(20)}

    assert fault is not None
    assert {each.id for each in seen if each} == {"vscode:b2"}


def test_a_scan_leaves_every_checksum_made(tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        result = scan(archive, roots=roots_from(home(), "bundled sample"))

        assert result.damage is None
        assert is_sealed(archive.connection)
        assert archive.check() == []


def test_the_command_names_the_conversation_and_fails(path: Path) -> None:
    assert run("archive", "check", "--archive", path).code == 0
    flip(path, blob_of(path, "SELECT data FROM document WHERE conversation = 1")[:24])

    plain = run("archive", "check", "--archive", path)
    told = run("archive", "check", "--archive", path, "--json")

    assert (plain.code, told.code) == (1, 1)
    assert "the document of vscode:a1" in plain.out
    assert "Keep this file" in plain.err
    assert [(fault["what"], fault["id"]) for fault in told.json["faults"]] == [("document", "vscode:a1")]
    assert told.json["is_sound"] is False


def test_the_command_names_an_archive_that_cannot_be_opened(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[100:4096] = bytes(3996)
    path.write_bytes(data)

    told = run("archive", "check", "--archive", path, "--json")

    assert told.code == 1
    assert "archive.db" in told.json["faults"][0]["reason"]
    assert path.read_bytes() == data
