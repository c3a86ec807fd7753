"""Parts of files to records (R-2), and records to JSON objects (R-4, R-8b)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from copilog.errors import BadRecord
from copilog.intake.files import opened
from copilog.intake.limits import largest_record
from copilog.intake.records import lines_between, too_long
from copilog.jsonio import LINE_SEPARATORS
from copilog.telemetry.inputs import Part, Readable
from copilog.telemetry.json_values import (
    CHUNK_BYTES,
    LENIENT,
    LINE_END,
    NOT_BLANK,
    ValueScan,
    chunks,
    decode_value,
    end_of_value,
    find,
    malformed,
)

# Offset, line within the part from 0, and the bytes of a record; or None and what is wrong with it, or with the rest.
Record = tuple[int, int, bytes | None, BadRecord | None]

# The end of a longer value is searched first, so that one without an end is not held in memory.
MOST_HELD_BYTES = 8 << 20
TOO_LARGE = "too-large"
LONGEST_WORD = 4096  # bytes of a number

_CONTROL_CHARACTERS = bytes(range(0x20))
_WORD = re.compile(rb"[-+.\w]{1,%d}" % LONGEST_WORD)
_TYPES = {list: "an array", str: "a text", int: "a number", float: "a number", bool: "a boolean"}


def records(part: Part, recovery: bool) -> Iterator[Record]:
    """Yield the records of a part, in order. Lines include their line feed; blank ones are counted, but not yielded.

    In an array or in concatenated objects every record is JSON. At the first error, one last record without bytes
    represents all the rest; a record that is too large has no bytes either, and others follow it.
    """
    if part.file.kind == "lines":
        yield from lines_between(Path(part.file.path), part.start, part.end, part.file.start)
        return
    with opened(Path(part.file.path)) as file:
        cursor = Cursor(file, part.start, skips_separators=recovery)
        if part.file.kind == "array":
            yield from _array_items(cursor)
        else:
            yield from _objects(cursor, part, recovery)


def decode_record(data: bytes, recovery: bool) -> tuple[dict[str, Any], bool]:
    """Return the object of a record, and whether it was recovered. Raise BadRecord if it is not an object (R-4)."""
    is_recovered = False
    try:
        value = decode_value(data)
    except BadRecord:
        if not recovery:
            raise
        value = _recovered(data)
        is_recovered = True
    if isinstance(value, dict):
        return value, is_recovered
    raise malformed(f"not an object but {_TYPES.get(type(value), 'null')}")


def read_at(file: Readable, offset: int, length: int) -> bytes:
    """Return the bytes of a record at an offset read before."""
    with opened(Path(file.path)) as plain:
        plain.seek(offset)
        data = plain.read(length)
    if len(data) < length:
        raise BadRecord("the file became shorter while it was read", "changed-while-reading")
    return data


def line_number(file: Readable, offset: int) -> int:
    """Return the number, from 1, of the line that contains a byte."""
    with opened(Path(file.path)) as plain:
        return 1 + sum(data.count(b"\n") for _, data in chunks(plain, 0, offset))


def _recovered(data: bytes) -> Any:
    """Recover a value by R-8b: without its control characters, else the value that the record begins with."""
    data = data.translate(None, _CONTROL_CHARACTERS)
    try:
        return decode_value(data)
    except BadRecord:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text = data[: error.start].decode("utf-8")
        try:
            return LENIENT.raw_decode(text.lstrip(" "))[0]
        except (ValueError, RecursionError):
            pass
        raise


class Cursor:
    """A position in a file of JSON values, with the chunk around it. It only moves forward."""

    def __init__(self, file: BinaryIO, offset: int, *, skips_separators: bool) -> None:
        self.file = file
        self.line = 0
        self._skips_separators = skips_separators
        self._data = b""
        self._at = 0
        self._end = offset  # of the chunk
        file.seek(offset)

    @property
    def offset(self) -> int:
        return self._end - len(self._data) + self._at

    def peek(self) -> bytes:
        """Skip whitespace. Return the byte that follows, or nothing at the end of the file."""
        while True:
            if match := NOT_BLANK.search(self._data, self._at):
                self._move_to(match.start())
                if not self._skips_separators or match[0] != LINE_SEPARATORS[0][:1] or not self._skip_separator():
                    return match[0]
                continue
            if not self._load():
                self._move_to(len(self._data))
                return b""

    def _skip_separator(self) -> bool:
        """Skip U+2028 or U+2029, which is between records if a program treated it as a line feed."""
        if len(self._data) - self._at < len(LINE_SEPARATORS[0]):
            self._load(len(self._data) - self._at)
        is_separator = self._data.startswith(LINE_SEPARATORS, self._at)
        if is_separator:
            self._move_to(self._at + len(LINE_SEPARATORS[0]))
        return is_separator

    def skip(self) -> None:
        """Skip the byte that `peek` returned."""
        self._move_to(self._at + 1)

    def take(self) -> bytes | None:
        """Return the value that begins here; None without a value or its end. Raise BadRecord if it is not JSON."""
        is_word = self.peek() not in (b"{", b"[", b'"')
        data = None if is_word else self._take_valid()
        if data is None:
            data = self._take_word() if is_word else self._take_by_brackets()
            if data is not None:
                decode_value(data)
        return data

    def _take_valid(self) -> bytes | None:
        """Return a value without any error, which is nearly always the case."""
        while True:
            end = end_of_value(self._data, self._at)
            if end is None:
                return None
            if end >= 0:
                data = self._data[self._at : end]
                self._move_to(end)
                return data
            held = len(self._data) - self._at
            if held > MOST_HELD_BYTES or not self._load(held):
                return None

    def _take_by_brackets(self) -> bytes | None:
        """Return a value by the position of its last bracket, which may be far away or missing.

        Raise BadRecord for a value longer than records may be; the cursor is then after it.
        """
        start = self.offset
        scan = ValueScan()
        while (end := scan.feed(self._data, self._at)) < 0:
            if not self._load():
                return None
        self._move_to(end)
        size = self.offset - start
        if size > largest_record():
            raise too_long(size, largest_record())
        self.file.seek(start)
        data = self.file.read(size)
        self.file.seek(self._end)
        return data

    def _take_word(self) -> bytes | None:
        """Return a number, true, false or null, at most as long as numbers are."""
        while (held := len(self._data) - self._at) < LONGEST_WORD and self._load(held):
            pass
        match = _WORD.match(self._data, self._at)
        if not match or len(match[0]) == LONGEST_WORD:
            return None
        self._move_to(match.end())
        return match[0]

    def _move_to(self, at: int) -> None:
        self.line += self._data.count(b"\n", self._at, at)
        self._at = at

    def _load(self, keep: int = 0) -> bool:
        """Read more of the file, and drop all but the last bytes. Return False at the end of the file."""
        more = self.file.read(max(CHUNK_BYTES, keep))
        if more:
            self._move_to(len(self._data) - keep)
            self._data, self._at = self._data[self._at :] + more, 0
            self._end += len(more)
        return bool(more)


def _array_items(cursor: Cursor) -> Iterator[Record]:
    cursor.peek()
    cursor.skip()
    is_open = cursor.peek() != b"]"
    while is_open:
        item = _next_value(cursor)
        yield item
        if _ends_reading(item):
            return
        following = cursor.peek()
        if following not in (b",", b"]"):
            reason = "a comma is missing" if following else "the array has no end"
            yield cursor.offset, cursor.line, None, malformed(reason)
            return
        is_open = following == b","
        if is_open:
            cursor.skip()
    cursor.skip()
    if cursor.peek():
        yield cursor.offset, cursor.line, None, malformed("text after the end of the array")


def _objects(cursor: Cursor, part: Part, recovery: bool) -> Iterator[Record]:
    while cursor.peek():
        record = offset, line, data, error = _next_value(cursor)
        if _ends_reading(record):
            rest = _last_line(cursor.file, offset, part.end) if recovery else None
            yield offset, line, rest, None if rest else error
            return
        yield offset, line, data, error


def _ends_reading(record: Record) -> bool:
    """Return whether nothing can be read after a record, because its end is not known."""
    _, _, data, error = record
    return data is None and (error is None or error.code != TOO_LARGE)


def _next_value(cursor: Cursor) -> Record:
    cursor.peek()
    offset, line = cursor.offset, cursor.line
    try:
        data = cursor.take()
    except BadRecord as error:
        return offset, line, None, error
    return offset, line, data, None if data else malformed("cut off, or not JSON")


def _last_line(file: BinaryIO, offset: int, end: int) -> bytes | None:
    """Return the rest of a file that is not JSON, if it is one line and can be recovered as such."""
    line_end = find(file, LINE_END, offset, end)
    if find(file, NOT_BLANK, line_end, end) < end:
        return None
    file.seek(offset)
    line = file.read(line_end - offset)
    try:
        decode_record(line, recovery=True)
    except BadRecord:
        return None
    return line
