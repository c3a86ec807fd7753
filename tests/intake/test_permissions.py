"""Folders without permission, anywhere in a home: every command reports them and reads the rest."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from copilog import Report
from copilog.ingest import find_roots
from copilog.ingest.scanning import scan
from copilog.sample import home as sample_home
from copilog.store.archive import Archive
from tests.cli.homes import Outcome, run
from tests.permissions import bound_by_permissions

FOLDERS = sorted(path.relative_to(sample_home()) for path in sample_home().rglob("*") if path.is_dir())
CLOSED, ONLY_LISTED = 0o000, 0o444


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(sample_home(), tmp_path_factory.mktemp("sample") / "home"))


@pytest.fixture(scope="module")
def everything(home: Path) -> dict[str, dict[str, Any]]:
    return rows_by_id(run("list", "--root", home, "--live", "--long", "--all", "--json"))


def rows_by_id(listed: Outcome) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in listed.json}


@contextmanager
def closed(folder: Path, mode: int) -> Iterator[None]:
    before = folder.stat().st_mode
    folder.chmod(mode)
    try:
        with bound_by_permissions():
            yield
    finally:
        folder.chmod(before)


@pytest.mark.parametrize("name", FOLDERS, ids=str)
@pytest.mark.parametrize("mode", [CLOSED, ONLY_LISTED], ids=["closed", "only-listed"])
def test_every_command_reports_a_closed_folder_and_reads_the_rest(
    home: Path, everything: dict[str, dict[str, Any]], tmp_path: Path, name: Path, mode: int
) -> None:
    folder, archive = home / name, tmp_path / "archive.db"
    rest = {key: row for key, row in everything.items() if not any(is_inside(path, folder) for path in row["paths"])}

    with closed(folder, mode):
        scanned = run("scan", "--root", home, "--archive", archive)
        listed = run("list", "--root", home, "--live", "--long", "--all", "--json")
        shown = run("show", "--root", home, min(rest).partition(":")[2])
        checked = run("doctor", "--root", home)
        stored = run("list", "--archive", archive, "--all", "--json", "--no-scan")
        again = run("list", "--archive", archive)
        problems = run("problems", "--archive", archive, "--no-scan")

    is_searched = "Documents" not in folder.parts  # it has no conversations, so that only a search of all looks there
    for outcome in (scanned, listed, shown, checked, *([again, problems] if is_searched else [])):
        assert outcome.code == 0, outcome.err
        assert str(folder) in outcome.out + outcome.err
        assert "Permission denied" in outcome.out + outcome.err
    assert rest.items() <= rows_by_id(listed).items()
    assert rest.keys() <= rows_by_id(stored).keys()


def is_inside(path: str, folder: Path) -> bool:
    return Path(path).is_relative_to(folder)


@pytest.mark.parametrize("name", FOLDERS, ids=str)
def test_what_is_in_a_closed_folder_is_not_gone(home: Path, tmp_path: Path, name: Path) -> None:
    roots = find_roots([home])
    with Archive(tmp_path / "archive.db", write=True) as archive:
        scan(archive, roots=roots)
        before = stored(archive)

        with closed(home / name, CLOSED):
            results = [scan(archive, roots=roots) for _ in range(2)]
            assert gone_in(archive) == []
        results += [scan(archive, roots=roots) for _ in range(2)]

        assert [result.gone_ids for result in results] == [[], [], [], []]
        assert gone_in(archive) == []
        assert stored(archive) == before
        assert [problem.path for problem in archive.problems(code="unreadable")] == []


def test_a_conversation_that_an_earlier_scan_took_for_gone_is_read_again(home: Path, tmp_path: Path) -> None:
    roots = find_roots([home])
    with Archive(tmp_path / "archive.db", write=True) as archive:
        scan(archive, roots=roots)
        archive.connection.execute("UPDATE conversation SET gone_at = '2026-01-01T00:00:00.000Z'")
        archive.connection.execute("UPDATE unit SET signature = 'of fewer files'")

        with closed(home / ".copilot", CLOSED):  # so that the next scan reads all folders
            scan(archive, roots=roots)
        scan(archive, roots=roots)

        assert gone_in(archive) == []


def gone_in(archive: Archive) -> list[str]:
    return [name for (name,) in archive.connection.execute("SELECT id FROM conversation WHERE gone_at IS NOT NULL")]


def stored(archive: Archive) -> list[tuple[str, int, int]]:
    rows = archive.connection.execute("SELECT id, turns, messages FROM conversation ORDER BY id").fetchall()
    return [tuple(row) for row in rows]


def test_what_is_in_a_closed_folder_that_the_user_named_is_not_gone(home: Path, tmp_path: Path) -> None:
    named = home / "Documents" / "exports"
    with Archive(tmp_path / "archive.db", write=True) as archive:
        assert scan(archive, paths=[named]).new > 0

        with closed(named, CLOSED):
            report = Report()
            assert scan(archive, paths=[named], report=report).gone == 0

        assert [(note.path, note.code) for note in report.diagnostics()] == [(str(named), "unreadable")]
        assert scan(archive, paths=[named]).gone == 0
        assert gone_in(archive) == []
