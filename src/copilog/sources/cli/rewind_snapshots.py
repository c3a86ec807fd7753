"""Snapshots that Copilot CLI takes so that edits can be undone: session-state/<id>/rewind-snapshots/index.json

Since 1.0.89 they are in rewind-file-snapshots/index.json, written when a turn ends that changed files.
They hold the prompts that they were taken at, also of turns that were taken back since, and files as they were before.
Format notes: docs/formats/session-store.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.fields import Json, rest, take_dict, take_list, take_str
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_link
from copilog.model import AnyDocument, BackupDocument, Conversation, FileState, Message, Text, Turn
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import SESSION_STATE, below, files_of_sessions, is_plain_file
from copilog.sources.roots import StorageFolder

FOLDER, NEWER_FOLDER = "rewind-snapshots", "rewind-file-snapshots"
FOLDERS = (FOLDER, NEWER_FOLDER)
FILE, BACKUPS, SWITCH = "index.json", "backups", "tracking.json"
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_BACKUP = re.compile(r"[0-9a-f]{8,64}-[0-9]{6,16}|[0-9a-f]{64}")


class RewindSnapshots(Source):
    name = "rewind-snapshots"
    title = "Copilot CLI rewind snapshots"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for name in FOLDERS:
            for path, session_id in files_of_sessions(folder, name, FILE):
                yield Found(path, self.name, native_id=session_id)

    def claims(self, file: Probe) -> bool:
        if file.is_directly_in(*FOLDERS) and (file.name in (FILE, SWITCH) or _is_half_written(file.name)):
            return True
        if file.is_directly_in(BACKUPS) and file.folders[-2:-1] in ((FOLDER,), (NEWER_FOLDER,)):
            return _BACKUP.fullmatch(file.name) is not None
        return {"snapshots", "filePathMap"} <= file.keys

    def native_id(self, file: Probe) -> str | None:
        inner = below(file.path, SESSION_STATE)
        return inner[0] if inner is not None and len(inner) > 1 and file.name == FILE else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.documents import read_document

        if found.path.parent.name == BACKUPS:  # a copy of a file: the index names the file
            ledger.seen += 1
            _text_of(found.path, ledger)
            ledger.used += 1
            return
        if found.path.name == SWITCH or _is_cut_off(found.path):  # whether files are watched; a write cut off
            ledger.seen += 1
            ledger.ignore("program-state")
            return
        index = read_document(found.path, ledger)
        if index is None:
            return
        native_id = found.native_id or found.path.parent.parent.name
        made = Conversation(id=f"cli:{native_id}", native_id=native_id, source=self.name, marks=["rewind"])
        files = Files(found.path.parent / BACKUPS, take_dict(index, "filePathMap") or {}, ledger)
        for position, raw in enumerate(take_list(index, "snapshots") or []):
            with ledger.record(pointer=f"/snapshots/{position}"):
                _add_snapshot(raw, position, made, files, is_late=found.path.parent.name == NEWER_FOLDER)
        made.files = files.states()
        made.documents = files.documents
        made.provenance = [provenance_of(found, role="resource")]
        left = {**index, **({"paths": files.unnamed()} if files.unnamed() else {})}
        if left:
            made.extra = {"rewind_snapshots": left}
        if made.turns or made.files:
            yield made


def _add_snapshot(raw: Any, position: int, made: Conversation, files: Files, *, is_late: bool) -> None:
    """Add a snapshot that was taken before its prompt was handled, or, with `is_late`, when its turn ended."""
    if not isinstance(raw, dict):
        raise BadRecord(f"a snapshot that is {type(raw).__name__}, not an object")
    from copilog.fields import take_timestamp

    snapshot_id = take_str(raw, "snapshotId")
    event_id = take_str(raw, "eventId")
    text = take_str(raw, "userMessage")
    turn = Turn(index=len(made.turns), request_id=event_id, pointer=f"/snapshots/{position}")
    taken_at = take_timestamp(raw, "timestamp")
    if not is_late:
        turn.timing.started_at = taken_at
    for key, value in (take_dict(raw, "files") or {}).items():
        files.add(key, value, snapshot_id)
    turn.extra = rest({"snapshotId": snapshot_id, **raw} if snapshot_id is not None else raw)
    if text is not None:
        message = Message(role="user", parts=[Text(text=text)], turn=turn.index, id=event_id)
        message.created_at = taken_at
        made.messages.append(message)
    made.turns.append(turn)


def _is_half_written(name: str) -> bool:
    """Return whether a file is a new index that the program had not yet renamed to replace the old one."""
    return name.startswith(f"{FILE}.tmp.")


def _is_cut_off(path: Path) -> bool:
    """Return whether an index is truncated. A complete one that was never renamed can be read."""
    if not _is_half_written(path.name):
        return False
    try:
        index = jsonio.decode_strictly(read_bytes(path))
    except (BadFile, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return not (isinstance(index, dict) and index.get("snapshots"))


class Files:
    """The files that were backed up, by their keys in the index."""

    def __init__(self, folder: Path, paths: Json, ledger: Ledger) -> None:
        self._folder = folder
        self._paths = paths
        self._ledger = ledger
        self._versions: dict[str, list[Json]] = {}
        self.documents: list[AnyDocument] = []  # files as they were before a later edit

    def add(self, key: str, value: Any, snapshot_id: str | None) -> None:
        entry = dict(value) if isinstance(value, dict) else {"value": value}
        self._versions.setdefault(key, []).append({"snapshotId": snapshot_id, **entry})

    def states(self) -> list[FileState]:
        """Return each file with its text before the first edit, where a backup holds it."""
        return [self._state(key, versions) for key, versions in self._versions.items()]

    def _state(self, key: str, versions: list[Json]) -> FileState:
        named = self._paths.get(key, versions[0].get("path"))
        path = named if isinstance(named, str) else key
        state = FileState(uri=_uri_of(path), path=path, extra={"versions": versions})
        names = (_before(entry).get("backupFile") for entry in versions)
        backups = list(dict.fromkeys(name for name in names if isinstance(name, str)))
        if backups:
            state.initial = self._text(backups[0])
        for backup in backups[1:]:
            text = self._text(backup)
            if text is not None and text != state.initial:
                self.documents.append(BackupDocument(text=text, path=path, extra={"backupFile": backup}))
        return state

    def _text(self, name: str) -> str | None:
        if not _BACKUP.fullmatch(name):  # read from the file, so it must not lead out of the folder
            self._ledger.note("missing-content", "an invalid backup name")
            return None
        path = self._folder / name
        if not is_plain_file(path) or is_link(self._folder):
            self._ledger.note("missing-content", f"{BACKUPS}/{name} is not there")
            return None
        try:
            return _text_of(path, self._ledger)
        except BadFile as error:
            self._ledger.note("missing-content", f"{BACKUPS}/{name} {error}")
            return None

    def unnamed(self) -> Json:
        """Return the paths that are in no snapshot."""
        return {key: path for key, path in self._paths.items() if key not in self._versions}


def _before(entry: Json) -> Json:
    """Return what an entry records about the file before the turn; newer ones separate it from the state after it."""
    before = entry.get("preimage")
    return before if isinstance(before, dict) else entry


def _text_of(path: Path, ledger: Ledger) -> str:
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        ledger.note("invalid-utf8", f"{path.name} has invalid UTF-8 at byte {error.start}", "info")
        return data.decode("utf-8", errors="replace")


def _uri_of(path: str) -> str:
    """Return the URI of a path of any system. A path that is not absolute stays unchanged."""
    if _WINDOWS.match(path):
        path = path.replace("\\", "/")
        return f"file:{quote(path)}" if path.startswith("//") else f"file:///{quote(path, safe='/:')}"
    return f"file://{quote(path, errors='replace')}" if path.startswith("/") else path
