"""Find what changed since the last scan: files, the conversations they belong to, and the folders of these."""

from __future__ import annotations

import os
import sqlite3
from array import array
from collections.abc import Iterable, Sequence

from copilog.ingest.footprints import Look, Seen, States
from copilog.sources.roots import StorageFolder
from copilog.store.units import count_states, states_around

_FEW_FILES = 1000  # changed files; if there are more, everything is discovered


class Comparison:
    """Compares files with their states in the archive. It usually stores no file: there may be very many."""

    def __init__(self, look: Look, connection: sqlite3.Connection, root: str, absent: Sequence[str] = ()) -> None:
        self.known = count_states(connection, root, absent)
        self.files = 0
        self._recorded_and_existing = 0
        self._met: set[str] | None = set() if look.may_list_twice else None
        self._connection = connection
        self._root = root

    def fresh_of(self, batch: Iterable[Seen]) -> States:
        """Return the files of a batch that are new or changed."""
        states: States = {}
        for seen in batch:
            states.update(seen.states)
        if self._met is not None:
            states = {path: state for path, state in states.items() if path not in self._met}
            self._met.update(states)
        self.files += len(states)
        return self._changed_states(states) if self.known and states else states

    def _changed_states(self, states: States) -> States:
        unlike: States = {}
        files = len(states)
        # Files of a batch are neighbours on disk, so the range from the first to the last has few others.
        for path, known in states_around(self._connection, self._root, states):
            state = states.pop(path, None)
            if state is not None and state != known:
                unlike[path] = state
        self._recorded_and_existing += files - len(states)
        return unlike | states

    @property
    def has_deleted_files(self) -> bool:
        """Return whether files of the last scan no longer exist."""
        return self._recorded_and_existing < self.known


class Changes:
    """The changed files of roots with their conversations, while they are few."""

    def __init__(self, look: Look, connection: sqlite3.Connection, root: str, absent: Sequence[str] = ()) -> None:
        self.fresh: States = {}
        self.comparison = Comparison(look, connection, root, absent)
        self._look = look
        self._owners: dict[str, tuple[int | None, str | None]] = {}  # folder and conversation of each changed file
        self._keys, self._folders = array("q"), array("L")  # hashes of keys, and the number of the folder of each
        for batch in look.batches() if self.comparison.known else ():
            self._add(batch)
            if len(self.fresh) > _FEW_FILES:
                break

    def _add(self, batch: list[Seen]) -> None:
        traces = [(seen.key, seen.folder) for seen in batch if seen.key is not None and seen.folder is not None]
        self._keys.extend([hash(key) for key, _ in traces])
        self._folders.extend([folder for _, folder in traces])
        fresh = self.comparison.fresh_of(batch)
        if fresh:
            self.fresh.update(fresh)
            self._owners.update(
                {path: (seen.folder, seen.key) for seen in batch for path in seen.states if path in fresh}
            )

    @property
    def are_few(self) -> bool:
        """Return whether scanning what belongs to changed files is enough. Deleted files may belong to anything."""
        return bool(self.comparison.known) and len(self.fresh) <= _FEW_FILES and not self.comparison.has_deleted_files

    @property
    def are_none(self) -> bool:
        return self.are_few and not self.fresh

    def keys(self) -> tuple[set[str], list[StorageFolder]]:
        """Return the conversations of changed files, and the folders of files that concern several conversations."""
        keys = {key for _, key in self._owners.values() if key is not None}
        folders = {number for number, key in self._owners.values() if key is None and number is not None}
        return keys, [self._look.folders[number] for number in sorted(folders)]

    def folders_of(self, keys: Iterable[str], traces: Iterable[str]) -> list[StorageFolder]:
        """Return all folders with traces of some conversations: their files, and indexes that named them."""
        numbers_by_path = {str(folder.path): number for number, folder in enumerate(self._look.folders)}
        numbers = {numbers_by_path[above] for path in traces if (above := _first_above(path, numbers_by_path))}
        hashes = {hash(key) for key in keys}
        numbers.update(number for key, number in zip(self._keys, self._folders, strict=True) if key in hashes)
        return [self._look.folders[number] for number in sorted(numbers)]


def _first_above(path: str, folders: dict[str, int]) -> str | None:
    """Return the nearest of these folders that contains a file."""
    above = os.path.dirname(path)  # noqa: PTH120 - a `Path` for each parent folder is slow
    while above not in folders:
        path, above = above, os.path.dirname(above)  # noqa: PTH120
        if above == path:
            return None
    return above
