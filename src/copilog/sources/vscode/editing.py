"""Read editing sessions: `chatEditingSessions/<key>/state.json` and `contents/<hash>`.

They become file changes and file states. Texts in `contents` that the state does not name, or that have no state,
become files without a name. Format notes: docs/formats/vscode-editing.md
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_link
from copilog.model import Conversation, FileChange, FileState
from copilog.model.questions import unnamed_uri
from copilog.model.recorded_names import UNDONE_REQUESTS
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import file_names_in, folder_names_in, is_plain_file
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.file_versions import Absence, ChangeMaker, Entry, Snapshot, initial_hashes, snapshot_from
from copilog.uris import uri_to_path

FOLDER = "chatEditingSessions"
CONTENTS = "contents"
STATE_FILE = "state.json"

_EMPTY_HASH = "da39a3ee5e6b4b0d3255bfef95601890afd80709"  # SHA-1 of no text
_content_name = re.compile(r"[0-9a-f]{7}")
_safe_hash = re.compile(r"[0-9a-f]{4,40}")


class VSCodeEditing(Source):
    name = "vscode-editing"
    title = "VS Code editing session"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        sessions = folder.path / FOLDER
        for session in folder_names_in(sessions):
            state = sessions.joinpath(session, STATE_FILE)
            path = state if is_plain_file(state) else _first_content(sessions.joinpath(session, CONTENTS))
            if path is not None:
                yield Found(path, self.name, native_id=session, application=folder.application)

    def claims(self, file: Probe) -> bool:
        if file.name == STATE_FILE and file.folders[-2:-1] == (FOLDER,):
            return True
        if _content_name.fullmatch(file.name):
            return file.is_directly_in(CONTENTS) and file.folders[-3:-2] == (FOLDER,)
        if {"initialFileContents", "recentSnapshot"} <= file.keys:
            return True
        return file.name == STATE_FILE and bool({"timeline", "linearHistory"} & file.keys)

    def native_id(self, file: Probe) -> str | None:
        if file.name == STATE_FILE and file.folders[-2:-1] == (FOLDER,):
            return file.folders[-1]
        is_alone = file.is_directly_in(CONTENTS) and not is_plain_file(file.path.parent.parent / STATE_FILE)
        return file.folders[-2] if is_alone and file.folders[-3:-2] == (FOLDER,) else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield a conversation of file changes and file states, to be joined to the one that it belongs to."""
        from copilog.sources.documents import read_document

        if found.path.parent.name == CONTENTS:
            yield from self._without_state(found, ledger)
            return
        contents = Contents(found.path.parent / CONTENTS, ledger)
        state = read_document(found.path, ledger)
        editing = Editing() if state is None else editing_from(state, contents, ledger)
        editing.files += contents.unnamed()
        if editing.is_empty:
            if ledger.used:
                ledger.ignore("empty", ledger.used)
                ledger.used = 0
            return
        native_id = found.native_id or _native_id(found.path, (state or {}).get("sessionId"))
        yield self._conversation(native_id, found, editing)

    def _without_state(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield the texts of a session whose state is gone; those that a state names can only be checked here."""
        _check_content(found.path, ledger)
        folder = found.path.parent
        if found.native_id is None or found.path != _first_content(folder):  # the first represents all of them
            return

        editing = Editing(files=Contents(folder, ledger).unnamed())
        if not editing.is_empty:
            yield self._conversation(found.native_id, found, editing)

    def _conversation(self, native_id: str, found: Found, editing: Editing) -> Conversation:
        return Conversation(
            id=f"vscode:{native_id}",
            native_id=native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            file_changes=editing.file_changes,
            files=editing.files,
            marks=["orphan-edits"],
            provenance=[provenance_of(found, role="edits")],
            extra=editing.extra or None,
        )


class Contents:
    """The texts beside a state.json, by their hash; each is read on its first access."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._texts: dict[str, str | None] = {}

    def __call__(self, name: str) -> str | None:
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def unnamed(self) -> list[FileState]:
        """Return the texts that were never accessed: no state names them, so their files cannot be determined."""
        names = [name for name in file_names_in(self._folder) if _content_name.fullmatch(name)]
        left = ((name, self(name)) for name in names if name not in self._texts)
        return [FileState(uri=unnamed_uri(name), current=text) for name, text in left if text]

    def _read(self, name: str) -> str | None:
        if not _safe_hash.fullmatch(name):  # the name comes from the file, and must not lead out of the folder
            self._ledger.note("missing-content", "the name of a text is not a hash")
            return None
        path = self._folder / name
        try:
            if is_link(path):
                raise BadFile("is a link, which was not followed")
            data = read_bytes(path)
        except BadFile as error:
            if _EMPTY_HASH.startswith(name):
                return ""
            self._ledger.note("missing-content", f"{CONTENTS}/{name} {error}")
            return None
        return _checked_text(name, data, self._ledger)


def _checked_text(name: str, data: bytes, ledger: Ledger) -> str:
    import hashlib

    digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    if not digest.startswith(name):
        ledger.note("content-hash-mismatch", f"{CONTENTS}/{name} holds another text: its hash is {digest[:7]}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        ledger.note("invalid-utf8", f"{CONTENTS}/{name} has invalid UTF-8 at byte {error.start}", "info")
        return data.decode("utf-8", errors="replace")


def _check_content(path: Path, ledger: Ledger) -> None:
    """Check a text that a state.json names; it is read together with that state."""
    data = read_bytes(path)
    ledger.seen += 1
    _checked_text(path.name, data, ledger)
    ledger.used += 1


def _first_content(folder: Path) -> Path | None:
    return next((folder / name for name in file_names_in(folder) if _content_name.fullmatch(name)), None)


def _native_id(path: Path, session_id: object) -> str:
    """Return the name of the session's folder as its key, or the id inside for a file moved out of its folder."""
    if path.parent.parent.name == FOLDER or not isinstance(session_id, str) or not session_id:
        return path.parent.name or path.stem
    return session_id


# The file changes and file states of an editing session's state.json. There are three shapes, distinguished by their
# keys. Format notes: docs/formats/vscode-editing.md


Json = dict[str, Any]
Content = Callable[[str], str | None]
Decision = Literal["undecided", "accepted", "rejected"]

_DECISIONS: dict[object, Decision] = {0: "undecided", 1: "accepted", 2: "rejected"}
# `version` is left out on purpose: it does not identify the shape, and a session has a version of its own.
_ROOT_KEYS = {
    "version",
    "sessionId",
    "linearHistory",
    "linearHistoryIndex",
    "timeline",
    "initialFileContents",
    "recentSnapshot",
    "pendingSnapshot",
}
_TIMELINE_KEYS = {"checkpoints", "fileBaselines", "operations", "currentEpoch", "epochCounter"}
_ENTRY_KEYS = {"resource", "languageId", "originalHash", "currentHash", "state", "isDeleted", "telemetryInfo"}


@dataclass(slots=True)
class Editing:
    """The changes that an editing session made to files. `extra` holds the fields that the model lacks."""

    file_changes: list[FileChange] = field(default_factory=list)
    files: list[FileState] = field(default_factory=list)
    extra: Json = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.file_changes or self.files or self.extra.keys() & {"unknownOperations", UNDONE_REQUESTS})


def editing_from(state: Json, content: Content, ledger: Ledger) -> Editing:
    """Read a decoded state.json. `content` returns the text that a hash names, or None."""
    reader = _StateReader(state, content, ledger)
    changes = reader.timeline_changes()
    met = {change.request_id for change in changes}
    changes += [change for change in reader.history_changes() if change.request_id not in met]
    languages = {entry.uri: entry.language for entry in reader.recent.values()}
    for change in changes:
        change.language = change.language or languages.get(change.uri)
    files = _file_states(reader.initial, {**reader.pending, **reader.recent}, content)
    changed = {uri for change in changes for uri in (change.uri, change.old_uri)}
    changes += _changes_without_history(files, changed, reader.maker)
    return Editing(changes, files, reader.extra)


class _StateReader:
    """Reads the root of a state.json, and what its shapes have in common."""

    def __init__(self, state: Json, content: Content, ledger: Ledger) -> None:
        self._state = state
        self._content = content
        self._ledger = ledger
        self.maker = ChangeMaker()
        self.extra = {key: value for key, value in state.items() if key not in _ROOT_KEYS}
        self.initial = initial_hashes(state.get("initialFileContents"), ledger)
        self.recent = self._snapshot("recentSnapshot")
        self.pending: Snapshot = {}  # empty if no step is undone; has the last state of files that the recent one lacks
        recent = state.get("recentSnapshot")
        if isinstance(recent, dict) and recent.get("workingSet"):
            self.extra["workingSet"] = recent["workingSet"]

    def timeline_changes(self) -> list[FileChange]:
        raw = self._state.get("timeline")
        if not isinstance(raw, dict):
            if raw is not None:
                self._ledger.note("bad-part", "the timeline is not an object", pointer="/timeline")
            return []
        from copilog.sources.vscode.editing_timeline import Replay, read_timeline

        timeline = read_timeline(raw, self._ledger)
        if timeline.unknown:
            self.extra["unknownOperations"] = timeline.unknown
        if undone := timeline.undone_requests():
            self.extra[UNDONE_REQUESTS] = undone
        rest = {key: value for key, value in raw.items() if key not in _TIMELINE_KEYS}
        if rest:
            self.extra["timeline"] = rest
        return list(Replay(timeline, self._initial_text).changes(self.maker))

    def history_changes(self) -> list[FileChange]:
        from copilog.sources.vscode.editing_history import HistoryReader, read_history

        pending = self._snapshot("pendingSnapshot")
        items, is_undone = read_history(
            self._state.get("linearHistory"), self._state.get("linearHistoryIndex"), self._ledger
        )
        if pending and not is_undone:
            self.extra["pendingSnapshot"] = self._state["pendingSnapshot"]
            self.pending = pending
        # Where steps are undone, the recent snapshot is older than the end of the history; the pending one is that end.
        last = pending if is_undone else self.recent
        return list(HistoryReader(self.initial, self._content, self.maker).changes(items, last))

    def _initial_text(self, uri: str) -> str | None:
        name = self.initial.get(uri)
        return None if name is None else self._content(name)

    def _snapshot(self, key: str) -> Snapshot:
        snapshot: Snapshot = {}
        if self._state.get(key) is not None:
            with self._ledger.record(pointer=f"/{key}"):
                snapshot = snapshot_from(self._state[key], f"/{key}", self._ledger)
        return snapshot


def _file_states(initial: dict[str, str], recent: Snapshot, content: Content) -> list[FileState]:
    """Return the state of each file that the session touched, those of the recent snapshot first."""
    states = [_state_of(entry, initial.get(entry.uri), content) for entry in recent.values()]
    states += [_initial_state(uri, name, content) for uri, name in initial.items() if uri not in recent]
    return states


def _changes_without_history(files: list[FileState], changed: set[str | None], maker: ChangeMaker) -> list[FileChange]:
    """Return the changes of files that the history does not record, as far as the texts before and after are available.

    Edits that wait for a decision are the difference between `original` and `current`. Where there are none, accepted
    edits are the difference between `initial` and `current`; several requests may have made them, so they belong to no
    request.
    """
    made: list[FileChange] = []
    for file in files:
        if file.uri in changed:
            continue
        after = Absence.NOT_THERE if file.is_deleted else file.current
        is_waiting = file.original is not None and file.original != after
        before = file.original if is_waiting else file.initial
        if before is None or after is None or before == after:
            continue
        change = maker.change(file.uri, before, after, language=file.language, is_undone=file.decision == "rejected")
        change.request_id = file.request_id if is_waiting else None
        made.append(change)
    return made


def _initial_state(uri: str, name: str, content: Content) -> FileState:
    text = content(name)
    extra = {"initialHash": name} if text is None else None
    return FileState(uri=uri, path=uri_to_path(uri), initial=text, extra=extra)


def _state_of(entry: Entry, initial: str | None, content: Content) -> FileState:
    texts: dict[str, str | None] = {}
    extra: Json = {key: value for key, value in entry.raw.items() if key not in _ENTRY_KEYS}
    for key, name in (("initial", initial), ("original", entry.original), ("current", entry.current)):
        texts[key] = None if name is None else content(name)
        if name is not None and texts[key] is None:
            extra[f"{key}Hash"] = name
    telemetry = entry.raw.get("telemetryInfo")
    if isinstance(telemetry, dict):
        # The result is a copy of what the session itself holds, and a large one.
        kept = {key: value for key, value in telemetry.items() if key not in ("requestId", "result")}
        if kept:
            extra["telemetryInfo"] = kept
    state = entry.raw.get("state")
    decision = _DECISIONS.get(state) if isinstance(state, int) else None
    if decision is None and state is not None:
        extra["state"] = state
    return FileState(
        uri=entry.uri,
        path=uri_to_path(entry.uri),
        initial=texts["initial"],
        original=texts["original"],
        current=texts["current"],
        decision=decision,
        is_deleted=entry.is_deleted,
        language=entry.language,
        request_id=entry.request_id,
        extra=extra or None,
    )
