"""`copilog watch`: changes on disk are stored and reported."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread
from typing import IO, Any

import pytest

from copilog.store.archive import Archive
from copilog.store.database import ScanLock
from tests.cli.homes import Home, session
from tests.watch_builders import DEADLINE_SECONDS, home_with_a_session


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return home_with_a_session(tmp_path / "home")


def read_into(stream: IO[str], lines: queue.Queue[str]) -> None:
    with stream:
        for line in stream:
            lines.put(line)


class Running:
    """`copilog watch` in a process of its own."""

    def __init__(self, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "copilog", "watch", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.out, self.err = queue.Queue[str](), queue.Queue[str]()
        self.readers = [
            Thread(target=read_into, args=(self.process.stdout, self.out)),
            Thread(target=read_into, args=(self.process.stderr, self.err)),
        ]
        for reader in self.readers:
            reader.start()

    def event(self) -> Any:
        try:
            return json.loads(self.out.get(timeout=DEADLINE_SECONDS))
        except queue.Empty:
            pytest.fail(f"nothing came; standard error: {list(self.err.queue)}")

    def talk(self, text: str) -> str:
        """Return the first line on standard error that has this text."""
        while True:
            line = self.err.get(timeout=DEADLINE_SECONDS)
            if text in line:
                return line

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(DEADLINE_SECONDS)
        for reader in self.readers:
            reader.join()
        return code


@contextmanager
def running(*arguments: object) -> Iterator[Running]:
    process = Running(*arguments)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.wait()
        for reader in process.readers:
            reader.join()


on_posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@on_posix
@pytest.mark.parametrize("options", [[], ["--poll", "--interval", "0.3"]], ids=["as it comes", "polling"])
def test_the_command_keeps_the_archive_up_to_date(home: Home, tmp_path: Path, options: list[str]) -> None:
    path = tmp_path / "data" / "archive.db"
    with running("--root", home.root, "--archive", path, "--json", *options) as process:
        first = process.event()
        home.add(home.workspace(1), session("session-1", "Which beans?", "And when?"))
        changed = process.event()
        added = home.add(home.workspace(2), session("session-2", "And peas?"))
        new = process.event()
        added.unlink()
        gone = process.event()
        code = process.end()

    assert (first["new"], first["changed"]) == (["vscode:session-1"], [])
    assert (changed["new"], changed["changed"]) == ([], ["vscode:session-1"])
    assert (new["new"], new["changed"]) == (["vscode:session-2"], [])
    assert (gone["new"], gone["changed"], gone["gone"]) == ([], [], ["vscode:session-2"])
    assert code == 0
    with Archive(path) as archive:
        assert len(archive.get("session-1").turns) == 2


@on_posix
def test_the_command_prints_new_conversations(home: Home, tmp_path: Path) -> None:
    with running("--root", home.root, "--archive", tmp_path / "archive.db", "--poll") as process:
        assert "asked for" in process.talk("watching")
        home.add(home.workspace(1), session("session-2", "And peas?", customTitle="Peas \x1b[31mand beans"))
        line = process.talk("session-")
        code = process.end()

    assert line.split()[1] == "new"
    assert "Peas �[31mand beans" in line
    assert code == 0
    assert process.out.empty()


@on_posix
def test_watch_waits_for_a_scan_of_another_process(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "archive.db"
    with ExitStack() as lock:
        lock.enter_context(ScanLock(path))
        with running("--root", home.root, "--archive", path, "--json") as process:
            assert str(os.getpid()) in process.talk("trying again")
            lock.close()
            assert process.event()["new"] == ["vscode:session-1"]
            assert process.end() == 0


@on_posix
def test_an_archive_that_is_moved_away_is_made_again(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "data" / "archive.db"
    with running("--root", home.root, "--archive", path, "--json") as process:
        process.event()
        path.parent.rename(tmp_path / "moved")
        home.add(home.workspace(1), session("session-2", "And peas?"))

        assert sorted(process.event()["new"]) == ["vscode:session-1", "vscode:session-2"]
        assert process.end() == 0


def test_a_file_that_is_not_an_archive_is_reported_at_once(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, but something that somebody wrote")
    with running("--root", home.root, "--archive", path) as process:
        assert "not an archive" in process.talk("notes.txt")
        assert process.process.wait(DEADLINE_SECONDS) == 2
