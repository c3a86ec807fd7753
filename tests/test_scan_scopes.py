"""The scope of a scan of a named folder: that folder, even if roots come and go in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilog.ingest import find_roots
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.cli.homes import Home, session

CLI_LOG = [
    {
        "type": "session.start",
        "data": {"sessionId": "11111111-2222-4333-8444-555555555555", "producer": "copilot-agent"},
        "id": "e1",
        "timestamp": "2026-04-12T10:00:00.000Z",
    },
    {
        "type": "user.message",
        "data": {"content": "Prune the roses"},
        "id": "e2",
        "timestamp": "2026-04-12T10:00:01.000Z",
    },
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.add(made.workspace(1, "/home/ana/code/garden"), session("session-1", "A question about beans"))
    return made


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


def add_cli(home: Home) -> Path:
    """Let Copilot CLI be used for the first time."""
    log = home.root / ".copilot/session-state/11111111-2222-4333-8444-555555555555/events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(event) + "\n" for event in CLI_LOG))
    return log


def scanned(archive: Archive, home: Home) -> ScanResult:
    return scan(archive, roots=find_roots([home.root]))


def test_a_new_root_in_a_named_folder_does_not_affect_the_others(archive: Archive, home: Home) -> None:
    scanned(archive, home)
    add_cli(home)

    result = scanned(archive, home)

    assert (result.new, result.changed, result.unchanged) == (1, 0, 1)
    assert result.new_ids == ["cli:11111111-2222-4333-8444-555555555555"]
    assert result.files_read == 1


def test_conversations_of_a_deleted_root_are_gone(archive: Archive, home: Home) -> None:
    add_cli(home)
    scanned(archive, home)
    shutil.rmtree(home.root / ".copilot")

    result = scanned(archive, home)

    assert (result.gone, result.unchanged) == (1, 1)
    assert result.gone_ids == ["cli:11111111-2222-4333-8444-555555555555"]


@pytest.mark.parametrize("has_another", [False, True])
def test_units_that_an_earlier_version_recorded_are_not_read_again(
    archive: Archive, home: Home, *, has_another: bool
) -> None:
    """It named a scan after the roots in the folder."""
    if has_another:
        add_cli(home)
    scanned(archive, home)
    former = "\n".join(sorted(str(root.path) for root in find_roots([home.root])))
    for table in ("unit", "file"):
        archive.connection.execute(f"UPDATE {table} SET root = ?", (former,))

    result = scanned(archive, home)

    assert (result.new, result.changed, result.files_read) == (0, 0, 0)
    assert result.unchanged == 1 + has_another
    assert {root for (root,) in archive.connection.execute("SELECT root FROM unit")} == {str(home.root)}


def test_a_scan_does_not_affect_other_folders_that_were_named_together(archive: Archive, home: Home) -> None:
    others = [Home(home.root / "backup" / name) for name in ("ana", "ben")]
    for number, other in enumerate(others):
        other.add(other.workspace(1), session(f"backup-{number}", "A question about peas"))
    scan(archive, roots=find_roots([other.root for other in others]))

    result = scanned(archive, home)

    assert (result.new, result.gone) == (1, 0)
    again = scan(archive, roots=find_roots([other.root for other in others]))
    assert (again.unchanged, again.files_read) == (2, 0)


def test_a_scan_does_not_affect_files_that_were_named_separately(archive: Archive, home: Home) -> None:
    kept = home.root / "kept"
    shutil.copytree(add_cli(home).parent, kept / "one")
    shutil.copytree(kept / "one", kept / "two")
    shutil.rmtree(home.root / ".copilot")
    scan(archive, paths=[kept])

    result = scanned(archive, home)

    assert (result.new, result.gone) == (1, 0)
    assert not any(summary.gone_at for summary in archive.list(include_gone=True))
