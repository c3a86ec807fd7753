"""Open files of other programs: regular files only, so that reading never blocks."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from copilog.errors import BadFile
from copilog.intake.limits import MIB, megabytes

BUFFER_BYTES = 1 << 20
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def kind_of(mode: int) -> str:
    """Return the common name of a path's type that is not a regular file."""
    for test, name in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(mode):
            return name
    return "not a regular file"


def refusal(mode: int) -> str | None:
    """Return why a file with this mode is refused, or None for a regular file."""
    return None if stat.S_ISREG(mode) else f"is {kind_of(mode)}, and only regular files are read"


def why_missing(path: Path | str) -> str:
    """Return what is at a path where neither a file nor a folder is found."""
    if not os.path.islink(path):  # noqa: PTH114 - it raises nothing
        return "no such file or folder"
    try:
        os.stat(path)  # noqa: PTH116 - as above
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "is a link that leads back to itself"
    return "is a link that leads nowhere"


@contextmanager
def opened(path: Path, buffering: int = BUFFER_BYTES) -> Iterator[BinaryIO]:
    """Open a regular file for reading. Raise BadFile with the reason if it cannot be opened or read."""
    try:
        with open(path, "rb", buffering=buffering, opener=_open_regular) as file:
            yield file
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None


def read_bytes(path: Path) -> bytes:
    """Return all bytes of a regular file. Raise BadFile with the reason if it cannot be read."""
    with opened(path) as file:
        return file.read()


def read_small(path: Path, most: int) -> bytes:
    """Return all bytes of a regular file that the user wrote. Raise BadFile if it cannot be read or has more bytes."""
    with opened(path, buffering=0) as file:
        data = bytearray()
        while chunk := file.read(most + 1 - len(data)):
            data += chunk
            if len(data) > most:
                raise BadFile(f"is larger than {megabytes(most) if most >= MIB else f'{most >> 10} KB'}", "too-large")
    return bytes(data)


def _open_regular(path: str, _flags: int) -> int:
    """Open a file that is regular before it is opened and after, as opening a device may already have an effect."""
    _require_regular(os.stat(path).st_mode)  # noqa: PTH116
    handle = os.open(path, _READ)
    try:
        _require_regular(os.fstat(handle).st_mode)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _require_regular(mode: int) -> None:
    if reason := refusal(mode):
        raise BadFile(reason, "unreadable" if stat.S_ISDIR(mode) else "not-a-file")
