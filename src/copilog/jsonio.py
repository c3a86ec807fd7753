"""Bytes to JSON values: a fast, strict decoder first, and repair where that fails.

The only module that knows which JSON library is used. msgspec keeps integers of any size, which orjson does not,
and is as strict as JSON itself; what strictness refuses (half characters, NaN, broken bytes) goes through the
standard library once more, and each repair is told to the caller.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.errors import BadFile, BadRecord

UTF8_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
LINE_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")

decode_strictly = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class Repair(NamedTuple):
    """What had to be done to make sense of some bytes; `code` is a diagnostic's code."""

    code: str
    reason: str


class Line(NamedTuple):
    """One line of a file, without its line break. `is_last_open` marks a last line that has none."""

    number: int
    offset: int
    data: bytes
    is_last_open: bool


def decode(data: bytes) -> tuple[Any, list[Repair]]:
    """Decode one JSON value, repairing what can be; raise BadRecord when it is no JSON at all."""
    try:
        return decode_strictly(data), []
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return _decode_kindly(data, str(error))


def _decode_kindly(data: bytes, why: str) -> tuple[Any, list[Repair]]:
    repairs: list[Repair] = []
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8", errors="replace")
        repairs.append(Repair("invalid-utf8", f"invalid UTF-8 at byte {error.start} of the record"))
    no_numbers: set[str] = set()

    def absent(constant: str) -> None:
        no_numbers.add(constant)

    def finite(number: str) -> float | None:
        value = float(number)
        if math.isfinite(value):
            return value
        no_numbers.add("a number beyond all bounds")
        return None

    try:
        value = json.loads(text, parse_constant=absent, parse_float=finite)
        value, halves = _without_half_characters(value)
    except RecursionError:
        raise BadRecord("nested too deeply to be read", "bad-json") from None
    except ValueError:
        raise BadRecord(f"not JSON: {why}", "bad-json") from None
    if no_numbers:
        repairs.append(Repair("not-a-number", f"{', '.join(sorted(no_numbers))} read as absent"))
    if halves:
        strings = "one string" if halves == 1 else f"{halves} strings"
        repairs.append(Repair("lone-surrogate", f"half a surrogate pair in {strings}"))
    return value, repairs


def whole_characters(text: str) -> str:
    """The text with U+FFFD for halves of characters: cut strings have them, and names of files that are no text."""
    if text.isascii() or not _HALF_CHARACTER.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_half_characters(value: Any) -> tuple[Any, int]:
    """The value with U+FFFD for lone surrogates in all its strings, and how many strings had one."""
    if isinstance(value, str):
        whole = whole_characters(value)
        return whole, int(whole is not value)
    count = 0
    if isinstance(value, list):
        for index, item in enumerate(value):
            value[index], found = _without_half_characters(item)
            count += found
    elif isinstance(value, dict):
        clean: dict[str, Any] = {}
        for key, item in value.items():
            clean_key, found_in_key = _without_half_characters(key)
            while found_in_key and (clean_key in value or clean_key in clean):  # two broken keys may look alike
                clean_key += "\ufffd"
            clean[clean_key], found = _without_half_characters(item)
            count += found + found_in_key
        value = clean
    return value, count


def top_level_values(data: bytes) -> dict[str, memoryview]:
    """The values of a JSON object, still encoded, as views into the data; empty for anything else."""
    try:
        return {key: memoryview(value) for key, value in _decode_keys(data).items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return {}


def read_bytes(path: Path) -> bytes:
    """A whole file; raise BadFile with the system's reason when it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None


def as_utf8(data: bytes) -> tuple[bytes, list[Repair]]:
    """The same text as UTF-8 without a byte order mark."""
    if data.startswith(UTF8_MARK):
        return data[len(UTF8_MARK) :], [Repair("byte-order-mark", "the file starts with a byte order mark")]
    encoding = UTF16_MARKS.get(data[:2])
    if encoding:
        text = data[2:].decode(encoding, errors="replace")
        return text.encode("utf-8", errors="replace"), [Repair("utf-16", "the file is UTF-16, not UTF-8")]
    return data, []


def split_lines(data: bytes) -> Iterator[Line]:
    """The lines of some bytes, cut at LF alone: U+2028 and friends are ordinary characters in JSON."""
    offset = 0
    number = 0
    end = len(data)
    while offset < end:
        number += 1
        stop = data.find(b"\n", offset)
        if stop < 0:
            yield Line(number, offset, data[offset:], True)
            return
        yield Line(number, offset, data[offset:stop], False)
        offset = stop + 1


def encode(value: Any) -> str:
    """Compact JSON text of any value of the model or of JSON."""
    return _encode(value).decode()
