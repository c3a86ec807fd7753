"""JSON documents with one long list, such as a session with its requests: large ones are read item by item.

A document may be damaged: then its list may have no end, and the caller decides about items that cannot be decoded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

from copilog import jsonio
from copilog.errors import BadFile, BadRecord
from copilog.intake import files

LARGE_BYTES = 8 << 20
_PIECE_BYTES = 1 << 20
# A string, which may have no end, or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.?[^"\\]*)*(?:"|\Z)|[\[\]{}]', re.DOTALL)

Span = tuple[int, int]  # offset and size


class _TemporaryCopy:
    """A temporary file, which is closed with its last use."""

    def __init__(self) -> None:
        from tempfile import TemporaryFile  # which is slow to import

        self._file = TemporaryFile()  # noqa: SIM115
        self.seek, self.read, self.write = self._file.seek, self._file.read, self._file.write

    def __del__(self) -> None:
        self._file.close()


Source = IO[bytes] | _TemporaryCopy


class DocumentText(NamedTuple):
    """The text of a document as UTF-8: a large file itself, a temporary copy of one in UTF-16 or UTF-32, or bytes."""

    source: Path | Source
    start: int  # after a byte order mark
    end: int  # before NULs at the end
    nuls: int
    is_large: bool
    is_converted: bool  # positions are not those of the file
    repairs: list[jsonio.Repair]

    @contextmanager
    def opened(self) -> Iterator[Source]:
        if isinstance(self.source, Path):
            with files.opened(self.source) as file:
                yield file
        else:
            yield self.source

    def read(self, start: int | None = None, end: int | None = None) -> bytes:
        """Return the text between two positions."""
        first = self.start if start is None else start
        with self.opened() as file:
            file.seek(first)
            return file.read((self.end if end is None else end) - first)

    def has(self, text: bytes) -> bool:
        """Return whether the document contains a text."""
        with self.opened() as file:
            file.seek(self.start)
            rest = b""
            while piece := file.read(_PIECE_BYTES):
                if text in rest + piece:
                    return True
                rest = (rest + piece)[-len(text) :]
        return False

    def is_blank(self) -> bool:
        """Return whether there are only spaces, if anything."""
        with self.opened() as file:
            file.seek(self.start)
            return all(piece.isspace() for piece in iter(partial(file.read, _PIECE_BYTES), b"") if piece.strip(b"\0"))

    def offset(self, position: int) -> int | None:
        """Return a position as the offset in the file; None if there is no such offset."""
        return None if self.is_converted else position


def document_text(path: Path) -> DocumentText:
    """Return the text of a document. A large one is not in memory."""
    with files.opened(path) as file:
        size = file.seek(0, 2)
        file.seek(0)
        if size < LARGE_BYTES:
            raw = file.read()
            data, repairs = jsonio.as_utf8(raw)
            is_converted = any(repair.code in ("utf-16", "utf-32") for repair in repairs)
            source: Path | Source = BytesIO(data if is_converted else raw)
            start = 0 if is_converted else len(raw) - len(data)
        else:
            head = file.read(8)
            encoding, start = jsonio.wide_encoding_of(head)
            file.seek(start)
            is_converted = encoding is not None
            source = path if encoding is None else _converted(file, encoding)
            repairs = jsonio.as_utf8(head)[1]
            if encoding is None and repairs:
                start = len(jsonio.UTF8_MARK)
            start = 0 if is_converted else start
    text = DocumentText(source, start, 0, 0, size >= LARGE_BYTES, is_converted, repairs)
    with text.opened() as file:
        length = file.seek(0, 2)
        end = _end_of_text(file, start, length)
    return text._replace(end=end, nuls=length - end)


def _converted(file: IO[bytes], encoding: str) -> _TemporaryCopy:
    """Return a temporary copy of the rest of a file, as UTF-8."""
    copy = _TemporaryCopy()
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    while piece := file.read(_PIECE_BYTES):
        copy.write(decoder.decode(piece).encode("utf-8", "replace"))
    copy.write(decoder.decode(b"", True).encode("utf-8", "replace"))
    return copy


def _end_of_text(file: Source, start: int, end: int) -> int:
    """Return the end of what precedes the NULs at the end."""
    while end > start:
        first = max(start, end - _PIECE_BYTES)
        file.seek(first)
        text = file.read(end - first).rstrip(b"\0")
        if text:
            return first + len(text)
        end = first
    return start


class LongDocument(NamedTuple):
    """The positions of a list at the top level of a document, and of the values in it."""

    text: DocumentText
    start: int  # after the opening bracket of the list
    items: list[Span]  # objects and lists; the caller may add other values
    end: int | None  # of the closing bracket; None if the document breaks off before it
    torn: int | None = None  # where an item without an end begins
    last: Any = None  # another item, after the others

    def shell(self) -> bytes | None:
        """Return the document without the content of its list; None if it breaks off inside the list."""
        if self.end is None:
            return None
        return self.text.read(self.text.start, self.start) + self.text.read(self.end)

    def pieces(self) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Yield the position of each item, what precedes it, and the item; for the end of the list, None."""
        at = self.start
        with self.text.opened() as file:
            file.seek(at)
            for offset, size in self.items:
                yield offset, file.read(offset - at), file.read(size)
                at = offset + size
            end = self.end if self.end is not None else self.torn
            if end is not None:
                yield end, file.read(end - at), None

    def values(self) -> Iterator[Any]:
        """Yield the decoded items, one at a time. Raise BadFile if the file has changed."""
        with self.text.opened() as file:
            for offset, size in self.items:
                file.seek(offset)
                try:
                    yield jsonio.decode(file.read(size))[0]
                except BadRecord:
                    raise BadFile("changed while it was read", "unreadable") from None
        if self.last is not None:
            yield self.last

    def first(self) -> Any:
        """Return the first item, or None if there is none that can be decoded."""
        try:
            return next(self.values(), None)
        except BadFile:
            return None


def long_document(path: Path, key: str) -> LongDocument | None:
    """Return where the items of the list `key` are in a large document; None if it is small or has no such list."""
    with files.opened(path) as file:
        if file.seek(0, 2) < LARGE_BYTES:
            return None
    return document_with_list(document_text(path), key)


def document_with_list(text: DocumentText, key: str) -> LongDocument | None:
    """Find the items of the list `key` by brackets alone. Return None if the document has no such list."""
    depth, begun, last_string = 0, 0, b""
    start: int | None = None
    items: list[Span] = []
    name = b'"' + key.encode() + b'"'
    with text.opened() as file:
        for token, offset in _tokens(file, text.start):
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
                    return LongDocument(text, start, items, offset)
    return None if start is None else LongDocument(text, start, items, None, begun if depth > 2 else None)


def _tokens(file: Source, offset: int) -> Iterator[tuple[bytes, int]]:
    """Yield the strings and brackets of a document with their offsets, holding a piece of it and a string at most."""
    file.seek(offset)
    data = file.read(_PIECE_BYTES)
    while data:
        following = file.read(max(_PIECE_BYTES, len(data)) if data[:1] == b'"' else _PIECE_BYTES)
        end = len(data)
        for token in _TOKEN.finditer(data):
            if following and token.end() == len(data) and token[0][:1] == b'"':  # it may continue
                end = token.start()
                break
            yield token[0], offset + token.start()
        data, offset = data[end:] + following, offset + end
