"""Packed files as plain copies in a private folder, so that records can be read back by offset."""

from __future__ import annotations

import codecs
import importlib
import os
import secrets
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from copilog.errors import BadFile
from copilog.intake.files import opened
from copilog.jsonio import wide_encoding_of, wide_repair
from copilog.sqliteio import remove_stale_copies
from copilog.telemetry.json_values import chunks

Packing = Literal["gzip", "zstd", "parquet"]

_MAGIC: dict[Packing, tuple[bytes, ...]] = {
    "gzip": (b"\x1f\x8b",),
    # The others begin a skippable frame, which some tools write first.
    "zstd": (b"\x28\xb5\x2f\xfd", *(bytes([byte]) + b"\x2a\x4d\x18" for byte in range(0x50, 0x60))),
    "parquet": (b"PAR1", b"PARE"),
}
_PACKED_STEP = 1 << 16
_PLAIN_STEP = 1 << 20
_LONGEST_MARK = 8  # bytes that show the encoding


@contextmanager
def spool_folder() -> Iterator[str]:
    """Create a private folder for plain copies, deleted after the block. Delete those of killed runs first."""
    remove_stale_copies()
    folder = Path(tempfile.gettempdir(), f"copilog-{os.getpid()}-spool-{secrets.token_hex(6)}")
    try:
        folder.mkdir(mode=0o700)  # in here, so that an interruption leaves nothing behind
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def packing_of(head: bytes) -> Packing | None:
    """Return how a file that begins like this is packed, whatever its name."""
    return next((packing for packing, magic in _MAGIC.items() if head.startswith(magic)), None)


def write_spool(folder: str, index: int, pieces: Iterable[bytes]) -> tuple[str, int]:
    """Write the plain copy of an input. Return its path and size. An OSError of a full disk names the folder."""
    path = Path(folder, f"{index:06}")
    size = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags, 0o600), "wb", buffering=_PLAIN_STEP) as file:
            for piece in pieces:
                file.write(piece)
                size += len(piece)
    except OSError as error:
        raise OSError(error.errno, error.strerror, folder) from error
    return str(path), size


def unpacked(path: str, packing: Packing, damage: list[str]) -> Iterator[bytes]:
    """Yield the content of a packed file in pieces, over all its members.

    An error in the file is added to `damage`, after everything before it was yielded.
    """
    new_member, damaged = _unpacker(packing)
    try:
        with opened(Path(path)) as file:
            unpacking = Unpacking(file, packing, new_member)
            try:
                yield from unpacking.pieces()
                damage += unpacking.remarks
            except damaged as error:
                yield from unpacking.pieces_before_damage(damaged)
                damage.append(f"is damaged at byte {unpacking.offset} of the {packing} file ({error})")
    except BadFile as error:
        damage.append(str(error))


def plain_pieces(path: str) -> Iterator[bytes]:
    """Yield the bytes of a file that is not packed."""
    with opened(Path(path)) as file:
        while piece := file.read(_PLAIN_STEP):
            yield piece


def as_utf8(pieces: Iterable[bytes], remarks: list[str]) -> Iterator[bytes]:
    """Yield the same text as UTF-8. UTF-16 and UTF-32 are noted."""
    head, decoder = b"", None
    is_begun = False
    for piece in pieces:
        if not is_begun:
            head += piece
            if len(head) < _LONGEST_MARK:
                continue
            piece, decoder, is_begun = *_begun(head, remarks), True
        yield decoder.decode(piece).encode("utf-8", "replace") if decoder else piece
    if not is_begun:
        head, decoder = _begun(head, remarks)
        yield decoder.decode(head).encode("utf-8", "replace") if decoder else head
    if decoder:
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _begun(head: bytes, remarks: list[str]) -> tuple[bytes, codecs.IncrementalDecoder | None]:
    encoding, start = wide_encoding_of(head)
    if encoding is None:
        return head, None
    remarks.append(wide_repair(encoding).reason)
    return head[start:], codecs.getincrementaldecoder(encoding)(errors="replace")


class Member(Protocol):
    """One of the streams that a packed file consists of."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the unpacked bytes, in small pieces also for a high ratio."""

    def rest(self) -> bytes | None:
        """Return the data after the member; None if the member continues."""


class GzipMember:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        has_more = True
        while has_more:
            piece = self._stream.decompress(data, _PLAIN_STEP)
            yield piece
            data = self._stream.unconsumed_tail
            has_more = not self._stream.eof and (bool(data) or len(piece) == _PLAIN_STEP)

    def rest(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


class ZstdMember:
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.decompress(data, _PLAIN_STEP)
        while not self._stream.eof and not self._stream.needs_input:
            yield self._stream.decompress(b"", _PLAIN_STEP)

    def rest(self) -> bytes | None:
        return bytes(self._stream.unused_data) if self._stream.eof else None


def _unpacker(packing: Packing) -> tuple[Callable[[], Member], type[Exception]]:
    """Return the class for the members of such a file, and the exceptions that it raises on damage."""
    if packing == "gzip":
        return GzipMember, zlib.error
    try:
        zstd = importlib.import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    except ImportError:
        raise BadFile("needs a library for zstd: pip install backports.zstd", "missing-library") from None
    return lambda: ZstdMember(zstd.ZstdDecompressor()), zstd.ZstdError


class Unpacking:
    """One pass over a packed file, member by member."""

    def __init__(self, file: BinaryIO, packing: Packing, new_member: Callable[[], Member]) -> None:
        self.remarks: list[str] = []
        self.offset = 0  # of the data that is being unpacked
        self._data = file.read(_PACKED_STEP)
        self._file = file
        self._packing = packing
        self._new_member = new_member
        self._member_start = 0
        self._member_plain_bytes = 0

    def pieces(self) -> Iterator[bytes]:
        while self._finds_member():
            member = self._new_member()
            self._member_start = self.offset
            self._member_plain_bytes = 0
            rest = None
            while rest is None:
                if not self._data:
                    self.remarks.append(f"is cut off at byte {self.offset}, in the middle of the {self._packing} data")
                    return
                for piece in member.feed(self._data):
                    self._member_plain_bytes += len(piece)
                    yield piece
                rest = member.rest()
                self._advance(rest or b"")

    def pieces_before_damage(self, damaged: type[Exception]) -> Iterator[bytes]:
        """Yield the bytes that an error held back: unpack the member once more, and near the damage byte by byte."""
        known = self._member_plain_bytes
        try:
            for piece in self._member_again():
                if known < len(piece):
                    yield piece[known:]
                known = max(0, known - len(piece))
        except damaged:
            return

    def _member_again(self) -> Iterator[bytes]:
        member = self._new_member()
        for _, data in chunks(self._file, self._member_start, self.offset):
            yield from member.feed(data)
        for byte in self._data:
            yield from member.feed(bytes([byte]))
            self.offset += 1

    def _finds_member(self) -> bool:
        """Return whether another member begins here, after the zeros that some media add."""
        while self._data and not self._data.strip(b"\0"):
            self._advance(b"")
        self._advance(self._data.lstrip(b"\0"))
        if self._data and packing_of(self._data) != self._packing:
            self.remarks.append(f"has other bytes than {self._packing} data from byte {self.offset} on")
            return False
        return bool(self._data)

    def _advance(self, rest: bytes) -> None:
        """Continue with the rest of the data and with the file after it."""
        self.offset += len(self._data) - len(rest)
        self._data = rest if len(rest) >= _PACKED_STEP else rest + self._file.read(_PACKED_STEP)
