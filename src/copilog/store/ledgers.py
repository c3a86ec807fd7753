"""Store the ledgers and problems of files that were read, and mark conversations whose files are gone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from copilog.diagnostics import Diagnostic, Ledger, Tally, add_counts
from copilog.store.database import transaction
from copilog.store.file_names import on_disk, spelled


class Counts(msgspec.Struct, omit_defaults=True):
    """A tally without its diagnostics, which are rows of their own."""

    seen: int = 0
    used: int = 0
    ignored: dict[str, int] = {}
    bad: int = 0
    unknown: dict[str, int] = {}


class StoredLedger(Counts, omit_defaults=True):
    """The stored ledger of a file, or the sum of many."""

    files: int = 0
    conversations: int = 0
    parts: Counts = msgspec.field(default_factory=Counts)

    def balances(self) -> bool:
        return all(
            counts.seen == counts.used + sum(counts.ignored.values()) + counts.bad for counts in (self, self.parts)
        )


class Problem(msgspec.Struct, kw_only=True):
    """A stored diagnostic."""

    path: str
    level: str
    code: str
    reason: str
    source: str | None = None
    place: str | None = None
    is_gone: bool = False  # the file no longer exists

    @property
    def advice(self) -> str | None:
        return Diagnostic(code=self.code, path=self.path, reason=self.reason).advice


def put_ledgers(connection: sqlite3.Connection, ledgers: Iterable[Ledger], scanned_at: str) -> None:
    """Store the ledgers of files, replacing those of an earlier reading."""
    with transaction(connection):
        for ledger in ledgers:
            path = spelled(ledger.path)
            connection.execute(
                "INSERT INTO file (path, source, size, modified_ns, root, ledger, scanned_at) "
                "VALUES (?, ?, 0, 0, '', ?, ?) ON CONFLICT (path) DO UPDATE SET source = excluded.source, "
                "ledger = excluded.ledger, scanned_at = excluded.scanned_at, gone_at = NULL",
                (path, ledger.source, _encoded(ledger), scanned_at),
            )
            connection.execute("DELETE FROM problem WHERE path = ?", (path,))
            connection.executemany("INSERT INTO problem VALUES (?, ?, ?, ?, ?, ?, ?)", _problem_rows(ledger, path))


def skipped_paths(connection: sqlite3.Connection) -> list[Path]:
    """Return the paths that were not read by any source: links, closed folders, pipes, devices."""
    rows = connection.execute(
        "SELECT DISTINCT path FROM problem WHERE source IS NULL AND code IN ('broken-link', 'not-a-file', 'unreadable')"
    )
    return [Path(on_disk(path)) for (path,) in rows]


def forget_ledgers(connection: sqlite3.Connection, paths: Iterable[Path]) -> None:
    """Delete the ledgers and problems of paths that no source reads."""
    named = [(spelled(str(path)),) for path in paths]
    if named:
        with transaction(connection):
            connection.executemany("DELETE FROM problem WHERE path = ?", named)
            connection.executemany("DELETE FROM file WHERE path = ? AND source IS NULL AND root = ''", named)


def mark_gone(connection: sqlite3.Connection, ids: Iterable[str], gone_at: str) -> list[str]:
    """Mark conversations whose files no longer exist; return those that were not marked before."""
    with transaction(connection):
        rows = connection.execute(
            "UPDATE conversation SET gone_at = ? WHERE gone_at IS NULL AND id IN (SELECT value FROM json_each(?)) "
            "RETURNING id",
            (gone_at, msgspec.json.encode(list(ids)).decode()),
        )
        return sorted(name for (name,) in rows)


def problems(
    connection: sqlite3.Connection,
    *,
    path: str | None = None,
    source: str | None = None,
    level: str | None = None,
    code: str | None = None,
    include_gone: bool = True,
    limit: int | None = None,
) -> list[Problem]:
    """Return the stored diagnostics, by file; errors before warnings before remarks."""
    rows = connection.execute(
        """
        SELECT p.path, p.level, p.code, p.reason, p.source, p.place, f.gone_at IS NOT NULL
        FROM problem AS p LEFT JOIN file AS f ON f.path = p.path
        WHERE (?1 IS NULL OR instr(p.path, ?1)) AND (?2 IS NULL OR p.source = ?2) AND (?3 IS NULL OR p.level = ?3)
        AND (?4 IS NULL OR p.code = ?4) AND (?5 OR f.gone_at IS NULL)
        ORDER BY CASE p.level WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, p.path, p.position LIMIT ?6
        """,
        (path, source, level, code, include_gone, -1 if limit is None else limit),
    )
    return [
        Problem(path=where, level=how, code=name, reason=why, source=form, place=place, is_gone=bool(gone))
        for where, how, name, why, form, place, gone in rows
    ]


class RecordedBelow(NamedTuple):
    """What the ledgers of some files and folders say, whenever these were read."""

    bad: int
    codes: dict[str, int]  # how many problems have each code


def recorded_below(connection: sqlite3.Connection, paths: Iterable[Path]) -> RecordedBelow:
    """Return what is recorded about some files and folders, without files that no longer exist."""
    recorded = RecordedBelow(0, {})
    for path in paths:
        whole = spelled(str(path.absolute()))
        parameters = (whole, f"{whole.rstrip(os.sep)}{os.sep}")
        here = "(f.path = ?1 OR substr(f.path, 1, length(?2)) = ?2) AND f.gone_at IS NULL"
        ledgers = connection.execute(f"SELECT ledger FROM file AS f WHERE ledger IS NOT NULL AND {here}", parameters)  # noqa: S608
        books = [_decode(text) for (text,) in ledgers]
        codes = connection.execute(
            f"SELECT p.code, count(*) FROM problem AS p JOIN file AS f ON f.path = p.path WHERE {here} GROUP BY p.code",  # noqa: S608
            parameters,
        )
        bad = recorded.bad + sum(book.bad + book.parts.bad for book in books)
        recorded = RecordedBelow(bad, add_counts([recorded.codes, dict(codes)]))
    return recorded


def ledger_totals(connection: sqlite3.Connection) -> StoredLedger:
    """Return the sum of the ledgers of all existing files."""
    rows = connection.execute("SELECT ledger FROM file WHERE gone_at IS NULL AND ledger IS NOT NULL")
    total = StoredLedger()
    for (text,) in rows:
        book = _decode(text)
        total.files += 1
        total.conversations += book.conversations
        _add(total, book)
        _add(total.parts, book.parts)
    return total


_decode = msgspec.json.Decoder(StoredLedger).decode


def _problem_rows(ledger: Ledger, path: str) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for position, found in enumerate(ledger.diagnostics()):
        place = spelled(found.place().removeprefix(found.path).strip()) or None
        rows.append((path, position, ledger.source, found.level, found.code, spelled(found.reason), place))
    return rows


def _encoded(ledger: Ledger) -> str:
    books = StoredLedger(
        seen=ledger.seen,
        used=ledger.used,
        ignored=ledger.ignored,
        bad=ledger.bad_count(),
        unknown=ledger.unknown,
        files=1,
        conversations=ledger.conversations,
        parts=_counts_of(ledger.parts),
    )
    return msgspec.json.encode(books).decode()


def _counts_of(tally: Tally) -> Counts:
    return Counts(seen=tally.seen, used=tally.used, ignored=tally.ignored, bad=tally.bad_count(), unknown=tally.unknown)


def _add(total: Counts, counts: Counts) -> None:
    total.seen += counts.seen
    total.used += counts.used
    total.bad += counts.bad
    total.ignored = add_counts([total.ignored, counts.ignored])
    total.unknown = add_counts([total.unknown, counts.unknown])
