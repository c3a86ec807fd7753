"""JSON values in bytes: their decoding, and where one ends.

Telemetry is JSON of other programs: torn, with half surrogate pairs, with NaN. `decode_value` accepts the output of any
JavaScript program, and `ValueScan` finds the end of a value that may be too long to be held at once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from copilog.errors import BadRecord
from copilog.jsonio import decode_strictly, is_too_deep, too_deep, with_room

CHUNK_BYTES = 1 << 20
BLANK = b" \t\r\n"
LINE_END = re.compile(rb"\n")
NOT_BLANK = re.compile(rb"[^ \t\r\n]")

# Texts and everything between brackets. Possessive, so that no input causes backtracking.
_REST_OF_TEXT = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_BETWEEN = re.compile(rb'[^"\[\]{}]*+(?:"' + _REST_OF_TEXT.pattern + rb'"[^"\[\]{}]*+)*+', re.DOTALL)
_NEXT_BRACKETS = re.compile(_BETWEEN.pattern + rb"(?:([\[{]++)|([\]}]++))", re.DOTALL)
_QUOTE = ord('"')

_skip_value = msgspec.json.Decoder(msgspec.Raw).decode
_PLACE = re.compile(r"\(byte ([0-9]+)\)")


def decode_value(data: bytes) -> Any:
    """Decode one JSON value. Raise BadRecord if the bytes are not UTF-8 or not JSON.

    Half surrogate pairs are preserved, as two of them may become one character when texts are joined (R-7). Invalid
    numbers (NaN, Infinity, 1e999) are read as None.
    """
    try:
        return decode_strictly(data)
    except RecursionError:
        raise too_deep(len(data)) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        if is_too_deep(data):
            raise too_deep(len(data)) from None
    try:
        return with_room(LENIENT.decode, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise malformed(f"not UTF-8 (byte {error.start} of the record)") from None
    except json.JSONDecodeError as error:
        raise malformed(f"not JSON: {error.msg} (character {error.pos} of the record)") from None
    except RecursionError:
        raise too_deep(len(data)) from None


def malformed(reason: str) -> BadRecord:
    """Return the error that R-4 counts and skips."""
    return BadRecord(reason, "malformed-record")


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def _integer(digits: str) -> int | None:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        return None


def _no_number(_name: str) -> None:
    return None


LENIENT = json.JSONDecoder(parse_float=_finite, parse_int=_integer, parse_constant=_no_number)


def end_of_value(data: bytes, at: int) -> int | None:
    """Return the index after the value that begins at `at`, from the decoder itself; -1 if the data ends before it.

    None if the decoder rejects the data or reports no index: then use `ValueScan`.
    """
    try:
        _skip_value(memoryview(data)[at:])
        end = len(data)
    except msgspec.DecodeError as error:  # mostly about what follows the value
        place = _PLACE.search(str(error))
        if place is None:
            return -1
        end = at + int(place[1]) - 1
    except RecursionError:
        return None
    value = data[at:end].rstrip(BLANK)
    return at + len(value) if _is_valid_value(value) else None


def _is_valid_value(data: bytes) -> bool:
    """Return whether this is one JSON value and nothing else; faster than decoding it."""
    try:
        _skip_value(data)
        if not data.isascii():
            data.decode("utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


class ValueScan:
    """A search for the end of one object, array or text in chunks of bytes, by its brackets and quotes alone.

    The content is not checked: the end is correct if the value is JSON.
    """

    def __init__(self) -> None:
        self.is_inside_text = False
        self._depth = 0
        self._is_escaped = False

    def feed(self, data: bytes, at: int = 0) -> int:
        """Search the next chunk, from `at`. Return the index after the value, or -1 if it continues."""
        if self._depth == 0 and not self.is_inside_text and data[at] == _QUOTE:
            self.is_inside_text = True
            at += 1
        if self.is_inside_text:
            at = self._end_of_text(data, at)
            if at < 0 or self._depth == 0:
                return at
        while brackets := _NEXT_BRACKETS.match(data, at):
            at = brackets.end()
            if brackets.lastindex == 1:
                self._depth += at - brackets.start(1)
            elif at - brackets.start(2) >= self._depth:
                return brackets.start(2) + self._depth
            else:
                self._depth -= at - brackets.start(2)
        at = _match_end(_BETWEEN, data, at)
        if at < len(data):
            self.is_inside_text = True
            self._end_of_text(data, at + 1)
        return -1

    def _end_of_text(self, data: bytes, at: int) -> int:
        end = _match_end(_REST_OF_TEXT, data, at + self._is_escaped)
        self._is_escaped = False
        if end < len(data) and data[end] == _QUOTE:
            self.is_inside_text = False
            return end + 1
        self._is_escaped = end < len(data)  # a backslash is the chunk's last byte
        return -1


def _match_end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Return the end of a match of a pattern that matches anywhere."""
    match = pattern.match(data, at)
    return match.end() if match else at


def chunks(file: BinaryIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes from start to end in chunks, each with its offset. The file may be used in between."""
    while start < end:
        file.seek(start)
        data = file.read(min(CHUNK_BYTES, end - start))
        if not data:
            return
        yield start, data
        start += len(data)


def find(file: BinaryIO, pattern: re.Pattern[bytes], start: int, end: int) -> int:
    """Return the offset of the first byte that matches a pattern for one byte; `end` if there is none."""
    for offset, data in chunks(file, start, end):
        if match := pattern.search(data):
            return offset + match.start()
    return end
