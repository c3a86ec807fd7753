"""Units, read some at a time by whichever process is free: from what was found to what the archive takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from copilog.diagnostics import Ledger, Report
from copilog.ingest.reading import WorkspaceDefinitions, read
from copilog.sources import BY_NAME, Found
from copilog.sqliteio import keep_copies
from copilog.store.entries import Entry, entry_of

BATCH_BYTES, BATCH_UNITS = 4 << 20, 64


class Task(msgspec.Struct):
    """Units to be read by one process."""

    units: list[tuple[str, str, Found]]  # key, signature
    definitions: WorkspaceDefinitions | None
    size: int


class Outcome(msgspec.Struct):
    """What was read of them."""

    units: list[tuple[str, str, list[Entry]]]
    ledgers: list[Ledger]
    size: int


def tasks_of(changed: Iterable[tuple[str, str, Found]], definitions: WorkspaceDefinitions | None) -> Iterator[Task]:
    """Units in batches of some megabytes each."""
    units: list[tuple[str, str, Found]] = []
    size = 0
    for unit in changed:
        units.append(unit)
        size += sum(_size_of(trace.path) for trace in unit[2].traces())
        if size >= BATCH_BYTES or len(units) >= BATCH_UNITS:
            yield Task(units, definitions, size)
            units, size = [], 0
    if units:
        yield Task(units, definitions, size)


def read_units(task: Task) -> Outcome:
    """Read units and make entries of their conversations."""
    outcome = Outcome([], [], task.size)
    with keep_copies():
        for key, signature, found in task.units:
            report = Report()
            entries = [entry_of(made) for made in read(found, report=report, definitions=task.definitions)]
            outcome.units.append((key, signature, entries))
            outcome.ledgers += _ledgers_of(report, key)
    return outcome


def _ledgers_of(report: Report, key: str) -> Iterator[Ledger]:
    """The books of a unit. A file of many conversations has its own, from discovery; a row of it is told apart."""
    for ledger in report.files.values():
        source = BY_NAME.get(ledger.source or "")
        if source is not None and source.is_index:
            if ledger.seen == 0 and not ledger.notes:
                continue
            ledger.path = f"{ledger.path}#{key}"
        yield ledger


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
