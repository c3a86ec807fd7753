"""Changes on disk are reported soon, with or without notifications of the system."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

import pytest

from copilog.ingest import file_notifications
from copilog.ingest.file_notifications import ChangeListener, is_silent
from copilog.ingest.watched_folders import WatchedFolders, rules_of
from copilog.ingest.watching import Watcher, watch
from copilog.sources.roots import Root
from tests.cli.homes import Home, session
from tests.watch_builders import DEADLINE_SECONDS, home_with_a_session


def need_library() -> None:
    """Skip where the optional library is missing; where all is to be tested, fail."""
    if find_spec(file_notifications.LIBRARY) is None:
        if "CI" in os.environ:
            pytest.fail(f"{file_notifications.LIBRARY} is not installed")
        pytest.skip(f"{file_notifications.LIBRARY} is not installed")


@pytest.fixture(params=["polling", "notices"])
def poll(request: pytest.FixtureRequest) -> bool:
    """Test both ways to detect changes, whatever the file system of temporary folders is."""
    if request.param == "notices":
        need_library()
    return bool(request.param == "polling")


class ReportedChanges:
    """The changes that a watch in another thread has reported so far."""

    def __init__(self) -> None:
        self.batches: list[set[Path]] = []

    @property
    def paths(self) -> set[Path]:
        return set().union(*self.batches)

    def wait_for(self, *paths: Path) -> None:
        wait_until(lambda: set(paths) <= self.paths, lambda: f"reported {sorted(self.paths)}, not {paths}")


def wait_until(is_so: Callable[[], bool], what: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


def after_deadline() -> Callable[[], bool]:
    deadline = time.monotonic() + DEADLINE_SECONDS
    return lambda: time.monotonic() > deadline


@contextmanager
def watching(*places: Root | Path, poll: bool | None) -> Iterator[ReportedChanges]:
    reported, stopped = ReportedChanges(), Event()
    with Watcher(places, poll=poll, interval_seconds=0.2) as watcher:

        def follow() -> None:
            for batch in watcher.batches(stopped.is_set):
                reported.batches.append(batch)

        thread = Thread(target=follow)
        thread.start()
        try:
            yield reported
        finally:
            stopped.set()
            thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return home_with_a_session(tmp_path / "home")


# --- what is reported -------------------------------------------------------------------------------------------


def test_a_new_session_is_reported(home: Home, poll: bool) -> None:
    with watching(home.root, poll=poll) as reported:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        reported.wait_for(path)

    assert reported.paths == {path}


def test_a_growing_log_is_reported_each_time(home: Home, poll: bool) -> None:
    path = home.add_log(home.workspace(1), "session-3", [{"kind": 0, "v": {}}])
    with watching(home.root, poll=poll) as reported:
        for _ in range(2):
            reported.batches.clear()
            with path.open("a") as log:
                log.write('{"kind": 1, "k": ["title"], "v": "Beans"}\n')
            reported.wait_for(path)


def test_a_deleted_file_is_reported(home: Home, poll: bool) -> None:
    path = home.add(home.workspace(1), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as reported:
        path.unlink()
        reported.wait_for(path)


def test_a_deleted_folder_is_reported_with_all_its_files(home: Home, poll: bool) -> None:
    path = home.add(home.workspace(2), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as reported:
        path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()
        reported.wait_for(path)


def test_a_workspace_that_appears_is_watched(home: Home, poll: bool) -> None:
    with watching(home.root, poll=poll) as reported:
        workspace = home.workspace(7, "/home/ana/code/garden")
        reported.wait_for(workspace / "workspace.json")
        (workspace / "chatEditingSessions" / "session-9").mkdir(parents=True)
        time.sleep(0.5)  # the folder is empty at first
        state = workspace / "chatEditingSessions" / "session-9" / "state.json"
        state.write_text("{}")
        reported.wait_for(state)


def test_a_folder_is_watched_as_soon_as_it_exists(tmp_path: Path, poll: bool) -> None:
    copilot = tmp_path / ".copilot"
    with watching(Root("copilot-home", copilot, None, "default place", False), poll=poll) as reported:
        time.sleep(0.3)
        log = copilot / "session-state" / "a1" / "events.jsonl"
        log.parent.mkdir(parents=True)
        log.write_text("{}\n")
        reported.wait_for(log)
        reported.batches.clear()
        log.write_text("{}\n{}\n")
        reported.wait_for(log)


def test_a_folder_that_replaces_another_is_watched(home: Home, poll: bool) -> None:
    old = home.add(home.workspace(2), session("session-2", "And peas?"))
    with watching(home.root, poll=poll) as reported:
        old.parent.rename(home.root / "elsewhere")
        old.parent.mkdir()
        reported.wait_for(old)
        time.sleep(0.5)
        new = home.add(home.workspace(2), session("session-4", "And leeks?"))
        reported.wait_for(new)


def test_a_write_ahead_log_counts_as_its_database(home: Home, poll: bool) -> None:
    path = home.index(home.workspace(1))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        with watching(home.root, poll=poll) as reported:
            before = path.stat().st_mtime_ns
            connection.execute("INSERT INTO ItemTable VALUES ('garden', 'beans')")
            connection.commit()
            reported.wait_for(path)

            assert path.stat().st_mtime_ns == before
            assert reported.paths == {path}


def test_a_burst_of_writing_makes_few_batches(home: Home, poll: bool) -> None:
    workspace = home.workspace(1)
    with watching(home.root, poll=poll) as reported:
        paths = [home.add(workspace, session(f"burst-{number}", "Beans?")) for number in range(200)]
        reported.wait_for(*paths)

    assert len(reported.batches) < len(paths) / 4


def test_files_of_other_extensions_are_not_reported(home: Home, poll: bool) -> None:
    workspace = home.workspace(1)
    other = workspace / "example.weather"
    other.mkdir()
    with watching(home.root, poll=poll) as reported:
        for path in (other / "cache.json", workspace / "state.vscdb-shm", home.user / "settings.json"):
            path.write_text("{}")
        path = home.add(workspace, session("session-2", "And peas?"))
        reported.wait_for(path)

    assert reported.paths == {path}


def test_links_are_not_followed(home: Home, tmp_path: Path, poll: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = home.workspace(1)
    (workspace / "chat-session-resources").symlink_to(outside, target_is_directory=True)
    with watching(home.root, poll=poll) as reported:
        (outside / "notes.txt").write_text("beans")
        path = home.add(workspace, session("session-2", "And peas?"))
        reported.wait_for(path)

    assert reported.paths == {path}


def test_files_of_a_linked_home_are_reported_by_the_path_with_the_link(home: Home, tmp_path: Path, poll: bool) -> None:
    link = tmp_path / "linked"
    link.symlink_to(home.root, target_is_directory=True)
    with watching(link, poll=poll) as reported:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        reported.wait_for(link / path.relative_to(home.root))


def test_a_single_file_can_be_watched(tmp_path: Path, poll: bool) -> None:
    path = tmp_path / "chat.json"
    path.write_text("{}")
    with watching(Root("file", path, None, "named", True), poll=poll) as reported:
        (tmp_path / "other.json").write_text("{}")
        path.write_text('{"requests": []}')
        reported.wait_for(path)

    assert reported.paths == {path}


def test_a_function_for_the_folders_to_watch_is_called_repeatedly(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / "chat.json").write_text("{}")
    answers = iter([[first]])

    batches = watch(lambda: next(answers, [first, second]), poll=True, interval_seconds=0.1, stop=after_deadline())

    assert next(batches) == {second / "chat.json"}


def test_changes_before_the_first_request_are_reported(home: Home, poll: bool) -> None:
    with Watcher([home.root], poll=poll) as watcher:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))

        assert next(watcher.batches(after_deadline())) == {path}


# --- how --------------------------------------------------------------------------------------------------------


def test_notifications_of_complete_trees_lead_to_the_same_folders(home: Home) -> None:
    need_library()
    known = WatchedFolders(rules_of([home.root]))
    with closing(ChangeListener(known, is_linux=False)) as heard:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        folders: set[str] = set()

        def is_heard() -> bool:
            folders.update(name for heard_of in heard.wait() for name in known.folders_of(heard_of))
            return str(path.parent) in folders

        wait_until(is_heard)
        assert heard.is_about(known)
        assert {Path(name) for name in heard.without_notifications(known)} == {home.user, home.user.parent}


def test_without_the_library_everything_is_polled(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_notifications, "LIBRARY", "a_library_that_nobody_has")
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
def test_if_the_system_refuses_more_subscriptions_everything_is_polled(home: Home) -> None:
    need_library()
    apart = ["unshare", "--user", "--map-root-user"]  # a limit that holds for nobody else
    try:
        subprocess.run([*apart, "test", "-w", "/proc/sys/user/max_inotify_watches"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("limits of this system cannot be set for one process")

    process = subprocess.run([*apart, sys.executable, "-c", LIMITED, str(home.root)], capture_output=True, text=True)

    assert process.stdout == "0 OS file watch limit reached.\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="needs a user who may not read everything")
def test_an_unreadable_folder_does_not_affect_the_others(home: Home, poll: bool) -> None:
    closed = home.workspace(3) / "chatSessions"
    closed.mkdir()
    closed.chmod(0)
    with watching(home.root, poll=poll) as reported:
        path = home.add(home.workspace(1), session("session-2", "And peas?"))
        reported.wait_for(path)
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
def test_folders_on_network_file_systems_are_polled(tmp_path: Path, path: str, expected: bool) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)

    assert is_silent(path, mounts) is expected
    assert is_silent(path, tmp_path / "missing") is False
