"""Read batches of units in parallel: from discovered traces to entries for the archive."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from copilog.diagnostics import Ledger, Report
from copilog.engine import Engine
from copilog.ingest.pending import Packed
from copilog.ingest.reading import WorkspaceDefinitions, read
from copilog.ingest.refusals import could_not_be_read
from copilog.sources import BY_NAME
from copilog.sqliteio import keep_copies
from copilog.store.entries import Entry, entry_of

BATCH_BYTES, BATCH_UNITS = 4 << 20, 64
LARGE_BYTES = 64 << 20  # of a task whose result would be in the memory of two processes
UNREAD = ""  # the state of a unit that must be read again even if its files are unchanged


class Task(msgspec.Struct):
    """Units to be read by one process."""

    units: list[Packed]
    definitions: WorkspaceDefinitions | None
    size: int


class Outcome(msgspec.Struct):
    """The result of a task: units with their entries, and ledgers."""

    units: list[tuple[str, str, list[Entry]]]
    ledgers: list[Ledger]
    size: int
    changed: list[str] = []  # files that another program wrote since their states were noted


def tasks_of(units: Iterable[tuple[Packed, int]], definitions: WorkspaceDefinitions | None) -> Iterator[Task]:
    """Yield units in batches of some megabytes."""
    batch: list[Packed] = []
    size = 0
    for unit, unit_size in units:
        batch.append(unit)
        size += unit_size
        if size >= BATCH_BYTES or len(batch) >= BATCH_UNITS:
            yield Task(batch, definitions, size)
            batch, size = [], 0
    if batch:
        yield Task(batch, definitions, size)


def outcomes_of(engine: Engine, tasks: Iterable[Task]) -> Iterator[Outcome]:
    """Yield the outcomes of tasks; large conversations come last, and are read in this process."""
    large: list[Task] = []

    def others() -> Iterator[Task]:
        for task in tasks:
            if task.size >= LARGE_BYTES:
                large.append(task)
            else:
                yield task

    yield from engine.map(read_units, others())
    yield from map(read_units, large)


def read_units(task: Task) -> Outcome:
    """Read units and make entries of their conversations."""
    outcome = Outcome([], [], task.size)
    with keep_copies():
        for unit in task.units:
            report = Report()
            read_in_unit = read(unit.found(), report=report, definitions=task.definitions, links_prompts=False)
            entries = [entry_of(made) for made in read_in_unit]
            changed = unit.changed_files()  # what was read may not be what their states tell
            outcome.changed += changed
            is_unread = changed or any(map(could_not_be_read, report.files.values()))
            signature = UNREAD if is_unread else unit.signature
            outcome.units.append((unit.key, signature, entries))
            outcome.ledgers += _ledgers_of(report, unit.key)
    return outcome


def _ledgers_of(report: Report, key: str) -> Iterator[Ledger]:
    """Yield the ledgers of a unit. A file of many conversations has its own, from discovery; each row has another."""
    for ledger in report.files.values():
        source = BY_NAME.get(ledger.source or "")
        if source is not None and source.is_index:
            if ledger.seen == 0 and not ledger.notes:
                continue
            ledger.path = f"{ledger.path}#{key}"
        yield ledger
