"""Files that appear only when they are whole: written beside their place, and put there at the end."""

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
    """A file could not be written; what was there before is untouched."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write into. It takes its place when the body ends well; otherwise all is as it was before."""
    target = Path(os.path.realpath(path))
    if _is_special(target):
        with target.open("wb") as stream:
            yield stream
        return
    if not target.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {target.parent}; make it first")
    if target.is_dir():
        raise UsageError(f"{path}: is a folder; name a file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with _told(path, draft, target):
            # Opened in here, so that an interruption finds nothing that would not be removed.
            with os.fdopen(os.open(draft, _NEW_AND_PRIVATE, 0o600), "wb", buffering=1 << 20) as file:
                yield file
            draft.chmod(_mode_for(target))
            draft.replace(target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


@contextmanager
def _told(path: Path, *ours: Path) -> Iterator[None]:
    """Say in words what the system says about our own files; other errors are none of ours."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and error.filename not in map(str, ours):
            raise
        raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}; nothing was left there") from None


def _is_special(path: Path) -> bool:
    """Whether something other than a file is meant: a device, a pipe."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _mode_for(path: Path) -> int:
    """The rights of the file that is replaced, or those that a new file would get."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        mask = os.umask(0o022)
        os.umask(mask)
        return 0o666 & ~mask
