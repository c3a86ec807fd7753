"""Scan the disk into the archive: read what has changed, in parallel, and store one conversation at a time.

    look       sizes and times of all files           nothing changed: done
    discover   files -> units (all traces of one conversation)
    compare    units whose state is in the archive are skipped
    read       changed units -> entries               in parallel
    store      each conversation in one transaction; the full-text index in bulk, in between and at the end
    join       exports become parts of the conversations that they belong to

A unit is recorded when all of it is stored, and files when all units are; until then changed files have no state. An
interrupted scan is continued by the next one, with the same result.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from copilog.diagnostics import Ledger, Report
from copilog.ingest.changes import Changes, Comparison
from copilog.ingest.footprints import Look, Seen, signature_of_states, states_below
from copilog.ingest.origins import Origins, Scope, list_of, named_origins, remember
from copilog.ingest.refusals import Refusal, could_not_be_read, record_refusals, refusal_of
from copilog.ingest.scan_result import ScanResult
from copilog.ingest.skipped import closed_in, file_of, note_skipped, size_of
from copilog.intake.folders import is_below, is_gone, is_still_skipped
from copilog.sources import Found
from copilog.sources.roots import Root
from copilog.store.archive import Archive
from copilog.store.database import ScanLock, transaction
from copilog.store.ledgers import forget_ledgers, skipped_paths
from copilog.store.times import now
from copilog.store.units import (
    FileState,
    FileStates,
    RecordedUnits,
    Unit,
    adopt_units,
    count_units,
    forget_states,
    forget_units,
    ids_of_all_units,
    keys_below,
    paths_of_gone,
    paths_of_root,
    put_states,
    put_unit,
    recorded_states,
    recorded_units,
    with_merged,
)

# Readers are imported only where files are read: usually nothing has changed, and then a scan is quick.
if TYPE_CHECKING:
    from copilog.engine import Engine
    from copilog.ingest.batches import Outcome
    from copilog.ingest.joining import Joined, Joining
    from copilog.ingest.named_paths import Named
    from copilog.ingest.reading import WorkspaceDefinitions
    from copilog.ingest.spool import Spool
    from copilog.store.entries import Entry

Definitions = Callable[[], "WorkspaceDefinitions | None"]
Progress = Callable[[int, int], None]  # bytes done, bytes in total

INDEX_BYTES = 16 << 20  # bytes of text to collect before it is indexed in bulk
LAST_BYTES, LAST_INDEX_BYTES = 32 << 20, 3 << 20  # while the last files are read, so that little remains after them
WORTH_PROCESSES = 8 << 20
READ_AHEAD = 6  # batches for each process to prepare, as indexing takes as long as reading some
LOCK_SECONDS, SEALING_SECONDS = 60.0, 20.0
FEW_FOLDERS = 12


def scan(
    archive: Archive,
    *,
    roots: Sequence[Root] = (),
    paths: Sequence[Path] = (),
    jobs: int = 1,
    report: Report | None = None,
    progress: Progress | None = None,
    definitions: WorkspaceDefinitions | Definitions | None = None,
    lock_seconds: float = LOCK_SECONDS,
) -> ScanResult:
    """Update the archive from the named roots and paths, and no others; they are stored as its origins.

    `definitions` are those of this machine, or a function that finds them, called only if there is something to read.
    """
    return update(
        archive,
        named_origins(roots, paths),
        jobs=jobs,
        report=report,
        progress=progress,
        definitions=definitions,
        lock_seconds=lock_seconds,
    )


def update(
    archive: Archive,
    origins: Origins,
    *,
    jobs: int = 1,
    report: Report | None = None,
    progress: Progress | None = None,
    definitions: WorkspaceDefinitions | Definitions | None = None,
    lock_seconds: float = LOCK_SECONDS,
) -> ScanResult:
    """Update the archive from its origins, as `origins_of` returns them."""
    report = report if report is not None else Report()
    result = ScanResult()
    with ScanLock(archive.path, wait_seconds=lock_seconds):
        archive.rebuild_rows()
        remember(archive, origins.scopes, origins.paths)
        run = _Scan(archive, jobs, report, progress or (lambda _done, _total: None), definitions, result)
        for scope in origins.scopes:
            run.scan_roots(scope)
        for path in origins.paths:
            run.scan_path(path)
        run.finish()
    return result


class _Scan:
    def __init__(
        self,
        archive: Archive,
        jobs: int,
        report: Report,
        progress: Progress,
        definitions: WorkspaceDefinitions | Definitions | None,
        result: ScanResult,
    ) -> None:
        self.archive = archive
        self.connection = archive.connection
        self.jobs = jobs
        self.report = report
        self.progress = progress
        self.definitions = definitions
        self.result = result
        self.now = now()
        self.waiting = 0  # bytes of text that are stored but not indexed
        self.refusals: list[Refusal] = []  # not yet recorded in a ledger
        self.unreadable: set[str] = set()  # files that the next scan must try again
        self.lost: set[str] = set()  # conversations that some unit of the scope no longer has
        self.missing: set[str] = set()  # units that no longer exist
        self.shrunken: dict[str, Unit] = {}  # units that exist with fewer conversations
        self.gone: set[str] = set()
        self.read_files: set[str] = set()
        self.absent: list[str] = []  # folders of the scope that do not exist now
        self.closed: list[str] = []  # folders and files without permission

    # --- roots: many files, and units of one conversation each, whose traces may be in several roots -----------

    def scan_roots(self, scope: Scope) -> None:
        name, roots, self.absent = scope
        adopt_units(self.connection, name, list_of(str(root.path) for root in roots))
        look = Look(roots)
        changes = Changes(look, self.connection, name, self.absent)
        if changes.are_none:
            self.result.files += changes.comparison.files
            self._count_unchanged(name)
            note_skipped(self.report, look.skipped)
            return
        units = RecordedUnits(self.connection, name)
        report = Report()
        few = self._discover_few(changes, units, report) if changes.are_few and not look.single_files else None
        if few is None:
            self._scan_all(look, name, units, report)
            return
        self.result.files += changes.comparison.files
        founds, looked_for = few
        forget_states(self.connection, changes.fresh)
        with self._engine_for(changes.fresh.values(), is_much=False) as engine:
            self._scan_discovered(engine, name, founds, units, report, looked_for)
        self._settle(name, changes.fresh, ())

    def _scan_all(self, look: Look, name: str, units: RecordedUnits, report: Report) -> None:
        """Discover everything. Discovered traces are spooled to disk, so that memory does not grow with them."""
        from copilog.engine import Serial, engine_for
        from copilog.ingest.batches import read_units
        from copilog.ingest.discovery import discover_seen
        from copilog.ingest.spool import Spool

        back = [path for path in paths_of_gone(self.connection, name) if not is_gone(path)]
        forget_states(self.connection, back)  # so that they are read again
        comparison = Comparison(look, self.connection, name, self.absent)
        with Spool() as spool, engine_for(self.jobs, READ_AHEAD) as engine:

            def add_batch(batch: list[Seen]) -> None:
                spool.add_fresh(comparison.fresh_of(batch))
                spool.add_trace_files(batch)
                if comparison.known:
                    spool.add_paths(batch)
                if spool.fresh_bytes >= WORTH_PROCESSES:  # processes start during discovery
                    engine.prepare(read_units)

            discover_seen(look, spool, add_batch, report=report)
            self.result.files += comparison.files
            self.closed += closed_in(report)
            missing = [path for path in paths_of_root(self.connection, name) if not spool.has_path(path)]
            gone = self._gone_of(missing)
            forget_states(self.connection, chain((path for path, _ in spool.items()), gone))
            reader = engine if spool.fresh_bytes >= WORTH_PROCESSES else Serial()
            self._read_changed(reader, name, spool, units, report, units)
            self._settle(name, spool, gone)
            named = {str(path) for path in look.single_files}
            self._add_annotations(path for path, _ in spool.items() if path in named)

    def _engine_for(self, fresh: Iterable[FileState], *, is_much: bool) -> Engine:
        """Return an engine with processes if there is enough to read; they start during discovery."""
        from copilog.engine import engine_for
        from copilog.ingest.batches import read_units

        is_worth_it = is_much and sum(state.size for state in fresh) >= WORTH_PROCESSES
        engine = engine_for(self.jobs if is_worth_it else 1, READ_AHEAD)
        engine.prepare(read_units)
        return engine

    def _scan_discovered(
        self,
        engine: Engine,
        name: str,
        founds: Iterable[Found],
        units: Mapping[str, Unit],
        report: Report,
        looked_for: Iterable[str],
    ) -> None:
        """Read and store discovered conversations, if they are few."""
        from copilog.ingest.spool import Spool

        with Spool() as spool:
            for found in founds:
                spool.add_found(found)
            self._read_changed(engine, name, spool, units, report, looked_for)

    def _discover_few(
        self, changes: Changes, units: RecordedUnits, report: Report
    ) -> tuple[list[Found], set[str]] | None:
        """Return the conversations of changed files, with all their traces, and the keys that were searched for.

        None if scanning everything costs no more.
        """
        from copilog.ingest.discovery import discover_in

        keys, indexes = changes.keys()
        if len(indexes) > FEW_FOLDERS:
            return None
        keys.update(found.native_id or str(found.path) for found in discover_in(indexes, Report()))
        if indexes:  # they may no longer name a conversation
            keys |= units.keys_of(self.archive.ids_at(changes.fresh))
        ids = [name for key in keys if key in units for name in units[key].ids]
        # An index may name a conversation without files.
        folders = changes.folders_of(keys, [*changes.fresh, *self.archive.paths_of(ids)])
        if len(folders) > FEW_FOLDERS:
            return None
        founds = discover_in(folders, report, keys)
        return [found for found in founds if (found.native_id or str(found.path)) in keys], keys

    def _read_changed(
        self,
        engine: Engine,
        root: str,
        spool: Spool,
        units: Mapping[str, Unit],
        report: Report,
        looked_for: Iterable[str],
    ) -> None:
        """Read discovered units that have changed; units that were searched for and are missing are gone."""
        kept = keys_below(self.connection, root, self.absent)  # unchanged, until all their folders exist again
        met = set(kept)
        read_again: set[str] = set()
        for found in spool.unread():
            known, signature = units.get(found.key), found.signature()
            if known is not None:
                met.add(found.key)
            if known is None or (known.signature != signature and found.key not in kept):
                spool.add_unit(found, signature)
                if known is not None:
                    read_again.add(found.key)
        self.closed += closed_in(report)
        missing = self._within_reach({key: units[key] for key in looked_for if key not in met and key in units})
        self._count_unchanged(root, [*missing, *read_again])
        self._store_ledgers(report.files.values())
        self._read_units(engine, root, spool, units)
        self._forget(missing)

    def _read_units(self, engine: Engine, root: str, spool: Spool, units: Mapping[str, Unit]) -> None:
        from copilog.ingest.batches import outcomes_of, tasks_of

        total, done = spool.bytes_to_read, 0
        self.progress(done, total)
        tasks = tasks_of(spool.units(), self._defined() if total else None)
        for outcome in outcomes_of(engine, tasks):
            self._store_outcome(root, outcome, units)
            done += outcome.size
            self._index_in_bulk(INDEX_BYTES if total - done > LAST_BYTES else LAST_INDEX_BYTES)
            self.progress(done, total)

    def _defined(self) -> WorkspaceDefinitions | None:
        return self.definitions() if callable(self.definitions) else self.definitions

    # --- a path that the user named -----------------------------------------------------------------------------

    def scan_path(self, path: Path) -> None:
        """Read the changed files of a folder; all of them if a file may concern the conversation of another one."""
        from copilog.ingest.named_paths import Named  # default folders need no telemetry

        name, self.absent = str(path.absolute()), []
        states = states_below([path])
        self.result.files += len(states)
        units = recorded_units(self.connection, name)
        before = recorded_states(self.connection, name)
        if units and before == states:
            self._count_unchanged(name)
            return
        if units and not states:  # everything in the folder was deleted, or is closed
            note_skipped(self.report)
            self.closed += closed_in(self.report)
            self._forget(self._within_reach(units))
            self._settle(name, states, self._gone_of(before))
            return
        forget_states(self.connection, [path for path, state in before.items() if states.get(path) != state])
        named = Named(path)
        founds = named.independent_founds()
        if founds is None:
            self._scan_as_one(named, name, signature_of_states(states), units)
            self.unreadable.update(path for path, _ in states.items() ^ states_below([path]).items())
        else:
            with self._engine_for(states.values(), is_much=True) as engine:
                self._scan_discovered(engine, name, founds, units, named.report, set(units))
        self._settle(name, states, self._gone_of(before.keys() - states.keys()))
        self._add_annotations(path for path, state in states.items() if before.get(path) != state)

    def _add_annotations(self, paths: Iterable[str]) -> None:
        """Add what users added to the conversations of bundles, when these are read."""
        from copilog.ingest.bundled_annotations import add_annotations

        add_annotations(self.archive, paths)

    def _scan_as_one(self, named: Named, name: str, signature: str, units: dict[str, Unit]) -> None:
        from copilog.store.entries import entry_of

        report = Report()
        ids: list[str] = []
        for conversation in named.conversations(report, jobs=self.jobs):
            entry = entry_of(conversation)
            self._store([entry], signature)
            self._index_in_bulk()
            ids.append(entry.id)
        self.closed += closed_in(report)
        self._store_ledgers(report.files.values())
        self._forget(self._within_reach({key: unit for key, unit in units.items() if key != name}))
        self._remember(name, name, Unit(signature, ids), units.get(name))

    def _store_outcome(self, root: str, outcome: Outcome, units: Mapping[str, Unit]) -> None:
        """Store what a batch was read to, and release it: indexing needs memory of its own."""
        with transaction(self.connection):  # one per batch: saves a third of the writing
            for key, signature, entries in outcome.units:
                self._store(entries, signature)
                self._remember(root, key, Unit(signature, [entry.id for entry in entries]), units.get(key))
            self._store_ledgers(outcome.ledgers)
        self.unreadable.update(outcome.changed)
        outcome.units.clear()

    # --- storing -----------------------------------------------------------------------------------------------

    def _store(self, entries: Iterable[Entry], signature: str) -> None:
        for read in entries:
            outcome, entry = self.joining.put(read, signature)
            number = len(entry.messages) - 1  # the last row is the title's
            if outcome == "new":
                self.result.new += 1
                self.result.messages_new += number
                self.result.new_ids.append(entry.id)
            elif outcome == "changed":
                self.result.changed += 1
                self.result.messages_changed += number
                self.result.changed_ids.append(entry.id)
            elif outcome == "removed":
                self.result.removed += 1
            elif outcome == "refused":
                self.result.refused += 1
                self.refusals.append(refusal_of(entry))
            else:
                self.result.unchanged += 1
                self.result.messages_unchanged += number
            if outcome in ("new", "changed"):
                self.waiting += entry.text_bytes

    @cached_property
    def joining(self) -> Joining:
        from copilog.ingest.joining import Joining

        return Joining(self.archive)

    def _count_joined(self, joined: Joined) -> None:
        """Count an export that this scan stored and joined as a change of the conversation that it joined."""
        self.gone.discard(joined.id)
        if joined.id in self.result.new_ids:
            self.result.new_ids.remove(joined.id)
            self.result.new -= 1
            self.result.messages_new -= joined.messages
            self.result.changed += 1
            self.result.messages_changed += joined.whole_messages
        elif joined.id in self.result.changed_ids:
            self.result.changed_ids.remove(joined.id)
            self.result.messages_changed += joined.whole_messages - joined.messages
        else:
            return  # stored earlier: this scan has counted the other one
        if joined.whole not in (*self.result.new_ids, *self.result.changed_ids):
            self.result.changed_ids.append(joined.whole)

    def _index_in_bulk(self, least: int = INDEX_BYTES) -> None:
        if self.waiting >= least:
            self.archive.index_pending(finish=False)
            self.waiting = 0

    def _count_unchanged(self, root: str, others: Iterable[str] = ()) -> None:
        """Count all units of a root as unchanged, except `others`."""
        conversations, messages = count_units(self.connection, root, others)
        self.result.unchanged += conversations
        self.result.messages_unchanged += messages

    def _remember(self, root: str, key: str, unit: Unit, known: Unit | None) -> None:
        """Record that a unit is stored. One that lost a conversation matches no state until `_settle` reports that."""
        lost = set(known.ids) - set(unit.ids) if known is not None else set()
        hidden = {name for name in lost if self._are_out_of_reach([name])}
        if hidden:
            unit = Unit("", [*unit.ids, *sorted(hidden)])
        lost -= hidden
        if lost:
            self.lost |= lost
            self.shrunken[key] = unit
            unit = Unit("", [*unit.ids, *lost])
        put_unit(self.connection, root, key, unit)

    def _gone_of(self, missing: Collection[str]) -> list[str]:
        """Return the files that no longer exist, of those that were not found; the next scan tries the others again."""
        self.unreadable.update(path for path in missing if is_below(path, self.closed))
        return [path for path in missing if not is_below(path, [*self.closed, *self.absent])]

    def _within_reach(self, units: dict[str, Unit]) -> dict[str, Unit]:
        return {key: unit for key, unit in units.items() if not self._are_out_of_reach(unit.ids)}

    def _are_out_of_reach(self, ids: list[str]) -> bool:
        """Return whether a file of some conversations cannot be checked, so that it may still exist."""
        paths = self.archive.paths_of(ids)
        return any(is_below(path, self.closed) or not (is_gone(path) or os.path.lexists(path)) for path in paths)

    def _forget(self, units: dict[str, Unit]) -> None:
        self.lost.update(name for unit in units.values() for name in unit.ids)
        self.missing.update(units)

    def _settle(self, root: str, states: FileStates, gone: Iterable[str]) -> None:
        """Finish a scope in one transaction, so that an interrupted scan loses no change that must be reported."""
        for joined in self.joining.join():
            self._count_joined(joined)
        with transaction(self.connection):
            forget_units(self.connection, root, self.missing)
            for key, unit in self.shrunken.items():
                put_unit(self.connection, root, key, unit)
            if self.lost:
                lost = with_merged(self.connection, self.lost)
                self.gone.update(self.archive.mark_gone(lost - ids_of_all_units(self.connection)))
            put_states(self.connection, root, states, gone, self.now)
            forget_states(self.connection, self.unreadable)
        self.lost, self.missing, self.shrunken = set(), set(), {}

    def _store_ledgers(self, ledgers: Iterable[Ledger]) -> None:
        ledgers = list(ledgers)
        record_refusals(self.refusals, ledgers)
        self.refusals.clear()
        for ledger in ledgers:
            if could_not_be_read(ledger):
                self.unreadable.add(ledger.path)
            self.report.add_up(ledger)
            file = file_of(ledger)
            if file not in self.read_files:  # one database holds many sessions, and each has a ledger
                self.read_files.add(file)
                self.result.bytes_read += size_of(Path(file))
        self.archive.put_ledgers(ledgers)

    def finish(self) -> None:
        """Index pending texts, and count conversations that are gone from all scopes: some may be in another scope."""
        gone = self.gone - ids_of_all_units(self.connection) if self.gone else self.gone
        self.result.gone_ids = sorted(gone)
        self.result.gone = len(gone)
        self.result.files_read = len(self.read_files)
        self.result.files = max(self.result.files, len(self.read_files))  # companions of a named file are read with it
        self.archive.index_pending()
        self.archive.recalibrate()
        self.result.damage = self.archive.look_after(SEALING_SECONDS, has_changed=bool(self.read_files))
        forget_ledgers(self.connection, [path for path in skipped_paths(self.connection) if not is_still_skipped(path)])
