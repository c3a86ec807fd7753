"""Files of JSON lines: the only reader of them, with one policy for all that can be wrong with such a file.

What is whole is read, wherever it is; what is lost is one bad record each, with its place. Codes of the ledger:

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
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake import files
from copilog.intake.file_notes import Remarks
from copilog.intake.joined_records import IsRecord, pieces_of
from copilog.intake.limits import largest_record, megabytes

MOST_JOINED_LINES = 64
MOST_JOINED_BYTES = 4 << 20
MOST_FIRST_LINES = 20  # that are tried for the first record, where the first line is damaged
PADDING = b"\0 \t\r\n"
BLANK = b" \t\r\n"
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_LF = ord("\n")
_FIRST_OF_SEPARATORS = jsonio.LINE_SEPARATORS[0][0]  # a byte that both begin with, and that is quickly looked for
_WITHOUT_NULS = re.compile(rb"[^\0]+")
_decode_object = msgspec.json.Decoder(dict[str, Any]).decode

# The value, the number of its line, its offset and its length in bytes.
Record = tuple[Any, int, int, int]
# Offset, number from 0, and bytes of a line with its line feed; or None for the bytes, and why.
RawLine = tuple[int, int, bytes | None, BadRecord | None]
# Takes a record and the number of its line. Returns why the record is passed over; None when it is used.
Use = Callable[[dict[str, Any], int], str | None]


class Line(NamedTuple):
    """One line of a file as UTF-8, without its line feed. `is_last_open` marks a last line that has none."""

    number: int
    offset: int
    data: bytes
    is_last_open: bool


def _line_from(data: bytes, number: int, offset: int) -> Line:
    is_open = data[-1] != _LF
    return Line(number, offset, data if is_open else data[:-1], is_open)


class WideFile:
    """A file of UTF-16 or UTF-32 whose lines come as UTF-8; it tells its place in the bytes as they are."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._encoding = encoding
        self._end = "\n".encode(encoding)

    def tell(self) -> int:
        return self._file.tell()

    def readline(self, limit: int = -1) -> bytes:
        """Return the next line with its line feed. A line feed is a whole character, not a byte that looks like one."""
        width = len(self._end)
        line = bytearray()
        while piece := self._file.readline(limit * width):
            line += piece
            line += self._file.read(-len(line) % width)
            if line.endswith(self._end) or 0 <= limit * width <= len(line):
                break
        return jsonio.transcoded(bytes(line), self._encoding)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


class JsonLines:
    """The records of one file, in order. What cannot be used is in the ledger when the next one comes.

    `decode` takes a whole line, line feed included, and is the quick way for what nearly all records are; what it
    refuses comes as a dictionary. Each record that comes is counted as seen; the caller counts it as used or ignored.
    """

    def __init__(
        self,
        source: Path | bytes,
        ledger: Ledger,
        is_record: IsRecord,
        *,
        decode: Callable[[bytes], Any] = _decode_object,
        remarks: Remarks | None = None,
    ) -> None:
        self._source = source
        self._ledger = ledger
        self._is_record = is_record
        self._decode = decode
        self._remarks = remarks or Remarks(ledger)
        self._closes_remarks = remarks is None
        self._file: Any = BytesIO()
        self._encoding: str | None = None
        self._number = 0  # of the line that was read last
        self._returned: deque[Line] = deque()
        self._join_after = 0  # lines up to this one were tried in vain
        self._limit = largest_record()
        self.is_damaged = False  # a record was lost that is not merely the last one, torn

    def __iter__(self) -> Iterator[Record]:
        with opened_text(self._source) as (self._file, self._encoding):
            if self._encoding is None:
                yield from self._records(self._file)
            else:
                self._note(jsonio.wide_repair(self._encoding), "warning", 1, 0)
                while line := self._next_line():
                    yield from self._values_of(line)
        if self._closes_remarks:
            self._remarks.close()

    def _records(self, file: BinaryIO) -> Iterator[Record]:
        """Yield the records of a file of UTF-8. The hot loop of benchmarks/bench_events.py and bench_read.py."""
        ledger, decode, returned = self._ledger, self._decode, self._returned
        number = offset = 0
        for data in iter(partial(file.readline, self._limit + 1), b""):
            number += 1
            size = len(data)
            try:
                value = decode(data)
            except UNREADABLE:
                self._number = number
                yield from self._values_of(_line_from(data, number, offset))
                while returned:
                    yield from self._values_of(returned.popleft())
                number, offset = self._number, file.tell()
                continue
            if _FIRST_OF_SEPARATORS in data:
                self._look_for_separators(data, number, offset)
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
        """Yield the records of a line that is not a plain one: of an unusual shape, or damaged."""
        number, offset, data, is_open = line
        if is_open and len(data) > self._limit:
            self._reject(_too_long(len(data) + _rest_of_line(self._file), self._limit), number, offset, seen=1)
            return
        if offset == 0 and data.startswith(jsonio.UTF8_MARK):
            self._note(jsonio.as_utf8(data)[1][0], "warning", 1, 0)
            offset = len(jsonio.UTF8_MARK)
            line = line._replace(offset=offset, data=data[offset:])
            data = line.data
        try:
            found: list[tuple[Any, int, int]] = [(jsonio.decode_strictly(data), offset, self._size_of(data))]
            if _FIRST_OF_SEPARATORS in data:
                self._look_for_separators(data, number, offset)
        except UNREADABLE:
            found = self._repaired(line)
        for value, start, size in found:
            self._ledger.seen += 1
            if isinstance(value, dict):
                yield value, number, start, size
            else:
                reason = f"a line that is {type(value).__name__}, not an object"
                self._reject(BadRecord(reason), number, start)

    # --- repair -----------------------------------------------------------------------------------------------------

    def _repaired(self, line: Line) -> list[tuple[Any, int, int]]:
        """Return the values of a damaged line; what is beyond repair goes to the ledger."""
        has_nuls = b"\0" in line.data
        if has_nuls:
            self._note(jsonio.Repair("nul-tail", "NUL bytes in the line"), "warning", line.number, line.offset)
        if not line.data.strip(PADDING):
            self._ledger.seen += 1
            self._ledger.ignore("nul-padding" if has_nuls else "blank-line")
            return []
        found: list[tuple[Any, int, int]] = []
        lost: list[Line] = []
        for match in _WITHOUT_NULS.finditer(line.data):
            data = match[0].strip(PADDING)
            if data:
                start = match.start() + match[0].index(data)
                is_tail = line.is_last_open and not line.data[match.end() :].strip(b"\0")
                self._take_apart(line, Line(line.number, start, data, is_tail), found, lost)
        if not found and lost and (joined := self._joined(line)):
            return joined
        if lost and not found:
            lost = [lost[0]._replace(is_last_open=lost[-1].is_last_open)]  # a hole in one record
        for piece in lost:
            is_first = line.number == 1 and all(offset > piece.offset for _, offset, _ in found)
            self._reject(_why_lost(piece, is_first=is_first), line.number, piece.offset, seen=1)
        return found

    def _take_apart(self, line: Line, segment: Line, found: list[tuple[Any, int, int]], lost: list[Line]) -> None:
        """Add the records of a piece of a line without NULs; its offset counts from the beginning of the line."""

        def at(start: int) -> int:
            return line.offset + self._size_of(line.data[:start])

        try:
            found.append(self._decoded(segment.data, line.number, at(segment.offset)))
            return
        except BadRecord as error:
            if error.code == "too-large":
                self._reject(error, line.number, at(segment.offset), seen=1)
                return
        pieces = pieces_of(segment.data, self._is_record)
        if any(piece.is_record for piece in pieces):
            self._note_joints(segment.data, len(pieces), line)
        for index, piece in enumerate(pieces):
            offset = at(segment.offset + piece.start)
            is_last = index + 1 == len(pieces)
            if piece.is_record:
                try:
                    found.append(self._decoded(piece.data, line.number, offset))
                except BadRecord as error:  # at the very limit of nesting
                    self._reject(error, line.number, offset, seen=1)
            elif not is_last and pieces[index + 1].data.startswith(piece.data):
                self._ledger.seen += 1
                self._ledger.ignore("torn-copy")  # the writer began anew, and the whole record follows
            else:
                lost.append(Line(line.number, offset, piece.data, segment.is_last_open and is_last))

    def _decoded(self, data: bytes, number: int, offset: int) -> tuple[Any, int, int]:
        value, repairs = jsonio.decode(data)
        for repair in repairs:
            self._note(repair, "info", number, offset)
        return value, offset, self._size_of(data)

    def _note_joints(self, data: bytes, count: int, line: Line) -> None:
        if self._look_for_separators(data, line.number, line.offset, "where a line break should be") or count < 2:
            return
        reason = f"{count} records on one line" + ", with CR between them" * (b"\r" in data)
        self._note(jsonio.Repair("joined-records", reason), "warning", line.number, line.offset)

    def _joined(self, line: Line) -> list[tuple[Any, int, int]]:
        """Return the record that this line begins and later ones continue, the line breaks in its texts being raw."""
        if line.number <= self._join_after or not line.data.startswith(b'{"'):
            return []
        data = line.data
        taken: list[Line] = []
        is_given_up = True
        while len(taken) < MOST_JOINED_LINES and len(data) < MOST_JOINED_BYTES:
            following = self._next_line()
            if following is None:
                break
            taken.append(following)
            if following.data.startswith(b'{"') and self._record_in(following.data) is not None:
                is_given_up = False
                break
            data += b"\n" + following.data
            if following.data.rstrip(PADDING).endswith(b"}") and (value := self._record_in(data)) is not None:
                reason = f"raw line breaks: one record on {len(taken) + 1} lines"
                self._note(jsonio.Repair("raw-control-character", reason), "info", line.number, line.offset)
                return [(value, line.offset, self._size_of(data))]
        self._returned.extendleft(reversed(taken))
        if is_given_up and taken:
            self._join_after = taken[-1].number
        return []

    def _record_in(self, data: bytes) -> Any:
        """Return the record that some bytes are, when they are one of this format."""
        with suppress(BadRecord):
            value, _ = jsonio.decode(data.strip(PADDING))
            if isinstance(value, dict) and self._is_record(value):
                return value
        return None

    # --- the ledger -------------------------------------------------------------------------------------------------

    def _reject(self, error: BadRecord, number: int, offset: int, *, seen: int = 0) -> None:
        self._ledger.seen += seen
        self.is_damaged = self.is_damaged or error.code != "torn-tail"
        self._ledger.reject(error.code, str(error), line=number, offset=offset)

    def _note(self, repair: jsonio.Repair, level: Any, number: int, offset: int) -> None:
        self._remarks.note(repair.code, repair.reason, level, line=number, offset=offset)

    def _look_for_separators(self, data: bytes, number: int, offset: int, where: str = "inside the line") -> bool:
        has_any = any(separator in data for separator in jsonio.LINE_SEPARATORS)
        if has_any:
            self._note(jsonio.Repair("raw-line-separator", f"a raw U+2028 or U+2029 {where}"), "info", number, offset)
        return has_any

    def _size_of(self, data: bytes) -> int:
        """Return how many bytes some text takes in the file."""
        return len(data) if self._encoding is None else len(data.decode("utf-8", "replace").encode(self._encoding))


def _why_lost(piece: Line, *, is_first: bool) -> BadRecord:
    """Return what is wrong with a piece of a line that is not a record."""
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
    """Open a file whose lines are to be read, and say which encoding it has if that is not UTF-8."""
    with BytesIO(source) if isinstance(source, bytes) else files.opened(source) as file:
        try:
            encoding, start = jsonio.wide_encoding_of(file.read(8))
            file.seek(start)
            yield (file if encoding is None else WideFile(file, encoding)), encoding
        except OSError as error:
            raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None


def lines_of(source: Path | bytes) -> Iterator[Line]:
    """Yield the lines of a file as they are, one at a time."""
    with opened_text(source) as (file, encoding):
        offset = file.tell()
        for number, data in enumerate(file, start=1):
            yield _line_from(data, number, offset)
            offset = offset + len(data) if encoding is None else file.tell()


def lines_between(path: Path, start: int, end: int, first: int = 0) -> Iterator[RawLine]:
    """Yield the lines that begin in a range of a file whose first line begins at `first`, but not the blank ones.

    Of a line that is longer than any record may be, a BadRecord comes instead of its bytes. Nothing is decoded here:
    this is the hot loop of benchmarks/bench_extract.py, with little per line and no copies.
    """
    longest = largest_record() + 1
    with files.opened(path) as file:
        offset = start
        if start > first:  # the byte before tells whether a line begins here
            file.seek(start - 1)
            offset = start - 1 + _rest_of_line(file, end - start + 1)
        else:
            file.seek(start)
        if offset >= end:
            return
        for number, line in enumerate(iter(partial(file.readline, longest), b"")):
            if len(line) == longest and line[-1] != _LF:
                size = longest + _rest_of_line(file)
                yield offset, number, None, _too_long(size, longest - 1)
                offset += size
            else:
                if not line.isspace() or line.strip(BLANK):
                    yield offset, number, line, None
                offset += len(line)
            if offset >= end:
                return


def _rest_of_line(file: BinaryIO, most: int | None = None) -> int:
    """Pass over what is left of a line, or `most` and a little more of it; return how many bytes that is."""
    size = 0
    while data := file.readline(files.BUFFER_BYTES):
        size += len(data)
        if data[-1] == _LF or (most is not None and size >= most):
            break
    return size


def _too_long(size: int, limit: int) -> BadRecord:
    return BadRecord(f"a record of {megabytes(size)}; longer than the {megabytes(limit)} that are read", "too-large")


def record_at(path: Path, offset: int, size: int) -> Any:
    """Return the value at a place where a record was met; raise BadRecord when something else is there now."""
    with files.opened(path) as file:
        encoding, _ = jsonio.wide_encoding_of(file.read(8))
        file.seek(offset)
        data = file.read(size)
    data = data if encoding is None else jsonio.transcoded(data, encoding)
    return jsonio.decode(data.removeprefix(jsonio.UTF8_MARK).strip(PADDING))[0]


def first_record(path: Path) -> dict[str, Any] | None:
    """Return the first record of a file, whatever may be wrong with what precedes it; None for other files.

    Of a file that begins with a bracket alone nothing is returned: that is a document, and not lines of records.
    """
    try:
        with opened_text(path) as (file, _):
            lines = iter(partial(file.readline, largest_record() + 1), b"")
            for data in islice(lines, MOST_FIRST_LINES):
                if data.strip(PADDING) in (b"{", b"["):
                    return None
                for value, *_ in JsonLines(data, Ledger(), lambda _: False):
                    return dict(value)
    except BadFile:
        pass
    return None


def read_records(path: Path, ledger: Ledger, use: Use, is_record: IsRecord) -> None:
    """Pass each record of a file, and the number of its line, to `use`; count it by what comes back or is raised."""
    for value, line, offset, _ in JsonLines(path, ledger, is_record):
        try:
            reason = use(value, line)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
            continue
        if reason is None:
            ledger.used += 1
        else:
            ledger.ignore(reason)
