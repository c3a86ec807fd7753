"""Whatever copilog reads stays as it is: nothing is written, made, renamed, removed or even opened for writing."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from copilog import ingest, sample
from copilog.diagnostics import Report
from copilog.ingest.skipped import is_skipped
from tests.samples import DATA, GOLDEN, database_from

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.chflags",
    "os.chmod",
    "os.chown",
    "os.link",
    "os.lockf",
    "os.mkdir",
    "os.remove",
    "os.removexattr",
    "os.rename",
    "os.rmdir",
    "os.setxattr",
    "os.symlink",
    "os.truncate",
    "os.utime",
    "shutil.chown",
    "shutil.make_archive",
    "shutil.move",
    "shutil.rmtree",
    "shutil.unpack_archive",
    "sqlite3.connect",
    "tempfile.mkdtemp",
    "tempfile.mkstemp",
}
COPIES = {"shutil.copyfile", "shutil.copymode", "shutil.copystat", "shutil.copytree"}  # from somewhere is fine


class Touched(BaseException):
    """Something below the watched folder would have been changed. No handler in a reader may swallow this."""


class Guard:
    """Looks at each audit event while a folder is watched. An audit hook stays for good, so it must be switched."""

    def __init__(self) -> None:
        self.watched: str | None = None
        self.is_installed = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.watched is None:
            return
        if event == "open":
            path, mode, flags = arguments
            is_writing = any(letter in (mode or "") for letter in "wax+") or (flags or 0) & WRITING
            touched = [path] if is_writing else []
        elif event in COPIES:
            touched = list(arguments[1:])
        else:
            touched = list(arguments) if event in CHANGES else []
        if any(self._is_below(argument) for argument in touched):
            raise Touched(event, *arguments)

    def _is_below(self, argument: object) -> bool:
        if not isinstance(argument, str | bytes | os.PathLike):
            return False
        path = os.fsdecode(argument)
        if path.startswith("file:"):
            return self.watched is not None and self.watched in path
        return os.path.realpath(path).startswith(f"{self.watched}{os.sep}") or os.path.realpath(path) == self.watched


guard = Guard()


@contextmanager
def watching(folder: Path) -> Iterator[None]:
    """Raise Touched for whatever would change something below a folder."""
    if not guard.is_installed:
        sys.addaudithook(guard)
        guard.is_installed = True
    guard.watched = os.path.realpath(folder)
    try:
        yield
    finally:
        guard.watched = None


def everything_below(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    """All that an owner could notice: names, kinds, sizes, times and contents."""
    seen = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        seen[path.relative_to(folder).as_posix()] = (status.st_mode, status.st_size, status.st_mtime_ns, content)
    return seen


# --- the guard itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "file").write_text("x"),
        lambda folder: (folder / "new").open("x"),
        lambda folder: (folder / "file").open("a"),
        lambda folder: (folder / "file").open("r+b"),
        lambda folder: os.open(folder / "file", os.O_RDWR),
        lambda folder: os.open(os.fsencode(folder / "new"), os.O_CREAT),
        lambda folder: (folder / "file").unlink(),
        lambda folder: (folder / "file").rename(folder.parent / "file"),
        lambda folder: (folder.parent / "outside").replace(folder / "file"),
        lambda folder: (folder / "new").mkdir(),
        lambda folder: (folder / "empty").rmdir(),
        lambda folder: os.truncate(folder / "file", 0),
        lambda folder: os.utime(folder / "file"),
        lambda folder: (folder / "file").chmod(0o600),
        lambda folder: (folder / "new").symlink_to(folder.parent / "outside"),
        lambda folder: (folder / "new").hardlink_to(folder.parent / "outside"),
        lambda folder: shutil.copyfile(folder.parent / "outside", folder / "new"),
        lambda folder: shutil.move(folder / "file", folder.parent / "moved"),
        lambda folder: shutil.rmtree(folder),
        lambda folder: sqlite3.connect(folder / "store.db"),
        lambda folder: sqlite3.connect(f"file:{folder}/store.db?mode=ro", uri=True),
    ],
)
def test_the_guard_catches_every_kind_of_change(tmp_path: Path, change: Callable[[Path], object]) -> None:
    folder = tmp_path / "watched"
    (folder / "empty").mkdir(parents=True)
    (folder / "file").write_text("text")
    (tmp_path / "outside").write_text("text")
    before = everything_below(folder)

    with watching(folder), pytest.raises(Touched):
        change(folder)

    assert everything_below(folder) == before


def test_the_guard_lets_reading_pass_and_what_happens_elsewhere(tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "file").write_text("text")

    with watching(folder):
        assert (folder / "file").read_bytes() == b"text"
        shutil.copyfile(folder / "file", tmp_path / "copy")
        (tmp_path / "watched-not").mkdir()

    (folder / "file").write_text("after")


# --- what is read -----------------------------------------------------------------------------------------------

HOLD_OPEN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def other_program(path: Path, *statements: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_OPEN, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The sample home, with all damaged files, and with stores as running and as killed programs leave them."""
    made = tmp_path / "home"
    shutil.copytree(sample.home(), made)
    storage = made / ".config" / "Code" / "User" / "workspaceStorage"
    shutil.copytree(DATA / "damaged", storage / ("d" * 32), ignore=shutil.ignore_patterns(f"*{GOLDEN}"))
    script = DATA / "vscode_state" / "index_of_two.sql"
    closed, live, killed = (database_from(script, storage / (name * 32) / "state.vscdb") for name in "abc")
    for path in (closed, live):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = wal")
    (storage / ("e" * 32)).symlink_to(tmp_path)
    (storage / ("b" * 32) / "chatSessions").mkdir()
    (storage / ("b" * 32) / "chatSessions" / "link.json").symlink_to(script)
    spill = ["PRAGMA cache_size = 1", "BEGIN", "UPDATE ItemTable SET value = zeroblob(50000)"]
    with other_program(killed, *spill) as process:
        process.kill()
        process.wait()
    with other_program(live, "PRAGMA wal_autocheckpoint = 0", "INSERT INTO ItemTable VALUES ('new', 'row')"):
        yield made


def test_nothing_that_is_read_is_changed(home: Path) -> None:
    names = {path.name for path in home.rglob("state.vscdb-*")}
    assert names >= {"state.vscdb-wal", "state.vscdb-shm", "state.vscdb-journal"}
    before = everything_below(home)
    report = Report()

    with watching(home):
        found = list(ingest.discover([home], report=report))
        conversations = [made for one in found for made in ingest.read(one, report=report)]
        walked = list(ingest.read(home))
        ledgers = list(ingest.inspect([home]))

    assert everything_below(home) == before
    assert len(conversations) > 20
    assert len(walked) >= len(conversations)
    assert report.balances()
    assert all(ledger.balances() for ledger in ledgers)
    files = {str(path) for path in home.rglob("*") if path.is_file() and not path.is_symlink()}
    links = {str(path) for path in home.rglob("*") if path.is_symlink()}
    assert sorted(ledger.path for ledger in ledgers if not is_skipped(ledger)) == sorted(files)
    assert sorted(ledger.path for ledger in ledgers if is_skipped(ledger)) == sorted(links)


def test_each_file_named_by_hand_stays_as_it_is(home: Path) -> None:
    paths = [path for path in sorted(home.rglob("*.json*")) if path.is_file() and not path.is_symlink()]
    before = everything_below(home)

    with watching(home):
        for path in paths:
            list(ingest.read(path)) if ingest.inspect_file(path).source else None

    assert everything_below(home) == before
