"""Large JSON documents with one long list, such as a session with its requests: read item by item, never whole.

Only intact documents in UTF-8 are read so. The caller reads any other document whole, and repairs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from copilog import jsonio
from copilog.errors import BadFile, BadRecord
from copilog.intake import files

LARGE_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20
_UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, BadRecord)
# A string, which may have no end, or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)


class LongDocument(NamedTuple):
    """The positions in a document of a list at its top level. `shell` is the document with an empty list instead."""

    path: Path
    shell: bytes
    start: int  # the offset after the opening bracket of the list
    items: list[tuple[int, int]]  # the offset and size of each object or list in it

    def values(self) -> Iterator[Any]:
        """Yield the decoded items of the list, one at a time. Raise BadFile if the file has changed."""
        with files.opened(self.path) as file:
            for data in self._encoded(file):
                try:
                    yield jsonio.decode_strictly(data)
                except _UNREADABLE:
                    raise BadFile("changed while it was read", "unreadable") from None

    def first(self) -> Any:
        """Return the first item, or None if there is none."""
        return next(self.values(), None)

    def is_intact(self) -> bool:
        """Return whether the document is JSON without repair, and its list has nothing but objects and lists."""
        with files.opened(self.path) as file:
            at = self.start
            try:
                jsonio.decode_strictly(self.shell)
                for position, (offset, size) in enumerate(self.items):
                    file.seek(at)
                    if file.read(offset - at).strip(b" \r\n\t") != (b"," if position else b""):
                        return False
                    jsonio.decode_strictly(file.read(size))
                    at = offset + size
                file.seek(at)
                return file.read(_PIECE_BYTES).lstrip(b" \r\n\t")[:1] == b"]"
            except _UNREADABLE:
                return False

    def has(self, text: bytes) -> bool:
        """Return whether the text occurs in the document, inside a string."""
        with files.opened(self.path) as file:
            return text in self.shell or any(text in data for data in self._encoded(file))

    def _encoded(self, file: BinaryIO) -> Iterator[bytes]:
        for offset, size in self.items:
            file.seek(offset)
            yield file.read(size)


def long_document(path: Path, key: str) -> LongDocument | None:
    """Return where the items of the list `key` are in a large document; None if it is small or has no such list."""
    with files.opened(path) as file:
        if file.seek(0, 2) < LARGE_BYTES:
            return None
        file.seek(0)
        depth, begun, last_string = 0, 0, b""
        start: int | None = None
        items: list[tuple[int, int]] = []
        name = b'"' + key.encode() + b'"'
        for token, offset in _tokens(file):
            if token[:1] == b'"':
                last_string = token if depth == 1 else b""
            elif token in (b"[", b"{"):
                depth += 1
                if start is None and depth == 2 and token == b"[" and last_string == name:
                    start = offset + 1
                elif depth == 3:
                    begun = offset
            else:
                depth -= 1
                if start is not None and depth == 2:
                    items.append((begun, offset + 1 - begun))
                elif start is not None and depth < 2:
                    return LongDocument(path, _without(file, start, offset), start, items)
    return None


def _tokens(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield the strings and brackets of a document with their offsets, holding a piece of it and a string at most."""
    data, offset = file.read(_PIECE_BYTES), 0
    while data:
        following = file.read(max(_PIECE_BYTES, len(data)) if data[:1] == b'"' else _PIECE_BYTES)
        end = len(data)
        for token in _TOKEN.finditer(data):
            if following and token.end() == len(data) and token[0][:1] == b'"':  # it may continue
                end = token.start()
                break
            yield token[0], offset + token.start()
        data, offset = data[end:] + following, offset + end


def _without(file: BinaryIO, start: int, end: int) -> bytes:
    """Return the document without what its list contains."""
    file.seek(0)
    head = file.read(start)
    file.seek(end)
    return head + file.read()
