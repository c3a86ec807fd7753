"""The ledgers of a run in the common form: one ledger per file, with the positions of bad records."""

from __future__ import annotations

from collections.abc import Iterable

from copilog.diagnostics import Report
from copilog.telemetry.events import Seq
from copilog.telemetry.evidence import MOST_BAD, RecordCounts
from copilog.telemetry.inputs import Readable

SOURCE = "telemetry"


def fill_report(report: Report, files: Iterable[Readable], books: dict[Seq, RecordCounts]) -> None:
    """Enter the counts, range by range in the order of the stream."""
    by_file: dict[int, list[RecordCounts]] = {}
    for (index, _start), counted in sorted(books.items(), key=lambda entry: entry[0]):
        by_file.setdefault(index, []).append(counted)
    for file in files:
        ledger = report.open(file.shown, SOURCE)
        if file.note is not None:
            ledger.note(file.code or "bad-file", file.note, file.level)
        lines_before = 0
        for counted in by_file.get(file.index, ()):
            ledger.seen += counted.seen
            ledger.used += counted.used
            for reason, number in counted.ignored.items():
                ledger.ignore(reason, number)
            listed = counted.bad_positions[: max(0, MOST_BAD - len(ledger.bad))]
            for place in listed:
                line = None if place.line is None else lines_before + place.line + 1
                ledger.reject(place.code, place.reason, line=line, offset=place.offset)
            ledger.unlisted += counted.bad - len(listed)
            lines_before += counted.lines
        if not ledger.seen and not ledger.notes:
            ledger.note("empty-file", "there is nothing in the file")
