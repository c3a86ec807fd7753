"""From folders to conversations: discover, read, merge. The one place that takes whatever escapes from a file."""

from __future__ import annotations

import hashlib
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from copilog import identity
from copilog.diagnostics import Ledger, Report
from copilog.errors import BadFile, CopilogError, UsageError
from copilog.model import Conversation, Workspace
from copilog.sources import BY_NAME, SOURCES, Found, Probe, Source, identify
from copilog.sources.roots import Root, StorageFolder, default_roots, roots_from, storage_folders
from copilog.sources.vscode_workspace import workspace_from

Reader = Callable[[Found, Ledger], Iterator[Conversation]]

# The trace that speaks for a conversation before it is read, best first.
ORDER = {source.name: position for position, source in enumerate(SOURCES)}


def find_roots(paths: Sequence[Path] = ()) -> list[Root]:
    """The places to look at: those named, and then nothing else of this machine; else the usual ones."""
    if not paths:
        return default_roots()
    roots: list[Root] = []
    for path in paths:
        if not path.is_dir():
            raise UsageError(f"{path}: no such folder")
        found = roots_from(path)
        if not found:
            raise UsageError(
                f"{path}: neither a home folder nor a place where VS Code or Copilot keeps its data; "
                "to read single files, use `copilog inspect` or `copilog show`"
            )
        roots += found
    return roots


def discover(roots: Iterable[Root | Path | str] | None = None, *, report: Report | None = None) -> Iterator[Found]:
    """Yield one `Found` for each conversation on this machine, with all its traces, newest knowledge first.

    `roots` may name folders to look at instead: home folders, user data folders, workspace storage.
    """
    report = report if report is not None else Report()
    groups: dict[str, list[Found]] = {}
    hints: dict[str, Conversation] = {}
    for root in _as_roots(roots):
        if root.exists:
            _locate(root, groups, hints, report)
    for key, traces in groups.items():
        yield _as_one(traces, hints.pop(key, None))
    for hint in hints.values():
        yield Found(
            Path(hint.provenance[0].path), hint.source, hint.native_id, hint.workspace, hint.application, hint=hint
        )


def _as_roots(roots: Iterable[Root | Path | str] | None) -> list[Root]:
    if roots is None:
        return find_roots()
    made: list[Root] = []
    for root in roots:
        made += [root] if isinstance(root, Root) else find_roots([Path(root)])
    return made


def _locate(root: Root, groups: dict[str, list[Found]], hints: dict[str, Conversation], report: Report) -> None:
    skipped: list[tuple[Path, str]] = []
    for folder in storage_folders(root, skipped):
        workspace = _workspace_of(folder, report)
        for source in SOURCES:
            for found in source.locate(folder):
                if workspace is not None:
                    found = replace(found, workspace=workspace)
                if found.native_id is not None:
                    groups.setdefault(found.native_id, []).append(found)
                else:
                    _read_index(source, found, groups, hints, report)
    for path, reason in skipped:
        report.open(str(path), None).note("broken-link" if path.is_symlink() else "unreadable", reason)


def _workspace_of(folder: StorageFolder, report: Report) -> Workspace | None:
    path = folder.path / "workspace.json"
    if folder.kind != "workspace":
        return None
    try:
        return workspace_from(folder.path)
    except ValueError as error:
        ledger = report.open(str(path), "vscode-workspace")
        ledger.seen += 1
        ledger.reject("bad-record", str(error), pointer="")
        return None


def _read_index(
    source: Source, found: Found, groups: dict[str, list[Found]], hints: dict[str, Conversation], report: Report
) -> None:
    ledger = report.open(str(found.path), source.name)
    for stub in contained(source.index, found, ledger):
        native_id = stub.native_id or ""
        if "inside" in stub.marks:
            groups.setdefault(native_id, []).append(replace(found, native_id=native_id))
        elif native_id not in hints:
            hints[native_id] = stub
        else:
            hints[native_id] = identity.merge([hints[native_id], stub])


def _as_one(traces: list[Found], hint: Conversation | None) -> Found:
    traces.sort(key=lambda found: ORDER[found.source])
    first = traces[0]
    return replace(first, others=tuple(traces[1:]), hint=hint)


# --- reading ----------------------------------------------------------------------------------------------------


def read(target: Found | Path | str, *, report: Report | None = None) -> Iterator[Conversation]:
    """Yield the conversations of what `discover` found, of a file, or of all files in a folder."""
    report = report if report is not None else Report()
    if isinstance(target, Found):
        yield from _read_found(target, report)
        return
    path = Path(target)
    if path.is_dir():
        for found in _found_in(path, report):
            yield from _read_found(found, report)
    else:
        yield from _read_found(found_at(path), report)


def _read_found(found: Found, report: Report) -> Iterator[Conversation]:
    """Read all traces of a conversation and make one of them."""
    if found.native_id is None:
        yield from _read_file(found, report)
        return
    traces: list[Conversation] = []
    if not _is_index_entry(found):
        for trace in found.traces():
            traces += _read_file(trace, report)
    if found.hint is not None:
        traces.append(identity.copy_of(found.hint))
    by_id: dict[str, list[Conversation]] = {}
    for conversation in traces:
        by_id.setdefault(conversation.id, []).append(conversation)
    for same in by_id.values():
        merged = identity.merge(same)
        if merged.file_changes and not merged.turns:
            where = next((trace.path for trace in merged.provenance if trace.role == "edits"), str(found.path))
            reason = "edits of a conversation whose requests are not on disk"
            report.open(where, "vscode-editing").note("orphan-editing-session", reason)
        yield merged


def _is_index_entry(found: Found) -> bool:
    """Whether nothing but an index knows of the conversation."""
    hint = found.hint
    return hint is not None and not found.others and str(found.path) == hint.provenance[0].path


def _read_file(found: Found, report: Report) -> Iterator[Conversation]:
    ledger = report.open(str(found.path), found.source)
    for conversation in contained(BY_NAME[found.source].read, found, ledger):
        ledger.conversations += 1
        if conversation.workspace is None:
            conversation.workspace = found.workspace
        elif found.workspace is not None:
            identity.fill(conversation.workspace, found.workspace)
        conversation.application = conversation.application or found.application
        yield conversation


def contained(reader: Reader, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Pass conversations on; a file that cannot be read, or that breaks its reader, ends there and is told."""
    conversations: Iterator[Conversation] | None = None
    while True:
        try:
            if conversations is None:
                conversations = reader(found, ledger)
            conversation = next(conversations)
        except StopIteration:
            return
        except BadFile as error:
            ledger.note(error.code, str(error), "error")
            return
        except Exception as error:  # the one place where a bug of ours must not end the run
            if os.environ.get("COPILOG_RAISE"):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            ledger.note("crash", f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}", "error")
            _balance(ledger)
            return
        yield conversation


def _balance(ledger: Ledger) -> None:
    """Count what was under way when a reader broke."""
    for tally in (ledger, ledger.parts):
        missing = tally.seen - tally.used - sum(tally.ignored.values()) - len(tally.bad)
        if missing > 0:
            tally.ignore("reader-crashed", missing)


# --- files named by hand ----------------------------------------------------------------------------------------


def found_at(path: Path, *, companions: bool = True) -> Found:
    """What a single file is; raise UsageError when it is missing, unreadable or of no known format."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if not os.access(path, os.R_OK):
        raise UsageError(f"{path}: not readable; check its permissions")
    probe = Probe(path)
    source = identify(probe)
    if source is None:
        raise UsageError(f"{path}: of no known format; copilog reads {', '.join(known.title for known in SOURCES)}")
    found = Found(path, source.name, source.native_id(probe))
    folder = _storage_folder_of(path)
    if folder is None:
        return found
    found = replace(found, workspace=_workspace_of(folder, Report()), application=folder.application)
    return _with_companions(found, folder) if companions and found.native_id else found


def _storage_folder_of(path: Path) -> StorageFolder | None:
    """The storage folder that a session file lies in, if it lies in one."""
    folder = path.parent.parent
    root = Root("vscode-workspace", folder, None, "around the named file", True)
    if path.parent.name == "chatSessions":
        return StorageFolder(folder, "workspace", None, root)
    if path.parent.name in ("emptyWindowChatSessions", "transferredChatSessions"):
        return StorageFolder(folder, "global", None, root)
    return None


def _with_companions(found: Found, folder: StorageFolder) -> Found:
    """Add what belongs to a session named by hand, but not its twin or copies: that very file was asked for."""
    others = [
        replace(other, workspace=found.workspace)
        for source in SOURCES
        if source.name in ("vscode-editing", "vscode-resources")
        for other in source.locate(folder)
        if other.native_id == found.native_id
    ]
    groups: dict[str, list[Found]] = {}
    hints: dict[str, Conversation] = {}
    state = BY_NAME["vscode-state"]
    for index in state.locate(folder):
        _read_index(state, replace(index, workspace=found.workspace), groups, hints, Report())
    return replace(found, others=tuple(others), hint=hints.get(found.native_id or ""))


def walk(folder: Path) -> Iterator[Path]:
    """All plain files below a folder, by name; links are not followed."""
    for parent, names, files in os.walk(folder, followlinks=False):
        names.sort()
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _found_in(folder: Path, report: Report) -> Iterator[Found]:
    """The conversations of all files below a folder, whatever folder it is."""
    groups: dict[str, list[Found]] = {}
    hints: dict[str, Conversation] = {}
    workspaces: dict[Path, Workspace | None] = {}
    for path in walk(folder):
        probe = Probe(path)
        source = identify(probe)
        if source is None:
            continue
        found = Found(path, source.name, source.native_id(probe))
        storage = _storage_folder_of(path)
        if storage is not None:
            if storage.path not in workspaces:
                workspaces[storage.path] = _workspace_of(storage, report)
            found = replace(found, workspace=workspaces[storage.path])
        if found.native_id is not None:
            groups.setdefault(found.native_id, []).append(found)
        elif source.name == "vscode-state":
            _read_index(source, found, groups, hints, report)
        else:
            groups.setdefault(_content_key(path), []).append(found)
    for key, traces in groups.items():
        yield _as_one(traces, hints.pop(key, None))
    for hint in hints.values():
        yield Found(
            Path(hint.provenance[0].path), hint.source, hint.native_id, hint.workspace, hint.application, hint=hint
        )


def _content_key(path: Path) -> str:
    """Files with the same bytes are copies of one another."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return str(path)


def inspect(paths: Sequence[Path], *, source: str | None = None) -> Iterator[Ledger]:
    """The books of each file, read by itself; files of no known format have no source."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    for path in paths:
        if path.is_dir():
            for file in walk(path):
                yield inspect_file(file, source)
        else:
            found_at(path, companions=False) if source is None else None
            yield inspect_file(path, source)


def inspect_file(path: Path, source_name: str | None = None) -> Ledger:
    """The books of one file."""
    probe = Probe(path)
    source = BY_NAME[source_name] if source_name else identify(probe)
    if source is None:
        return Ledger(path=str(path))
    report = Report()
    found = Found(path, source.name, source.native_id(probe))
    for _ in _read_file(found, report):
        pass
    return report.files[str(path)]


__all__ = [
    "CopilogError",
    "contained",
    "discover",
    "find_roots",
    "found_at",
    "inspect",
    "inspect_file",
    "read",
    "walk",
]
