"""Write values as JSON: the same for standard output and for files, and safe for a terminal that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# JSON escapes C0 codes, but not other characters that control a terminal: C1 codes, DEL, line separators, and marks
# that change the text direction. They occur only inside strings, where an escape means the same.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


LARGE_BYTES = 16 << 20  # characters of a document that is printed in pieces
PIECE_BYTES = 1 << 20
FEW_MESSAGES = 128


def json_text(value: Any, *, is_compact: bool = False) -> str:
    """Return a value as JSON without characters that control a terminal; decoding it gives the same value.

    Of a conversation, it also has the number of each turn, from 1.
    """
    from copilog.exports.numbered import with_numbers

    return _json_text(with_numbers(value), is_compact=is_compact)


def _json_text(value: Any, *, is_compact: bool = False) -> str:
    import msgspec

    try:
        data = msgspec.json.encode(value)
        text = (data if is_compact else msgspec.json.format(data, indent=2)).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8, which only escapes can express
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=None if is_compact else 2)
    return text if text.isascii() and "\x7f" not in text else with_escapes(text)


def with_escapes(text: str) -> str:
    """Return the JSON with escapes for all characters that control a terminal."""
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def document_pieces(value: Any) -> Iterator[str]:
    """Yield a value as an indented document, a long one in pieces."""
    import msgspec

    from copilog.exports.numbered import with_numbers

    value = with_numbers(value)
    messages = getattr(value, "messages", None)
    if isinstance(messages, list) and len(messages) > FEW_MESSAGES:
        yield from _conversation_pieces(value, messages)
        return
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = b""
    if len(data) < LARGE_BYTES:
        yield _json_text(value)
        return
    yield from _safe(indented_pieces(data))


def _conversation_pieces(value: Any, messages: list[Any]) -> Iterator[str]:
    """Yield an indented conversation message by message: as one text it would need as much memory as its texts."""
    import msgspec

    from copilog import jsonio

    try:
        shell = msgspec.json.encode(msgspec.structs.replace(value, messages=messages[:1]))
    except UnicodeEncodeError:
        yield json_text(value)
        return
    separator = "{\n  "
    for name, item in msgspec.json.decode(shell, type=dict[str, msgspec.Raw]).items():
        yield f'{separator}"{name}": '
        separator = ",\n  "
        if name != "messages":
            yield from _safe(indented_pieces(memoryview(item), "  "))
            continue
        for position, message in enumerate(messages):
            yield ",\n    " if position else "[\n    "
            try:
                yield from _safe(indented_pieces(jsonio.encode_in_passing(message), "    "))
            except UnicodeEncodeError:
                yield json_text(message).replace("\n", "\n    ")
        yield "\n  ]"
    yield "\n}"


def _safe(pieces: Iterator[bytes]) -> Iterator[str]:
    for piece in pieces:
        text = piece.decode()
        yield text if text.isascii() and "\x7f" not in text else with_escapes(text)


def indented_pieces(data: bytes | memoryview, indent: str = "") -> Iterator[bytes]:
    """Yield indented JSON in pieces, so that a long document is not copied in memory."""
    import msgspec

    is_object = bytes(data[:1]) == b"{"
    if len(data) < PIECE_BYTES or not (is_object or bytes(data[:1]) == b"["):
        yield msgspec.json.format(bytes(data), indent=2).replace(b"\n", f"\n{indent}".encode())
        return
    below = indent + "  "
    values: Any = msgspec.json.decode(data, type=dict[str, msgspec.Raw] if is_object else list[msgspec.Raw])
    separator = f"\n{below}".encode()
    yield b"{" if is_object else b"["
    for item in values.items() if is_object else values:
        yield separator + (msgspec.json.encode(item[0]) + b": " if is_object else b"")
        yield from indented_pieces(memoryview(item[1] if is_object else item), below)
        separator = f",\n{below}".encode()
    yield f"\n{indent}".encode() + (b"}" if is_object else b"]")
