"""Discover conversations on this machine, in a folder, or at a path. Traces with the same id are discovered as one."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from copilog.diagnostics import Report
from copilog.errors import BadFile, UsageError
from copilog.ingest.containment import contained
from copilog.ingest.footprints import Look, Seen
from copilog.ingest.scan_roots import find_roots
from copilog.ingest.skipped import note_skipped
from copilog.ingest.traces import Traces, TracesInMemory
from copilog.intake.files import opened, refusal, why_missing
from copilog.intake.folders import files_below
from copilog.model import Workspace
from copilog.sources import BY_NAME, SOURCES, Found, Probe, Source, identify
from copilog.sources.roots import Root, StorageFolder, folder_around
from copilog.sources.vscode.workspace import workspace_from
from copilog.sqliteio import remove_stale_copies

UNKNOWN = ("unknown-format", "the format is not known; the file was not read")


def discover(roots: Iterable[Root | Path | str] | None = None, *, report: Report | None = None) -> Iterator[Found]:
    """Yield one `Found` for each conversation on this machine, with all its traces.

    `roots` may name folders to search instead: home folders, user data folders, workspace storage, or any
    folder that contains such folders at any depth.
    """
    report = report if report is not None else Report()
    traces = TracesInMemory()
    not_searched: list[tuple[Path, str]] = []
    look = Look(root for root in _as_roots(roots, not_searched) if root.exists)
    discover_seen(look, traces, lambda _: None, report=report)
    note_skipped(report, not_searched)
    return traces.founds()


def discover_seen(look: Look, traces: Traces, met: Callable[[list[Seen]], None], *, report: Report) -> None:
    """Discover traces during a check of roots: call `met` with all files, and add their traces to `traces`."""
    remove_stale_copies()
    gathering = Gathering(report, traces)
    for path in look.single_files:
        gathering.add_file(path)
    for batch in look.batches():
        met(batch)
        for seen in batch:
            if seen.folder is not None:
                gathering.add_located(look.folders[seen.folder], seen.source, seen.found)
    note_skipped(report, look.skipped)


def discover_in(
    folders: Iterable[StorageFolder], report: Report, only: Container[str] | None = None
) -> Iterator[Found]:
    """Discover conversations in single storage folders: those with the ids of `only`, and files without an id."""
    traces = TracesInMemory()
    gathering = Gathering(report, traces, only)
    for folder in folders:
        gathering.add_folder(folder)
    note_skipped(report)
    return traces.founds()


def _as_roots(roots: Iterable[Root | Path | str] | None, skipped: list[tuple[Path, str]]) -> list[Root]:
    if roots is None:
        return find_roots()
    made: list[Root] = []
    for root in roots:
        made += [root] if isinstance(root, Root) else find_roots([Path(root)], skipped)
    return made


class Gathering:
    """Gets traces from sources and hints from indexes, and adds both to a collection of traces."""

    def __init__(self, report: Report, traces: Traces, only: Container[str] | None = None) -> None:
        self.report = report
        self.traces = traces
        self.only = only
        self.workspaces: dict[Path, Workspace | None] = {}

    def add_folder(self, folder: StorageFolder) -> None:
        """Add everything in one storage folder."""
        self.workspace_of(folder)
        for source in SOURCES:
            for found in source.locate(folder):
                self.add_located(folder, source, found)

    def add_located(self, folder: StorageFolder, source: Source | None, found: Found | None) -> None:
        """Add what a source locates in a storage folder; without a source, the workspace of the folder."""
        workspace = self.workspace_of(folder)
        if source is None or found is None:
            return
        if self.only is not None and found.native_id is not None and found.native_id not in self.only:
            return
        application = "Copilot CLI" if folder.kind == "copilot-home" else folder.application
        known = found.application or application
        self.add(source, replace(found, workspace=found.workspace or workspace, application=known))

    def add_file(self, path: Path) -> None:
        """Add a single file, with all its conversations; raise UsageError if its format is unknown."""
        found = found_at(path, companions=False)
        self.add(BY_NAME[found.source], found)

    def add(self, source: Source, found: Found) -> None:
        """Add one trace; for a file with several conversations, add each of them."""
        if found.native_id is not None:
            self.traces.add(found.native_id, found)
        elif source.is_index:
            self._add_index(source, found)
        else:
            self.traces.add(_content_key(found.path), found)

    def _add_index(self, source: Source, found: Found) -> None:
        ledger = self.report.open(str(found.path), source.name)
        for stub in contained(source.index, found, ledger):
            native_id = stub.native_id or ""
            if "inside" in stub.marks:
                inside = replace(found, source=stub.source, native_id=native_id, state=source.state_of(stub))
                self.traces.add_once(native_id, inside)
            else:
                self.traces.add_hint(native_id, stub)

    def workspace_of(self, folder: StorageFolder) -> Workspace | None:
        """Return the workspace of a storage folder; record a broken workspace.json once."""
        if folder.path not in self.workspaces:
            self.workspaces[folder.path] = self._read_workspace(folder)
        return self.workspaces[folder.path]

    def _read_workspace(self, folder: StorageFolder) -> Workspace | None:
        if folder.kind != "workspace":
            return None
        try:
            return workspace_from(folder.path)
        except ValueError as error:
            ledger = self.report.open(str(folder.path / "workspace.json"), "vscode-workspace")
            ledger.seen += 1
            ledger.reject("bad-record", str(error), pointer="")
            return None


# --- files named by the user ----------------------------------------------------------------------------------------


def found_at(path: Path, *, companions: bool = True) -> Found:
    """Identify a single file; raise UsageError if it is missing, unreadable or of an unknown format."""
    if not path.exists():
        raise UsageError(f"{path}: {why_missing(path)}")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path}: not readable; check its permissions")
    if not path.is_dir() and (reason := refusal(path.stat().st_mode)):
        raise UsageError(f"{path}: {reason}; copy its content into a file and pass the path of that file")
    probe = Probe(path)
    source = identify(probe)
    if source is None and path.is_file() and not path.stat().st_size:
        raise UsageError(f"{path}: the file is empty")
    if source is None:
        raise UsageError(
            f"{path}: the format is not known; copilog reads {', '.join(known.title for known in SOURCES)}"
        )
    traces = TracesInMemory()
    gathering = Gathering(Report(), traces)
    found = _found(path, source, probe, gathering)
    folder = folder_around(path)
    if folder is None or found.native_id is None or not companions:
        return found
    others = _companions(found, folder, gathering)
    return replace(found, others=tuple(others), hint=traces.hints.get(found.native_id))


def _found(path: Path, source: Source, probe: Probe, gathering: Gathering) -> Found:
    folder = folder_around(path)
    workspace = gathering.workspace_of(folder) if folder is not None else None
    application = folder.application if folder is not None else None
    return Found(path, source.name, source.native_id(probe), workspace, application)


def _companions(found: Found, folder: StorageFolder, gathering: Gathering) -> list[Found]:
    """Return the companions of a session that the user named, but not its twin or copies: it was selected by path."""
    others: list[Found] = []
    for source in SOURCES:
        if source.is_index:
            for index in source.locate(folder):
                gathering.add(source, replace(index, workspace=found.workspace))
        elif source.is_companion:
            located = (other for other in source.locate(folder) if other.native_id == found.native_id)
            others += [replace(other, workspace=found.workspace) for other in located if other.path != found.path]
    return others


def walk(folder: Path) -> Iterator[Path]:
    """Yield all regular files below a folder, by name; links are not followed."""
    yield from files_below(folder)


def founds_in(folder: Path, report: Report, passed_over: Container[Path] = ()) -> Iterator[Found]:
    """Return the conversations of all files below any folder."""
    traces = TracesInMemory()
    gathering = Gathering(report, traces)
    for path in walk(folder):
        if path in passed_over:
            continue
        probe = Probe(path)
        source = identify_or_note(probe, report)
        if source is not None:
            gathering.add(source, _found(path, source, probe, gathering))
    note_skipped(report)
    return traces.founds()


def identify_or_note(probe: Probe, report: Report) -> Source | None:
    """Return the source of a file in a folder; None if it is empty, unknown, or claimed by two, which is recorded."""
    try:
        source = identify(probe)
    except UsageError as error:
        report.open(str(probe.path), None).note("ambiguous-format", str(error))
        return None
    if source is None and not probe.is_content:
        is_empty = not probe.head and not probe.path.stat().st_size
        code, reason = ("empty-file", "the file is empty") if is_empty else UNKNOWN
        report.open(str(probe.path), None).note(code, reason, "warning" if is_empty else "info")
    return source


def _content_key(path: Path) -> str:
    """Return a key that is the same for files with the same bytes, which are copies."""
    import hashlib

    try:
        with opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    except BadFile:
        return str(path)
