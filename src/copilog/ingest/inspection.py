"""Read each file by itself and return its ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from copilog.derive.times import conclude_durations
from copilog.diagnostics import Ledger, Report
from copilog.errors import UsageError
from copilog.ingest.containment import enriched
from copilog.ingest.discovery import found_at, identify_or_note, walk
from copilog.ingest.leaves import leaves_of, stored_of
from copilog.ingest.reading import note_times, read_file
from copilog.ingest.skipped import is_skipped, note_skipped
from copilog.intake.files import why_missing
from copilog.intake.folders import take_skipped_paths
from copilog.model import Conversation
from copilog.sources import BY_NAME, Found, Probe


def inspect(paths: Sequence[Path], *, source: str | None = None) -> Iterator[Ledger]:
    """Yield the ledger of each file; files of unknown formats inside a folder have no source.

    What was not read comes last: links, closed folders, pipes, devices.
    """
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: {why_missing(path)}")
        if source is None and not path.is_dir():
            found_at(path, companions=False)  # a file named by hand must be of a known format
    take_skipped_paths()
    report = Report()
    for path in paths:
        for file in walk(path) if path.is_dir() else [path]:
            yield _inspected(file, source, report)
    note_skipped(report)
    yield from (ledger for ledger in report.files.values() if is_skipped(ledger))


def inspect_file(path: Path, source_name: str | None = None) -> Ledger:
    """Return the ledger of one file."""
    return _inspected(path, source_name, Report())


def _inspected(path: Path, source_name: str | None, report: Report) -> Ledger:
    probe = Probe(path)
    source = BY_NAME[source_name] if source_name else identify_or_note(probe, report)
    if source is None:
        report.open(str(path), None)
        return report.files.pop(str(path))
    found = Found(path, source.name, source.native_id(probe))
    del probe  # it holds what it has read
    conversations = list(read_file(found, report))
    ledger = report.files.pop(str(path))
    enriched(partial(_walk_leaves, found, conversations, ledger), ledger)
    for conversation in conversations:
        enriched(partial(conclude_durations, conversation), ledger)
        note_times(conversation, ledger)
    return ledger


def _walk_leaves(found: Found, conversations: list[Conversation], ledger: Ledger) -> None:
    ledger.leaves = leaves_of(found.path, found.source, stored_of(found, conversations), ledger)
