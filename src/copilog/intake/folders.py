"""The entries of folders of other programs. Links are not followed; links and unreadable folders are noted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

# Paths that this process skipped and has not reported yet, each with the reason.
_skipped_paths: dict[str, str] = {}


def entries_in(folder: Path) -> list[os.DirEntry[str]]:
    """Return the files and folders of a folder, without links. Return none if it is missing, a link, or unreadable."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _skipped_paths[str(folder)] = f"cannot be read: {error.strerror or error}"
        return []
    if entries and os.path.islink(folder):  # noqa: PTH114 - thousands of them, at every start
        _skip_link(str(folder))
        return []
    links = [entry for entry in entries if entry.is_symlink()]
    for link in links:
        _skip_link(link.path)
    return [entry for entry in entries if entry not in links] if links else entries


def _skip_link(path: str) -> None:
    _skipped_paths[path] = f"is a link to {os.path.realpath(path)}, and was not followed"


def take_skipped_paths() -> list[tuple[Path, str]]:
    """Return the paths skipped since the last call."""
    taken = [(Path(path), reason) for path, reason in sorted(_skipped_paths.items())]
    _skipped_paths.clear()
    return taken


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Return whether a path is one of some folders, or is inside one."""
    return any(path == folder or path.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def is_gone(path: str | Path) -> bool:
    """Return whether no file exists at a path. A path below a folder without permission is not counted as gone."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
