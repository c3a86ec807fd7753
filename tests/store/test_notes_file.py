"""Stars, labels and notes leave the archive as text, and come back into any archive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copilog.store.archive import Archive
from tests.cli.homes import run
from tests.store.archive_rows import HARBOUR, MOORING
from tests.stored import entry


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR), "files")
        archive.put(entry("b2", MOORING), "files")
        archive.star("a1")
        archive.label("a1", "tides", "café")
        archive.note("b2", "wrong dates\nin November")
    return path


def test_the_file_has_a_line_for_each_conversation(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    assert run("archive", "notes", "export", file, "--archive", path).code == 0

    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"id": "vscode:a1", "title": HARBOUR[0], "starred": True, "labels": ["café", "tides"]},
        {"id": "vscode:b2", "title": MOORING[0], "note": "wrong dates\nin November"},
    ]
    assert run("archive", "notes", "export", "--archive", path).out == file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_an_import_adds_to_what_is_there_however_often(path: Path, tmp_path: Path) -> None:
    other, file = tmp_path / "other.db", tmp_path / "notes.jsonl"
    with Archive(other, write=True) as archive:
        archive.put(entry("b2", MOORING), "files")
        archive.note("b2", "mine")
        archive.label("b2", "own")
    run("archive", "notes", "export", file, "--archive", path)
    for _ in range(2):
        assert run("archive", "notes", "import", file, "--archive", other).code == 0

    with Archive(other, write=True) as archive:
        archive.put(entry("a1", HARBOUR), "files")  # read later
        stored = {each.id: (each.is_starred, each.labels, each.note) for each in archive.list()}
    assert stored == {
        "vscode:a1": (True, ["café", "tides"], None),
        "vscode:b2": (False, ["own"], "mine\n\nwrong dates\nin November"),
    }


def test_a_wrong_line_is_named_and_nothing_is_imported(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"id": "vscode:b2", "starred": true}\n\n{"id": 7}\n')

    told = run("archive", "notes", "import", file, "--archive", path)

    assert told.code == 2
    assert "notes.jsonl: line 3" in told.err
    with Archive(path) as archive:
        assert [each.id for each in archive.list(starred=True)] == ["vscode:a1"]
