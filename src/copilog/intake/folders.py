"""The entries of folders of other programs. What is not read is noted: links, closed folders, pipes, devices."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from copilog.intake.files import refusal

UNREADABLE = "cannot be read"
MOST_LISTED, MOST_NAMES = 64, 256  # folders whose names are cached, and the most names of one
JUST_NOW_SECONDS = 2.0

# Paths that this process skipped and has not reported yet, each with the reason.
_skipped_paths: dict[str, str] = {}


class Names(NamedTuple):
    """The names of the files and of the folders in a folder, in the order of the disk, and what else is in it."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    others: tuple[str, ...] = ()


_NO_NAMES = Names((), ())
_listed: OrderedDict[tuple[str, int, int, int], Names] = OrderedDict()


def names_in(folder: Path | str) -> Names:
    """Return the names of the files and folders in a folder, without links. None if it is missing, a link, or closed.

    Many sources look into the same folder. So the last small listings are cached, while their folder has not changed.
    """
    path = str(folder)
    try:
        status = os.lstat(path)
        key = (path, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        names = _listed.get(key)
        if names is None:
            names = _names_listed(path, status)
            if _may_be_cached(names, status):
                _listed[key] = names
                if len(_listed) > MOST_LISTED:
                    _listed.popitem(last=False)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last for an impossible name
        return _NO_NAMES
    except OSError as error:
        note_closed(path, error)
        return _NO_NAMES
    if stat.S_ISLNK(status.st_mode):
        if names.files or names.folders or names.others:
            _skip_link(path)
        return _NO_NAMES
    for name in names.others:
        _pass_over(os.path.join(path, name))  # noqa: PTH118
    return names


def _names_listed(path: str, status: os.stat_result) -> Names:
    files: list[str] = []
    folders: list[str] = []
    others: list[str] = []
    with os.scandir(path) as found:
        for entry in found:
            if entry.is_file(follow_symlinks=False):
                files.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                others.append(entry.name)
    is_own = os.name == "posix" and status.st_uid == os.geteuid() and status.st_mode & stat.S_IXUSR
    if (files or folders or others) and not is_own:
        require_entry(path)
    return Names(tuple(files), tuple(folders), tuple(others))


def _may_be_cached(names: Names, status: os.stat_result) -> bool:
    """Return whether a listing is small, and so much later than the last change that another one changes the times."""
    if sum(map(len, names)) > MOST_NAMES or stat.S_ISLNK(status.st_mode):
        return False
    return time.time() - max(status.st_mtime, status.st_ctime) > JUST_NOW_SECONDS


def entries_to_check(folder: Path | str) -> list[os.DirEntry[str]]:
    """Return the files and folders of a folder, which may be a link, without links in it; none if it is closed.

    A folder may be listed and all the same refuse access to its entries: the caller asks each for its state.
    """
    try:
        with os.scandir(folder) as found:
            return _without_others(list(found))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        note_closed(str(folder), error)
        return []


def entries_in(folder: Path | str) -> list[os.DirEntry[str]]:
    """Return the files and folders of a folder, which may be a link, without links in it. None if it is closed."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
        if entries:
            require_entry(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        note_closed(str(folder), error)
        return []
    return _without_others(entries)


def _without_others(entries: list[os.DirEntry[str]]) -> list[os.DirEntry[str]]:
    others = [
        entry for entry in entries if not (entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False))
    ]
    for entry in others:
        _pass_over(entry.path)
    return [entry for entry in entries if entry not in others] if others else entries


def files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, by name, without links; the folder itself may be a link."""
    waiting = [str(folder)]
    while waiting:
        entries = sorted(entries_in(waiting.pop()), key=lambda entry: entry.name)
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


def _pass_over(path: str) -> None:
    """Note what is neither a file nor a folder."""
    mode = _mode_of(path)
    if mode is None:
        return
    if stat.S_ISLNK(mode):
        _skip_link(path)
    else:
        _is_refused(path, mode)


def _mode_of(path: Path | str) -> int | None:
    """Return the mode of what is at a path, or None if nothing is there, or its folder is closed."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last for an impossible name
        return None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            note_closed(str(path), error)
        return None


def _is_refused(path: str, mode: int) -> bool:
    reason = refusal(mode)
    if reason is not None:
        _skipped_paths[path] = reason
    return reason is not None


def _skip_link(path: str) -> None:
    _skipped_paths[path] = f"is a link to {os.path.realpath(path)}, and was not followed"


def note_closed(path: str, error: OSError) -> None:
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
