"""Scans of very many conversations: what is held in memory, and what takes another way than where there are few."""

from __future__ import annotations

import os
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from copilog.diagnostics import Report
from copilog.ingest import find_roots
from copilog.ingest.changes import Changes
from copilog.ingest.discovery import discover_seen
from copilog.ingest.footprints import Look
from copilog.ingest.scanning import scan
from copilog.ingest.spool import Spool
from copilog.sample import home as sample_home
from copilog.sources import Found
from copilog.store.archive import Archive
from copilog.store.units import RecordedUnits, Unit, put_states, put_unit
from tests.cli.homes import Home, session

FEW, MANY, BATCH = 200, 1000, 40
NAME_BYTES = 600


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "data" / "archive.db", write=True) as opened:
        yield opened


def peak_of(work: Callable[[], object]) -> int:
    """Return the peak memory of Python during a call, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write_logs(folder: Path, number: int) -> Path:
    for name in range(number):
        log = folder / ".copilot" / "session-state" / f"{name:08}-5a3c-4d1e-9f00-1234567890ab" / "events.jsonl"
        log.parent.mkdir(parents=True)
        log.write_bytes(b"{}\n")
    return folder


def spooled(look: Look) -> int:
    """Find everything, and find out what there is to read."""
    with Spool() as spool:
        discover_seen(look, spool, spool.add_trace_files, report=Report())
        for found in spool.unread():
            spool.add_unit(found, found.signature())
        return sum(1 for _ in spool.units())


def growth(work: Callable[[Look], object], few: Look, many: Look) -> float:
    """Return the additional bytes for each additional conversation."""
    work(few)  # so that everything is loaded
    return min(peak_of(lambda: work(many)) - peak_of(lambda: work(few)) for _ in range(3)) / (MANY - FEW)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilog.ingest.footprints._BATCH_SIZE", BATCH)


@pytest.fixture
def few(tmp_path: Path) -> Look:
    return Look(find_roots([write_logs(tmp_path / "few", FEW)]))


@pytest.fixture
def many(tmp_path: Path) -> Look:
    return Look(find_roots([write_logs(tmp_path / "many", MANY)]))


def test_discovery_keeps_little_more_than_the_names_of_conversations(few: Look, many: Look) -> None:
    assert spooled(many) == MANY
    assert growth(spooled, few, many) < NAME_BYTES


def test_comparison_keeps_little_more_than_the_names_of_conversations(archive: Archive, few: Look, many: Look) -> None:
    for look in (few, many):
        for batch in look.batches():
            states = {path: state for seen in batch for path, state in seen.states.items()}
            put_states(archive.connection, "here", states, (), "now")

    def compared(look: Look) -> Changes:
        return Changes(look, archive.connection, "here")

    assert compared(many).comparison.files == MANY
    assert growth(compared, few, many) < NAME_BYTES


def test_many_changes_are_read_like_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(sample_home(), tmp_path / "home"))
    results = []
    for few in (1000, 0):
        monkeypatch.setattr("copilog.ingest.changes._FEW_FILES", few)
        changed = Path(shutil.copytree(folder, tmp_path / "changed"))
        with Archive(tmp_path / f"{few}.db", write=True) as archive:
            scan(archive, roots=find_roots([changed]))
            log = next(changed.rglob("events.jsonl"))
            log.write_bytes(log.read_bytes() + b"\n")
            for path in (log, next(changed.rglob("chatSessions/*.json"))):
                os.utime(path, (2_000_000_000, 2_000_000_000))
            result = scan(archive, roots=find_roots([changed]))
            results.append((result.new, result.changed, result.unchanged, result.files, archive.fingerprint()))
            assert scan(archive, roots=find_roots([changed])).files_read == 0
        shutil.rmtree(changed)

    assert results[0] == results[1]


def test_a_file_listed_twice_does_not_hide_a_deleted_one(archive: Archive, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    workspace = home.workspace(1, "/home/ana/code/garden")
    named, other = (home.add(workspace, session(name, f"{name}?")) for name in ("beans", "peas"))
    roots = find_roots([home.root, named])

    assert (scan(archive, roots=roots).files, scan(archive, roots=roots).unchanged) == (3, 2)
    other.unlink()
    assert scan(archive, roots=roots).gone_ids == ["vscode:peas"]


def test_a_folder_within_the_folder_of_a_session_is_searched_once(archive: Archive, tmp_path: Path) -> None:
    outer = write_logs(tmp_path / "home", 2)
    inner = write_logs(next((outer / ".copilot/session-state").iterdir()) / "files", 1)

    assert scan(archive, roots=find_roots([outer, inner])).files == 3


def test_file_names_that_are_not_valid_text_are_spooled() -> None:
    with Spool() as spool:
        spool.add("/home/ana/beds-\udce4.json", Found(Path("/home/ana/beds-\udce4.json"), "vscode-session"))
        spool.add_fresh({})
        (found,) = spool.unread()
        spool.add_unit(found, "1")
        ((packed, _),) = spool.units()

    assert packed.found().path == Path("/home/ana/beds-\udce4.json")
    assert packed.key == "/home/ana/beds-\udce4.json"


def test_recorded_units_are_looked_up_one_by_one(archive: Archive) -> None:
    for key, ids in (("one", ["vscode:one"]), ("file", ["vscode:two", "vscode:three"])):
        put_unit(archive.connection, "here", key, Unit("1", ids))
    put_unit(archive.connection, "elsewhere", "other", Unit("2", ["vscode:two"]))
    units = RecordedUnits(archive.connection, "here")

    assert dict(units) == {"one": Unit("1", ["vscode:one"]), "file": Unit("1", ["vscode:two", "vscode:three"])}
    assert "other" not in units
    assert units.keys_of(["vscode:three", "vscode:none"]) == {"file"}
    assert not RecordedUnits(archive.connection, "nowhere")
