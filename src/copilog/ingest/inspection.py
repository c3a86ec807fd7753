"""The books of each file, read by itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from copilog.diagnostics import Ledger, Report
from copilog.errors import UsageError
from copilog.ingest.discovery import found_at, identify_or_note, walk
from copilog.ingest.reading import read_file
from copilog.sources import BY_NAME, Found, Probe


def inspect(paths: Sequence[Path], *, source: str | None = None) -> Iterator[Ledger]:
    """The books of each file; files of no known format inside a folder have no source."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if source is None and not path.is_dir():
            found_at(path, companions=False)  # a file named by hand must be of a known format
    for path in paths:
        for file in walk(path) if path.is_dir() else [path]:
            yield inspect_file(file, source)


def inspect_file(path: Path, source_name: str | None = None) -> Ledger:
    """The books of one file."""
    probe = Probe(path)
    report = Report()
    source = BY_NAME[source_name] if source_name else identify_or_note(probe, report)
    if source is None:
        return report.open(str(path), None)
    for _ in read_file(Found(path, source.name, source.native_id(probe)), report):
        pass
    return report.files[str(path)]
