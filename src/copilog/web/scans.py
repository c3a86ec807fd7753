"""Updates of the archive while the viewer runs: a scan soon after each change on disk.

A separate process scans, so that no page waits for a scan, and so that a scan can be ended at any time: a conversation
is stored completely or not at all, and the next scan continues from there.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from copilog.engine.processes import Processes
from copilog.errors import CopilogError
from copilog.ingest.origins import origins_of, roots_of
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.watching import Watcher
from copilog.sources.roots import Root

LOCK_SECONDS = 5.0  # how long to wait for another scan, before trying again
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 60.0  # each time twice as long
STEP_SECONDS = 0.2
SCANS_OF_ONE_PROCESS = 200  # then a new process takes over, and frees the memory of the first

logger = logging.getLogger(__name__)


class Places(msgspec.Struct, frozen=True):
    """The folders that are scanned, and the archive."""

    archive: Path
    machine: Callable[[], list[Root]]  # its usual folders, found anew for each scan
    has_definitions: bool = True  # whether the custom agents and skills of this machine are read

    def roots(self) -> list[Root]:
        """Return the folders to watch: those that the archive was made from."""
        return roots_of(self.archive, self.machine)


class Task(msgspec.Struct):
    """One scan, as the process gets it."""

    archive: Path
    machine: list[Root]
    has_definitions: bool


def scan_roots_once(task: Task) -> ScanResult:
    """Update the archive once."""
    from copilog.ingest import WorkspaceDefinitions
    from copilog.ingest.defined_here import definitions_in_roots
    from copilog.ingest.scanning import update
    from copilog.store.archive import Archive

    def definitions() -> WorkspaceDefinitions:
        return WorkspaceDefinitions(*definitions_in_roots(task.machine))

    with Archive(task.archive, write=True) as archive:
        origins = origins_of(archive, lambda: task.machine)
        return update(
            archive,
            origins,
            definitions=definitions if task.has_definitions and origins.has_machine else None,
            lock_seconds=LOCK_SECONDS,
        )


class Scanning:
    """A thread that waits for changes on disk, and a process that scans."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._engine = Processes(1)  # started for the first scan
        self._scans = 0
        self._thread = threading.Thread(target=self._run, name="copilog scans", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and a running scan."""
        self._stopped.set()
        while self._thread.is_alive():  # more than once: a process may just have been started
            self._end_process()
            self._thread.join(STEP_SECONDS)
        self._end_process()

    def _run(self) -> None:
        try:
            with Watcher(self._places.roots) as watcher:
                self._follow(watcher)
        except Exception:  # pages show the archive as it is
            logger.exception("the viewer no longer updates its pages when files change")

    def _follow(self, watcher: Watcher) -> None:
        """Scan at once, and then after every change; try again later if a scan fails."""
        last_failure, delay = "", RETRY_SECONDS
        while not self._stopped.is_set():
            failure = self._scan()
            if failure is None:
                last_failure, delay = "", RETRY_SECONDS
                self._wait(watcher, None)
                continue
            if failure != last_failure and not self._stopped.is_set():
                logger.warning("%s; trying again", failure)
            self._wait(watcher, time.monotonic() + delay)
            last_failure, delay = failure, min(2 * delay, LONGEST_RETRY_SECONDS)

    def _wait(self, watcher: Watcher, deadline: float | None) -> None:
        """Wait for a change, for the time to try again, or for the end."""

        def is_over() -> bool:
            return self._stopped.is_set() or (deadline is not None and time.monotonic() >= deadline)

        for _ in watcher.batches(is_over):
            return

    def _scan(self) -> str | None:
        """Scan once in the process; return why it failed, or None."""
        try:
            task = Task(self._places.archive, self._places.machine(), self._places.has_definitions)
            for _ in self._engine.map(scan_roots_once, [task]):
                self._scans += 1
            if self._scans >= SCANS_OF_ONE_PROCESS:
                self._end_process()
        except Exception as error:  # noqa: BLE001 - whatever it is, the next change may be read all the same
            self._end_process()
            return str(error) if isinstance(error, (CopilogError, OSError)) else f"{type(error).__name__}: {error}"
        return None

    def _end_process(self) -> None:
        with self._lock:
            self._engine.close()
            self._scans = 0
