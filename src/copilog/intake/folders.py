"""The entries of folders of other programs. What is not read is noted: links, closed folders, pipes, devices."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from copilog.intake.files import refusal

UNREADABLE = "cannot be read"

# Paths that this process skipped and has not reported yet, each with the reason.
_skipped_paths: dict[str, str] = {}


def entries_in(folder: Path | str, *, may_be_link: bool = False) -> list[os.DirEntry[str]]:
    """Return the files and folders of a folder, without links. Return none if it is missing, a link, or unreadable."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
        if entries:
            require_entry(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        _pass_over_closed(str(folder), error)
        return []
    if entries and not may_be_link and os.path.islink(folder):  # noqa: PTH114 - thousands of them, at every start
        _skip_link(str(folder))
        return []
    others = [
        entry for entry in entries if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
    ]
    for entry in others:
        _pass_over(entry)
    return [entry for entry in entries if entry not in others] if others else entries


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, by name, without links; the folder itself may be a link."""
    waiting = [str(folder)]
    while waiting:
        entries = sorted(entries_in(waiting.pop(), may_be_link=True), key=lambda entry: entry.name)
        yield from (Path(entry.path) for entry in entries if entry.is_file(follow_symlinks=False))
        waiting += [entry.path for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]


def is_regular_file(path: Path | str) -> bool:
    """Return whether a regular file is at a path. Anything else there but a folder is noted, as is a closed folder."""
    mode = _mode_of(path)
    if mode is None or stat.S_ISDIR(mode):
        return False
    if stat.S_ISLNK(mode):
        _skip_link(str(path))
        return False
    return not _is_refused(str(path), mode)


def is_link(path: Path | str) -> bool:
    """Return whether a link is at a path, which is noted, as it is not followed."""
    mode = _mode_of(path)
    if mode is None or not stat.S_ISLNK(mode):
        return False
    _skip_link(str(path))
    return True


def require_access(folder: Path) -> None:
    """Raise OSError if a folder cannot be listed, or its entries cannot be opened."""
    with os.scandir(folder):
        require_entry(folder)


def is_open(folder: Path) -> bool:
    """Return whether a folder can be listed and its entries opened."""
    try:
        require_access(folder)
    except OSError:
        return False
    return True


def require_entry(folder: Path | str) -> None:
    """Raise OSError if a folder refuses access to its entries, which it may list all the same."""
    if os.name == "posix":
        os.stat(f"{folder}{os.sep}.")  # noqa: PTH116


def _pass_over(entry: os.DirEntry[str]) -> None:
    """Note an entry that is neither a file nor a folder."""
    if entry.is_symlink():
        _skip_link(entry.path)
    elif (mode := _mode_of(entry.path)) is not None:
        _is_refused(entry.path, mode)


def _mode_of(path: Path | str) -> int | None:
    """Return the mode of what is at a path, or None if nothing is there, or its folder is closed."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last for an impossible name
        return None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            _pass_over_closed(str(path), error)
        return None


def _is_refused(path: str, mode: int) -> bool:
    reason = refusal(mode)
    if reason is not None:
        _skipped_paths[path] = reason
    return reason is not None


def _skip_link(path: str) -> None:
    _skipped_paths[path] = f"is a link to {os.path.realpath(path)}, and was not followed"


def _pass_over_closed(path: str, error: OSError) -> None:
    """Note the folder that refuses access: the path itself, or the nearest folder above it that can be seen."""
    while isinstance(error, PermissionError) and not os.path.lexists(path) and (above := os.path.dirname(path)) != path:  # noqa: PTH120
        path = above
    _skipped_paths[path] = unreadable(error)


def unreadable(error: OSError) -> str:
    """Return the reason for a folder or file that cannot be read."""
    return f"{UNREADABLE}: {error.strerror or error}"


def take_skipped_paths() -> list[tuple[Path, str]]:
    """Return the paths skipped since the last call."""
    taken = [(Path(path), reason) for path, reason in sorted(_skipped_paths.items())]
    _skipped_paths.clear()
    return taken


def code_of_skipped(path: Path) -> str:
    """Return the diagnostic code of a path that was skipped: a link, not a file, or closed."""
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return "unreadable"
    if stat.S_ISLNK(mode):
        return "broken-link"
    return "unreadable" if stat.S_ISDIR(mode) or stat.S_ISREG(mode) else "not-a-file"


def is_still_skipped(path: Path) -> bool:
    """Return whether a path that was skipped would be skipped again."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return not (is_open(path) if stat.S_ISDIR(mode) else stat.S_ISREG(mode))


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
