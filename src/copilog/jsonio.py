"""Bytes to JSON values: a fast, strict decoder first, and repair if that fails.

All bytes from outside are decoded here. msgspec keeps integers of any size, which orjson does not, and is as strict as
JSON itself; what it refuses (half surrogate pairs, NaN, broken bytes) is decoded once more by the standard library, and
each repair is reported to the caller.

What is nested deeper than MOST_NESTED is refused. That limit does not depend on the call stack: for a value that is
nested nearly so deeply, the interpreter's own limit is raised, and then nesting is counted.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

from copilog.errors import BadRecord

UTF8_MARK = b"\xef\xbb\xbf"
# Those of UTF-32 first, as one of them begins like one of UTF-16.
WIDE_MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
}
_WIDE_STARTS = {start.encode(name): name for name in WIDE_MARKS.values() for start in ('{"', "{\n", "{\r", "[{")}
LINE_SEPARATORS = (b"\xe2\x80\xa8", b"\xe2\x80\xa9")

MOST_NESTED = 1_000
_ROOM = 5 * MOST_NESTED  # calls: enough for functions that call themselves for each level
_TEXTS = rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+'
_NEXT_BRACKETS = re.compile(_TEXTS + rb"(?:([\[{]++)|([\]}]++))", re.DOTALL)

Value = TypeVar("Value")
Given = TypeVar("Given")

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
LONG_TEXT = 4096  # characters
_decode_keys = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_CONTROL = re.compile("[\x01-\x1f]")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class Repair(NamedTuple):
    """A repair of some bytes; `code` is a diagnostic's code."""

    code: str
    reason: str


def is_too_deep(data: bytes | str) -> bool:
    """Return whether JSON that was decoded is nested deeper than MOST_NESTED, which it can be if there is room."""
    has_room = sys.getrecursionlimit() > MOST_NESTED or sys.version_info >= (3, 12)
    return has_room and len(data) > MOST_NESTED and _is_nested_too_deeply(data)


def _is_nested_too_deeply(data: bytes | str) -> bool:
    text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if text.count(b"[") + text.count(b"{") <= MOST_NESTED:
        return False
    depth = 0
    for brackets in _NEXT_BRACKETS.finditer(text):
        if brackets.lastindex == 1:
            depth += brackets.end() - brackets.start(1)
            if depth > MOST_NESTED:
                return True
        else:
            depth -= brackets.end() - brackets.start(2)
    return False


def with_room(function: Callable[[Given], Value], given: Given) -> Value:
    """Call a function of a value that may be nested deeply. If there are too few calls left, allow more."""
    try:
        return function(given)
    except RecursionError:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _ROOM))
        return function(given)


def bounded(function: Callable[[bytes], Value]) -> Callable[[bytes], Value]:
    """Return a decoder that raises RecursionError if the JSON is nested too deeply."""

    def decode_bounded(data: bytes) -> Value:
        value = function(data)
        if len(data) > MOST_NESTED and is_too_deep(data):
            raise RecursionError
        return value

    return decode_bounded


def decode_strictly(data: bytes | str) -> Any:
    """Decode JSON without repairs. Raise DecodeError, or RecursionError if it is nested too deeply."""
    try:
        value = _decode(data)
    except RecursionError:
        if _is_nested_too_deeply(data):
            raise
        return with_room(_decode, data)
    if is_too_deep(data):
        raise RecursionError
    return value


def decode(data: bytes) -> tuple[Any, list[Repair]]:
    """Decode one JSON value with repairs. Raise BadRecord if it is not JSON."""
    try:
        return decode_strictly(data), []
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        return _decode_leniently(data, str(error))


def _decode_leniently(data: bytes, why: str) -> tuple[Any, list[Repair]]:
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

    def loaded(strict: bool) -> tuple[Any, int]:
        return _without_half_characters(json.loads(text, strict=strict, parse_constant=absent, parse_float=finite))

    if _is_nested_too_deeply(data):
        raise too_deep(len(data))
    try:
        try:
            value, halves = with_room(loaded, True)
        except ValueError:
            if not _CONTROL.search(text):
                raise
            value, halves = with_room(loaded, False)
            repairs.append(Repair("raw-control-character", "raw control characters in a text"))
    except RecursionError:
        raise too_deep(len(data)) from None
    except ValueError:
        raise BadRecord(f"not JSON: {why}", "bad-json") from None
    if no_numbers:
        repairs.append(Repair("not-a-number", f"{', '.join(sorted(no_numbers))} read as absent"))
    if halves:
        strings = "one string" if halves == 1 else f"{halves} strings"
        repairs.append(Repair("lone-surrogate", f"half a surrogate pair in {strings}"))
    return value, repairs


def too_deep(size: int) -> BadRecord:
    """Return the error for a value of so many bytes that is nested too deeply."""
    return BadRecord(f"nested too deeply to be read, in {size:,} bytes", "too-large")


def replace_lone_surrogates(text: str) -> str:
    """Return the text with U+FFFD for half surrogate pairs, as in cut strings and in file names that are not text."""
    if text.isascii() or not _HALF_CHARACTER.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_half_characters(value: Any) -> tuple[Any, int]:
    """Return the value with U+FFFD for lone surrogates in all its strings, and how many strings had one."""
    if isinstance(value, str):
        whole = replace_lone_surrogates(value)
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
            while found_in_key and (clean_key in value or clean_key in clean):  # two broken keys may become equal
                clean_key += "\ufffd"
            clean[clean_key], found = _without_half_characters(item)
            count += found + found_in_key
        value = clean
    return value, count


def top_level_values(data: bytes) -> dict[str, memoryview]:
    """Return the values of a JSON object, still encoded, as views into the data; none for anything else."""
    try:
        return {key: memoryview(value) for key, value in _decode_keys(data).items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return {}


def as_utf8(data: bytes) -> tuple[bytes, list[Repair]]:
    """Return the same text as UTF-8 without a byte order mark."""
    if data.startswith(UTF8_MARK):
        return data[len(UTF8_MARK) :], [Repair("byte-order-mark", "the file starts with a byte order mark")]
    encoding, start = wide_encoding_of(data)
    if encoding is None:
        return data, []
    return transcoded(data[start:], encoding), [wide_repair(encoding)]


def wide_encoding_of(head: bytes) -> tuple[str | None, int]:
    """Return the encoding of text that begins like this, if it is UTF-16 or UTF-32, and the length of its mark."""
    for mark, encoding in WIDE_MARKS.items():
        if head.startswith(mark):
            return encoding, len(mark)
    return next((name for start, name in _WIDE_STARTS.items() if head.startswith(start)), None), 0


def transcoded(data: bytes, encoding: str) -> bytes:
    """Return text of another encoding as UTF-8, with U+FFFD for what is not text."""
    return data.decode(encoding, errors="replace").encode("utf-8", errors="replace")


def wide_repair(encoding: str) -> Repair:
    """Return the note about a file that is not UTF-8."""
    code = encoding[: len("utf-16")]
    return Repair(code, f"the file is {code.upper()}, not UTF-8")


def encode(value: Any) -> str:
    """Return compact JSON text of any value of the model or of JSON."""
    return _encode(value).decode()


def encode_in_passing(value: Any) -> bytes:
    """Return a value of the model as JSON, without an encoded copy that stays with its long texts.

    Python keeps the UTF-8 of a text with it once a library has encoded it; for all texts of a large conversation that
    is as much as its file.
    """
    return _encode(_with_own_texts(msgspec.to_builtins(value)))


def own_text(text: str) -> str:
    """Return an equal text, which may be another object: what a library keeps with it goes when it goes."""
    return text if len(text) < LONG_TEXT or text.isascii() else text[:1] + text[1:]


def _with_own_texts(value: Any) -> Any:
    if type(value) is str:
        return own_text(value)
    if type(value) is dict:
        return {key: _with_own_texts(item) for key, item in value.items()}
    return [_with_own_texts(item) for item in value] if type(value) is list else value
