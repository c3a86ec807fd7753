"""Look up whether a text is among the texts of stored conversations."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import msgspec

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.model import Notice, Provenance
from copilog.text_cache import SharedTexts
from copilog.uris import with_named_links

SHORTEST = 12  # characters of a text to search for
LONGEST_ADDRESS = 4096
LONG = 4096  # characters of a text that is searched by itself
# Fields that store undescribed data: a text that is only there does not count as stored.
_APART = {Notice: "data", Provenance: "path"}
_PICTURE = re.compile(r'<promptTsxImg src="[^"]*"\s*/>')
_MARKS = "+->|` \t\r"  # characters that diffs and quotations put around a line
_DRIVE = re.compile(r"(?<![A-Za-z])/?([A-Za-z]):[\\/]")


class Lookup:
    """All texts of some conversations outside `extra`, to check whether they contain a text."""

    def __init__(self, conversations: Iterable[object]) -> None:
        self._texts = {text for conversation in conversations for text in _texts_of(conversation)}
        for text in list(self._texts):
            if (value := decoded_json(text)) is not None:
                self._texts.update(_strings_in(value))
        self._texts |= {stripped for text in self._texts if (stripped := text.strip()) != text}
        self._texts |= {_address(text) for text in self._texts if _is_address(text)}

        self.shared = SharedTexts(self._texts)

    @cached_property
    def _searched(self) -> list[str]:
        """Return the texts to search: short ones joined, as that is faster; long ones not, as that needs memory."""
        long = [text for text in self._texts if len(text) >= LONG]
        return ["\0".join(text for text in self._texts if len(text) < LONG), *long]

    def has_unchanged(self, text: str) -> bool:
        """Return whether a text is stored as it is."""
        return text in self._texts

    def has(self, text: str) -> bool:
        """Return whether a text is stored: unchanged, within a longer text, or line by line in the order of one."""
        return any(self._has(form) for form in _forms_of(text))

    def _has(self, text: str) -> bool:
        if text in self._texts or any(text in searched for searched in self._searched):
            return True
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return len(lines) > 1 and any(_has_in_order(stored, lines) for stored in self._texts_with(max(lines, key=len)))

    def has_joined(self, text: str) -> bool:
        """Return whether a text is stored in two pieces: a prompt, a line break, and the answer; or two answers."""
        breaks = [found.start() for found in re.finditer("\n", text)]
        breaks += [len(stored) for stored in self._texts if len(stored) < len(text) and text.startswith(stored)]
        return any(self._is_piece(text[:at].strip()) and self._is_piece(text[at:].strip()) for at in breaks)

    def _is_piece(self, text: str) -> bool:
        return text in self._texts or (len(text) >= SHORTEST and self.has(text))

    def _texts_with(self, line: str) -> Iterator[str]:
        """Yield the stored texts that contain a line."""
        for searched in self._searched:
            at = searched.find(line)
            while at >= 0:
                end = searched.find("\0", at)
                end = len(searched) if end < 0 else end
                yield searched[searched.rfind("\0", 0, at) + 1 : end]
                at = searched.find(line, end)


def _has_in_order(stored: str, lines: list[str]) -> bool:
    """Return whether a text has the lines in order, perhaps with others between them, as a diff has."""
    wanted = iter(lines)
    line = next(wanted)
    for other in stored.split("\n"):
        if (
            other.strip() == line
            or other.strip(_MARKS) == line.strip(_MARKS)
            or (len(line) >= SHORTEST and line in other)
        ):
            line = next(wanted, "")
            if not line:
                return True
    return False


def decoded_json(text: str) -> Any:
    """Decode a text that is a JSON object or list; return None for any other text."""
    if text[:1] not in ("{", "["):
        return None
    try:
        value, _ = jsonio.decode(text.encode("utf-8", "replace"))
    except BadRecord:
        return None
    return value if isinstance(value, dict | list) else None


def _texts_of(value: object) -> Iterator[str]:
    """Yield the strings below a value of the model, without undescribed data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield b64encode(value).decode()
    elif isinstance(value, msgspec.Struct):
        apart = _APART.get(type(value))
        for name in value.__struct_fields__:
            if name not in ("extra", apart):
                yield from _texts_of(getattr(value, name))
    elif isinstance(value, dict):
        yield from _strings_in(value)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_of(item)


def _strings_in(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value, including its keys."""
    if isinstance(value, str):
        yield value
        if (inner := decoded_json(value)) is not None:
            yield from _strings_in(inner)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)


def _forms_of(text: str) -> Iterator[str]:
    """Yield a text in the forms that readers give it: unchanged, stripped, as an address, as shown."""
    yield text
    bare = text.strip().replace("\r\n", "\n")
    if bare != text:
        yield bare
    if _is_address(text):
        yield _address(text)
    if "\\" in text and (plain := _unescaped(text)) != text:
        yield plain
    if text.endswith("[truncated]"):
        yield text.removesuffix("[truncated]")
    if "](" in text:
        yield with_named_links(text)
    if "<promptTsxImg" in text:
        yield _PICTURE.sub("[image]", text)
        yield _PICTURE.sub("\n", text)
    if text.startswith("data:"):
        yield _same_base64(text.partition(",")[2])
    elif len(text) % 4 == 0 and text.isascii() and " " not in text and (same := _same_base64(text)) != text:
        yield same


def _unescaped(text: str) -> str:
    """Return a piece of JSON text without its escapes; unchanged if it is not JSON."""
    try:
        return str(jsonio.decode_strictly(f'"{text}"'.replace("\t", "\\t")))
    except ValueError:
        return text


def _same_base64(text: str) -> str:
    """Return Base64 in canonical form: its last letter may have unused bits."""
    try:
        return b64encode(b64decode(text, validate=True)).decode()
    except (NotBase64, ValueError):
        return text


def _is_address(text: str) -> bool:
    return len(text) <= LONGEST_ADDRESS and ("/" in text or "\\" in text) and "\n" not in text


def _address(text: str) -> str:
    """Normalise a path or an address: decoded, with slashes, with a lower-case drive letter."""
    decoded = unquote(text) if "%" in text else text
    return _DRIVE.sub(lambda found: f"{found[1].lower()}:/", decoded).replace("\\", "/")
