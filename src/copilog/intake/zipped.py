"""Open .zip files from outside, and read single members of them. Nothing is ever unpacked to a disk.

An archive is refused if a member has a name that could lead out of a folder, occurs twice, is a link, shares
its bytes with another one, or would unpack to more than it declares: it is safe to unpack with another program, too.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from copilog.errors import BadFile
from copilog.intake.files import opened
from copilog.intake.limits import MIB, largest_record, megabytes

MOST_MEMBERS = 200_000
LARGEST_DIRECTORY = 64 * MIB
MOST_UNPACKED = 64 << 30
LARGEST_RATIO = 1_100  # deflate packs a byte into at least 1/1032 of one
CHUNK = 1 << 20
MAGIC = b"PK\3\4"

_END, _END_SIZE, _LONGEST_COMMENT = b"PK\5\6", 22, 0xFFFF
_HEADER_SIZE = 30
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_UNSAFE = re.compile(r"(^|/)\.{0,2}(/|$)|[\x00-\x1f\x7f\\:]")
_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, ValueError, struct.error)


class Zipped:
    """An archive whose list of members was checked."""

    def __init__(self, file: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> None:
        self._file = file
        self._members = members

    def names(self) -> list[str]:
        """Return the names of the members, which are safe relative paths, in their order."""
        return list(self._members)

    def size_of(self, name: str) -> int:
        return self._members[name].file_size

    def read(self, name: str, most: int | None = None) -> bytes:
        """Return the content of a member. Raise BadFile if it is larger than a record may be, or damaged."""
        limit = largest_record() if most is None else most
        if name not in self._members:
            raise BadFile(f"has no member {name}", "damaged-archive")
        if self.size_of(name) > limit:
            raise BadFile(f"{name} is larger than the {megabytes(limit)} that are read", "too-large")
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a member in pieces, never more than its stated size."""
        left = self.size_of(name)
        try:
            with self._file.open(self._members[name]) as member:
                while piece := member.read(min(CHUNK, left + 1)):
                    left -= len(piece)
                    if left < 0:
                        raise BadFile(f"{name} unpacks to more than its stated size", "damaged-archive")
                    yield piece
        except _BROKEN as error:
            raise BadFile(f"{name} cannot be unpacked: {error}", "damaged-archive") from None
        if left:
            raise BadFile(f"{name} unpacks to less than its stated size", "damaged-archive")


@contextmanager
def opened_zip(path: Path) -> Iterator[Zipped]:
    """Open an archive. Raise BadFile with the reason if it cannot be read, or should not be."""
    with opened(path) as file:
        _check_directory(file)
        try:
            archive = zipfile.ZipFile(file)
        except _BROKEN as error:
            raise BadFile(f"is not a sound .zip file: {error}", "damaged-archive") from None
        with archive:
            yield Zipped(archive, _checked(archive.infolist()))


def _check_directory(file: BinaryIO) -> None:
    """Raise BadFile if the list of members is larger than any that copilog writes, before it is read."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_SIZE - _LONGEST_COMMENT))
    tail = file.read()
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_SIZE:
        raise BadFile(
            "is not a sound .zip file: it has no list of members; was it copied completely?", "damaged-archive"
        )
    members, directory = struct.unpack_from("<HI", tail, at + 10)
    is_large = members == 0xFFFF or directory == 0xFFFFFFFF
    directory = min(size, directory) if not is_large else _large_directory(tail, at, size)
    if directory > LARGEST_DIRECTORY:
        raise BadFile(f"has a list of members of {megabytes(directory)}", "too-large")
    file.seek(0)


def _large_directory(tail: bytes, at: int, size: int) -> int:
    """Return the size of the list of members of an archive with more or larger members than the short form allows."""
    end = tail.rfind(b"PK\6\6", 0, at)
    if end < 0 or at - end < 56:
        return size
    return min(size, int(struct.unpack_from("<Q", tail, end + 40)[0]))


def _checked(infos: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name. Raise BadFile if one of them is not what copilog writes."""
    if len(infos) > MOST_MEMBERS:
        raise BadFile(f"has {len(infos):,} members, more than {MOST_MEMBERS:,}", "too-large")
    members: dict[str, zipfile.ZipInfo] = {}
    met: set[str] = set()
    for info in infos:
        if reason := _refusal(info):
            raise BadFile(reason, "unsafe-archive")
        if info.filename.casefold() in met:
            raise BadFile("has two members of one name", "unsafe-archive")
        met.add(info.filename.casefold())
        members[info.filename] = info
    unpacked = sum(info.file_size for info in infos)
    if unpacked > MOST_UNPACKED:
        raise BadFile(f"unpacks to {megabytes(unpacked)}", "unsafe-archive")
    _check_overlaps(infos)
    return members


def _refusal(info: zipfile.ZipInfo) -> str | None:
    """Return why a member is refused; the name is not quoted, as it may be anything."""
    mode = info.external_attr >> 16
    if info.filename != info.orig_filename or _UNSAFE.search(info.filename) or len(info.filename) > 4096:
        return "has a member whose name could lead out of the folder that it is unpacked into"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return "has a member that is a link, or another kind of file than a regular one"
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        return "has a member that is encrypted, or packed in another way than by deflate"
    if info.file_size > LARGEST_RATIO * max(info.compress_size, 1):
        return "has a member that unpacks to more than a thousand times its size"
    return None


def _check_overlaps(infos: list[zipfile.ZipInfo]) -> None:
    """Raise BadFile if members share bytes, by which a small file could unpack to a very large one."""
    end = 0
    for info in sorted(infos, key=lambda each: each.header_offset):
        if info.header_offset < end:
            raise BadFile("has members that share their bytes", "unsafe-archive")
        end = info.header_offset + _HEADER_SIZE + info.compress_size
