"""Listen to file change notifications of the system, through `watchfiles` if it is installed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Generator, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from copilog.ingest.watched_folders import WatchedFolders

LIBRARY = "watchfiles"
STEP_MS, WAIT_MS = 50, 100

# File systems with changes from other machines, of which this system gets no notifications.
_NETWORK = {
    "9p",
    "afpfs",
    "afs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "drvfs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
}
_NETWORK |= {"smb2", "smb3", "smbfs"}
_HOST_SHARES = {"fakeowner", "grpcfuse", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"}  # as a virtual machine sees them
_FUSE = "fuse."  # sshfs, rclone and the like
_MOUNTS = Path("/proc/mounts")


class NotificationsUnavailable(Exception):  # noqa: N818 - no fault: there is another way
    """The reason why the system's notifications are unavailable."""


class ChangeListener:
    """Listens to folders from its creation until it is closed.

    Linux needs a subscription for each folder, so only relevant folders are subscribed. Other systems subscribe to
    complete trees, but not to the folders above them, in which applications write all the time.
    """

    def __init__(self, folders: WatchedFolders, *, is_linux: bool = sys.platform == "linux") -> None:
        self._is_linux = is_linux
        self._subscribed = self._subscriptions(folders)
        self._names = _by_real_name(self._subscribed)
        readable = [name for name in self._names if os.access(name, os.R_OK)]
        self._changes = _changes(readable, is_linux=is_linux)
        self._early = self._next()  # it starts to listen here

    def close(self) -> None:
        self._changes.close()

    def wait(self) -> set[str]:
        """Wait for notifications and return their paths; empty after a short time without any."""
        early, self._early = self._early, set()
        return early or self._next()

    def is_about(self, folders: WatchedFolders) -> bool:
        """Return whether these are still the subscribed folders."""
        return self._subscribed == self._subscriptions(folders)

    def without_notifications(self, folders: WatchedFolders) -> list[str]:
        """Return the folders without notifications: new folders, and those above complete trees."""
        if self._is_linux:
            return [name for name in folders.folders if name not in self._subscribed]
        trees = tuple(name + os.sep for name in self._subscribed)
        return [name for name in folders.folders if not (name + os.sep).startswith(trees)]

    def _subscriptions(self, folders: WatchedFolders) -> dict[str, int]:
        """Return folders by name with their inode numbers: a subscription follows the folder even if it is renamed."""
        names = folders.folders if self._is_linux else folders.trees()
        return {name: folders.folders[name].number for name in names}

    def _next(self) -> set[str]:
        try:
            return {self._subscribed_path(path) for _, path in next(self._changes)}
        except FileNotFoundError:
            raise
        except StopIteration:
            raise NotificationsUnavailable("the notices of the system ended") from None
        except (OSError, RuntimeError, ValueError) as error:
            raise NotificationsUnavailable(str(error).split(" about ")[0]) from error

    def _subscribed_path(self, path: str) -> str:
        """Return a path of a notification, in which links are resolved, below the name that was subscribed."""
        folder = path
        while folder not in self._names:
            above = os.path.dirname(folder)  # noqa: PTH120
            if above == folder:
                return path
            folder = above
        return self._names[folder] + path[len(folder) :]


def _changes(names: list[str], *, is_linux: bool) -> Generator[set[tuple[Any, str]], None, None]:
    try:
        library = import_module(LIBRARY)
    except ImportError:
        raise NotificationsUnavailable(f"{LIBRARY} is not installed") from None
    changes: Generator[set[tuple[Any, str]], None, None] = library.watch(
        *names,
        watch_filter=None,
        debounce=2 * STEP_MS,
        step=STEP_MS,
        rust_timeout=WAIT_MS,
        yield_on_timeout=True,
        force_polling=False,
        recursive=not is_linux,
        ignore_permission_denied=False,  # True also hides all other errors, such as too many folders
    )
    return changes


def _by_real_name(names: Iterable[str]) -> dict[str, str]:
    """Return names by their resolved paths. Only the top folders can contain links: below, links are not followed."""
    real: dict[str, str] = {}
    for name in sorted(names):
        above, own = os.path.split(name)
        real[name] = os.path.join(real[above], own) if above in real else os.path.realpath(name)  # noqa: PTH118
    return {found: name for name, found in real.items()}


def is_silent(path: str, mounts: Path = _MOUNTS) -> bool:
    """Return whether changes to a path cause no notifications: it is on a network share or a Windows drive."""
    real = os.path.realpath(path)
    if sys.platform == "win32":
        return real.startswith("\\\\")  # a share, or \\wsl$
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False  # a system without a list of mounts
    kinds = {_unescaped(fields[1]): fields[2] for fields in map(str.split, lines) if len(fields) > 2}
    while real not in kinds and real != os.path.dirname(real):  # noqa: PTH120
        real = os.path.dirname(real)  # noqa: PTH120
    kind = kinds.get(real, "")
    return kind in _NETWORK | _HOST_SHARES or kind.startswith(_FUSE)


def _unescaped(mount: str) -> str:
    """Decode escapes such as \\040 for a space in the list of mounts."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mount)
