"""Detect changes in folders that hold conversations, since they were last checked.

No file is opened: names, sizes and times suffice. Only folders that a source reads are entered, so that the data of
other extensions, which is in the same folders and may be large, costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from stat import S_ISDIR

from copilog.sources.roots import Root, roots_from

Stamp = tuple[int, int]  # size and time of change; a file with an equal stamp counts as unchanged

# A folder's time changes when names come or go, but only at the resolution of the file system; FAT: two seconds.
SETTLED_SECONDS = 2.5
# SQLite writes into a log first, which belongs to the database. Its other files come and go with every reader.
WRITE_AHEAD, PASSING = "-wal", ("-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Rule:
    """The relevant files of a folder, and its relevant folders by name, each with a rule of its own."""

    files: frozenset[str] | None = frozenset()  # None: all files
    folders: Mapping[str, str] = field(default_factory=dict)  # in lower case: some systems ignore case
    others: str | None = None  # the rule of all other folders
    writes_once: bool = False  # existing files no longer change
    is_way: bool = False  # it only contains relevant folders, and applications write other files in it all the time

    def wants(self, name: str) -> bool:
        """Return whether a file is relevant."""
        if name.endswith(PASSING):
            return False
        return self.files is None or name.removesuffix(WRITE_AHEAD) in self.files

    def rule_of(self, folder: str) -> str | None:
        return self.folders.get(folder.lower(), self.others)

    def joined_with(self, other: Rule) -> Rule:
        """Return a rule for what is relevant to either, for nested folders."""
        files = None if self.files is None or other.files is None else self.files | other.files
        return Rule(
            files,
            {**other.folders, **self.folders},
            self.others or other.others,
            writes_once=self.writes_once and other.writes_once,
            is_way=self.is_way and other.is_way,
        )


_STORAGE = Rule(
    frozenset({"state.vscdb", "state.vscdb.backup", "workspace.json"}),
    {
        "chatsessions": "all",
        "emptywindowchatsessions": "all",
        "transferredchatsessions": "all",
        "chateditingsessions": "editing-sessions",
        "chat-session-resources": "all",
        "github.copilot-chat": "extension",
    },
)
# The first rules are for the kinds of roots.
RULES: dict[str, Rule] = {
    "vscode": Rule(folders={"user": "vscode-user"}, is_way=True),
    "vscode-user": Rule(
        folders={"workspacestorage": "vscode-storage", "globalstorage": "vscode-global", "profiles": "profiles"},
        is_way=True,
    ),
    "vscode-storage": Rule(others="vscode-workspace"),
    "vscode-workspace": _STORAGE,
    "vscode-global": _STORAGE,
    "copilot-home": Rule(
        frozenset({"session-store.db", "command-history-state.json"}),
        {"session-state": "all", "history-session-state": "all", "otel": "all", "command-history-state": "all"},
    ),
    "profiles": Rule(others="profile", is_way=True),
    "profile": Rule(folders={"globalstorage": "vscode-global"}, is_way=True),
    "extension": Rule(
        frozenset({"session-store.db", "agent-traces.db"}),
        {"transcripts": "all", "debug-logs": "all", "chat-session-resources": "all", "memory-tool": "all"},
    ),
    "editing-sessions": Rule(None, others="editing-session"),
    "editing-session": Rule(None, {"contents": "contents"}, others="all"),
    "contents": Rule(None, others="all", writes_once=True),  # texts of files, each named after its own hash
    "all": Rule(None, others="all"),
}


@dataclass(slots=True)
class Folder:
    """The state of a folder when it was last checked."""

    rule: Rule
    number: int = 0  # its inode number: another folder may have got the name of a deleted one
    modified_ns: int = -1
    since: float = 0.0  # when it was first seen with this time, by the local clock: that of a server may be wrong
    newest_ns: int = 0
    files: dict[str, Stamp] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)


def rules_of(places: Iterable[Root | Path | str]) -> dict[str, Rule]:
    """Return the top folders, existing or not, each with its rule."""
    tops: dict[str, Rule] = {}
    for place in places:
        for path, rule in _rules_of(place):
            name = str(path.absolute())
            tops[name] = rule.joined_with(tops[name]) if name in tops else rule
    return tops


def _rules_of(place: Root | Path | str) -> Iterator[tuple[Path, Rule]]:
    if isinstance(place, Root):
        yield _rule_of_file(place.path) if place.kind == "file" else (place.path, RULES[place.kind])
        return
    path = Path(place)
    roots = roots_from(path)
    for root in roots:
        yield root.path, RULES[root.kind]
    if not roots:
        yield _rule_of_file(path) if path.is_file() else (path, RULES["all"])


def _rule_of_file(path: Path) -> tuple[Path, Rule]:
    return path.absolute().parent, Rule(frozenset({path.name}), is_way=True)


class WatchedFolders:
    """All relevant folders below some top folders, with their last states."""

    def __init__(self, tops: Mapping[str, Rule] | None = None) -> None:
        self.tops: dict[str, Rule] = {}
        self.folders: dict[str, Folder] = {}
        self.begin_at(tops or {})

    def begin_at(self, tops: Mapping[str, Rule]) -> set[Path]:
        """Replace the top folders; return the files that are new with them."""
        changed: set[Path] = set()
        for top in self.tops.keys() - tops.keys():
            self._forget(top, changed)
        fresh = tops.keys() - self.tops.keys()
        self.tops = dict(tops)
        return changed | self.look_for(fresh)

    def check_missing_tops(self) -> set[Path]:
        """Return the files of top folders that have appeared since the last call."""
        return self.look_for(top for top in self.tops if top not in self.folders)

    def look_for(self, tops: Iterable[str]) -> set[Path]:
        changed: set[Path] = set()
        for top in tops:
            if os.path.isdir(top):  # noqa: PTH112 - dozens of them, every second
                self._list(top, self.tops[top], changed)
        return changed

    def look(self, names: Iterable[str] | None = None, *, lists: bool = False) -> set[Path]:
        """Check some folders, or all, and return the files that have changed, come or gone.

        Names are listed again if a folder's time shows that some came or went, or always with `lists`.
        """
        changed: set[Path] = set()
        for name in list(self.folders) if names is None else names:
            folder = self.folders.get(name)
            if folder is not None:  # it may have been forgotten with another one just before
                self._look_at(name, folder, changed, lists)
        return changed

    def busiest(self, number: int) -> list[str]:
        """Return the folders that were written to last."""
        return nlargest(number, self.folders, key=lambda name: self.folders[name].newest_ns)

    def trees(self) -> Iterator[str]:
        """Yield the topmost folders below which everything may be relevant."""
        for name, folder in self.folders.items():
            above = self.folders.get(os.path.dirname(name))  # noqa: PTH120
            if not folder.rule.is_way and (above is None or above.rule.is_way):
                yield name

    def copy_states(self, others: WatchedFolders) -> None:
        """Copy the states that another instance recorded."""
        self.tops.update(others.tops)
        self.folders.update(others.folders)

    def folders_of(self, path: str) -> Iterator[str]:
        """Yield the folders to check after a notification for a path: its parent, and the path if it is a folder."""
        for name in (os.path.dirname(path), path):  # noqa: PTH120
            if name in self.folders:
                yield name

    def _look_at(self, name: str, folder: Folder, changed: set[Path], lists: bool) -> None:
        now = time.monotonic()
        try:
            info = os.stat(name)  # noqa: PTH116 - thousands of them, every second
        except (FileNotFoundError, NotADirectoryError):
            self._forget(name, changed)
            return
        except OSError:
            return  # a disk that does not respond: assume no change
        if (info.st_ino, info.st_mtime_ns) != (folder.number, folder.modified_ns):
            folder.number, folder.modified_ns, folder.since = info.st_ino, info.st_mtime_ns, now
            lists = True
        if lists or now - folder.since < SETTLED_SECONDS:
            self._list(name, folder.rule, changed)
        elif not folder.rule.writes_once:
            self._compare(name, folder, list(folder.files), changed)

    def _list(self, name: str, rule: Rule, changed: set[Path]) -> None:
        """Compare the names in a folder with its earlier names, and descend into new folders."""
        folder = self.folders.get(name)
        if folder is None:
            folder = self.folders[name] = Folder(rule, since=time.monotonic())
        elif folder.rule is not rule:
            folder.rule = rule.joined_with(folder.rule)
        try:
            if folder.modified_ns < 0:
                info = os.stat(name)  # noqa: PTH116
                folder.number, folder.modified_ns = info.st_ino, info.st_mtime_ns
            files, folders = _names_in(name, folder.rule)
        except (FileNotFoundError, NotADirectoryError):
            self._forget(name, changed)
            return
        except OSError:
            return
        self._compare(name, folder, [*folder.files, *(file for file in files if file not in folder.files)], changed)
        for inner in folder.folders - folders.keys():
            self._forget(inner, changed)
        fresh = folders.keys() - folder.folders
        folder.folders = set(folders)
        for inner in fresh:
            self._list(inner, RULES[folders[inner]], changed)

    def _compare(self, name: str, folder: Folder, files: list[str], changed: set[Path]) -> None:
        for file in files:
            try:
                info = os.stat(f"{name}{os.sep}{file}", follow_symlinks=False)  # noqa: PTH116
            except OSError:
                stamp = None
            else:
                stamp = None if S_ISDIR(info.st_mode) else (info.st_size, info.st_mtime_ns)
            if stamp == folder.files.get(file):
                continue
            changed.add(Path(name, file.removesuffix(WRITE_AHEAD)))
            if stamp is None:
                del folder.files[file]
            else:
                folder.files[file] = stamp
                folder.newest_ns = max(folder.newest_ns, stamp[1])

    def _forget(self, name: str, changed: set[Path]) -> None:
        """Forget a deleted folder with everything in it; return its files as gone."""
        waiting = [name]
        while waiting:
            gone = waiting.pop()
            folder = self.folders.pop(gone, None)
            if folder is not None:
                changed.update(Path(gone, file.removesuffix(WRITE_AHEAD)) for file in folder.files)
                waiting += folder.folders


def _names_in(name: str, rule: Rule) -> tuple[list[str], dict[str, str]]:
    """Return the relevant files and folders, the folders with their rules. Links are not followed."""
    files: list[str] = []
    folders: dict[str, str] = {}
    with os.scandir(name) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner = rule.rule_of(entry.name)
                if inner is not None:
                    folders[entry.path] = inner
            elif rule.wants(entry.name) and not entry.is_symlink():
                files.append(entry.name)
    return files, folders
