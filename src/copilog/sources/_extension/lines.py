"""Files of JSON lines as appending programs leave them, crashes and all: each line is one record.

A program that was killed leaves half a line, and the next one appends to it; a machine that stopped leaves NUL bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.sources._vscode.take import Json

BUFFER_BYTES = 1 << 20
PADDING = b" \t\r\n"
MOST_BEGINNINGS = 20  # how many places of a broken line are tried
_WITHOUT_NULS = re.compile(rb"[^\0]+")
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

# Takes a record and the number of its line. Returns why the record is passed over; None when it is used.
Use = Callable[[Json, int], str | None]


class _Piece(NamedTuple):
    """A part of a line that should be one record."""

    data: bytes
    line: int
    offset: int
    is_tail: bool  # the file ends here, without a line break


def read_records(path: Path, ledger: Ledger, use: Use, *, begins: bytes = b'{"') -> None:
    """Give each record of a file to `use`, which may raise BadRecord; count them all.

    `begins` is how a record begins in this format: that is where a whole one is looked for behind a torn one.
    """
    for piece in _pieces(path, ledger):
        try:
            value = jsonio.decode_strictly(piece.data)
        except _UNREADABLE:
            start = _whole_record_in(piece.data, begins)
            if start:
                ledger.seen += 1
                ledger.reject("bad-json", "a record that breaks off", line=piece.line, offset=piece.offset)
                piece = piece._replace(data=piece.data[start:], offset=piece.offset + start)
            value = None
        ledger.seen += 1
        try:
            reason = use(_repaired(piece, ledger) if value is None else _object(value), piece.line)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=piece.line, offset=piece.offset)
            continue
        if reason is None:
            ledger.used += 1
        else:
            ledger.ignore(reason)


def _pieces(path: Path, ledger: Ledger) -> Iterator[_Piece]:
    """The records of a file, still encoded. Lines with nothing in them are counted and passed over."""
    has_nuls = False
    for line in iter_lines(path):
        data = line.data
        if line.offset == 0 and data.startswith(jsonio.UTF8_MARK):
            ledger.note("byte-order-mark", "the file starts with a byte order mark", line=1, offset=0)
            data = data[len(jsonio.UTF8_MARK) :]
        if b"\0" in data and not has_nuls:
            has_nuls = True
            ledger.note("nul-tail", "NUL bytes in the line", line=line.number, offset=line.offset)
        found = [(match.start(), match[0].strip(PADDING)) for match in _WITHOUT_NULS.finditer(data)]
        found = [(start, piece) for start, piece in found if piece]
        if not found:
            ledger.seen += 1
            ledger.ignore("nul-padding" if b"\0" in data else "blank-line")
        for start, piece in found:
            is_tail = line.is_last_open and (start, piece) == found[-1]
            yield _Piece(piece, line.number, line.offset + start, is_tail)


def iter_lines(path: Path) -> Iterator[jsonio.Line]:
    """The lines of a file, cut at LF alone, one at a time; a file in UTF-16 is converted as a whole."""
    try:
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            if file.read(2) in jsonio.UTF16_MARKS:
                file.seek(0)
                yield from jsonio.split_lines(jsonio.as_utf8(file.read())[0])
                return
            file.seek(0)
            offset = 0
            for number, line in enumerate(file, start=1):
                is_open = not line.endswith(b"\n")
                yield jsonio.Line(number, offset, line if is_open else line[:-1], is_open)
                offset += len(line)
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None


def _whole_record_in(data: bytes, begins: bytes) -> int:
    """Where a whole record begins behind a torn one; 0 when there is none."""
    place = 0
    for _ in range(MOST_BEGINNINGS):
        place = data.find(begins, place + 1)
        if place < 0:
            break
        try:
            if isinstance(jsonio.decode_strictly(data[place:]), dict):
                return place
        except _UNREADABLE:
            continue
    return 0


def _repaired(piece: _Piece, ledger: Ledger) -> Json:
    try:
        value, repairs = jsonio.decode(piece.data)
    except BadRecord:
        if piece.is_tail:
            raise BadRecord("the last line breaks off", "torn-tail") from None
        raise
    for repair in repairs:
        ledger.note(repair.code, repair.reason, "info", line=piece.line, offset=piece.offset)
    return _object(value)


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise BadRecord(f"a line that is {type(value).__name__}, not an object")
    return value
