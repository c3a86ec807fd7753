"""Real paths of many paths that have folders in common."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class RealPaths:
    """Returns the same as `os.path.realpath`, and reads each folder once: most default paths do not exist."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[str, bool]] = {}  # the real path, and whether there is anything

    def of(self, path: Path) -> str:
        if os.name != "posix" or not path.is_absolute() or ".." in path.parts:
            return os.path.realpath(path)
        return self._of(path)[0]

    def _of(self, path: Path) -> tuple[str, bool]:
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._looked_up(path)
        return found

    def _looked_up(self, path: Path) -> tuple[str, bool]:
        if path.parent == path:
            return str(path), True
        above, is_there = self._of(path.parent)
        plain = os.path.join(above, path.name)  # noqa: PTH118 - a text
        if not is_there:
            return plain, False
        try:
            is_link = stat.S_ISLNK(os.lstat(plain).st_mode)
        except OSError:
            return plain, False
        return (os.path.realpath(plain), True) if is_link else (plain, True)


def is_plain_folder(path: Path) -> bool:
    """Return whether a folder is at its path without links; never certain on Windows, which has many kinds of links."""
    try:
        return os.name == "posix" and path.name != ".." and stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
