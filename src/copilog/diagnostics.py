"""What went wrong, where, and how much: the ledger that must balance.

A `Ledger` belongs to one file. Every record that is seen ends as used, as ignored for a named reason, or as
bad with a position and a reason. Parts of messages are counted the same way in `Ledger.parts`.
Diagnostics never quote content: conversations hold secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal

import msgspec

from copilog.errors import BadRecord

Level = Literal["info", "warning", "error"]

# A name or a key in a file may be any text, and of any length.
LONGEST_KIND = 100
MOST_BAD = 1000  # bad records of one file that are listed; the rest is only counted
LONGEST_REASON = 500  # and pointers and rows

# What each code means and what the user can do about it. docs/diagnostics.md has the same texts.
ADVICE: dict[str, str] = {
    "ambiguous-format": "name the format with --source",
    "bad-companion": "a file beside the log is broken; the conversation itself is unaffected",
    "bad-file": "open the file and check that it is what its name says",
    "bad-json": "the record is not JSON; nothing else of the file is affected",
    "bad-messages": "the snapshot is not used; --json-recovery reads its complete messages",
    "bad-part": "the part is only in this file; look at the file at the given position",
    "bad-record": "look at the file at the given position",
    "bad-request": "look at the file at the given position; the other requests are unaffected",
    "bad-yaml": "nothing to do; anything but a flat map was read as text",
    "broken-link": "the link leads out of the folder that is read, and was not followed; name its target with --root",
    "byte-order-mark": "nothing to do; VS Code itself may refuse the file",
    "changed-while-reading": "run the command again when the program that writes the file is idle",
    "content-hash-mismatch": "the stored text is not the one that was recorded; treat this file state with care",
    "copied-while-busy": "nothing to do; the database was being written while it was copied",
    "crash": "please report this with the traceback that --debug shows",
    "damaged-archive": "copy the file again; if that does not help, export the bundle again",
    "damaged-log": "what came after the damage was replayed as far as possible; compare with a copy if you have one",
    "duplicate-event": "nothing to do; each event is read once",
    "empty-file": "nothing to do; the program that made the file never wrote into it",
    "export-error": "nothing to do; the extension itself could not write this entry",
    "headless-log": "the beginning of the log is lost; earlier turns are gone unless a .json twin exists",
    "impossible-time": "nothing to do; values that depend on these times are left empty",
    "invalid-utf8": "nothing to do; the broken bytes show as U+FFFD",
    "joined-records": "nothing to do; the records on the line were taken apart",
    "lone-surrogate": "nothing to do; broken surrogate pairs show as U+FFFD",
    "malformed-record": "the line is not a JSON object; --json-recovery may be able to read it",
    "missing-content": "a file state that the history names is not on disk; its diff cannot be shown",
    "missing-library": "install what the note names, or convert the file to JSONL",
    "no-message": "the request has no message that could be shown",
    "not-a-file": "copy the data into a file, and name that file",
    "not-a-number": "nothing to do; NaN and Infinity are not JSON and were read as absent",
    "not-searched": "nothing to do; if there is a copy of a home in it, or conversations, name it with --root",
    "nul-tail": "nothing to do; the computer stopped while the file was written",
    "null-request": "nothing to do; VS Code was ended in the middle of a response",
    "orphan-editing-session": "the edits are here, the conversation is not; look for a copy in another workspace",
    "orphan-mutation": "an earlier line that this one builds on is missing or broken",
    "other-session-id": "the folder is a copy; compare it with the session that the log names",
    "pathless-change": "nothing to do; the writer left out where its requests belong",
    "raw-control-character": "nothing to do; the record was repaired",
    "raw-line-separator": "nothing to do; tools that split lines at U+2028 would break this file",
    "read-from-backup": "nothing to do; changes after the backup are not in it",
    "salvaged-document": "the document is broken; its complete parts were read",
    "skipped-call": "the note says why; where parts of the call are missing, add the files before and after",
    "too-large": "it is left out and the rest is read; COPILOG_MAX_RECORD_MB sets how large a record may be",
    "too-many-messages": "the archive lacks it, or has it as it was when it was shorter; --live reads it from its file",
    "torn-document": "nothing to do; the file was cut off while it was written",
    "torn-head": "nothing to do; the beginning was cut off, by a rotation or a tail of the log",
    "torn-tail": "nothing to do; the last line was cut off while it was written",
    "unknown-format": "nothing to do, unless it is a conversation; `copilog inspect --source` reads it as a format",
    "unknown-mutation": "the log was written by a newer VS Code; look for a newer copilog",
    "unsafe-archive": "do not unpack the file; ask where it is from",
    "unreadable": "check the permissions of the file",
    "unreadable-database": "close the program that uses the database and run the command again",
    "utf-16": "nothing to do; the file was converted by another program",
    "utf-32": "nothing to do; the file was converted by another program",
    "value-truncated": "VS Code shortened this value when it saved the conversation; the rest is not on disk",
    "wrong-index": "VS Code would drop its whole session index; the conversations themselves are unaffected",
}


class Diagnostic(msgspec.Struct, omit_defaults=True, frozen=True):
    """One problem with its position: a line and offset, or a JSON pointer, or a table and row."""

    code: str
    path: str
    reason: str
    level: Level = "warning"
    line: int | None = None
    offset: int | None = None
    pointer: str | None = None
    table: str | None = None
    row: str | None = None

    @property
    def advice(self) -> str | None:
        """Return what the user can do about it."""
        return ADVICE.get(self.code)

    def place(self) -> str:
        """Return the position as text: `chat.json:12 (byte 90412)`, `chat.json#/requests/3`."""
        if self.line is not None:
            at = f":{self.line}"
        elif self.pointer is not None:
            at = f"#{self.pointer}"
        elif self.table is not None:
            at = f" [{self.table} {self.row or ''}".rstrip() + "]"
        else:
            at = ""
        byte = f" (byte {self.offset})" if self.offset is not None else ""
        return f"{self.path}{at}{byte}"


class Tally(msgspec.Struct):
    """Counts that must balance: seen = used + ignored + bad. Unknown kinds are used, and counted apart."""

    seen: int = 0
    used: int = 0
    ignored: dict[str, int] = {}
    bad: list[Diagnostic] = []
    unknown: dict[str, int] = {}
    unlisted: int = 0  # bad records beyond those that are listed; there may be millions

    def balances(self) -> bool:
        return self.seen == self.used + sum(self.ignored.values()) + self.bad_count()

    def bad_count(self) -> int:
        return len(self.bad) + self.unlisted

    def ignore(self, reason: str, count: int = 1) -> None:
        """Count records already seen as ignored on purpose."""
        self.ignored[reason] = self.ignored.get(reason, 0) + count

    def count_unknown(self, kind: str) -> None:
        """Count a kind without a description. The record itself counts as used."""
        kind = cut(kind, LONGEST_KIND)
        self.unknown[kind] = self.unknown.get(kind, 0) + 1


class LeafCounts(msgspec.Struct):
    """How many leaves a file has, and how many of them were stored or ignored. `unaccounted` counts by path."""

    found: int = 0
    ids: int = 0
    reasons: dict[str, int] = {}
    unaccounted: dict[str, int] = {}

    def seen(self) -> int:
        return self.found + self.ids + sum(self.reasons.values()) + sum(self.unaccounted.values())

    def add(self, other: LeafCounts) -> None:
        self.found += other.found
        self.ids += other.ids
        self.reasons = add_counts([self.reasons, other.reasons])
        self.unaccounted = add_counts([self.unaccounted, other.unaccounted])


class Record:
    """The context manager of `Ledger.record`. It runs for each record, and a generator would be slower."""

    __slots__ = ("_ledger", "_line", "_offset", "_pointer")

    def __init__(self, ledger: Ledger, line: int | None, offset: int | None, pointer: str | None) -> None:
        self._ledger = ledger
        self._line = line
        self._offset = offset
        self._pointer = pointer

    def __enter__(self) -> None:
        self._ledger.seen += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            self._ledger.used += 1
        elif isinstance(error, BadRecord):
            self._ledger.reject(error.code, str(error), line=self._line, offset=self._offset, pointer=self._pointer)
        else:
            return False
        return True


class Ledger(Tally):
    """The ledger of one file."""

    path: str = ""
    source: str | None = None
    conversations: int = 0
    parts: Tally = msgspec.field(default_factory=Tally)
    notes: list[Diagnostic] = []  # salvage and remarks: no record is lost
    leaves: LeafCounts | None = None  # if they were counted

    def balances(self) -> bool:
        return Tally.balances(self) and self.parts.balances()

    def record(self, *, line: int | None = None, offset: int | None = None, pointer: str | None = None) -> Record:
        """Count one record as used, or as bad if the body raises BadRecord."""
        return Record(self, line, offset, pointer)

    def reject(
        self,
        code: str,
        reason: str,
        *,
        line: int | None = None,
        offset: int | None = None,
        pointer: str | None = None,
        table: str | None = None,
        row: str | None = None,
    ) -> None:
        """Count one record, already seen, as bad. Only the first ones are listed."""
        if len(self.bad) >= MOST_BAD:
            self.unlisted += 1
            return
        self.bad.append(
            Diagnostic(
                code,
                self.path,
                cut(reason),
                "error",
                line=line,
                offset=offset,
                pointer=cut(pointer) if pointer else pointer,
                table=table,
                row=cut(row) if row else row,
            )
        )

    def reject_part(self, reason: str, pointer: str, code: str = "bad-part") -> None:
        """Count one part, already seen, as bad."""
        self.parts.bad.append(Diagnostic(code, self.path, cut(reason), "error", pointer=cut(pointer)))

    def note(
        self,
        code: str,
        reason: str,
        level: Level = "warning",
        *,
        line: int | None = None,
        offset: int | None = None,
        pointer: str | None = None,
        table: str | None = None,
        row: str | None = None,
    ) -> None:
        """Note a salvage or a doubt that costs no record."""
        pointer = cut(pointer) if pointer else pointer
        place = {"line": line, "offset": offset, "pointer": pointer, "table": table, "row": row}
        self.notes.append(Diagnostic(code, self.path, cut(reason), level, **place))  # type: ignore[arg-type]

    def diagnostics(self) -> list[Diagnostic]:
        """Return all diagnostics of this file, bad records first."""
        return [*self.bad, *self.parts.bad, *self.notes]


class Report(msgspec.Struct):
    """The ledgers of a run."""

    files: dict[str, Ledger] = {}
    quiet: Ledger = msgspec.field(default_factory=Ledger)  # those of `quiet_files`, added up, without diagnostics
    quiet_files: int = 0

    def add_up(self, ledger: Ledger) -> None:
        """Add the ledger of a finished file: as its own ledger only if it has diagnostics.

        For runs over so many files that their ledgers would not fit in memory.
        """
        if ledger.diagnostics() or ledger.unlisted or ledger.parts.unlisted:
            self.files[ledger.path] = ledger
            return
        self.quiet_files += 1
        self.quiet.conversations += ledger.conversations
        for total, tally in ((self.quiet, ledger), (self.quiet.parts, ledger.parts)):
            total.seen += tally.seen
            total.used += tally.used
            total.ignored = add_counts([total.ignored, tally.ignored])
            total.unknown = add_counts([total.unknown, tally.unknown])

    def open(self, path: str, source: str | None) -> Ledger:
        """Return the ledger of a file, which continues if the file is read in several steps."""
        ledger = self.files.get(path)
        if ledger is None:
            ledger = self.files[path] = Ledger(path=path, source=source)
        return ledger

    def balances(self) -> bool:
        return self.quiet.balances() and all(ledger.balances() for ledger in self.files.values())

    def bad_records(self) -> int:
        return sum(ledger.bad_count() + ledger.parts.bad_count() for ledger in self.files.values())

    def diagnostics(self) -> Iterator[Diagnostic]:
        for ledger in self.files.values():
            yield from ledger.diagnostics()


def cut(text: str, longest: int = LONGEST_REASON) -> str:
    """Return a text cut to a length, with a mark at its end if it was longer."""
    return text if len(text) <= longest else text[:longest] + "…"


def add_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Add maps of counts, keys in the order of their first appearance."""
    total: dict[str, int] = {}
    for count in counts:
        for key, number in count.items():
            total[key] = total.get(key, 0) + number
    return total
