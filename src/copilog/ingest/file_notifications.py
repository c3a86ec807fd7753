"""Notices of the system about changes in folders, through `watchfiles` where that is installed."""

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

# File systems whose changes are made elsewhere, and of which this system hears nothing.
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
_OF_A_HOST = {"fakeowner", "grpcfuse", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"}  # seen from a virtual machine
_FUSE = "fuse."  # sshfs, rclone and the like
_MOUNTS = Path("/proc/mounts")


class CannotListen(Exception):  # noqa: N818 - no fault: there is another way
    """Why the system's notices cannot be had."""


class Notices:
    """Listens to folders from its making until it is closed.

    Linux wants to be asked about each folder by itself; so only those that matter are asked about. Elsewhere one asks
    about whole trees, but not about the folders above them, in which applications write all the time.
    """

    def __init__(self, folders: WatchedFolders, *, is_linux: bool = sys.platform == "linux") -> None:
        self._is_linux = is_linux
        self._asked = self._to_ask(folders)
        self._names = _by_real_name(self._asked)
        readable = [name for name in self._names if os.access(name, os.R_OK)]
        self._changes = _changes(readable, is_linux=is_linux)
        self._early = self._next()  # only now it listens

    def close(self) -> None:
        self._changes.close()

    def wait(self) -> set[str]:
        """The paths of which something was heard; after a short while none."""
        early, self._early = self._early, set()
        return early or self._next()

    def is_about(self, folders: WatchedFolders) -> bool:
        """Whether these are still the folders that are listened to."""
        return self._asked == self._to_ask(folders)

    def not_heard(self, folders: WatchedFolders) -> list[str]:
        """The folders of which nothing will be heard: new ones, and those above whole trees."""
        if self._is_linux:
            return [name for name in folders.folders if name not in self._asked]
        trees = tuple(name + os.sep for name in self._asked)
        return [name for name in folders.folders if not (name + os.sep).startswith(trees)]

    def _to_ask(self, folders: WatchedFolders) -> dict[str, int]:
        """Names of folders, and their numbers: what is listened to is the folder, whatever its name becomes."""
        names = folders.folders if self._is_linux else folders.trees()
        return {name: folders.folders[name].number for name in names}

    def _next(self) -> set[str]:
        try:
            return {self._as_asked(path) for _, path in next(self._changes)}
        except FileNotFoundError:
            raise
        except StopIteration:
            raise CannotListen("the notices of the system ended") from None
        except (OSError, RuntimeError, ValueError) as error:
            raise CannotListen(str(error).split(" about ")[0]) from error

    def _as_asked(self, path: str) -> str:
        """Links are resolved in notices; we know folders by the names that lead to them."""
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
        raise CannotListen(f"{LIBRARY} is not installed") from None
    changes: Generator[set[tuple[Any, str]], None, None] = library.watch(
        *names,
        watch_filter=None,
        debounce=2 * STEP_MS,
        step=STEP_MS,
        rust_timeout=WAIT_MS,
        yield_on_timeout=True,
        force_polling=False,
        recursive=not is_linux,
        ignore_permission_denied=False,  # True hides all other errors as well, such as too many folders
    )
    return changes


def _by_real_name(names: Iterable[str]) -> dict[str, str]:
    """Names by what they are without links. Only the uppermost can hold some: below, links are not followed."""
    real: dict[str, str] = {}
    for name in sorted(names):
        above, own = os.path.split(name)
        real[name] = os.path.join(real[above], own) if above in real else os.path.realpath(name)  # noqa: PTH118
    return {found: name for name, found in real.items()}


def is_silent(path: str, mounts: Path = _MOUNTS) -> bool:
    """Whether nothing is heard of changes to a path, as they are made elsewhere: over a network, or by Windows."""
    real = os.path.realpath(path)
    if sys.platform == "win32":
        return real.startswith("\\\\")  # a share, or \\wsl$
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False  # a system without such a list
    kinds = {_unescaped(fields[1]): fields[2] for fields in map(str.split, lines) if len(fields) > 2}
    while real not in kinds and real != os.path.dirname(real):  # noqa: PTH120
        real = os.path.dirname(real)  # noqa: PTH120
    kind = kinds.get(real, "")
    return kind in _NETWORK | _OF_A_HOST or kind.startswith(_FUSE)


def _unescaped(mount: str) -> str:
    """Spaces and the like are written as \\040 in the list of mounts."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), mount)
