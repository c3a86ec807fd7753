"""Keep the archive fresh while the server runs: scan at the start, and before an answer if the last scan is old.

There are no scans without questions. An answer waits for a scan for a limited time; later changes are in the next one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

FRESH_SECONDS = 60.0
PATIENCE_SECONDS = 3.0
FIRST_PATIENCE_SECONDS = 30.0  # seconds to wait for the scan that fills an empty archive

logger = logging.getLogger(__name__)


class Refresher:
    """Runs scans in a thread of their own, one at a time. A scan may be interrupted when the server ends."""

    def __init__(self, scan: Callable[[], None], *, is_first: bool = False) -> None:
        self._scan = scan
        self._patience = FIRST_PATIENCE_SECONDS if is_first else PATIENCE_SECONDS
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._begun: float | None = None
        self._has_failed = False

    def start(self) -> None:
        """Start a scan if none is running and the last one is old."""
        with self._lock:
            is_fresh = self._begun is not None and time.monotonic() - self._begun < FRESH_SECONDS
            if is_fresh or (self._thread is not None and self._thread.is_alive()):
                return
            self._begun = time.monotonic()
            self._thread = threading.Thread(target=self._run, name="copilog scan", daemon=True)
            self._thread.start()

    def wait(self) -> list[str]:
        """Refresh the archive, waiting some seconds at most; return a note if it may be out of date."""
        self.start()
        thread = self._thread
        if thread is not None:
            thread.join(self._patience)
            if thread.is_alive():
                return ["the archive is still being updated; ask again later for the latest conversations"]
        return ["the archive could not be updated, and may lack the latest conversations"] if self._has_failed else []

    def _run(self) -> None:
        try:
            self._scan()
        except Exception:  # a failed scan must not end the server: the archive can still be queried
            self._has_failed = True
            logger.exception("the scan failed; answers come from the archive as it is")
        else:
            self._has_failed = False
            self._patience = PATIENCE_SECONDS
