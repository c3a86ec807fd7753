"""Files that appear only when they are whole: written beside their place, and put there at the end."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from copilog.errors import CopilogError, UsageError


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
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}") from None
    draft = Path(name)
    try:
        try:
            with os.fdopen(handle, "wb", buffering=1 << 20) as file:
                yield file
            draft.chmod(_mode_for(target))
            draft.replace(target)
        except OSError as error:
            if error.filename not in (None, name, str(target)):
                raise
            raise CannotWrite(f"{path}: cannot be written: {error.strerror or error}; nothing was left there") from None
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


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
