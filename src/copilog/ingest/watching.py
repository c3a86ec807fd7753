"""Watch for changes on disk, and report them in batches soon after they are made.

Where the system sends notifications, `watchfiles` (optional) listens to them. A notification only says where to look:
changes are always detected by comparing sizes and times. Elsewhere, such as on network and WSL mounts, the same
comparison is made at every interval. So both ways detect the same changes, and a lost notification only costs time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from copilog.errors import CopilogError
from copilog.ingest.file_notifications import ChangeListener, NotificationsUnavailable, is_silent
from copilog.ingest.watched_folders import Rule, WatchedFolders, rules_of
from copilog.sources.roots import Root

Places = Iterable[Root | Path | str]

QUIET_SECONDS = 0.3  # quiet time after which changes make a batch
LONGEST_SECONDS = 1.5  # longest time from the first change to its batch, even if writing continues
STEP_SECONDS = 0.1
THOROUGH_SECONDS = 30.0  # between checks of everything, regardless of notifications and times of folders
SLOW_SHARE = 0.2  # share of the time for checks; on slow disks only the busiest folders are checked in between
BUSY_FOLDERS = 64
MOST_FAILURES = 3


def watch(
    folders: Places | Callable[[], Places],
    *,
    poll: bool | None = None,
    interval_seconds: float = 1.0,
    stop: Callable[[], bool],
) -> Iterator[set[Path]]:
    """Yield the files that changed, came or went, a burst of writing as one batch, until `stop()` is true.

    `folders` are roots, or other folders and files; they need not exist yet. A function that returns them is called
    again at every interval. `poll` is None to decide for each place by its file system.
    """
    with Watcher(folders, poll=poll, interval_seconds=interval_seconds) as watcher:
        yield from watcher.batches(stop)


class Watcher:
    """Records the state of folders when it is created; `batches` reports the changes after that."""

    def __init__(
        self, folders: Places | Callable[[], Places], *, poll: bool | None = None, interval_seconds: float = 1.0
    ) -> None:
        self.why_polling: str | None = "asked for" if poll else None
        self._ask = folders if callable(folders) else None
        self._poll = poll
        self._interval = interval_seconds
        self._notices: ChangeListener | None = None
        self._failures = 0
        self._silent: dict[str, bool] = {}  # top folders on file systems without notifications
        self._heard, self._polled = WatchedFolders(), WatchedFolders()
        self._begin_at(rules_of(folders() if callable(folders) else folders))
        self._listen()
        self._checked_at = time.monotonic()
        self._next_check = self._checked_at + interval_seconds
        self._next_full_check = 0.0
        self._next_thorough = self._checked_at + THOROUGH_SECONDS

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_listening()

    def counts(self) -> tuple[int, int]:
        """Return the number of folders with notifications, and of folders that are polled."""
        return len(self._heard.folders), len(self._polled.folders)

    def batches(self, stop: Callable[[], bool]) -> Iterator[set[Path]]:
        """Yield changes each time a burst of changes is over or lasts too long, and at the end."""
        changed: set[Path] = set()
        first = latest = 0.0
        while not stop():
            unchanged_until = self._checked_at
            found = self._step()
            now = time.monotonic()
            if found:
                first = first if changed else unchanged_until
                latest = now
                changed |= found
                self._next_check = min(self._next_check, now + QUIET_SECONDS)  # check whether the burst is over
            if changed and (now - latest >= QUIET_SECONDS or now - first >= LONGEST_SECONDS):
                yield changed
                changed = set()
        if changed:
            yield changed

    # --- one step ----------------------------------------------------------------------------------------------

    def _step(self) -> set[Path]:
        """Wait a little, and return what has changed."""
        changed: set[Path] = set()
        if self._notices is None:
            time.sleep(STEP_SECONDS)
        else:
            changed = self._notified_changes(self._notices)
        if time.monotonic() >= self._next_check:
            changed |= self._unannounced_changes()
            self._next_check = time.monotonic() + self._interval
            self._checked_at = time.monotonic()
        elif not self._polled.folders:
            self._checked_at = time.monotonic()
        return changed

    def _notified_changes(self, notices: ChangeListener) -> set[Path]:
        try:
            paths = notices.wait()
        except NotificationsUnavailable as error:
            self._give_up_listening(str(error))
            return set()
        return self._heard.look({name for path in paths for name in self._heard.folders_of(path)}, lists=True)

    def _unannounced_changes(self) -> set[Path]:
        """Return changes without notifications: in new folders, polled folders, and at times in all others."""
        changed = self._refresh_tops()
        changed |= self._heard.check_missing_tops() | self._polled.check_missing_tops()
        if self._notices is not None:
            changed |= self._heard.look(self._notices.without_notifications(self._heard))
        began = time.monotonic()
        if began >= self._next_thorough:
            changed |= self._heard.look(lists=True) | self._polled.look(lists=True)
            self._next_thorough = began + THOROUGH_SECONDS
        elif began >= self._next_full_check:
            changed |= self._polled.look()
            now = time.monotonic()
            self._next_full_check = now + (now - began) / SLOW_SHARE
        else:
            changed |= self._polled.look(self._polled.busiest(BUSY_FOLDERS))
        return changed | self._listen()

    # --- where to look and listen ------------------------------------------------------------------------------

    def _refresh_tops(self) -> set[Path]:
        try:
            return self._begin_at(rules_of(self._ask())) if self._ask is not None else set()
        except (CopilogError, OSError):
            return set()  # one of the folders is missing at present

    def _begin_at(self, tops: Mapping[str, Rule]) -> set[Path]:
        polled = {top: rule for top, rule in tops.items() if self._is_polled(top)}
        heard = {top: rule for top, rule in tops.items() if top not in polled}
        return self._polled.begin_at(polled) | self._heard.begin_at(heard)

    def _is_polled(self, top: str) -> bool:
        if self._poll is not None:
            return self._poll
        if top not in self._silent:
            self._silent[top] = is_silent(top)
        return self._silent[top]

    def _listen(self) -> set[Path]:
        """Listen to the folders that exist now; return what changed before that."""
        if self._poll or not self._heard.folders or (self._notices and self._notices.is_about(self._heard)):
            return set()
        self._stop_listening()
        try:
            self._notices = ChangeListener(self._heard)
        except FileNotFoundError as error:  # a folder was deleted just now
            self._failures += 1
            if self._failures > MOST_FAILURES:
                self._give_up_listening(str(error))
        except NotificationsUnavailable as error:
            self._give_up_listening(str(error))
        else:
            self._failures = 0
        return self._heard.look(lists=True)

    def _give_up_listening(self, why: str) -> None:
        """Poll everything from now on."""
        self._stop_listening()
        self._poll = True
        self.why_polling = why
        self._polled.copy_states(self._heard)
        self._heard = WatchedFolders()

    def _stop_listening(self) -> None:
        if self._notices is not None:
            self._notices.close()
            self._notices = None
