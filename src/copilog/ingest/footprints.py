"""What tells, without reading, whether the files of a conversation have changed: their sizes and times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path

import msgspec

from copilog.sources import SOURCES, Found
from copilog.sources.roots import Root, StorageFolder, storage_folders
from copilog.store.units import FileState

# Folders that belong to one conversation: all that lies in them is read with it.
_OWN_FOLDERS = frozenset({"session-state", "chatEditingSessions", "history-session-state"})
_MOST_FILES = 10_000  # of one conversation's folder; what lies beyond is not looked at
_DATABASES = (".vscdb", ".db", ".sqlite")


class Look:
    """A quick look at roots: all files that a source would read, how they are, and in which folder they lie."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self.states: dict[str, FileState] = {}
        self.folders: list[StorageFolder] = []
        self.single_files: list[Root] = []
        self._folder_of: dict[str, int] = {}
        self._key_of: dict[str, str | None] = {}
        self._folders_by_key: dict[str, set[int]] = {}
        seen: set[Path] = set()
        for root in roots:
            if root.kind == "file":
                self.single_files.append(root)
                self.states.update(_states_at(root.path))
                continue
            for folder in storage_folders(root):
                place = folder.path.resolve()
                if place not in seen:  # roots may lie within one another
                    seen.add(place)
                    self._add(folder)

    def _add(self, folder: StorageFolder) -> None:
        number = len(self.folders)
        self.folders.append(folder)
        own_folders: set[str] = set()
        self._take(_states_at(folder.path / "workspace.json"), number, None)  # all that lies here belongs to it
        for source in SOURCES:
            for found in source.locate(folder):
                key = None if source.is_index and found.native_id is None else found.native_id or str(found.path)
                if key is not None:
                    self._folders_by_key.setdefault(key, set()).add(number)
                own = _own_folder(found.path)
                if own is None:
                    self._take(_states_at(found.path), number, key)
                elif own not in own_folders:
                    own_folders.add(own)
                    self._take(_states_below(own), number, key)

    def _take(self, states: Iterable[tuple[str, FileState]], number: int, key: str | None) -> None:
        for path, state in states:
            self.states[path] = state
            self._folder_of[path] = number
            self._key_of[path] = key

    def keys_of(self, paths: Iterable[str]) -> tuple[set[str], list[StorageFolder]]:
        """The conversations that files belong to, and the folders of files that speak of several."""
        keys: set[str] = set()
        folders: set[int] = set()
        for path in paths:
            key = self._key_of.get(path)
            if key is None:
                folders.add(self._folder_of[path])
            else:
                keys.add(key)
        return keys, [self.folders[number] for number in sorted(folders)]

    def folders_of(self, keys: Iterable[str], traces: Iterable[str]) -> list[StorageFolder]:
        """All folders that hold something of some conversations: files of theirs, and indexes that spoke of them."""
        numbers = {self._folder_of[path] for path in traces if path in self._folder_of}
        for key in keys:
            numbers |= self._folders_by_key.get(key, set())
        return [self.folders[number] for number in sorted(numbers)]


def signature_of(found: Found) -> str:
    """The state of everything that a conversation is read from, in a few letters."""
    states: dict[str, FileState] = {}
    digest = blake2b(digest_size=16)
    for trace in found.traces():
        own = _own_folder(trace.path)
        if trace.state is not None:
            digest.update(f"{trace.path}\0{trace.state}\n".encode("utf-8", "surrogateescape"))
        else:
            states.update(_states_at(trace.path) if own is None else _states_below(own))
    digest.update(signature_of_states(states).encode())
    digest.update(msgspec.json.encode([found.source, found.native_id, found.application, found.workspace, found.hint]))
    return digest.hexdigest()


def signature_of_states(states: dict[str, FileState]) -> str:
    """The state of some files."""
    digest = blake2b(digest_size=16)
    for path, state in sorted(states.items()):
        digest.update(f"{path}\0{state.size}\0{state.modified_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def states_below(paths: Iterable[Path]) -> dict[str, FileState]:
    """Files that were named, and all files of folders that were."""
    states: dict[str, FileState] = {}
    for path in paths:
        states.update(_states_below(str(path), None) if path.is_dir() else _states_at(path))
    return states


def _own_folder(path: Path) -> str | None:
    """The folder of the conversation that a file belongs to, if it has one."""
    folder = os.path.dirname(path)  # noqa: PTH120 - thousands of them, at every start
    above = os.path.dirname(folder)  # noqa: PTH120
    if os.path.basename(above) in _OWN_FOLDERS:  # noqa: PTH119
        return folder
    return above if os.path.basename(os.path.dirname(above)) in _OWN_FOLDERS else None  # noqa: PTH119, PTH120


def _states_at(path: Path) -> Iterator[tuple[str, FileState]]:
    """A file; of a database also what was written and is not yet in it."""
    name = str(path)
    for spelled in (name, f"{name}-wal") if name.endswith(_DATABASES) else (name,):
        try:
            stat = os.stat(spelled)  # noqa: PTH116 - thousands of them, at every start
        except OSError:
            continue
        yield spelled, FileState(stat.st_size, stat.st_mtime_ns)


def _states_below(folder: str, most: int | None = _MOST_FILES) -> Iterator[tuple[str, FileState]]:
    folders = [folder]
    count = 0
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                stat = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            count += 1
            if most is not None and count > most:
                return
            yield entry.path, FileState(stat.st_size, stat.st_mtime_ns)
