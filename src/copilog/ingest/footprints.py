"""What tells, without reading, whether the files of a conversation have changed: their sizes and times."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import msgspec

from copilog.ingest.places import SeenFolders
from copilog.sources import SOURCES, Found, Source
from copilog.sources.roots import Root, StorageFolder, storage_folders
from copilog.store.units import FileState

# Folders that belong to one conversation: all that lies in them is read with it.
_OWN_FOLDERS = frozenset({"session-state", "chatEditingSessions", "history-session-state"})
_MOST_FILES = 10_000  # of one conversation's folder; what lies beyond is not looked at
_DATABASES = (".vscdb", ".db", ".sqlite")

States = dict[str, FileState]  # by the paths of files


class Look:
    """A quick look at roots: all files that a source would read, how they are, and in which folder they lie."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self.states: dict[str, FileState] = {}
        self.folders: list[StorageFolder] = []
        self.located: list[list[tuple[Source, list[Found]]]] = []  # what each source has in each folder
        self.skipped: list[tuple[Path, str]] = []  # folders that were not looked at, and why
        self.single_files: list[Root] = []
        self._by_place: dict[str, States] = {}  # by the file that a source names, or the folder that goes with it
        self._taken: list[tuple[States, int, str | None]] = []  # files, their folder's number, their key
        seen = SeenFolders()
        for root in roots:
            if root.kind == "file":
                self.single_files.append(root)
                self.states.update(_states_at(str(root.path)))
                continue
            for folder in storage_folders(root, self.skipped):
                if seen.is_new(folder):
                    self._add(folder)

    def _add(self, folder: StorageFolder) -> None:
        number = len(self.folders)
        self.folders.append(folder)
        self._take(_states_at(f"{folder.path}{os.sep}workspace.json"), number, None)  # all that lies here belongs to it
        located: list[tuple[Source, list[Found]]] = []
        for source in SOURCES:
            founds = list(source.locate(folder))
            if founds:
                located.append((source, founds))
            for found in founds:
                path = str(found.path)
                key = None if source.is_index and found.native_id is None else found.native_id or path
                own = _own_folder(path)
                if own is None:
                    self._by_place[path] = states = _states_at(path)
                elif own not in self._by_place:
                    self._by_place[own] = states = _states_below(own)
                else:
                    states = {}  # taken with the first file of the folder
                self._take(states, number, key)
        self.located.append(located)

    def _take(self, states: States, number: int, key: str | None) -> None:
        self.states.update(states)
        self._taken.append((states, number, key))

    def states_of(self, found: Found) -> States:
        """The files that one trace of a conversation is read from."""
        path = str(found.path)
        known = self._by_place.get(_own_folder(path) or path)
        return _states_of(path) if known is None else known

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


def signature_of(found: Found, look: Look | None = None) -> str:
    """The state of everything that a conversation is read from, in a few letters: as it is, or was at a look."""
    from hashlib import blake2b

    states: States = {}
    digest = blake2b(digest_size=16)
    for trace in (found, *found.others):
        if trace.state is not None:
            digest.update(f"{trace.path}\0{trace.state}\n".encode("utf-8", "surrogateescape"))
        else:
            states.update(_states_of(str(trace.path)) if look is None else look.states_of(trace))
    digest.update(signature_of_states(states).encode())
    digest.update(msgspec.json.encode([found.source, found.native_id, found.application, found.workspace, found.hint]))
    return digest.hexdigest()


def signature_of_states(states: States) -> str:
    """The state of some files."""
    from hashlib import blake2b

    lines = [f"{path}\0{size}\0{modified_ns}\n" for path, (size, modified_ns) in sorted(states.items())]
    return blake2b("".join(lines).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def states_below(paths: Iterable[Path]) -> States:
    """Files that were named, and all files of folders that were."""
    states: States = {}
    for path in paths:
        states.update(_states_below(str(path), None) if path.is_dir() else _states_at(str(path)))
    return states


def _own_folder(path: str) -> str | None:
    """The folder of the conversation that a file belongs to, if it has one."""
    *_, above, near, folder, name = ("", "", "", *path.rsplit(os.sep, 4))  # a `Path` takes longer than the disk
    if near in _OWN_FOLDERS:
        return path[: -len(name) - 1]
    return path[: -len(folder) - len(name) - 2] if above in _OWN_FOLDERS else None


def _states_of(path: str) -> States:
    """The files that go with a file which a source names."""
    own = _own_folder(path)
    return _states_at(path) if own is None else _states_below(own)


def _states_at(path: str) -> States:
    """A file; of a database also what was written and is not yet in it."""
    states: States = {}
    for spelled in (path, f"{path}-wal") if path.endswith(_DATABASES) else (path,):
        try:
            stat = os.stat(spelled)  # noqa: PTH116 - thousands of them, at every start
        except OSError:
            continue
        states[spelled] = FileState(stat.st_size, stat.st_mtime_ns)
    return states


def _states_below(folder: str, most: int | None = _MOST_FILES) -> States:
    states: States = {}
    folders = [folder]
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
            if most is not None and len(states) == most:
                return states
            states[entry.path] = FileState(stat.st_size, stat.st_mtime_ns)
    return states
