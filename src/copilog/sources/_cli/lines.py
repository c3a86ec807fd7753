"""The lines of a log, one at a time: a log may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from copilog import jsonio
from copilog.errors import BadFile

BUFFER_BYTES = 1 << 20


def is_utf16(path: Path) -> bool:
    """Whether a file is UTF-16, as some programs write it on Windows."""
    try:
        with path.open("rb") as file:
            return file.read(2) in jsonio.UTF16_MARKS
    except OSError:
        return False


def iter_lines(path: Path) -> Iterator[jsonio.Line]:
    """The lines of a file, cut at LF alone, never more than one of them in memory.

    A file in UTF-16 has no lines of bytes; it is converted as a whole.
    """
    try:
        if is_utf16(path):
            yield from jsonio.split_lines(jsonio.as_utf8(path.read_bytes())[0])
            return
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            offset = 0
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield jsonio.Line(number, offset, line[:-1], False)
                else:
                    yield jsonio.Line(number, offset, line, True)
                offset += len(line)
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None
