"""What happens on disk is told soon, whether the system tells of it or not, and `copilog watch` stores it."""

from __future__ import annotations

import json
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

import pytest

from copilog.ingest import notices
from copilog.ingest.notices import Notices, is_silent
from copilog.ingest.watched_folders import WatchedFolders, rules_of
from copilog.ingest.watching import Watcher, watch
from copilog.sample import home as sample_home
from copilog.sources import SOURCES, Source
from copilog.sources.roots import Root, roots_from, storage_folders
from copilog.store.archive import Archive
from copilog.store.database import ScanLock
from tests.cli.homes import Home, session

DEADLINE_SECONDS = 30.0


def need_library() -> None:
    """Skip where the optional library is missing; where all is to be tested, fail."""
    if find_spec(notices.LIBRARY) is None:
        if "CI" in os.environ:
            pytest.fail(f"{notices.LIBRARY} is not installed")
        pytest.skip(f"{notices.LIBRARY} is not installed")


@pytest.fixture(params=["polling", "notices"])
def poll(request: pytest.FixtureRequest) -> bool:
    """Both ways to hear of changes, whatever the file system of temporary folders is."""
    if request.param == "notices":
        need_library()
    return bool(request.param == "polling")


class Told:
    """What a watch in another thread has told up to now."""

    def __init__(self) -> None:
        self.batches: list[set[Path]] = []

    @property
    def paths(self) -> set[Path]:
        return set().union(*self.batches)

    def wait_for(self, *paths: Path) -> None:
        wait_until(lambda: set(paths) <= self.paths, lambda: f"told of {sorted(self.paths)}, not of {paths}")


def wait_until(is_so: Callable[[], bool], what: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


def after_deadline() -> Callable[[], bool]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    return lambda: time.monotonic() > deadline


@contextmanager
def watching(*places: Root | Path, poll: bool | None) -> Iterator[Told]:
    told, stopped = Told(), Event()
    with Watcher(places, poll=poll, interval_seconds=0.2) as watcher:

        def follow() -> None:
            for batch in watcher.batches(stopped.is_set):
                told.batches.append(batch)

        thread = Thread(target=follow)
        thread.start()
        try:
            yield told
        finally:
            stopped.set()
            thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.add(made.workspace(1), session("session-1", "Which beans?"))
    return made


# --- what is told -----------------------------------------------------------------------------------------------


def test_a_new_session_is_told(home: Home, poll: bool) -> None:
    with watching(home.root, poll=poll) as told:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        told.wait_for(path)

    assert told.paths == {path}


def test_a_log_that_grows_is_told_each_time(home: Home, poll: bool) -> None:
    path = home.add_log(home.workspace(1), "session-3", [{"kind": 0, "v": {}}])
    with watching(home.root, poll=poll) as told:
        for _ in range(2):
            told.batches.clear()
            with path.open("a") as log:
                log.write('{"kind": 1, "k": ["title"], "v": "Beans"}\n')
            told.wait_for(path)


def test_a_deleted_file_is_told(home: Home, poll: bool) -> None:
    path = home.add(home.workspace(1), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as told:
        path.unlink()
        told.wait_for(path)


def test_a_deleted_folder_is_told_with_all_that_was_in_it(home: Home, poll: bool) -> None:
    path = home.add(home.workspace(2), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as told:
        path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()
        told.wait_for(path)


def test_a_workspace_that_appears_is_watched(home: Home, poll: bool) -> None:
    with watching(home.root, poll=poll) as told:
        workspace = home.workspace(7, "/home/ana/code/garden")
        told.wait_for(workspace / "workspace.json")
        (workspace / "chatEditingSessions" / "session-9").mkdir(parents=True)
        time.sleep(0.5)  # the folder is empty at first
        state = workspace / "chatEditingSessions" / "session-9" / "state.json"
        state.write_text("{}")
        told.wait_for(state)


def test_a_place_that_is_not_there_yet_is_watched_once_it_is(tmp_path: Path, poll: bool) -> None:
    copilot = tmp_path / ".copilot"
    with watching(Root("copilot-home", copilot, None, "default place", False), poll=poll) as told:
        time.sleep(0.3)
        log = copilot / "session-state" / "a1" / "events.jsonl"
        log.parent.mkdir(parents=True)
        log.write_text("{}\n")
        told.wait_for(log)
        told.batches.clear()
        log.write_text("{}\n{}\n")
        told.wait_for(log)


def test_a_folder_that_takes_the_place_of_another_is_watched(home: Home, poll: bool) -> None:
    old = home.add(home.workspace(2), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as told:
        old.parent.rename(home.root / "elsewhere")
        old.parent.mkdir()
        told.wait_for(old)
        time.sleep(0.5)
        new = home.add(home.workspace(2), session("session-4", "And leeks?"))
        told.wait_for(new)


def test_what_a_database_has_not_taken_over_yet_counts_for_it(home: Home, poll: bool) -> None:
    path = home.index(home.workspace(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        with watching(home.root, poll=poll) as told:
            before = path.stat().st_mtime_ns
            connection.execute("INSERT INTO ItemTable VALUES ('garden', 'beans')")
            connection.commit()
            told.wait_for(path)

            assert path.stat().st_mtime_ns == before
            assert told.paths == {path}


def test_a_burst_of_writing_makes_few_batches(home: Home, poll: bool) -> None:
    workspace = home.workspace(1)
    with watching(home.root, poll=poll) as told:
        paths = [home.add(workspace, session(f"burst-{number}", "Beans?")) for number in range(200)]
        told.wait_for(*paths)

    assert len(told.batches) < len(paths) / 4


def test_what_other_extensions_write_is_not_told(home: Home, poll: bool) -> None:
    workspace = home.workspace(1)
    other = workspace / "example.weather"
    other.mkdir()
    with watching(home.root, poll=poll) as told:
        for path in (other / "cache.json", workspace / "state.vscdb-shm", home.user / "settings.json"):
            path.write_text("{}")
        path = home.add(workspace, session("session-2", "And peas?"))
        told.wait_for(path)

    assert told.paths == {path}


def test_links_are_not_followed(home: Home, tmp_path: Path, poll: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = home.workspace(1)
    (workspace / "chat-session-resources").symlink_to(outside, target_is_directory=True)
    with watching(home.root, poll=poll) as told:
        (outside / "notes.txt").write_text("beans")
        path = home.add(workspace, session("session-2", "And peas?"))
        told.wait_for(path)

    assert told.paths == {path}


def test_a_home_behind_a_link_is_told_by_the_name_that_leads_there(home: Home, tmp_path: Path, poll: bool) -> None:
    link = tmp_path / "linked"
    link.symlink_to(home.root, target_is_directory=True)
    with watching(link, poll=poll) as told:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        told.wait_for(link / path.relative_to(home.root))


def test_a_single_file_can_be_watched(tmp_path: Path, poll: bool) -> None:
    path = tmp_path / "chat.json"
    path.write_text("{}")
    with watching(Root("file", path, None, "named", True), poll=poll) as told:
        (tmp_path / "other.json").write_text("{}")
        path.write_text('{"requests": []}')
        told.wait_for(path)

    assert told.paths == {path}


def test_places_may_be_asked_for_again_and_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "chat.json").write_text("{}")
    answers = iter([[first]])

    batches = watch(lambda: next(answers, [first, second]), poll=True, interval_seconds=0.1, stop=after_deadline())

    assert next(batches) == {second / "chat.json"}


def test_what_changed_before_somebody_asks_is_told(home: Home, poll: bool) -> None:
    with Watcher([home.root], poll=poll) as watcher:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))

        assert next(watcher.batches(after_deadline())) == {path}


# --- what is watched --------------------------------------------------------------------------------------------

PLACES = (
    ".config/Code/User/workspaceStorage/w1/workspace.json",
    ".config/Code/User/workspaceStorage/w1/state.vscdb",
    ".config/Code/User/workspaceStorage/w1/chatSessions/s1.json",
    ".config/Code/User/workspaceStorage/w1/chatSessions/s2.jsonl",
    ".config/Code/User/workspaceStorage/w1/chatEditingSessions/s1/state.json",
    ".config/Code/User/workspaceStorage/w1/chatEditingSessions/s1/contents/abcdef1",
    ".config/Code/User/workspaceStorage/w1/chat-session-resources/s1/call/content.txt",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/chat-session-resources/s1/call/content.txt",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/transcripts/s1.jsonl",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/debug-logs/s1/main.jsonl",
    ".config/Code/User/workspaceStorage/w1/GitHub.copilot-chat/memory-tool/memories/repo/garden.md",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Code/User/globalStorage/emptyWindowChatSessions/s3.json",
    ".config/Code/User/globalStorage/transferredChatSessions/s4.json",
    ".config/Code/User/globalStorage/github.copilot-chat/agent-traces.db",
    ".config/Code/User/globalStorage/github.copilot-chat/session-store.db",
    ".config/Code/User/globalStorage/github.copilot-chat/memory-tool/memories/garden.md",
    ".config/Code/User/profiles/p1/globalStorage/state.vscdb",
    ".copilot/session-store.db",
    ".copilot/session-state/s5/events.jsonl",
    ".copilot/session-state/s5/session.db",
    ".copilot/session-state/s5/rewind-snapshots/index.json",
    ".copilot/session-state/s6.jsonl",
    ".copilot/history-session-state/session_s7_1776000000000.json",
    ".copilot/otel/copilot.jsonl",
)


def located(home: Path, source: Source) -> set[Path]:
    folders = [folder for root in roots_from(home) for folder in storage_folders(root)]
    return {found.path for folder in folders for found in source.locate(folder)}


def watched(home: Path) -> set[Path]:
    known = WatchedFolders(rules_of(roots_from(home)))
    return {Path(name, file) for name, folder in known.folders.items() for file in folder.files}


@pytest.fixture(scope="module")
def full_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("full")
    for place in PLACES:
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    return home


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if type(source).locate is not Source.locate], ids=lambda source: source.name
)
def test_every_source_has_its_places_watched(full_home: Path, source: Source) -> None:
    assert located(full_home, source), "add a file of this source to PLACES"
    assert located(full_home, source) <= watched(full_home)
    assert located(sample_home(), source) <= watched(sample_home())


def test_all_known_places_are_watched(full_home: Path) -> None:
    assert watched(full_home) == {full_home / place for place in PLACES}


def test_whole_trees_begin_where_conversations_are(full_home: Path) -> None:
    known = WatchedFolders(rules_of(roots_from(full_home)))
    user = full_home / ".config/Code/User"

    assert {Path(name) for name in known.trees()} == {
        user / "workspaceStorage",
        user / "globalStorage",
        user / "profiles/p1/globalStorage",
        full_home / ".copilot",
    }


# --- how --------------------------------------------------------------------------------------------------------


def test_notices_of_whole_trees_lead_to_the_same_folders(home: Home) -> None:
    need_library()
    known = WatchedFolders(rules_of([home.root]))
    with closing(Notices(known, is_linux=False)) as heard:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        folders: set[str] = set()

        def is_heard() -> bool:
            folders.update(name for heard_of in heard.wait() for name in known.folders_of(heard_of))
            return str(path.parent) in folders

        wait_until(is_heard)
        assert heard.is_about(known)
        assert {Path(name) for name in heard.not_heard(known)} == {home.user, home.user.parent}


def test_without_the_library_everything_is_polled(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "LIBRARY", "a_library_that_nobody_has")
    with Watcher([home.root], poll=False) as watcher:
        heard, polled = watcher.counts()

        assert (heard, polled > 0) == (0, True)
        assert watcher.why_polling == "a_library_that_nobody_has is not installed"
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        assert next(watcher.batches(after_deadline())) == {path}


LIMITED = """
import sys
from pathlib import Path
from copilog.ingest.watching import Watcher

Path("/proc/sys/user/max_inotify_watches").write_text("3")
with Watcher([Path(sys.argv[1])], poll=False) as watcher:
    print(watcher.counts()[0], watcher.why_polling)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems are asked about whole trees")
def test_when_the_system_listens_to_no_more_folders_everything_is_polled(home: Home) -> None:
    need_library()
    apart = ["unshare", "--user", "--map-root-user"]  # a limit that holds for nobody else
    try:
        subprocess.run([*apart, "test", "-w", "/proc/sys/user/max_inotify_watches"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("limits of this system cannot be set for one process")

    process = subprocess.run([*apart, sys.executable, "-c", LIMITED, str(home.root)], capture_output=True, text=True)

    assert process.stdout == "0 OS file watch limit reached.\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_a_folder_that_may_not_be_read_hinders_nothing(home: Home, poll: bool) -> None:
    closed = home.workspace(3) / "chatSessions"
    closed.mkdir()
    closed.chmod(0)
    with watching(home.root, poll=poll) as told:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        told.wait_for(path)
    closed.chmod(0o700)


MOUNTS = r"""
/dev/sda1 / ext4 rw,relatime 0 0
tmpfs /tmp tmpfs rw 0 0
C:\134 /mnt/c 9p rw,dirsync,aname=drvfs 0 0
D: /mnt/d drvfs rw 0 0
store:/homes /net/homes nfs4 rw 0 0
//store/old\040homes /net/old\040homes cifs rw 0 0
ana@store: /home/ana/store fuse.sshfs rw 0 0
/dev/sdb1 /net/homes/local ext4 rw 0 0
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no mounts")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/ana/.copilot", False),
        ("/mnt/c/Users/ana/.copilot", True),
        ("/mnt/d", True),
        ("/mnt/cellar", False),
        ("/net/homes/ana", True),
        ("/net/homes/local/ana", False),
        ("/net/old homes/ana", True),
        ("/home/ana/store/.copilot", True),
    ],
)
def test_places_that_others_write_to_are_polled(tmp_path: Path, path: str, expected: bool) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)

    assert is_silent(path, mounts) is expected
    assert is_silent(path, tmp_path / "missing") is False


# --- the command ------------------------------------------------------------------------------------------------


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
        """The first line on standard error that has this text."""
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
def test_the_command_tells_people_what_is_new(home: Home, tmp_path: Path) -> None:
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
def test_a_scan_of_somebody_else_is_waited_for(home: Home, tmp_path: Path) -> None:
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


def test_an_archive_that_is_none_is_told_at_once(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database at all, but something that somebody wrote")
    with running("--root", home.root, "--archive", path) as process:
        assert "not an archive" in process.talk("notes.txt")
        assert process.process.wait(DEADLINE_SECONDS) == 2
