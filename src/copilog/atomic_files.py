"""Files and folders that appear only when they are complete: written beside their path, and renamed at the end.

What is written is locked. A draft that nobody has locked is of a process that was killed: the next one that writes to
the same path removes it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from copilog.errors import CopilogError, UsageError

fcntl: Any = None if os.name == "nt" else import_module("fcntl")  # Windows removes no file that is open
DRAFT, REPLACED = ".part", ".old"  # endings of what is being written, and of a folder that is being replaced
_TOKEN = 6  # random bytes in the name of a draft
_NEW_SECONDS = 5.0  # a draft that is as new as this may not be locked yet
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NEW_AND_PRIVATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


class CannotWrite(CopilogError):  # noqa: N818 - it is news about the disk
    """A file could not be written; the file that was there before is unchanged."""


@contextmanager
def atomic_file(path: Path, *, is_private: bool = False) -> Iterator[IO[bytes]]:
    """Open a file for writing. It is renamed to its path if the body succeeds; otherwise nothing changes.

    A new file that `is_private` can be read by its owner alone; a file that is replaced keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    if _is_special(target):
        with reporting_errors(str(path), target), target.open("wb") as stream:
            yield stream
        return
    if not target.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise UsageError(f"{path}: is a folder; name a file")
    remove_stale_drafts(target)
    draft = draft_for(target)
    try:
        with reporting_errors(str(path), draft, target):
            # Opened in here, so that an interruption leaves nothing behind.
            with os.fdopen(os.open(draft, _NEW_AND_PRIVATE, 0o600), "wb", buffering=1 << 20) as file:
                _lock(file.fileno())
                yield file
            draft.chmod(_mode_for(target, is_private))
            draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Return a new folder to write into. It is renamed to its path if the body succeeds; otherwise nothing changes."""
    remove_stale_drafts(path)
    draft = draft_for(path)
    try:
        with reporting_errors(str(path), draft, path):
            draft.mkdir(mode=0o700)
            with _locked_folder(draft):
                yield draft
                replaced = draft.with_suffix(REPLACED)
                if path.exists():
                    path.rename(replaced)
                draft.rename(path)
            shutil.rmtree(replaced, ignore_errors=True)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextmanager
def draft_folder(path: Path) -> Iterator[Path]:
    """Return a new folder beside a path, for a file that takes several others to make; it is removed at the end."""
    remove_stale_drafts(path)
    draft = draft_for(path)
    try:
        with reporting_errors(str(path), draft, path):
            draft.mkdir(mode=0o700)
            with _locked_folder(draft):
                yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def draft_for(path: Path) -> Path:
    """Return a path for what is being written, beside the path that it will have."""
    return path.with_name(f".{path.name}.{secrets.token_hex(_TOKEN)}{DRAFT}")


def remove_stale_drafts(path: Path) -> None:
    """Remove what killed processes left beside a path; a folder that one was about to replace gets its name back."""
    name = re.compile(
        rf"\.{re.escape(path.name)}\.[0-9a-f]{{{2 * _TOKEN}}}(?:{re.escape(DRAFT)}|{re.escape(REPLACED)})"
    )
    try:
        found = sorted(each.path for each in os.scandir(path.parent) if name.fullmatch(each.name))
    except OSError:
        return
    for stale in map(Path, found):
        with suppress(OSError):
            if not _is_stale(stale):
                continue
            if stale.suffix == REPLACED and not path.exists():
                stale.rename(path)
            elif stale.is_dir():
                shutil.rmtree(stale, ignore_errors=True)
            else:
                stale.unlink()


def _is_stale(draft: Path) -> bool:
    """Return whether no process writes a draft; its lock is free then."""
    kind = draft.lstat().st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)) or time.time() - draft.lstat().st_mtime < _NEW_SECONDS:
        return False
    if fcntl is None:
        return stat.S_ISREG(kind)
    if draft.suffix == REPLACED:  # locked by its draft
        beside = draft.with_suffix(DRAFT)
        return not beside.exists() or _is_stale(beside)
    descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


@contextmanager
def folder_in_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process that asks for it writes into the folder; without locks, go on at once."""
    try:
        descriptor = None if fcntl is None else os.open(folder, os.O_RDONLY)
    except OSError:
        descriptor = None
    try:
        if descriptor is not None:
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


@contextmanager
def _locked_folder(folder: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock a draft until it is closed. Where the file system has no locks, no draft ever looks stale."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def reporting_errors(name: str, *ours: Path) -> Iterator[None]:
    """Convert an error of the system about our own files to a message. Errors about other files pass through."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None and not any(_is_below(str(error.filename), str(path)) for path in ours):
            raise
        raise CannotWrite(f"{name}: cannot be written: {reason_of(error)}; nothing was left there") from None


def reason_of(error: OSError) -> str:
    """Return what the system says about a file that could not be written, and what to do if a disk is full."""
    advice = " (make room there, and repeat the command)" if error.errno in _FULL else ""
    return f"{error.strerror or error}{advice}"


@contextmanager
def temporary_file() -> Iterator[IO[bytes]]:
    """Open a file without a name in the system's folder for such files."""
    with (
        reporting_errors(f"{tempfile.gettempdir()} (temporary files)"),
        tempfile.TemporaryFile(prefix="copilog-") as file,
    ):
        yield file


def _is_below(name: str, path: str) -> bool:
    return name == path or name.startswith(path + os.sep)


def _is_special(path: Path) -> bool:
    """Return whether the path is not a regular file: a device, a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode_for(path: Path, is_private: bool) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        if is_private:
            return 0o600
        mask = os.umask(0o022)
        os.umask(mask)
        return 0o666 & ~mask
