"""The lines of a log, one at a time: a log may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from copilog import jsonio
from copilog.errors import BadFile

BUFFER_BYTES = 1 << 20


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[BinaryIO, bool]]:
    """An open file whose lines end at LF alone, and whether it is UTF-16, as some programs write it on Windows.

    A file in UTF-16 has no lines of bytes; it is converted as a whole.
    """
    try:
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            is_utf16 = file.read(2) in jsonio.UTF16_MARKS
            file.seek(0)
            yield BytesIO(jsonio.as_utf8(file.read())[0]) if is_utf16 else file, is_utf16
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None


def iter_lines(path: Path) -> Iterator[jsonio.Line]:
    """The lines of a file, never more than one of them in memory."""
    with open_lines(path) as (file, _):
        offset = 0
        for number, line in enumerate(file, start=1):
            yield line_from(line, number, offset)
            offset += len(line)


def line_from(line: bytes, number: int, offset: int) -> jsonio.Line:
    """A line without its break."""
    if line.endswith(b"\n"):
        return jsonio.Line(number, offset, line[:-1], False)
    return jsonio.Line(number, offset, line, True)
