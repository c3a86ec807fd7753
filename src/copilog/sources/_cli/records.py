"""From lines to events: what crashes, two writers and careless programs did to a log is repaired, and told.

Each event is one record of the ledger. A line that holds two is two records, and an event that was spread over
several lines by a raw line break is one.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.sources._cli.event import (
    Event,
    decode_envelope,
    event_from_envelope,
    event_from_object,
    looks_like_event,
)
from copilog.sources._cli.joined import Piece, pieces_of
from copilog.sources._cli.lines import line_from, open_lines
from copilog.sources._cli.remarks import Remarks

MOST_JOINED_LINES = 64
MOST_JOINED_BYTES = 4 << 20
PADDING = b"\0 \t\r\n"
_LF = ord("\n")
_FIRST_OF_SEPARATORS = jsonio.LINE_SEPARATORS[0][0]  # a byte that both begin with, and that is quickly looked for
_WITHOUT_NULS = re.compile(rb"[^\0]+")
_CONTROL = re.compile(rb"[\x01-\x1f]")
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class _Found(NamedTuple):
    """A value, and where it stands."""

    value: object
    line: int
    offset: int
    size: int


class Records:
    """The events of one log, in order. What cannot be used is in the ledger when the next one comes."""

    def __init__(self, path: Path, ledger: Ledger, remarks: Remarks) -> None:
        self._path = path
        self._ledger = ledger
        self._remarks = remarks
        self._file: BinaryIO = BytesIO()
        self._number = 0  # of the line that was read last
        self._offset = 0  # of the line to come
        self._returned: deque[jsonio.Line] = deque()
        self._join_after = 0  # lines up to this one were tried in vain
        self._seen: set[int] = set()
        self._twice = 0
        self._first_twice: Event | None = None
        self.is_damaged = False

    def __iter__(self) -> Iterator[Event]:
        with open_lines(self._path) as (file, is_utf16):
            if is_utf16:
                self._remarks.note("utf-16", "the file is UTF-16, not UTF-8", line=1, offset=0)
            yield from self._events(file)
        self._tell_doubles()

    def _events(self, file: BinaryIO) -> Iterator[Event]:
        self._file = file
        ledger, returned = self._ledger, self._returned
        decode, make, is_new = decode_envelope, event_from_envelope, self._is_new
        number = offset = 0
        for data in file:
            number += 1
            size = len(data)
            try:
                envelope = decode(data)
            except _UNREADABLE:
                self._number, self._offset = number, offset + size
                yield from self._unusual(line_from(data, number, offset))
                while returned:
                    yield from self._unusual(returned.popleft())
                number, offset = self._number, self._offset
                continue
            if _FIRST_OF_SEPARATORS in data:
                self._look_for_separators(data, number, offset)
            ledger.seen += 1
            event = make(envelope, number, offset, size - 1 if data[-1] == _LF else size)
            offset += size
            if is_new(event):
                yield event

    def _next_line(self) -> jsonio.Line | None:
        if self._returned:
            return self._returned.popleft()
        data = self._file.readline()
        if not data:
            return None
        line = line_from(data, self._number + 1, self._offset)
        self._number += 1
        self._offset += len(data)
        return line

    def _unusual(self, line: jsonio.Line) -> Iterator[Event]:
        """The events of a line that is no plain event: with fields that nobody knows, or damaged."""
        number, offset, data, _ = line
        if offset == 0:
            data = self._without_mark(data)
        self._look_for_separators(data, number, offset)
        try:
            found = [_Found(jsonio.decode_strictly(data), number, offset, len(data))]
        except _UNREADABLE:
            found = self._repaired(line._replace(data=data))
        for value in found:
            self._ledger.seen += 1
            event = self._event_from(*value)
            if event is not None and self._is_new(event):
                yield event

    def _look_for_separators(self, data: bytes, number: int, offset: int) -> None:
        if any(separator in data for separator in jsonio.LINE_SEPARATORS):
            reason = "a raw U+2028 or U+2029 inside the line"
            self._remarks.note("raw-line-separator", reason, "info", line=number, offset=offset)

    def _without_mark(self, data: bytes) -> bytes:
        """The first line without a byte order mark."""
        if not data.startswith(jsonio.UTF8_MARK):
            return data
        self._remarks.note("byte-order-mark", "the file starts with a byte order mark", line=1, offset=0)
        return data[len(jsonio.UTF8_MARK) :]

    def _event_from(self, value: object, number: int, offset: int, size: int) -> Event | None:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"a line that is {type(value).__name__}, not an object")
            return event_from_object(value, number, offset, size)
        except BadRecord as error:
            self._reject(error, number, offset)
            return None

    def _is_new(self, event: Event) -> bool:
        """Whether an event was not there before. Identical ones stand twice in some logs."""
        if event.is_ephemeral or event.id is None:
            return True
        # An id alone proves nothing: some writers number from 1 again.
        key = hash((event.id, event.native, event.stamp, event.size))
        seen = self._seen
        if key not in seen:
            seen.add(key)
            return True
        self._twice += 1
        self._first_twice = self._first_twice or event
        self._ledger.ignore("duplicate-event")
        return False

    def _tell_doubles(self) -> None:
        if self._first_twice is not None:
            reason = f"{self._twice} events stand in the log twice; each is read once"
            first = self._first_twice
            self._remarks.note("duplicate-event", reason, "info", line=first.line, offset=first.offset)

    def _reject(self, error: BadRecord, number: int, offset: int) -> None:
        self.is_damaged = self.is_damaged or error.code != "torn-tail"
        self._ledger.reject(error.code, str(error), line=number, offset=offset)

    # --- repair -----------------------------------------------------------------------------------------------------

    def _repaired(self, line: jsonio.Line) -> list[_Found]:
        """The values of a line that is not plain JSON; what is beyond repair goes to the ledger."""
        data = line.data.strip(PADDING)
        if b"\0" in line.data:
            self._remarks.note("nul-tail", "NUL bytes in the line", line=line.number, offset=line.offset)
        if not data:
            self._ledger.seen += 1
            self._ledger.ignore("nul-padding" if b"\0" in line.data else "blank-line")
            return []
        found: list[_Found] = []
        for match in _WITHOUT_NULS.finditer(line.data):
            piece = match[0].strip(PADDING)
            if piece:
                found += self._repaired_piece(line._replace(offset=line.offset + match.start(), data=piece))
        return found

    def _repaired_piece(self, line: jsonio.Line) -> list[_Found]:
        try:
            return [self._decoded(line)]
        except BadRecord as error:
            pieces = pieces_of(line.data)
            if any(piece.is_event for piece in pieces):
                return self._separated(line, pieces)
            return self._escaped(line, 1) or self._joined(line) or self._lost(line, error)

    def _decoded(self, line: jsonio.Line) -> _Found:
        value, repairs = jsonio.decode(line.data)
        for repair in repairs:
            self._remarks.note(repair.code, repair.reason, "info", line=line.number, offset=line.offset)
        return _Found(value, line.number, line.offset, len(line.data))

    def _decoded_or_lost(self, line: jsonio.Line) -> list[_Found]:
        try:
            return [self._decoded(line)]
        except BadRecord as error:
            return self._lost(line, error)

    def _separated(self, line: jsonio.Line, pieces: list[Piece]) -> list[_Found]:
        reason = f"{len(pieces)} records on one line"
        self._remarks.note("joined-records", reason, line=line.number, offset=line.offset)
        found: list[_Found] = []
        for index, piece in enumerate(pieces):
            offset = line.offset + piece.start
            if piece.is_event:
                found += self._decoded_or_lost(line._replace(offset=offset, data=piece.data))
                continue
            self._ledger.seen += 1
            if index + 1 < len(pieces) and pieces[index + 1].data.startswith(piece.data):
                self._ledger.ignore("torn-copy")  # the writer began anew, and the whole record follows
            else:
                self._reject(_why_torn(line.is_last_open and piece is pieces[-1]), line.number, offset)
        return found

    def _escaped(self, line: jsonio.Line, count: int) -> list[_Found]:
        """The event of a line whose texts hold raw control characters, as JSON does not allow."""
        data = line.data.rstrip(PADDING)
        escaped = _CONTROL.sub(lambda match: b"\\u%04x" % match[0][0], data)
        if escaped == data:
            return []
        try:
            found = self._decoded(line._replace(data=escaped))
        except BadRecord:
            return []
        reason = "raw control characters in a text" if count == 1 else f"raw line breaks: one event on {count} lines"
        self._remarks.note("raw-control-character", reason, line=line.number, offset=line.offset)
        return [found]

    def _joined(self, line: jsonio.Line) -> list[_Found]:
        """The event that this line begins and later ones go on with, the line breaks in its texts being raw."""
        if line.number <= self._join_after or not line.data.startswith(b'{"'):
            return []
        data = line.data
        taken: list[jsonio.Line] = []
        is_given_up = True
        while len(taken) < MOST_JOINED_LINES and len(data) < MOST_JOINED_BYTES:
            following = self._next_line()
            if following is None:
                break
            taken.append(following)
            if following.data.startswith(b'{"') and _is_whole_event(following.data):
                is_given_up = False
                break
            data += b"\n" + following.data
            if following.data.rstrip(PADDING).endswith(b"}"):
                found = self._escaped(line._replace(data=data), len(taken) + 1)
                if found:
                    return found
        self._returned.extendleft(reversed(taken))
        if is_given_up and taken:
            self._join_after = taken[-1].number
        return []

    def _lost(self, line: jsonio.Line, error: BadRecord) -> list[_Found]:
        self._ledger.seen += 1
        self._reject(_why_torn(True) if line.is_last_open else error, line.number, line.offset)
        return []


def _why_torn(is_tail: bool) -> BadRecord:
    if is_tail:
        return BadRecord("the last line breaks off", "torn-tail")
    return BadRecord("a record that breaks off", "bad-json")


def _is_whole_event(data: bytes) -> bool:
    try:
        return looks_like_event(jsonio.decode_strictly(data))
    except _UNREADABLE:
        return False
