"""The base of checks: one pass over raw telemetry, record by record, with positions and ledgers.

A check reads each record in the order of R-1 and stores small facts, never texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.telemetry.events import Json
from copilog.telemetry.evidence import MOST_BAD
from copilog.telemetry.inputs import InputFile, Readable, parts_of, prepare
from copilog.telemetry.json_values import malformed
from copilog.telemetry.records import decode_record, records
from copilog.telemetry.run_ledgers import SOURCE
from copilog.telemetry.spool import spool_folder

MOST_PLACES = 20  # listed for each kind; the rest is only counted
WHOLE = 1 << 62  # bytes: a file is one part, so that its lines are counted from its beginning


class RecordPosition(NamedTuple):
    """The position of a record, for messages: the line counts from 1."""

    path: str
    offset: int
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} (byte {self.offset})"


class CheckedRecord(NamedTuple):
    """One record of the stream: `file` and the spot's offset are its sequence number."""

    record: Json
    file: int
    spot: RecordPosition
    length: int


Take = Callable[[CheckedRecord], str | None]  # returns the reason if a record is not usable
ReportBytesRead = Callable[[int], None]  # called with the number of bytes read


def read_through(files: Sequence[InputFile], take: Take, heard: ReportBytesRead | None = None) -> list[Ledger]:
    """Pass all records of some files to a check. Return the ledger of each file."""
    with spool_folder() as spool:
        return [_read_file(file, spool, take, heard) for file in files]


def _read_file(file: InputFile, spool: str, take: Take, heard: ReportBytesRead | None) -> Ledger:
    ledger = Ledger(path=file.shown, source=SOURCE)
    readable = prepare(file, spool)
    if readable.note is not None:
        ledger.note(readable.code or "bad-file", readable.note, readable.level)
    if not readable.size:
        return ledger
    if heard is not None and readable.spooled and readable.size:  # the progress bar counts packed bytes
        heard = _scaled(heard, Path(file.path).stat().st_size / readable.size)
    try:
        _read_records(readable, ledger, take, heard)
    finally:
        if readable.spooled:
            with suppress(OSError):  # the folder is deleted at the end
                Path(readable.path).unlink()
    return ledger


def _scaled(heard: ReportBytesRead, factor: float) -> ReportBytesRead:
    return lambda read: heard(int(read * factor))


def _read_records(file: Readable, ledger: Ledger, take: Take, heard: ReportBytesRead | None) -> None:
    for part in parts_of(file, WHOLE):
        for offset, line, data, wrong in records(part, False):
            ledger.seen += 1
            spot = RecordPosition(file.shown, offset, line + 1)
            try:
                if data is None:
                    raise wrong or malformed("cannot be read")
                record, _ = decode_record(data, False)
                why_not = take(CheckedRecord(record, file.index, spot, len(data)))
            except BadRecord as error:
                _reject(ledger, error, spot)
            else:
                if why_not is None:
                    ledger.used += 1
                else:
                    ledger.ignore(why_not)
            if heard is not None:
                heard(len(data or b""))


def _reject(ledger: Ledger, error: BadRecord, spot: RecordPosition) -> None:
    if len(ledger.bad) < MOST_BAD:
        ledger.reject(error.code, str(error), line=spot.line, offset=spot.offset)
    else:
        ledger.unlisted += 1
