"""Read discovered conversations: read every trace, and merge those that belong together."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from copilog import identity
from copilog.definitions import Definition, definitions_in, definitions_in_store
from copilog.derive import conclude
from copilog.detection import detect
from copilog.diagnostics import Ledger, Report
from copilog.ingest.containment import contained, enriched
from copilog.ingest.discovery import found_at, founds_in
from copilog.ingest.prompts import link_to_neighbours, link_within
from copilog.ingest.skipped import note_skipped
from copilog.ingest.unidentified import Entry, Matches, Register
from copilog.model import Conversation, Relation, is_recorded, read_traces
from copilog.sources import BY_NAME, Found
from copilog.sources.roots import StorageFolder, folder_around


def read(
    target: Found | Path | str,
    *,
    report: Report | None = None,
    definitions: WorkspaceDefinitions | None = None,
    links_prompts: bool = True,
) -> Iterator[Conversation]:
    """Yield the conversations of a `Found` of `discover`, of a file, or of all files in a folder.

    With `definitions`, the custom agents and skills that a conversation's workspace defines help to detect which were
    used; without, the workspace's own folder is not read. With `links_prompts`, a history of typed prompts comes
    without those that conversations of its storage folder contain, which are read for that.
    """
    report = report if report is not None else Report()
    conversations = _read(target, report)
    if links_prompts:
        is_folder = not isinstance(target, Found) and Path(target).is_dir()
        conversations = link_within(conversations) if is_folder else link_to_neighbours(conversations, read_found)
    yield from with_detected(conversations, report, definitions)


def with_detected(
    conversations: Iterator[Conversation], report: Report, definitions: WorkspaceDefinitions | None = None
) -> Iterator[Conversation]:
    """Yield the conversations with the custom agents and skills that were used in them."""
    for conversation in conversations:
        defined = definitions.of(conversation) if definitions is not None else ()
        first = conversation.provenance[0]
        ledger = report.open(first.path, first.source)
        enriched(partial(conclude, conversation), ledger)
        note_times(conversation, ledger)
        if not is_recorded(conversation):  # else it records what was detected where it was made
            enriched(partial(detect, conversation, defined), ledger)
        yield conversation


def note_times(conversation: Conversation, ledger: Ledger) -> None:
    """Record impossible times of turns in the ledger; durations that depend on them stay unknown."""
    for turn in conversation.turns:
        if turn.duration is not None:
            for problem in turn.duration.problems:
                ledger.note("impossible-time", f"turn {turn.index + 1}: {problem}", pointer=turn.pointer)


def _read(target: Found | Path | str, report: Report) -> Iterator[Conversation]:
    if isinstance(target, Found):
        yield from read_found(target, report)
    elif Path(target).is_dir():
        yield from read_folder(Path(target), report)
    else:
        yield from read_found(found_at(Path(target)), report)


class WorkspaceDefinitions:
    """The definitions of workspaces on this machine; each is read once, on first use."""

    def __init__(self, *user_definitions: Definition) -> None:
        self._user = user_definitions
        self._in_folders: dict[str, tuple[Definition, ...]] = {}
        self._in_stores: dict[Path, tuple[Definition, ...]] = {}
        self._around: dict[str, tuple[Definition, ...]] = {}  # agents in the store of the enclosing storage folder

    def of(self, conversation: Conversation) -> tuple[Definition, ...]:
        """Return the definitions of the conversation's workspace, then the user's, then those VS Code remembers."""
        if is_recorded(conversation):
            return self._user  # a file of copilog's own may name any folder
        workspace = conversation.workspace
        folder = workspace.folder if workspace is not None and workspace.authority is None else None
        found = self._user if folder is None else (*self._of_folder(folder), *self._user)
        path = conversation.provenance[0].path
        around = os.path.dirname(path)  # noqa: PTH120 - many sessions lie in one folder, and paths are slow
        if around not in self._around:
            storage = folder_around(Path(path))
            self._around[around] = self._of_store(storage) if storage is not None else ()
        return (*found, *self._around[around])

    def _of_folder(self, folder: str) -> tuple[Definition, ...]:
        if folder not in self._in_folders:
            self._in_folders[folder] = tuple(definitions_in(Path(folder))) if Path(folder).is_dir() else ()
        return self._in_folders[folder]

    def _of_store(self, storage: StorageFolder) -> tuple[Definition, ...]:
        if storage.kind == "copilot-home":
            return ()
        if storage.path not in self._in_stores:
            self._in_stores[storage.path] = tuple(definitions_in_store(storage.path))
        return self._in_stores[storage.path]


def read_folder(path: Path, report: Report, passed_over: Container[Path] = ()) -> Iterator[Conversation]:
    """Read all files below a folder; files without a conversation id join the conversation that they fit."""
    founds = list(founds_in(path, report, passed_over))
    register = Register()
    for found in founds:
        if BY_NAME[found.source].is_nameless:
            for conversation in read_found(found, Report()):  # it is read again, and counted, when it is yielded
                register.add(found, conversation)
    for found in founds:
        if not BY_NAME[found.source].is_nameless:
            for conversation in read_found(found, report):
                yield _joined(conversation, register.matches(conversation), report)
    for first, matches in register.leftovers():
        longest = _read_again(first, report)
        if longest is not None:
            yield _joined(longest, matches, report)


def _joined(conversation: Conversation, matches: Matches, report: Report) -> Conversation:
    """Merge conversations that are the same; doubtful ones stay separate, with a relation."""
    same = [trace for entry in matches.same if (trace := _read_again(entry, report)) is not None]
    merged = identity.merge([conversation, *same]) if same else conversation
    merged.relations += [
        Relation(kind="possible-duplicate", other_id=other_id, reason=reason) for other_id, reason in matches.doubtful
    ]
    return merged


def _read_again(entry: Entry, report: Report) -> Conversation | None:
    return next((trace for trace in read_found(entry.found, report) if trace.id == entry.id), None)


def read_found(found: Found, report: Report) -> Iterator[Conversation]:
    """Read all traces of a conversation and merge them; an error of one does not end the run."""
    ledger = report.open(str(found.path), found.source)
    return contained(lambda found, _: _read_traces(found, report), found, ledger)


def _read_traces(found: Found, report: Report) -> Iterator[Conversation]:
    if found.native_id is None and not found.others and found.hint is None and not found.is_index_entry:
        # A file may hold thousands: traces of one conversation are consecutive, and only these are held at once.
        for _, same in groupby(read_file(found, report), key=lambda trace: trace.id):
            yield _merged(list(same), report)
        return
    traces: list[Conversation] = []
    if not found.is_index_entry:
        for trace in found.traces():
            traces += read_file(trace, report)
    if found.hint is not None:
        traces.append(identity.copy_of(found.hint))
    for same_conversation in identity.together(traces):
        yield _merged(same_conversation, report)


def _merged(traces: list[Conversation], report: Report) -> Conversation:
    merged = identity.merge(traces)
    _note_orphan(merged, report)
    return merged


def _note_orphan(conversation: Conversation, report: Report) -> None:
    """Record edits without requests in the ledger: their conversation is lost, or stored elsewhere."""
    if not conversation.file_changes or conversation.turns:
        return
    for trace in read_traces(conversation):
        if trace.role == "edits":
            reason = "edits of a conversation whose requests are not on disk"
            report.open(trace.path, trace.source).note("orphan-editing-session", reason)


def read_file(found: Found, report: Report) -> Iterator[Conversation]:
    """Yield the conversations of one file, without their other traces."""
    ledger = report.open(str(found.path), found.source)
    for conversation in contained(BY_NAME[found.source].read, found, ledger):
        ledger.conversations += 1
        if conversation.workspace is None:
            conversation.workspace = found.workspace
        elif found.workspace is not None:
            identity.fill(conversation.workspace, found.workspace)
        conversation.application = conversation.application or found.application
        _name_traces(conversation)
        yield conversation
    note_skipped(report)


def _name_traces(conversation: Conversation) -> None:
    """Name the file of each document whose source did not."""
    for document in conversation.documents:
        if not document.traces:
            document.traces = [conversation.provenance[0].path]
