"""Several records on one line: a complete one after a torn one, or complete ones without a line feed between them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

MOST_CHARACTERS_TRIED = 64 << 20
_BEGINNING = re.compile(r'\{\s*"')
_BETWEEN = re.compile("[\\s\0\ufeff]*")  # U+2028, U+2029 and CR are spaces
# Raw control characters are accepted here, and reported when the record is decoded.
_decoder = json.JSONDecoder(parse_constant=lambda _: None, strict=False)

# Returns whether an object in the middle of a damaged line is a record of the format, and not a part of one.
IsRecord = Callable[[dict[str, Any]], bool]


class Piece(NamedTuple):
    """A piece of a line: one record, or the beginning of a torn one. `start` counts bytes."""

    start: int
    data: bytes
    is_record: bool


def pieces_of(data: bytes, is_record: IsRecord) -> list[Piece]:
    """Cut a line into records and the rests of others. A line without a record is one piece."""
    text = data.decode("utf-8", "surrogateescape")
    search = _Search(text, is_record)
    pieces: list[Piece] = []
    at = start = 0  # in characters and in bytes
    while (following := search.skip(at)) < len(text):
        start += _size(text[at:following])
        record_end = search.end_of_record(following)
        at = search.next_record(following) if record_end is None else record_end
        raw = text[following:at].rstrip("\0 \t\r\n\u2028\u2029").encode("utf-8", "surrogateescape")
        pieces.append(Piece(start, raw, record_end is not None))
        start += _size(text[following:at])
    return pieces


class _Search:
    """A search for records in the text of one line. The budget bounds the time for long lines of almost-records."""

    def __init__(self, text: str, is_record: IsRecord) -> None:
        self._text = text
        self._is_record = is_record
        self._budget = MOST_CHARACTERS_TRIED

    def skip(self, at: int) -> int:
        match = _BETWEEN.match(self._text, at)
        return match.end() if match else at

    def end_of_record(self, at: int) -> int | None:
        """Return the end of the record that begins here; None if none begins here.

        An object counts as a record if another one follows it, or the end of the line, or it is a record of the format.
        """
        value, end = self._value_at(at) if self._text[at] == "{" else (None, at)
        if value is None:
            return None
        following = self.skip(end)
        is_followed = following == len(self._text) or self._text[following] == "{"
        return end if is_followed or self._is_record(value) else None

    def next_record(self, at: int) -> int:
        """Return the start of the next record, or the end of the text if there is none."""
        at += 1
        while self._budget > 0 and (match := _BEGINNING.search(self._text, at)):
            value, end = self._value_at(match.start())
            if value is not None and self._is_record(value):
                return match.start()
            at = end if value is not None else match.start() + 1
        return len(self._text)

    def _value_at(self, at: int) -> tuple[dict[str, Any] | None, int]:
        """Return the object that begins here and its end, or None and where its decoding failed."""
        value = None
        end = len(self._text)
        try:
            value, end = _decoder.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Unterminated"):  # the end of such a text is searched to the end of the line
                end = error.pos
        except (ValueError, RecursionError):
            pass
        self._budget -= end - at
        return value, end


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
