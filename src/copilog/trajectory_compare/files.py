"""Two files of any length by conversation id, each line decoded once.

An index in a private database holds offset and digests of each line; no text is held, and memory stays flat. If an id
is on several lines of a file, the first is compared with the first, the second with the second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord, CopilogError
from copilog.trajectory_compare.differences import CONTEXT, SECTIONS, different_sections, digests_of
from copilog.trajectory_compare.line_reader import ReportBytesRead, shown, trajectories_in

Verdict = Literal["payload", "context"]

CACHE_KIB = 32_768
OLD, NEW = 0, 1

_SCHEMA = """
CREATE TABLE line (
    side INTEGER, id TEXT, nth INTEGER, number INTEGER, offset INTEGER, digests BLOB,
    PRIMARY KEY (side, id, nth)
) WITHOUT ROWID
"""
_PAIRS = "FROM line AS o JOIN line AS n ON n.side = 1 AND n.id = o.id AND n.nth = o.nth WHERE o.side = 0"


class Pair(NamedTuple):
    """A conversation that both files have, with the sections in which they differ."""

    conversation_id: str
    old_line: int
    new_line: int
    sections: list[str]

    @property
    def verdict(self) -> Verdict:
        return "context" if self.sections == [CONTEXT] else "payload"


class Misplaced(NamedTuple):
    """The first conversation that is not in its old position among those that both files have."""

    conversation_id: str
    old_line: int
    new_line: int


class Summary(msgspec.Struct):
    """The numbers of a comparison. `order` is the first conversation out of order, None if all are in order."""

    old: Ledger
    new: Ledger
    equal: int = 0
    payload: int = 0
    context: int = 0
    only_in_old: int = 0
    only_in_new: int = 0
    repeated_in_old: int = 0
    repeated_in_new: int = 0
    by_section: dict[str, int] = {}
    order: Misplaced | None = None

    @property
    def is_equal(self) -> bool:
        """Return whether the files have equal content in the same order, and every line could be compared."""
        apart = self.payload + self.context + self.only_in_old + self.only_in_new
        return apart + self.old.bad_count() + self.new.bad_count() == 0 and self.order is None


class Comparison:
    """The index of both files, and its queries. All lists come in the order of the lines."""

    def __init__(self, database: sqlite3.Connection, old: Ledger, new: Ledger) -> None:
        self._database = database
        self.old, self.new = old, new

    def different(self, ignored: frozenset[str] = frozenset()) -> Iterator[Pair]:
        """Yield the conversations that differ in any section but the ignored ones."""
        rows = self._database.execute(
            f"SELECT o.id, o.number, n.number, o.digests, n.digests {_PAIRS} AND o.digests <> n.digests"
            " ORDER BY o.number"
        )
        for conversation_id, old_line, new_line, old, new in rows:
            sections = [name for name in different_sections(old, new) if name not in ignored]
            if sections:
                yield Pair(conversation_id, old_line, new_line, sections)

    def only_in(self, side: int) -> Iterator[tuple[str, int]]:
        """Yield id and line of the conversations that the other file does not have."""
        yield from self._database.execute(
            "SELECT id, number FROM line AS mine WHERE side = ? AND NOT EXISTS"
            " (SELECT 1 FROM line WHERE side = ? AND id = mine.id AND nth = mine.nth) ORDER BY number",
            (side, 1 - side),
        )

    def repeated_in(self, side: int) -> Iterator[tuple[str, int]]:
        """Yield id and line of the conversations whose id an earlier line of the same file has."""
        yield from self._database.execute(
            "SELECT id, number FROM line WHERE side = ? AND nth > 1 ORDER BY number", (side,)
        )

    def first_misplaced(self) -> Misplaced | None:
        """Return the first conversation of the new file that comes after one that it used to precede."""
        furthest = 0
        rows = self._database.execute(f"SELECT o.id, o.number, n.number {_PAIRS} ORDER BY n.number")
        for row in rows:
            if row[1] < furthest:
                return Misplaced(*row)
            furthest = row[1]
        return None

    def summary(self, ignored: frozenset[str] = frozenset()) -> Summary:
        """Return all numbers at once."""
        summary = Summary(self.old, self.new, by_section=dict.fromkeys(SECTIONS, 0), order=self.first_misplaced())
        for pair in self.different(ignored):
            if pair.verdict == "context":
                summary.context += 1
            else:
                summary.payload += 1
            for section in pair.sections:
                summary.by_section[section] += 1
        [(both,)] = self._database.execute(f"SELECT count(*) {_PAIRS}")
        summary.equal = both - summary.payload - summary.context
        summary.only_in_old = self.old.conversations - both
        summary.only_in_new = self.new.conversations - both
        summary.repeated_in_old, summary.repeated_in_new = (self._repeats(side) for side in (OLD, NEW))
        return summary

    def _repeats(self, side: int) -> int:
        [(number,)] = self._database.execute("SELECT count(*) FROM line WHERE side = ? AND nth > 1", (side,))
        return int(number)


@contextmanager
def compare_files(old: Path, new: Path, heard: ReportBytesRead | None = None) -> Iterator[Comparison]:
    """Read both files. The comparison is valid until the block ends."""
    database = sqlite3.connect("", isolation_level=None)  # no name: a private file that is deleted with the connection
    try:
        database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(_SCHEMA)
        database.execute("BEGIN")
        books = [_index(database, side, path, heard) for side, path in ((OLD, old), (NEW, new))]
        yield Comparison(database, *books)
    except sqlite3.Error as error:
        raise CopilogError(f"the index of the two files, a temporary file, failed: {error}") from error
    finally:
        database.close()


def _index(database: sqlite3.Connection, side: int, path: Path, heard: ReportBytesRead | None) -> Ledger:
    ledger = Ledger(path=shown(path))
    for conversation_id, trajectory, (_, number, offset, _) in trajectories_in(path, ledger, heard):
        try:
            digests = digests_of(trajectory)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=number, offset=offset)
            continue
        ledger.used += 1
        ledger.conversations += 1
        row = (side, conversation_id, number, offset, digests)
        if not database.execute("INSERT OR IGNORE INTO line VALUES (?, ?, 1, ?, ?, ?)", row).rowcount:
            _insert_repeat(database, row)
    return ledger


def _insert_repeat(database: sqlite3.Connection, row: tuple[int, str, int, int, bytes]) -> None:
    database.execute(
        "INSERT INTO line SELECT ?1, ?2, (SELECT max(nth) + 1 FROM line WHERE side = ?1 AND id = ?2), ?3, ?4, ?5", row
    )
