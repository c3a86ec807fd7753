"""Spool what a scan has discovered and not yet read to disk, so that memory does not grow with it.

SQLite keeps a database without a name in a temporary file: only this user can read it, and it is deleted with the
process, even after a crash.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

from copilog import identity
from copilog.ingest.footprints import Seen, States, lines_of, states_of, unit_path_of
from copilog.ingest.pending import Packed, Trace, Unread, as_json, pack, trace_of, unpack
from copilog.ingest.traces import ORDER, found_from_hint
from copilog.model import Conversation
from copilog.sources import Found
from copilog.store.units import FileState

_CACHE_KIB = 1024
_ROWS = 500  # rows that are inserted at once
_SCHEMA = """
    CREATE TABLE fresh (path BLOB, size INTEGER, modified_ns INTEGER);      -- files that have changed
    CREATE TABLE path (path BLOB PRIMARY KEY) WITHOUT ROWID;                -- all files
    CREATE TABLE place (place BLOB PRIMARY KEY, lines BLOB) WITHOUT ROWID;  -- the files that go with a trace
    CREATE TABLE trace (number INTEGER PRIMARY KEY, key BLOB, place BLOB, trace BLOB, first INTEGER);
    CREATE INDEX trace_key ON trace (key);
    CREATE TABLE hint (number INTEGER PRIMARY KEY, key BLOB UNIQUE, stub BLOB, json BLOB);
    CREATE TABLE unit (
        number INTEGER PRIMARY KEY, first INTEGER, hint INTEGER, key BLOB, signature TEXT, size INTEGER
    );
    BEGIN;  -- and never end: there is nothing to be kept
"""
_BY_CONVERSATION = """
    UPDATE trace SET first = (SELECT min(other.number) FROM trace AS other WHERE other.key = trace.key);
    CREATE INDEX IF NOT EXISTS trace_first ON trace (first);
"""


class Spool:
    """Files that have changed, traces of conversations, and units to read."""

    def __init__(self) -> None:
        self.fresh_bytes = 0
        self.bytes_to_read = 0
        self._traces: list[tuple[bytes, bytes, bytes]] = []  # rows to insert, as are units
        self._units: list[tuple[int | None, int | None, bytes, str, int]] = []
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA temp_store = FILE")
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.executescript(_SCHEMA)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    # --- files ---------------------------------------------------------------------------------------------------

    def add_fresh(self, states: States) -> None:
        """Add files that are new or changed."""
        rows = [(_encoded(path), size, modified_ns) for path, (size, modified_ns) in states.items()]
        self.fresh_bytes += sum(size for _, size, _ in rows)
        self._database.executemany("INSERT INTO fresh VALUES (?, ?, ?)", rows)

    def items(self) -> Iterator[tuple[str, FileState]]:
        """Yield the changed files, each with its state."""
        for path, size, modified_ns in self._database.execute("SELECT * FROM fresh"):
            yield _decoded(path), FileState(size, modified_ns)

    def add_paths(self, batch: Iterable[Seen]) -> None:
        """Add existing files, changed or not."""
        rows = [(_encoded(path),) for seen in batch for path in seen.states]
        self._database.executemany("INSERT OR IGNORE INTO path VALUES (?)", rows)

    def has_path(self, path: str) -> bool:
        return self._database.execute("SELECT 1 FROM path WHERE path = ?", (_encoded(path),)).fetchone() is not None

    def add_trace_files(self, batch: Iterable[Seen]) -> None:
        """Add the files that are read with the traces of a batch."""
        rows = [
            (_encoded(unit_path_of(str(seen.found.path))), pack(lines_of(seen.states)))
            for seen in batch
            if seen.found is not None and seen.states
        ]
        self._database.executemany("INSERT OR REPLACE INTO place VALUES (?, ?)", rows)

    # --- traces --------------------------------------------------------------------------------------------------

    def add(self, key: str, found: Found) -> None:
        trace = trace_of(found)
        self._traces.append((_encoded(key), _encoded(unit_path_of(trace.path)), pack(tuple(trace))))
        if len(self._traces) >= _ROWS:
            self._put_traces()

    def add_once(self, key: str, found: Found) -> None:
        self._put_traces()
        rows = self._database.execute("SELECT trace FROM trace WHERE key = ?", (_encoded(key),)).fetchall()
        if trace_of(found) not in [unpack(packed) for (packed,) in rows]:
            self.add(key, found)

    def add_hint(self, key: str, stub: Conversation) -> None:
        row = (pack(stub), as_json(stub), _encoded(key))
        if self._database.execute("INSERT OR IGNORE INTO hint (stub, json, key) VALUES (?, ?, ?)", row).rowcount:
            return
        (known,) = self._database.execute("SELECT stub FROM hint WHERE key = ?", row[2:]).fetchone()
        both = identity.merge([unpack(known), stub])
        row = (pack(both), as_json(both), _encoded(key))
        self._database.execute("UPDATE hint SET stub = ?, json = ? WHERE key = ?", row)

    def add_found(self, found: Found) -> None:
        """Add a conversation with all its traces."""
        key = found.native_id or str(found.path)
        if found.hint is not None:
            self.add_hint(key, found.hint)
        if not found.is_index_entry:
            for trace in found.traces():
                self.add(key, trace)

    def _put_traces(self) -> None:
        self._database.executemany("INSERT INTO trace (key, place, trace) VALUES (?, ?, ?)", self._traces)
        self._traces.clear()

    # --- units ---------------------------------------------------------------------------------------------------

    def unread(self) -> Iterator[Unread]:
        """Yield one unit for each conversation: those that have files, then those that only an index names."""
        self._put_traces()
        self._database.executescript(_BY_CONVERSATION)
        rows = self._database.execute(
            "SELECT first, trace, lines, hint.number, json FROM trace "
            "LEFT JOIN place ON place.place = trace.place LEFT JOIN hint ON hint.key = trace.key "
            "ORDER BY first, trace.number"
        )
        for first, group in groupby(rows, itemgetter(0)):
            yield _unread(first, list(group))
        hints = self._database.execute(
            "SELECT number, stub, json FROM hint WHERE key NOT IN (SELECT key FROM trace) ORDER BY number"
        )
        for number, stub, json in hints:
            trace = trace_of(found_from_hint(unpack(stub)))
            place = (_encoded(unit_path_of(trace.path)),)
            known = self._database.execute("SELECT lines FROM place WHERE place = ?", place).fetchone()
            yield Unread(None, number, [trace], _lines(trace, known[0] if known is not None else None), json)

    def add_unit(self, unread: Unread, signature: str) -> None:
        """Add a unit to read."""
        size = unread.size()
        self.bytes_to_read += size
        self._units.append((unread.number, unread.hint, _encoded(unread.key), signature, size))
        if len(self._units) >= _ROWS:
            self._put_units()

    def _put_units(self) -> None:
        insert = "INSERT INTO unit (first, hint, key, signature, size) VALUES (?, ?, ?, ?, ?)"
        self._database.executemany(insert, self._units)
        self._units.clear()

    def units(self) -> Iterator[tuple[Packed, int]]:
        """Yield all units to read, each with its size."""
        self._put_units()
        rows = self._database.execute(
            "SELECT unit.number, unit.key, signature, size, trace, stub FROM unit "
            "LEFT JOIN trace ON trace.first = unit.first LEFT JOIN hint ON hint.number = unit.hint "
            "ORDER BY unit.number, trace.number"
        )
        for _, group in groupby(rows, itemgetter(0)):
            traces = list(group)
            _, key, signature, size, _, stub = traces[0]
            yield Packed(_decoded(key), signature, [row[4] for row in traces if row[4] is not None], stub), size


def _unread(number: int, rows: list[tuple[int, bytes, bytes | None, int | None, bytes | None]]) -> Unread:
    traces: list[Trace] = []
    lines: set[bytes] = set()
    for _, packed, known, _, _ in rows:
        trace = Trace(*unpack(packed))
        traces.append(trace)
        if trace.state is None:
            lines.update(_lines(trace, known))
    traces.sort(key=lambda trace: ORDER[trace.source])
    *_, hint, json = rows[0]
    return Unread(number, hint, traces, sorted(lines), json or b"null")


def _lines(trace: Trace, known: bytes | None) -> list[bytes]:
    """Return the lines of the files that are read with a trace: as recorded by the check, else as they are now."""
    lines: list[bytes] = lines_of(states_of(trace.path)) if known is None else unpack(known)
    return lines


def _encoded(text: str) -> bytes:
    """Encode a file name for SQLite, even if it is not valid text."""
    return text.encode("utf-8", "surrogatepass")


def _decoded(code: bytes) -> str:
    return code.decode("utf-8", "surrogatepass")
