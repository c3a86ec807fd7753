"""A backup is one file that has everything, adds what is new, notices damage, and makes the archive again."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from copilog.store.archive import Archive
from copilog.store.backups import faults_of
from tests.cli.homes import Home, move_in, run, session
from tests.soaking import SEED, counted
from tests.store.archive_rows import HARBOUR, MOORING
from tests.stored import entry

LONG = tuple((f"Question {number} of the harbour", f"Answer {number}: half tide.") for number in range(140))
KILLS, FLIPS = 20, 20  # of which `make soak` does ten times as many


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR, tool="read_file"), "files")
        archive.put(entry("b2", MOORING, *LONG), "files")
        archive.put(entry("c3", HARBOUR), "files")
        archive.index_pending()
        archive.star("a1")
        archive.label("b2", "harbour")
        archive.note("b2", "wrong dates")
        archive.remove("c3")
    return path


def content(path: Path) -> object:
    with Archive(path) as archive:
        stored = archive.list(include_gone=True)
        told = [(each.id, archive.digest_of(each.id), each.is_starred, each.labels, each.note) for each in stored]
        return sorted(told, key=str), archive.removed()


def test_a_restored_archive_has_everything(path: Path, tmp_path: Path) -> None:
    file, restored = tmp_path / "copilog.backup", tmp_path / "new" / "restored.db"

    assert run("archive", "backup", "create", file, "--archive", path).code == 0
    assert run("archive", "backup", "verify", file).code == 0
    assert run("archive", "backup", "restore", file, "--archive", restored).code == 0

    assert content(restored) == content(path)
    assert run("archive", "check", "--archive", restored).code == 0
    assert file.stat().st_mode & 0o077 == 0
    assert run("archive", "backup", "restore", file, "--archive", restored).code == 2  # it exists


def test_a_second_backup_writes_only_what_changed(path: Path, tmp_path: Path) -> None:
    file, restored = tmp_path / "copilog.backup", tmp_path / "restored.db"
    run("archive", "backup", "create", file, "--archive", path)
    assert "; 0 pieces written" in run("archive", "backup", "create", file, "--archive", path).err
    with Archive(path, write=True) as archive:
        archive.put(entry("a1", HARBOUR, MOORING), "files")
        archive.remove("b2")
    assert "; 2 pieces written" in run("archive", "backup", "create", file, "--archive", path).err  # and tombstones

    run("archive", "backup", "restore", file, "--archive", restored)
    assert content(restored) == content(path)


def test_raw_files_are_backed_up_and_stay_when_they_are_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    move_in(monkeypatch, tmp_path, home)
    raw = home.add(home.workspace(1), session("kept", "Beans?"))
    run("scan")
    file, before = tmp_path / "copilog.backup", raw.read_bytes()
    assert run("archive", "backup", "create", file, "--sources").code == 0
    raw.unlink()
    run("scan")
    assert run("archive", "backup", "create", file, "--sources").code == 0

    folder = tmp_path / "raw"
    assert run("archive", "backup", "restore", file, "--archive", tmp_path / "new.db", "--sources", folder).code == 0
    assert (folder / str(raw).lstrip("/")).read_bytes() == before


def test_damage_of_the_archive_does_not_reach_the_backup(path: Path, tmp_path: Path) -> None:
    file, restored = tmp_path / "copilog.backup", tmp_path / "restored.db"
    run("archive", "backup", "create", file, "--archive", path)
    before = content(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (document,) = connection.execute("SELECT data FROM document WHERE conversation = 1").fetchone()
    path.write_bytes(path.read_bytes().replace(document[:24], bytes(24)))

    told = run("archive", "backup", "create", file, "--archive", path)

    assert told.code == 1
    assert "vscode:a1: is damaged" in told.err
    run("archive", "backup", "restore", file, "--archive", restored)
    assert content(restored) == before


def test_nothing_else_is_overwritten_or_read_as_a_backup(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "letter.txt"
    other.write_text("Dear harbour master")

    assert run("archive", "backup", "create", other, "--archive", path).code == 2
    assert run("archive", "backup", "verify", other).code == 2
    assert other.read_text() == "Dear harbour master"


@pytest.mark.soak(kind="flips")
def test_a_flipped_bit_in_a_backup_is_found(
    path: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", counted(FLIPS))
    file, chance = tmp_path / "copilog.backup", random.Random(SEED)
    run("archive", "backup", "create", file, "--archive", path)
    whole = file.read_bytes()
    assert faults_of(file) == []
    with closing(sqlite3.connect(file)) as connection:
        pieces = [data for (data,) in connection.execute("SELECT data FROM piece") if len(data) > 60]
    for _ in range(counted(FLIPS)):
        data = bytearray(whole)
        data[whole.find(chance.choice(pieces)[:40]) + chance.randrange(40)] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        assert run("archive", "backup", "verify", file).code == 1


@pytest.mark.soak(kind="kills")
def test_a_backup_that_is_killed_leaves_the_earlier_one_or_a_whole_one(
    path: Path, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    record_property("cases", counted(KILLS))
    file, chance = tmp_path / "copilog.backup", random.Random(SEED)
    command = [sys.executable, "-m", "copilog", "archive", "backup", "create", str(file), "--archive", str(path)]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.monotonic() - started
    for number in range(counted(KILLS)):
        with Archive(path, write=True) as archive:
            archive.note("a1", f"note {number}")
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert faults_of(file) == []
