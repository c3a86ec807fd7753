"""What an editing session's state.json says, as file changes and file states. Three shapes, told apart by their keys.

Format notes: docs/formats/vscode-editing.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from copilog.diagnostics import Ledger
from copilog.model import FileChange, FileState
from copilog.sources._vscode.editing_history import HistoryReader, read_history
from copilog.sources._vscode.editing_timeline import Replay, read_timeline
from copilog.sources._vscode.file_versions import Absence, ChangeMaker
from copilog.sources._vscode.snapshots import Entry, Snapshot, initial_hashes, snapshot_from
from copilog.sources._vscode.uris import uri_to_path

Json = dict[str, Any]
Content = Callable[[str], str | None]
Decision = Literal["undecided", "accepted", "rejected"]

UNDONE_REQUESTS = "undoneRequests"  # in the extra of a conversation
_DECISIONS: dict[object, Decision] = {0: "undecided", 1: "accepted", 2: "rejected"}
# `version` is left out on purpose: it does not tell the shapes apart, and a session has a version of its own.
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
    """What an editing session did to files. `extra` holds what has no place in the model."""

    file_changes: list[FileChange] = field(default_factory=list)
    files: list[FileState] = field(default_factory=list)
    extra: Json = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.file_changes or self.files or self.extra.keys() & {"unknownOperations", UNDONE_REQUESTS})


def editing_from(state: Json, content: Content, ledger: Ledger) -> Editing:
    """Read a decoded state.json. `content` gives the text that a hash names, or None."""
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
    """The root of a state.json, and what its shapes share."""

    def __init__(self, state: Json, content: Content, ledger: Ledger) -> None:
        self._state = state
        self._content = content
        self._ledger = ledger
        self.maker = ChangeMaker()
        self.extra = {key: value for key, value in state.items() if key not in _ROOT_KEYS}
        self.initial = initial_hashes(state.get("initialFileContents"), ledger)
        self.recent = self._snapshot("recentSnapshot")
        self.pending: Snapshot = {}  # where no step is undone; of files that the recent one lacks it has the last state
        recent = state.get("recentSnapshot")
        if isinstance(recent, dict) and recent.get("workingSet"):
            self.extra["workingSet"] = recent["workingSet"]

    def timeline_changes(self) -> list[FileChange]:
        raw = self._state.get("timeline")
        if not isinstance(raw, dict):
            if raw is not None:
                self._ledger.note("bad-part", "the timeline is no object", pointer="/timeline")
            return []
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
    """The state of each file that the session touched, those of the recent snapshot first."""
    states = [_state_of(entry, initial.get(entry.uri), content) for entry in recent.values()]
    states += [_initial_state(uri, name, content) for uri, name in initial.items() if uri not in recent]
    return states


def _changes_without_history(files: list[FileState], changed: set[str | None], maker: ChangeMaker) -> list[FileChange]:
    """Return the changes of files that no record of the history has, as far as the texts before and after are known.

    Edits that wait for a decision lie between `original` and `current`. Where there are none, what was accepted lies
    between `initial` and `current`; several requests may have made that, so it belongs to none of them.
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
