"""What tells, without reading, whether the files of a conversation have changed: their sizes and times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

import msgspec

from copilog.ingest.places import SeenFolders
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
        self._taken: list[tuple[tuple[str, ...], int, str | None]] = []  # files, their folder's number, their key
        seen = SeenFolders()
        for root in roots:
            if root.kind == "file":
                self.single_files.append(root)
                self.states.update(_states_at(str(root.path)))
                continue
            for folder in storage_folders(root):
                if seen.is_new(folder):
                    self._add(folder)

    def _add(self, folder: StorageFolder) -> None:
        number = len(self.folders)
        self.folders.append(folder)
        own_folders: set[str] = set()
        self._take(_states_at(f"{folder.path}{os.sep}workspace.json"), number, None)  # all that lies here belongs to it
        for source in SOURCES:
            for found in source.locate(folder):
                path = str(found.path)
                key = None if source.is_index and found.native_id is None else found.native_id or path
                own = _own_folder(path)
                if own is None:
                    self._take(_states_at(path), number, key)
                elif own not in own_folders:
                    own_folders.add(own)
                    self._take(_states_below(own), number, key)
                else:
                    self._take((), number, key)

    def _take(self, states: Iterable[tuple[str, FileState]], number: int, key: str | None) -> None:
        taken = dict(states)
        self.states.update(taken)
        self._taken.append((tuple(taken), number, key))

    @cached_property
    def _owners(self) -> dict[str, tuple[int, str | None]]:
        """Of each file, the number of its folder and the conversation it belongs to; as a rule nobody asks."""
        return {path: (number, key) for taken, number, key in self._taken for path in taken}

    @cached_property
    def _folders_by_key(self) -> dict[str, set[int]]:
        folders: dict[str, set[int]] = {}
        for _, number, key in self._taken:
            if key is not None:
                folders.setdefault(key, set()).add(number)
        return folders

    def keys_of(self, paths: Iterable[str]) -> tuple[set[str], list[StorageFolder]]:
        """The conversations that files belong to, and the folders of files that speak of several."""
        keys: set[str] = set()
        folders: set[int] = set()
        for path in paths:
            number, key = self._owners[path]
            if key is None:
                folders.add(number)
            else:
                keys.add(key)
        return keys, [self.folders[number] for number in sorted(folders)]

    def folders_of(self, keys: Iterable[str], traces: Iterable[str]) -> list[StorageFolder]:
        """All folders that hold something of some conversations: files of theirs, and indexes that spoke of them."""
        numbers = {self._owners[path][0] for path in traces if path in self._owners}
        for key in keys:
            numbers |= self._folders_by_key.get(key, set())
        return [self.folders[number] for number in sorted(numbers)]


def signature_of(found: Found) -> str:
    """The state of everything that a conversation is read from, in a few letters."""
    from hashlib import blake2b

    states: dict[str, FileState] = {}
    digest = blake2b(digest_size=16)
    for trace in found.traces():
        path = str(trace.path)
        own = _own_folder(path)
        if trace.state is not None:
            digest.update(f"{path}\0{trace.state}\n".encode("utf-8", "surrogateescape"))
        else:
            states.update(_states_at(path) if own is None else _states_below(own))
    digest.update(signature_of_states(states).encode())
    digest.update(msgspec.json.encode([found.source, found.native_id, found.application, found.workspace, found.hint]))
    return digest.hexdigest()


def signature_of_states(states: dict[str, FileState]) -> str:
    """The state of some files."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    for path, state in sorted(states.items()):
        digest.update(f"{path}\0{state.size}\0{state.modified_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def states_below(paths: Iterable[Path]) -> dict[str, FileState]:
    """Files that were named, and all files of folders that were."""
    states: dict[str, FileState] = {}
    for path in paths:
        states.update(_states_below(str(path), None) if path.is_dir() else _states_at(str(path)))
    return states


def _own_folder(path: str) -> str | None:
    """The folder of the conversation that a file belongs to, if it has one."""
    *_, above, near, folder, name = ("", "", "", *path.rsplit(os.sep, 4))  # a `Path` takes longer than the disk
    if near in _OWN_FOLDERS:
        return path[: -len(name) - 1]
    return path[: -len(folder) - len(name) - 2] if above in _OWN_FOLDERS else None


def _states_at(path: str) -> Iterator[tuple[str, FileState]]:
    """A file; of a database also what was written and is not yet in it."""
    for spelled in (path, f"{path}-wal") if path.endswith(_DATABASES) else (path,):
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
