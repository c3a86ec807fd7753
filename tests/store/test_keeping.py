"""What cannot be scanned again is copied once a day, without asking."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from copilog.store.archive import Archive
from copilog.store.keeping import SECONDS_BETWEEN, copies_of
from tests.cli.homes import Home, move_in, run, session


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def path(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> Path:
    return move_in(monkeypatch, tmp_path, home)


def scan_something(home: Home, name: str) -> None:
    home.add(home.workspace(1), session(name, "Beans?"))
    assert run("scan").code == 0


def age(path: Path) -> None:
    then = time.time() - SECONDS_BETWEEN - 60
    os.utime(path, (then, then))


def kept(path: Path) -> list[int]:
    return [number for number, copy in enumerate(copies_of(path), 1) if copy.exists()]


def test_there_is_no_copy_of_what_can_be_scanned_again(path: Path, home: Home) -> None:
    scan_something(home, "one")

    assert kept(path) == []


def test_a_copy_has_conversations_that_are_gone_and_what_the_user_added(path: Path, home: Home, tmp_path: Path) -> None:
    gone = home.add(home.workspace(1), session("gone", "The only copy?"))
    scan_something(home, "one")
    run("note", "vscode:one", "later")
    gone.unlink()
    scan_something(home, "two")
    [newest, *_] = copies_of(path)

    assert kept(path) == [1]
    assert newest.stat().st_mode & 0o077 == 0
    assert run("archive", "backup", "verify", newest).code == 0
    restored = tmp_path / "restored.db"
    assert run("archive", "backup", "restore", newest, "--archive", restored).code == 0
    assert "later" in run("archive", "notes", "export", "--archive", restored).out
    with Archive(restored) as archive:
        assert [each.id for each in archive.list(include_gone=True)] == ["vscode:gone"]


def test_three_copies_are_kept_of_which_one_is_made_a_day(path: Path, home: Home) -> None:
    scan_something(home, "one")
    run("star", "vscode:one")
    for number in range(5):
        scan_something(home, f"more-{number}")
        scan_something(home, f"soon-{number}")
        assert kept(path) == list(range(1, min(number + 1, 3) + 1))
        age(copies_of(path)[0])


def test_a_vacuum_deletes_the_copies(path: Path, home: Home) -> None:
    scan_something(home, "one")
    run("star", "vscode:one")
    scan_something(home, "two")
    assert kept(path) == [1]

    run("vacuum")
    assert kept(path) == []
