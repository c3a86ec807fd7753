"""Files of JSON lines: the only reader of them, with one policy for all that can be wrong with such a file.

Each intact record is read, wherever it is; each lost one is a bad record with its position. Codes of the ledger:

    two records on one line, a torn one and the next, CR alone           joined-records
    U+2028 or U+2029 between two records, or raw in a text               raw-line-separator
    a raw line break or another control character in a text              raw-control-character
    NUL bytes around, between or instead of records                      nul-tail
    a byte order mark; UTF-16, UTF-32                                    byte-order-mark; utf-16, utf-32
    half characters, broken UTF-8, NaN                                   lone-surrogate, invalid-utf8, not-a-number
    the last record breaks off; the first one lacks its beginning        torn-tail; torn-head
    a record too long, or nested too deeply                              too-large
    anything else that is not JSON; JSON that is not an object           bad-json; bad-record

Line numbers count line feeds; offsets are those of the bytes on disk, in any encoding. Files may be larger than memory.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger, Level
from copilog.errors import BadFile, BadRecord
from copilog.intake import files
from copilog.intake.file_notes import FileNotes
from copilog.intake.joined_records import IsRecord, pieces_of
from copilog.intake.limits import largest_record, megabytes

MOST_JOINED_LINES = 64
MOST_JOINED_BYTES = 4 << 20
MOST_FIRST_LINES, MOST_FIRST_BYTES = 20, 1 << 18  # tried for a first record; only what exceeds both ends the search
PADDING = b"\0 \t\r\n"
BLANK = b" \t\r\n"
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_LF = ord("\n")
_FIRST_OF_SEPARATORS = jsonio.LINE_SEPARATORS[0][0]  # both begin with this byte, and one byte is searched quickly
_WITHOUT_NULS = re.compile(rb"[^\0]+")
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

# The value, its line number, its offset and its length in bytes.
Record = tuple[Any, int, int, int]
# Offset, number from 0, and bytes of a line with its line feed; or None and the error instead of the bytes.
RawLine = tuple[int, int, bytes | None, BadRecord | None]
# Takes a record and its line number. Returns the reason to ignore the record, or None if it is used.
Use = Callable[[dict[str, Any], int], str | None]


class Line(NamedTuple):
    """One line of a file as UTF-8, without its line feed. `is_last_open` marks a last line that has none."""

    number: int
    offset: int
    data: bytes
    is_last_open: bool


def _line_from(data: bytes, number: int, offset: int) -> Line:
    return Line(number, offset, data.removesuffix(b"\n"), data[-1] != _LF)


class WideFile:
    """A file of UTF-16 or UTF-32 that returns its lines as UTF-8. `tell` is the offset in the original bytes."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._encoding = encoding
        self._end = "\n".encode(encoding)
        self.tell = file.tell

    def readline(self, limit: int = -1) -> bytes:
        """Return the next line with its line feed: the character, not a byte inside another character."""
        width = len(self._end)
        line = bytearray()
        while piece := self._file.readline(limit * width):
            line += piece
            line += self._file.read(-len(line) % width)
            if line.endswith(self._end) or 0 <= limit * width <= len(line):
                break
        return jsonio.transcoded(bytes(line), self._encoding)


class JsonLines:
    """The records of one file, in order. Damage before a record is in the ledger when the record is yielded.

    `decode` takes a line with its line feed, and is the fast path for nearly all records; a record that it refuses is
    yielded as a dictionary. Each yielded record is counted as seen; the caller counts it as used or ignored.
    """

    def __init__(
        self,
        source: Path | bytes,
        ledger: Ledger,
        is_record: IsRecord,
        *,
        decode: Callable[[bytes], Any] = _decode_object,
        remarks: FileNotes | None = None,
    ) -> None:
        self._source = source
        self._ledger = ledger
        self._is_record = is_record
        self._decode = jsonio.bounded(decode)
        self._remarks = remarks or FileNotes(ledger)
        self._closes_remarks = remarks is None
        self._file: Any = BytesIO()
        self._encoding: str | None = None
        self._number = 0  # of the last line read
        self._returned: deque[Line] = deque()  # lines read ahead
        self._join_after = 0  # joining the lines up to this one has failed
        self._limit = largest_record()
        self.is_damaged = False  # a record other than a torn last one was lost

    def __iter__(self) -> Iterator[Record]:
        with opened_text(self._source) as (self._file, self._encoding):
            if self._encoding is None:
                yield from self._records(self._file)
            else:
                self._note(*jsonio.wide_repair(self._encoding), "warning", 1, 0)
                while line := self._next_line():
                    yield from self._values_of(line)
        if self._closes_remarks:
            self._remarks.close()

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        """Yield the records of a UTF-8 file. This is the hot loop of benchmarks/bench_events.py and bench_read.py."""
        ledger, decode, returned = self._ledger, self._decode, self._returned
        number = offset = 0
        for data in iter(partial(file.readline, self._limit + 1), b""):
            number += 1
            size = len(data)
            try:
                value = decode(data)
            except UNREADABLE:
                self._number = number
                returned.append(_line_from(data, number, offset))
                while returned:
                    yield from self._values_of(returned.popleft())
                number, offset = self._number, file.tell()
                continue
            if _FIRST_OF_SEPARATORS in data:
                self._note_separators(data, number, offset)
            ledger.seen += 1
            yield value, number, offset, size - 1 if data[-1] == _LF else size
            offset += size

    def _next_line(self) -> Line | None:
        if self._returned:
            return self._returned.popleft()
        offset = self._file.tell()
        data = self._file.readline(self._limit + 1)
        if not data:
            return None
        self._number += 1
        return _line_from(data, self._number, offset)

    def _values_of(self, line: Line) -> Iterator[Record]:
        """Yield the records of a line that the fast path refused: of an unusual shape, or damaged."""
        number, offset, data, is_open = line
        if is_open and len(data) > self._limit:
            self._reject(too_long(len(data) + _rest_of_line(self._file), self._limit), number, offset)
            return
        if offset == 0 and data.startswith(jsonio.UTF8_MARK):
            data, (mark, *_) = jsonio.as_utf8(data)
            self._note(*mark, "warning", 1, 0)
            offset = len(jsonio.UTF8_MARK)
        try:
            found = [(jsonio.decode_strictly(data), number, offset, self._size_of(data))]
            self._note_separators(data, number, offset)
        except UNREADABLE:
            found = self._repaired(Line(number, offset, data, is_open))
        for record in found:
            if isinstance(record[0], dict):
                self._ledger.seen += 1
                yield record
            else:
                reason = f"a line that is {type(record[0]).__name__}, not an object"
                self._reject(BadRecord(reason), number, record[2])

    # --- repair -----------------------------------------------------------------------------------------------------

    def _repaired(self, line: Line) -> list[Record]:
        """Return the values of a damaged line, and report what cannot be repaired."""
        has_nuls = b"\0" in line.data
        if has_nuls:
            self._note("nul-tail", "NUL bytes in the line", "warning", line.number, line.offset)
        if not line.data.strip(PADDING):
            self._ledger.seen += 1
            self._ledger.ignore("nul-padding" if has_nuls else "blank-line")
            return []
        found: list[Record] = []
        lost: list[Line] = []
        for match in _WITHOUT_NULS.finditer(line.data):
            if data := match[0].strip(PADDING):
                start = match.start() + match[0].index(data)
                offset = line.offset + self._size_of(line.data[:start])
                is_tail = line.is_last_open and not line.data[match.end() :].strip(b"\0")
                self._split_segment(Line(line.number, offset, data, is_tail), line.offset, found, lost)
        if not found and lost:
            if joined := self._joined(line):
                return [joined]
            lost = [lost[0]._replace(is_last_open=lost[-1].is_last_open)]  # the pieces of one record with a hole
        for piece in lost:
            is_first = line.number == 1 and all(offset > piece.offset for _, _, offset, _ in found)
            self._reject(_why_lost(piece, is_first=is_first), line.number, piece.offset)
        return found

    def _split_segment(self, segment: Line, line_offset: int, found: list[Record], lost: list[Line]) -> None:
        """Add the values of a part of a line without NULs to `found`, and the pieces of torn records to `lost`."""
        number, offset, data, is_tail = segment
        if self._decoded(data, number, offset, found):
            return
        pieces = pieces_of(data, self._is_record)
        if any(piece.is_record for piece in pieces):
            self._note_joints(data, len(pieces), number, line_offset)
        for piece, following in zip_longest(pieces, pieces[1:]):
            start = offset + self._size_of(data[: piece.start])
            if piece.is_record and self._decoded(piece.data, number, start, found):
                continue
            if following and following.data.startswith(piece.data):
                self._ledger.seen += 1
                self._ledger.ignore("torn-copy")  # the writer began again, and the complete record follows
            else:
                lost.append(Line(number, start, piece.data, is_tail and not following))

    def _decoded(self, data: bytes, number: int, offset: int, found: list[Record]) -> bool:
        """Add the value of the bytes to `found`, or report that it is too large. Return False if they are not JSON."""
        try:
            value, repairs = jsonio.decode(data)
        except BadRecord as error:
            if error.code == "too-large":
                self._reject(error, number, offset)
            return error.code == "too-large"
        for repair in repairs:
            self._note(*repair, "info", number, offset)
        found.append((value, number, offset, self._size_of(data)))
        return True

    def _joined(self, line: Line) -> Record | None:
        """Return the record that begins on this line and continues on the next ones, after a raw line break."""
        data = line.data
        if line.number <= self._join_after or not data.startswith(b'{"'):
            return None
        taken: list[Line] = []
        while len(taken) < MOST_JOINED_LINES and len(data) < MOST_JOINED_BYTES and (following := self._next_line()):
            taken.append(following)
            if following.data.startswith(b'{"') and self._record_in(following.data) is not None:
                break
            data += b"\n" + following.data
            if following.data.rstrip(PADDING).endswith(b"}") and (value := self._record_in(data)) is not None:
                reason = f"raw line breaks: one record on {len(taken) + 1} lines"
                self._note("raw-control-character", reason, "info", line.number, line.offset)
                return value, line.number, line.offset, self._size_of(data)
        else:
            self._join_after = line.number + len(taken)
        self._returned.extendleft(reversed(taken))
        return None

    def _record_in(self, data: bytes) -> Any:
        """Return the record that the bytes encode, or None if they are not a record of this format."""
        with suppress(BadRecord):
            value, _ = jsonio.decode(data.strip(PADDING))
            if isinstance(value, dict) and self._is_record(value):
                return value
        return None

    # --- the ledger -------------------------------------------------------------------------------------------------

    def _reject(self, error: BadRecord, number: int, offset: int) -> None:
        self._ledger.seen += 1
        self.is_damaged = self.is_damaged or error.code != "torn-tail"
        self._ledger.reject(error.code, str(error), line=number, offset=offset)

    def _note(self, code: str, reason: str, level: Level, number: int, offset: int) -> None:
        self._remarks.note(code, reason, level, line=number, offset=offset)

    def _note_separators(self, data: bytes, number: int, offset: int, where: str = "inside the line") -> bool:
        has_any = any(separator in data for separator in jsonio.LINE_SEPARATORS)
        if has_any:
            self._note("raw-line-separator", f"a raw U+2028 or U+2029 {where}", "info", number, offset)
        return has_any

    def _note_joints(self, data: bytes, count: int, number: int, offset: int) -> None:
        if not self._note_separators(data, number, offset, "where a line break should be") and count > 1:
            reason = f"{count} records on one line" + ", with CR between them" * (b"\r" in data)
            self._note("joined-records", reason, "warning", number, offset)

    def _size_of(self, data: bytes) -> int:
        """Return how many bytes a text takes in the encoding of the file."""
        return len(data) if self._encoding is None else len(data.decode("utf-8", "replace").encode(self._encoding))


def _why_lost(piece: Line, *, is_first: bool) -> BadRecord:
    """Return the error for a piece of a line that is not a record."""
    if is_first and not piece.data.startswith(b"{") and piece.data.endswith(b"}"):
        return BadRecord("the first line lacks its beginning", "torn-head")
    if piece.is_last_open:
        return BadRecord("the last line breaks off", "torn-tail")
    try:
        jsonio.decode(piece.data)
    except BadRecord as error:
        return error
    return BadRecord("a record that breaks off", "bad-json")


@contextmanager
def opened_text(source: Path | bytes) -> Iterator[tuple[Any, str | None]]:
    """Open a file of lines. Return it with its encoding, which is None for UTF-8."""
    with BytesIO(source) if isinstance(source, bytes) else files.opened(source) as file:
        encoding, start = jsonio.wide_encoding_of(file.read(8))
        file.seek(start)
        yield (file if encoding is None else WideFile(file, encoding)), encoding


def lines_of(source: Path | bytes) -> Iterator[Line]:
    """Yield the lines of a file unchanged, one at a time."""
    with opened_text(source) as (file, _):
        offset = file.tell()
        for number, data in enumerate(iter(file.readline, b""), start=1):
            yield _line_from(data, number, offset)
            offset = file.tell()


def lines_between(path: Path, start: int, end: int, first: int = 0) -> Iterator[RawLine]:
    """Yield the lines that begin in a range of a file whose first line begins at `first`, but not the blank ones.

    A line longer than the largest record is yielded as a BadRecord instead of its bytes. Nothing is decoded here: this
    is the hot loop of benchmarks/bench_extract.py, with few operations per line and no copies.
    """
    longest = largest_record() + 1
    with files.opened(path) as file:
        offset = max(start - 1, first)
        file.seek(offset)
        if start > first:  # the byte before the range shows whether a line begins with the range
            offset += _rest_of_line(file, end - start + 1)
        number = 0
        while offset < end and (line := file.readline(longest)):
            size = len(line)
            if size == longest and line[-1] != _LF:
                size += _rest_of_line(file)
                yield offset, number, None, too_long(size, longest - 1)
            elif not line.isspace() or line.strip(BLANK):
                yield offset, number, line, None
            offset += size
            number += 1


def _rest_of_line(file: BinaryIO, most: int | None = None) -> int:
    """Skip the rest of a line, or a little more than `most` bytes of it. Return how many bytes were skipped."""
    size = 0
    while data := file.readline(files.BUFFER_BYTES):
        size += len(data)
        if data[-1] == _LF or (most is not None and size >= most):
            break
    return size


def too_long(size: int, limit: int) -> BadRecord:
    return BadRecord(f"a record of {megabytes(size)}; longer than the {megabytes(limit)} that are read", "too-large")


def record_at(path: Path, offset: int, size: int) -> Any:
    """Return the value at the offset of a record read before. Raise BadRecord if the file has changed there."""
    with files.opened(path) as file:
        encoding, _ = jsonio.wide_encoding_of(file.read(8))
        file.seek(offset)
        data = file.read(size)
    data = data if encoding is None else jsonio.transcoded(data, encoding)
    return jsonio.decode(data.removeprefix(jsonio.UTF8_MARK).strip(PADDING))[0]


def first_record(path: Path) -> dict[str, Any] | None:
    """Return the first record of a file, even after blank and damaged lines; None if the first lines hold no record."""
    with suppress(BadFile), opened_text(path) as (file, _):
        lines = (line for line in iter(partial(file.readline, largest_record() + 1), b"") if line.strip(PADDING))
        for number, data in enumerate(lines, start=1):
            if data.strip(PADDING) in (b"{", b"["):  # a JSON document begins, which has no records
                return None
            for value, *_ in JsonLines(data, Ledger(), lambda _: False):
                return dict(value)
            if number >= MOST_FIRST_LINES and file.tell() > MOST_FIRST_BYTES:
                break
    return None


def read_records(path: Path, ledger: Ledger, use: Use, is_record: IsRecord) -> None:
    """Pass each record of a file and its line number to `use`; count the record by what `use` returns or raises."""
    for value, line, offset, _ in JsonLines(path, ledger, is_record):
        try:
            if (reason := use(value, line)) is None:
                ledger.used += 1
            else:
                ledger.ignore(reason)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
