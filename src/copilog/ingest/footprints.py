"""Detect without reading whether the files of a conversation have changed: by their sizes and times."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from copilog.ingest.scan_roots import SeenFolders
from copilog.intake.folders import entries_to_check, note_closed, take_skipped_paths
from copilog.sources.base import Found, Source
from copilog.sources.known_places import LOCATED
from copilog.sources.roots import Root, StorageFolder, storage_folders
from copilog.store.units import FileState

# Folders with a subfolder for each conversation: all files below it are read with the conversation.
_OWN_FOLDERS = frozenset({"session-state", "chatEditingSessions", "history-session-state"})
_MOST_FILES = 10_000  # files of one conversation's folder; further ones are not checked
_BATCH_SIZE = 1000
_DATABASES = (".vscdb", ".db", ".sqlite")

States = dict[str, FileState]  # by path


class Seen(NamedTuple):
    """One finding of a check: a trace of a conversation, the name of a workspace, or a file that the user named."""

    folder: int | None  # the number of its storage folder
    source: Source | None
    found: Found | None
    states: States  # its files, except those of earlier findings
    key: str | None  # the conversation that it belongs to; None if that may be several


class Look:
    """A quick check of roots: all files that a source would read, with their states.

    There may be very many, so the files are not stored here: a caller who needs them again repeats the look.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        self.folders: list[StorageFolder] = []
        self.skipped: list[tuple[Path, str]] = []  # folders that are not searched, and why
        self.single_files: list[Path] = []
        take_skipped_paths()  # discard what was listed before: it does not concern these roots
        seen = SeenFolders()
        for root in roots:
            if root.kind == "file":
                self.single_files.append(root.path)
            else:
                self.folders += filter(seen.is_new, storage_folders(root, self.skipped))

    @property
    def may_list_twice(self) -> bool:
        """Return whether a file may be listed twice: by name and in its folder, or in nested folders."""
        paths = sorted(f"{folder.path}{os.sep}" for folder in self.folders)
        return bool(self.single_files) or any(below.startswith(path) for path, below in pairwise(paths))

    def batches(self) -> Iterator[list[Seen]]:
        """Yield all findings in batches of some hundred findings and files: neighbours on disk together, by name."""
        yield [Seen(None, None, None, _states_at(str(path)), None) for path in self.single_files]
        for _, neighbours in groupby(enumerate(self.folders), lambda numbered: numbered[1].path.parent):
            yield from _in_batches(seen for number, folder in neighbours for seen in _seen_in(folder, number))


def _in_batches(everything: Iterable[Seen]) -> Iterator[list[Seen]]:
    batch: list[Seen] = []
    size = 0
    for seen in everything:
        batch.append(seen)
        size += 1 + len(seen.states)
        if size >= _BATCH_SIZE:
            yield batch
            batch, size = [], 0
    yield batch


def _seen_in(folder: StorageFolder, number: int) -> Iterator[Seen]:
    """Yield everything that sources locate in a storage folder."""
    top = str(folder.path)
    taken: set[str] = set()  # relative names, to save memory: there may be very many
    name = f"{top}{os.sep}workspace.json"  # everything in this folder belongs to it
    yield Seen(number, None, None, _states_at(name), None)
    for source in LOCATED:
        for found in source.locate(folder):
            path = str(found.path)
            place = unit_path_of(path)
            below = place.removeprefix(top)
            states = {} if below in taken else _states_in(place, path)
            taken.add(below)
            key = found.native_id or (None if source.is_index else path)
            yield Seen(number, source, found, states, key)


def signature_of_states(states: States) -> str:
    """Return a digest of the states of files."""
    return digest_of(lines_of(states))


def lines_of(states: States) -> list[bytes]:
    """Return a line for each file, in order."""
    lines = [f"{path}\0{size}\0{modified_ns}\n" for path, (size, modified_ns) in states.items()]
    return sorted(line.encode("utf-8", "surrogateescape") for line in lines)


def digest_of(lines: Iterable[bytes]) -> str:
    from hashlib import blake2b

    return blake2b(b"".join(lines), digest_size=16).hexdigest()


def states_below(paths: Iterable[Path]) -> States:
    """Return the states of named files, and of all files in named folders."""
    states: States = {}
    for path in paths:
        states.update(_states_below(str(path), None) if path.is_dir() else _states_at(str(path)))
    return states


def unit_path_of(path: str) -> str:
    """Return the path whose files are read together: the folder of a file's conversation, else the file itself."""
    *_, above, near, folder, name = ("", "", "", *path.rsplit(os.sep, 4))  # a `Path` is slower than the disk
    if near in _OWN_FOLDERS:
        return path[: -len(name) - 1]
    return path[: -len(folder) - len(name) - 2] if above in _OWN_FOLDERS else path


def states_of(path: str) -> States:
    """Return the states of the files that are read with a file."""
    return _states_in(unit_path_of(path), path)


def _states_in(place: str, path: str) -> States:
    return _states_at(path) if place == path else _states_below(place)


def _states_at(path: str) -> States:
    """Return the state of a file; of a database, also that of its write-ahead log."""
    states: States = {}
    for spelled in (path, f"{path}-wal") if path.endswith(_DATABASES) else (path,):
        try:
            stat = os.stat(spelled)  # noqa: PTH116 - thousands of files, at every start
        except OSError:
            continue
        states[spelled] = FileState(stat.st_size, stat.st_mtime_ns)
    return states


def _states_below(folder: str, most: int | None = _MOST_FILES) -> States:
    states: States = {}
    folders = [folder]
    while folders:
        for entry in entries_to_check(folders.pop()):
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    continue
                stat = entry.stat(follow_symlinks=False)
            except PermissionError as error:
                note_closed(entry.path, error)
                continue
            except OSError:
                continue
            if most is not None and len(states) == most:
                return states
            states[entry.path] = FileState(stat.st_size, stat.st_mtime_ns)
    return states
