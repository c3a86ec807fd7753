"""Read the records of a damaged SQLite file page by page, without SQLite: each page that is intact gives its rows.

The format is that of https://www.sqlite.org/fileformat2.html. Pages of the write-ahead log replace those of the file.
Pages on the list of free pages are left out: they hold what was deleted.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_MAGIC = b"SQLite format 3\x00"
_DEFAULT_PAGE = 4096
_LOG_HEADER, _FRAME_HEADER = 32, 24
_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR = 0x0D, 0x0A, 0x02
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}  # bytes by serial type


class Damaged(Exception):  # noqa: N818 - it is a state of the page, not a mistake
    """A record cannot be read."""


class Record(NamedTuple):
    """A row: with its number if it is of an ordinary table, without if it is of an index or a table without numbers."""

    rowid: int | None
    values: tuple[Any, ...]


class PagedFile:
    """The pages of a database with its log."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._size = os.fstat(self._file.fileno()).st_size
        head = self._file.read(100)
        self.page_size, self.usable = _sizes(head)
        log = path.with_name(path.name + "-wal")
        self._log = log.open("rb") if log.exists() else None
        self._in_log = self._committed() if self._log is not None else {}
        self.count = max(-(-self._size // self.page_size), *self._in_log, 0, 0)
        stated = int.from_bytes(head[28:32], "big") if head.startswith(_MAGIC) else 0
        self.cut = max(0, stated - self.count)  # pages that the file should have besides
        self.damaged: set[int] = set()  # pages that are empty, or have a record that cannot be read

    def close(self) -> None:
        self._file.close()
        if self._log is not None:
            self._log.close()

    def __enter__(self) -> PagedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def page(self, number: int) -> bytes:
        """Return a page, which is counted from 1; less than a page at the end of a cut file."""
        if not 0 < number <= self.count:
            raise Damaged
        place = self._in_log.get(number)
        if place is not None and self._log is not None:
            self._log.seek(place)
            return self._log.read(self.page_size)
        self._file.seek((number - 1) * self.page_size)
        return self._file.read(self.page_size)

    def records(self) -> Iterator[Record]:
        """Yield the records of all pages that are in use."""
        free = self._free_pages()
        for number in range(1, self.count + 1):
            if number not in free:
                yield from self._records_of(number)

    def _committed(self) -> dict[int, int]:
        """Return where the last committed version of each page is in the log."""
        assert self._log is not None
        header = self._log.read(_LOG_HEADER)
        if len(header) < _LOG_HEADER or int.from_bytes(header[:4], "big") & ~1 != 0x377F0682:
            return {}
        salt, place = header[16:24], _LOG_HEADER
        committed: dict[int, int] = {}
        pending: dict[int, int] = {}
        while True:
            self._log.seek(place)
            frame = self._log.read(_FRAME_HEADER)
            if len(frame) < _FRAME_HEADER or frame[8:16] != salt:
                return committed
            number, size = struct.unpack(">II", frame[:8])
            pending[number] = place + _FRAME_HEADER
            place += _FRAME_HEADER + self.page_size
            if size:
                committed.update(pending)
                pending.clear()

    def _free_pages(self) -> set[int]:
        free: set[int] = set()
        try:
            trunk = int.from_bytes(self.page(1)[32:36], "big")
            while trunk and trunk not in free:
                free.add(trunk)
                page = self.page(trunk)
                following, count = struct.unpack(">II", page[:8])
                if count > self.usable // 4 - 2:
                    break
                free.update(struct.unpack(f">{count}I", page[8 : 8 + 4 * count]))
                trunk = following
        except (Damaged, struct.error):
            pass
        return free - {1}

    def _records_of(self, number: int) -> Iterator[Record]:
        try:
            page = self.page(number)
            start = 100 if number == 1 else 0
            kind, _, count = struct.unpack(">BHH", page[start : start + 5])
        except (Damaged, struct.error):
            self.damaged.add(number)
            return
        if not any(page):
            self.damaged.add(number)
        if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR) or count > self.usable // 4:
            return
        pointers = start + (12 if kind == _INDEX_INTERIOR else 8)
        for index in range(count):
            try:
                (place,) = struct.unpack_from(">H", page, pointers + 2 * index)
                yield self._record_at(page, place + (4 if kind == _INDEX_INTERIOR else 0), is_table=kind == _TABLE_LEAF)
            except (Damaged, struct.error, IndexError, UnicodeDecodeError):
                self.damaged.add(number)

    def _record_at(self, page: bytes, place: int, *, is_table: bool) -> Record:
        size, place = _varint(page, place)
        rowid: int | None = None
        if is_table:
            rowid, place = _varint(page, place)
        if size > self.count * self.page_size:
            raise Damaged
        usable = self.usable
        most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
        if size <= most:
            payload = page[place : place + size]
        else:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (size - least) % (usable - 4)
            local = local if local <= most else least
            following = int.from_bytes(page[place + local : place + local + 4], "big")
            payload = page[place : place + local] + self._overflow(following, size - local)
        if len(payload) != size:
            raise Damaged
        return Record(rowid, _values(payload))

    def _overflow(self, number: int, size: int) -> bytes:
        pieces: list[bytes] = []
        while size > 0:
            page = self.page(number)
            piece = page[4 : 4 + min(size, self.usable - 4)]
            if not piece:
                raise Damaged
            pieces.append(piece)
            size -= len(piece)
            number = int.from_bytes(page[:4], "big")
        return b"".join(pieces)


def _sizes(head: bytes) -> tuple[int, int]:
    """Return the size of pages and how much of it is used, or the usual ones if the header does not say."""
    size = int.from_bytes(head[16:18], "big") if len(head) > 20 else 0
    size = 65536 if size == 1 else size
    if size < 512 or size & (size - 1):
        return _DEFAULT_PAGE, _DEFAULT_PAGE
    reserved = head[20] if head.startswith(_MAGIC) else 0
    return size, size - (reserved if reserved < size // 4 else 0)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for index in range(8):
        byte = data[place + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + index + 1
    value = value << 8 | data[place + 8]
    return (value - (1 << 64) if value >> 63 else value), place + 9


def _values(payload: bytes) -> tuple[Any, ...]:
    end, place = _varint(payload, 0)
    if not 0 < end <= len(payload):
        raise Damaged
    values: list[Any] = []
    body = end
    while place < end:
        kind, place = _varint(payload, place)
        value, body = _value(payload, kind, body)
        values.append(value)
    if body != len(payload):
        raise Damaged
    return tuple(values)


def _value(payload: bytes, kind: int, place: int) -> tuple[Any, int]:
    if kind == 0:
        return None, place
    if kind in (8, 9):
        return kind - 8, place
    if kind in (10, 11) or kind < 0:
        raise Damaged
    size = _INTEGERS.get(kind, 8 if kind == 7 else (kind - 12) // 2)
    data = payload[place : place + size]
    if len(data) != size:
        raise Damaged
    place += size
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True), place
    if kind == 7:
        return struct.unpack(">d", data)[0], place
    return (data.decode("utf-8") if kind % 2 else data), place
