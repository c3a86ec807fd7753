"""Files that appear only when they are complete: written beside their path, and renamed at the end."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from copilog.errors import CopilogError, UsageError

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
        with target.open("wb") as stream:
            yield stream
        return
    if not target.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {target.parent}; create it first")
    if target.is_dir():
        raise UsageError(f"{path}: is a folder; name a file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with _reporting_errors(path, draft, target):
            # Opened in here, so that an interruption leaves nothing behind.
            with os.fdopen(os.open(draft, _NEW_AND_PRIVATE, 0o600), "wb", buffering=1 << 20) as file:
                yield file
            draft.chmod(_mode_for(target, is_private))
            draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


@contextmanager
def _reporting_errors(path: Path, *ours: Path) -> Iterator[None]:
    """Convert an error of the system about our own file to a message. Other errors pass through."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and error.filename not in map(str, ours):
            raise
        raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}; nothing was left there") from None


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
