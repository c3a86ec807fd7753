"""A file's size and time are those of what was read of it, also if a scan dies or another program writes meanwhile."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.ingest import find_roots, scanning
from copilog.ingest.reading import read
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.scanning import scan
from copilog.store.archive import Archive
from tests.export_places import Places, beans

ID = "vscode:kept"
NOTED = 1_780_000_000_000_000_000


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


@pytest.fixture(params=["few", "all", "folder", "exports"])
def scanned(request: pytest.FixtureRequest, archive: Archive, places: Places) -> Callable[[], ScanResult]:
    """Scan as the default folders are, with few changes or many, or as a folder that was named."""
    if request.param == "exports":
        places.export("other.json", *beans(1))

    def run() -> ScanResult:
        if request.param in ("few", "all"):
            return scan(archive, roots=find_roots([places.home.root]))
        return scan(archive, paths=[places.home.root, places.exports][: 1 + (request.param == "exports")])

    if request.param == "all":
        extra = places.keep("extra", *beans(1))
        run_all = run

        def run() -> ScanResult:
            extra.unlink(missing_ok=True)  # a deleted file may belong to anything
            return run_all()

        keep(places, 1)
        run_all()
    return run


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def keep(places: Places, count: int) -> Path:
    """Write the session with some turns, and the time that belongs to their number; no other file changes."""
    path = places.home.root / ".." / "kept.json"
    if not path.exists():
        path.symlink_to(places.keep("kept", *beans(count)))
    path = path.resolve()
    state = json.loads(path.read_text())
    path.write_text(json.dumps({**state, "requests": beans(count)}))
    os.utime(path, ns=(NOTED + count, NOTED + count))
    return path


def turns_of(archive: Archive) -> list[tuple[str | None, str | None]]:
    return [(turn.request_id, turn.superseded) for turn in archive.get(ID).turns]


def test_a_file_that_returns_to_its_size_and_time_after_a_scan_that_died_is_read_again(
    archive: Archive, places: Places, scanned: Callable[[], ScanResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(places, 3)
    scanned()
    whole = turns_of(archive)
    keep(places, 1)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(scanning, "put_states", die)
        with pytest.raises(KeyboardInterrupt):
            scanned()
    assert turns_of(archive) != whole

    keep(places, 3)
    scanned()
    assert turns_of(archive) == whole
    assert scanned().bytes_read == 0


def test_a_file_that_was_shorter_only_while_it_was_read_is_read_again(
    archive: Archive, places: Places, scanned: Callable[[], ScanResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not turns_before(archive, places, scanned):
        pytest.skip("exports are read as one")
    whole = turns_of(archive)
    path = keep(places, 3)
    os.utime(path, ns=(NOTED, NOTED))  # changed, for the look

    def read_shorter(*given: Any, **named: Any) -> Any:
        keep(places, 1)
        return read(*given, **named)

    with monkeypatch.context() as patched:
        patched.setattr("copilog.ingest.batches.read", read_shorter)
        scanned()
    assert turns_of(archive) != whole

    os.utime(keep(places, 3), ns=(NOTED, NOTED))
    scanned()
    assert turns_of(archive) == whole
    assert scanned().bytes_read == 0


def turns_before(archive: Archive, places: Places, scanned: Callable[[], ScanResult]) -> bool:
    keep(places, 3)
    scanned()
    return not any(places.exports.iterdir())
