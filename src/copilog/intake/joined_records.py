"""Several records on one line: a whole one after one that breaks off, or whole ones without a line feed between."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

MOST_CHARACTERS_TRIED = 64 << 20
_BEGINNING = re.compile(r'\{\s*"')
_BETWEEN = re.compile("[\\s\0\ufeff]*")  # U+2028, U+2029 and CR are spaces
# Raw control characters are let through here, and reported when the record is decoded.
_decoder = json.JSONDecoder(parse_constant=lambda _: None, strict=False)

# Says of an object found in the middle of a damaged line that it is a record of the format, and not a part of one.
IsRecord = Callable[[dict[str, Any]], bool]


class Piece(NamedTuple):
    """A piece of a line: one record, or something that breaks off. `start` counts bytes."""

    start: int
    data: bytes
    is_record: bool


def pieces_of(data: bytes, is_record: IsRecord) -> list[Piece]:
    """Cut a line into records and what is left of others. One piece, not a record, when there is no record in it."""
    text = data.decode("utf-8", "surrogateescape")
    pieces: list[Piece] = []
    start = 0  # in bytes
    at = 0
    search = _Search(text, is_record)
    while True:
        following = search.skip(at)
        start += _size(text[at:following])
        at = following
        if at == len(text):
            return pieces
        end = search.end_of_record(at)
        found = end is not None
        if end is None:
            end = search.next_record(at)
        raw = text[at:end].rstrip("\0 \t\r\n\u2028\u2029").encode("utf-8", "surrogateescape")
        pieces.append(Piece(start, raw, found))
        start += _size(text[at:end])
        at = end


class _Search:
    """Looks for records in the text of one line. The budget keeps long lines of almost-records from taking forever."""

    def __init__(self, text: str, is_record: IsRecord) -> None:
        self._text = text
        self._is_record = is_record
        self._budget = MOST_CHARACTERS_TRIED

    def skip(self, at: int) -> int:
        match = _BETWEEN.match(self._text, at)
        return match.end() if match else at

    def end_of_record(self, at: int) -> int | None:
        """Return where the record ends that begins here; None when none does.

        Where a record may begin, any object counts that is followed by another one, or by the end of the line.
        """
        value, end = self._value_at(at)
        if value is None:
            return None
        following = self.skip(end)
        is_followed = following == len(self._text) or self._text[following] == "{"
        return end if is_followed or self._is_record(value) else None

    def next_record(self, at: int) -> int:
        """Return where the next record begins; the end of the text when there is none."""
        at += 1
        while self._budget > 0 and (match := _BEGINNING.search(self._text, at)):
            value, end = self._value_at(match.start())
            if value is not None and self._is_record(value):
                return match.start()
            at = end if value is not None else match.start() + 1
        return len(self._text)

    def _value_at(self, at: int) -> tuple[dict[str, Any] | None, int]:
        """Return the object that begins here, and where it ends; None for anything else."""
        if self._text[at] != "{":
            return None, at
        try:
            value, end = _decoder.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            is_open_text = error.msg.startswith("Unterminated")  # looked for to the end
            self._budget -= (len(self._text) if is_open_text else error.pos) - at
            return None, at
        except (ValueError, RecursionError):
            self._budget -= len(self._text) - at
            return None, at
        self._budget -= end - at
        return value, end


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))
