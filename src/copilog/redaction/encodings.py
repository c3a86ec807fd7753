"""Encoded pieces of a text, decoded: Base64, percent-encoding, escapes of JSON.

A piece of Base64 is replaced as a whole: its decoded text is redacted and encoded again. Of the other encodings each
character has its place in the text, so that a finding is replaced where it is.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from copilog.redaction.provider_tokens import lead_of_escape

_SHORTEST = 24  # characters of Base64; shorter pieces hold no secret
_LONG = 500  # characters of Base64 that does not begin like a text, and is passed over as a whole
_PROBE = 32  # characters that are decoded first, to see whether the rest is worth it
# First characters of the Base64 of a text that begins with a printable ASCII character or a line end.
_FIRST = frozenset("CDIJKLMNOPQRSTUVWXYZabcdef")
_ALPHABET = re.compile(r"[A-Za-z0-9+/_-]+")
_PRINTABLE = bytes([9, 10, 13, *range(32, 127)])
_CONTROLS = bytes(range(128))
_MORE = re.compile(r"[A-Za-z0-9+/_=-]*")
_BEFORE = re.compile(r"[A-Za-z0-9+/]{0,200}")  # read backwards
_WRAPPED = re.compile(r"(?:(?:\\+r)?\\+n|\r?\n)[ \t]{0,8}([A-Za-z0-9+/]{4,}={0,2})")
_WRAPPED_FROM = 56  # characters of a line, after which the next one may continue it

_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_JSON = re.compile(r"\\+(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|/|[\"nrtbf_\\])")
_REACH = 4000  # characters around an escape that are decoded with it
_OUTSIDE_PERCENT = re.compile(r"[^\s\"'<>\\`\x00]*")
_OUTSIDE_JSON = re.compile(r"[^\r\n\x00]*")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/", "_": "_"}


class Piece(NamedTuple):
    """An encoded piece of a text, from `start` to `end`."""

    start: int
    end: int
    encoding: str  # percent, json, base64, base64url, base64-utf16
    decoded: str


def pieces_of(text: str, words: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """Yield the encoded pieces of a text; `words` are its long words."""
    yield from _base64_pieces(text, words)
    yield from _percent_pieces(text)
    yield from _json_pieces(text)


def places_in(piece: Piece, text: str) -> list[int]:
    """Return where in the text each character of a decoded piece is, and the end of the last."""
    pattern, decode = (_PERCENT, _percent) if piece.encoding == "percent" else (_JSON, _json)
    encoded = text[piece.start : piece.end]
    places: list[int] = []
    at = 0
    for match in re.finditer(f"(?:{pattern.pattern})+" if decode is _percent else pattern.pattern, encoded):
        places += range(piece.start + at, piece.start + match.start())
        decoded = decode(match[0])
        spread = len(match[0]) / max(1, len(decoded))
        places += [piece.start + match.start() + int(index * spread) for index in range(len(decoded))]
        at = match.end()
    places += range(piece.start + at, piece.end + 1)
    return places


def encoded_again(decoded: str, encoding: str) -> str:
    """Return the Base64 of a text, as the piece that it replaces was encoded."""
    data = decoded.encode("utf-16-le") if encoding == "base64-utf16" else decoded.encode("utf-8", "surrogatepass")
    if encoding == "base64url":
        return base64.urlsafe_b64encode(data).decode().rstrip("=")
    return base64.b64encode(data).decode()


# --- Base64 ---------------------------------------------------------------------------------------------------------


def _base64_pieces(text: str, words: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    passed = 0
    for start, _ in words:
        if start < passed or (text[start] not in _FIRST and start and text[start - 1] not in "+/\\%[;"):
            continue
        piece = None
        for begin in _beginnings(text, start, passed):
            piece = _base64_piece(text, begin)
            if piece is not None:
                break
        if piece is not None:
            passed = piece.end
            yield piece
        else:
            more = _MORE.match(text, start)
            if more is not None and len(more[0]) > _LONG:  # a picture, or other binary data
                passed = more.end()


def _beginnings(text: str, start: int, passed: int) -> Iterator[int]:
    """Yield the places where the Base64 that a word belongs to may begin."""
    before = text[start - 1] if start else ""
    if before in ("+", "/") and before:
        left = _BEFORE.match(text[max(passed, start - 200) : start][::-1])
        if left is not None and left[0]:
            yield start - len(left[0])
    lead = lead_of_escape(text, start)
    if lead:
        yield start + lead
    yield start


def _base64_piece(text: str, start: int) -> Piece | None:
    if text[start] not in _FIRST or not _is_text(text[start : start + _PROBE]):
        return None
    match = _MORE.match(text, start)
    assert match is not None
    end = match.end()
    encoded = match[0]
    while len(encoded) >= _WRAPPED_FROM and (more := _WRAPPED.match(text, end)) is not None:
        encoded += more[1]
        end = more.end()
        if len(more[1]) < _WRAPPED_FROM:
            break
    body = encoded.rstrip("=")
    if "=" in body:  # Base64 that ends, and something else behind it
        body = body[: body.index("=")]
        end = start + len(body)
    if len(body) < _SHORTEST:
        return None
    data = _decoded(body)
    return None if data is None else _piece(start, end, body, data)


def _piece(start: int, end: int, body: str, data: bytes) -> Piece | None:
    encoding = "base64url" if "-" in body or "_" in body else "base64"
    try:
        if len(data) > 8 and not any(data[1:64:2]):
            return Piece(start, end, "base64-utf16", data[: len(data) // 2 * 2].decode("utf-16-le"))
        return Piece(start, end, encoding, data.decode("utf-8"))
    except UnicodeDecodeError:
        return None


def _is_text(probe: str) -> bool:
    """Return whether the first characters of a piece decode to a text."""
    found = _ALPHABET.match(probe)
    whole = found[0][: len(found[0]) // 4 * 4] if found is not None else ""
    data = _decoded(whole) if len(whole) >= 12 else None
    if data is None:
        return False
    if not any(data[1::2]):
        data = data[::2]
    rest = data.translate(None, _PRINTABLE)
    return not rest or (len(data) - len(rest) > 8 and rest.translate(None, _CONTROLS) == rest)


def _decoded(body: str) -> bytes | None:
    standard = body.replace("-", "+").replace("_", "/")
    if len(standard) % 4 == 1:
        standard = standard[:-1]
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (ValueError, binascii.Error):
        return None


# --- percent-encoding and escapes of JSON ---------------------------------------------------------------------------


def _percent_pieces(text: str) -> Iterator[Piece]:
    at = text.find("%")
    passed = 0
    while at >= 0:
        if at >= passed and _PERCENT.match(text, at):
            start, end = _region(text, at, _OUTSIDE_PERCENT, 1000)
            yield Piece(start, end, "percent", _percent(text[start:end]))
            passed = end
        at = text.find("%", max(at + 1, passed))


def _json_pieces(text: str) -> Iterator[Piece]:
    """Yield lines with escapes that hide characters: those of quotes and line ends alone need no decoding."""
    passed = 0
    for hint in ("\\u00", "\\/", "\\x", "\\_"):  # the last is of Markdown
        at = text.find(hint)
        while at >= 0:
            if at >= passed:
                start, end = _region(text, at, _OUTSIDE_JSON, 300)
                yield Piece(start, end, "json", _json(text[start:end]))
                passed = max(passed, end)
            at = text.find(hint, max(at + 1, passed))
        passed = 0


def _region(text: str, at: int, inside: re.Pattern[str], left_reach: int) -> tuple[int, int]:
    """Return where the piece around an escape begins and ends; long ones overlap, so that none is cut within a word."""
    left = inside.match(text[max(0, at - left_reach) : at][::-1])
    right = inside.match(text, at, min(len(text), at + _REACH))
    assert left is not None
    assert right is not None
    return at - len(left[0]), right.end()


def _percent(text: str) -> str:
    return re.sub(r"(?:%[0-9A-Fa-f]{2})+", _percent_run, text)


def _percent_run(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _json(text: str) -> str:
    return _JSON.sub(lambda match: _one_escape(match[0]), text)


def _one_escape(escape: str) -> str:
    """Return the character of an escape; several backslashes are those of JSON within JSON, and count as one."""
    name = escape.lstrip("\\")
    if not name:
        return "\\"
    if name[0] in "ux" and len(name) > 1:
        return chr(int(name[1:], 16))
    return _SIMPLE[name]
