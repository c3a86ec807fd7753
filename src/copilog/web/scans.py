"""Keeps the archive up to date while the viewer runs: soon after each change on disk comes a scan.

Scans are made by a process of their own, so that no page ever waits for one, and so that they can be ended at any
moment: what is stored is stored whole, and the next scan goes on from there.
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
from copilog.ingest.scanning import ScanResult
from copilog.ingest.watching import Watcher
from copilog.sources.roots import Root

LOCK_SECONDS = 5.0  # for another scan, before it is tried again
RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 60.0  # each time twice as long
STEP_SECONDS = 0.2
SCANS_OF_ONE_PROCESS = 200  # then another one takes over, whatever the first has kept in memory

logger = logging.getLogger(__name__)


class Places(msgspec.Struct, frozen=True):
    """Which places are scanned into which archive."""

    archive: Path
    machine: Callable[[], list[Root]]  # its usual places; asked again each time: an editor may be installed meanwhile
    has_definitions: bool = True  # whether the custom agents and skills of this machine belong to them

    def roots(self) -> list[Root]:
        """What is watched: what the archive was made from."""
        return roots_of(self.archive, self.machine)


class Task(msgspec.Struct):
    """One scan, as the process that makes it is told."""

    archive: Path
    machine: list[Root]
    has_definitions: bool


def scan_places(task: Task) -> ScanResult:
    """Bring the archive up to date once."""
    from copilog.ingest import WorkspaceDefinitions
    from copilog.ingest.defined_here import definitions_of_places
    from copilog.ingest.scanning import update
    from copilog.store.archive import Archive

    def definitions() -> WorkspaceDefinitions:
        return WorkspaceDefinitions(*definitions_of_places(task.machine))

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
        self._engine = Processes(1)  # which starts when there is work
        self._scans = 0
        self._thread = threading.Thread(target=self._run, name="copilog scans", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End it, and a scan that is under way."""
        self._stopped.set()
        while self._thread.is_alive():  # more than once: a process may have been begun at the same moment
            self._end_process()
            self._thread.join(STEP_SECONDS)
        self._end_process()

    def _run(self) -> None:
        try:
            with Watcher(self._places.roots) as watcher:
                self._follow(watcher)
        except Exception:  # pages show the archive as it is
            logger.exception("changes on disk are no longer followed")

    def _follow(self, watcher: Watcher) -> None:
        """Scan at once, and then after every change; a scan that failed is tried again after a while."""
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
        """Until something has changed, the time has come, or all is over."""

        def is_over() -> bool:
            return self._stopped.is_set() or (deadline is not None and time.monotonic() >= deadline)

        for _ in watcher.batches(is_over):
            return

    def _scan(self) -> str | None:
        """Have the process scan once; returns why it could not be done."""
        try:
            task = Task(self._places.archive, self._places.machine(), self._places.has_definitions)
            for _ in self._engine.map(scan_places, [task]):
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
