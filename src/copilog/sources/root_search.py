"""Search a complete tree for folders in which VS Code or Copilot stores conversations."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from copilog.intake.folders import require_entry, unreadable

RootKind = Literal[
    "vscode", "vscode-user", "vscode-storage", "vscode-workspace", "vscode-global", "copilot-home", "file"
]
Skipped = tuple[Path, str]

COPILOT_FOLDERS = frozenset({"session-state", "history-session-state", "command-history-state"})
COPILOT_FILES = frozenset({"session-store.db", "command-history-state.json"})
USER_FOLDERS = frozenset({"workspaceStorage", "globalStorage"})
USER_NAMES = USER_FOLDERS | {"settings.json", "keybindings.json", "snippets", "prompts", "profiles", "mcp.json"}
GLOBAL_FOLDERS = frozenset({"emptyWindowChatSessions", "transferredChatSessions"})
WORKSPACE_FOLDERS = frozenset({"chatSessions", "chatEditingSessions", "GitHub.copilot-chat"})
STATE_FILES = frozenset({"state.vscdb", "state.vscdb.backup"})

LEFT_OUT = {"node_modules": "packages of JavaScript", ".git": "the history of a repository"}
NOT_SEARCHED = "was not searched"
LOOSE = "may be a file with conversations outside of all found folders"  # the caller reads it, or reports it
LOOSE_SUFFIXES = (".json", ".jsonl", ".ndjson")
OF_THE_SYSTEM = frozenset({"/proc", "/sys", "/dev"})
Place = RootKind | Literal["vscode-profiles", "vscode-profile", "part"]  # the last: read with the folder that it is in
EVERY = "*"
_STORAGE_ID = re.compile(r"[0-9a-f]{32}|\d{13}")  # VS Code's names of workspaces, and of windows without a folder


class Match(NamedTuple):
    """The kind of a folder, and the kinds of the folders in it by name, with `EVERY` for all others."""

    kind: Place
    own: Mapping[str, Place]


_OWN: Mapping[Place, Mapping[str, Place]] = {
    "vscode-user": {
        "workspaceStorage": "vscode-storage",
        "globalStorage": "vscode-global",
        "profiles": "vscode-profiles",
    },
    "vscode-profiles": {EVERY: "vscode-profile"},
    "vscode-profile": {"globalStorage": "vscode-global"},
    "vscode-storage": {EVERY: "vscode-workspace"},
    "vscode-workspace": dict.fromkeys(WORKSPACE_FOLDERS, "part"),
    "vscode-global": {EVERY: "part"},
}


class _Names(NamedTuple):
    folders: frozenset[str]
    files: frozenset[str]


def search(top: Path, products: Iterable[str], skipped: list[Skipped]) -> list[tuple[RootKind, Path]]:
    """Return every folder at or below one that may hold conversations, with its kind; by path."""
    return _Search(top, frozenset(products), skipped).run()


class _Search:
    def __init__(self, top: Path, products: frozenset[str], skipped: list[Skipped]) -> None:
        self.top = str(top)
        self.real_top = os.path.realpath(top)
        self.products = products
        self.skipped = skipped
        self.left_out: dict[str, list[str]] = {}
        self.found: list[tuple[RootKind, Path]] = []
        self.loose: dict[str, list[str]] = {}  # names of files that may be conversations, by folder
        self.workspaces: dict[str, int] = {}  # folders with workspaces in them, and how many
        self.numbers: dict[str, int] = {}  # how many folders are in those

    def run(self) -> list[tuple[RootKind, Path]]:
        waiting: list[tuple[str, Place | None]] = [(self.top, None)]
        while waiting:
            folder, taken_for = waiting.pop()
            names = self._names_in(folder)
            if names is None:
                continue
            own: dict[str, Place] = {}
            if taken_for is None:
                self._note_loose(folder, names.files)
            for match in self._matches(folder, names, taken_for):
                own |= match.own
                if match.kind != taken_for:
                    self._add(match.kind, folder)
            self.numbers[folder] = len(names.folders)
            waiting += [
                (path, own.get(name, own.get(EVERY)))
                for name in sorted(names.folders, reverse=True)
                if not self._is_left_out(name, path := f"{folder.rstrip(os.sep)}{os.sep}{name}")
            ]
        self._report_left_out()
        self._report_loose()
        return self._with_storage_folders()

    def _add(self, kind: Place, folder: str) -> None:
        if kind == "vscode-profiles" or kind == "vscode-profile" or kind == "part":
            return
        self.found.append((kind, Path(folder)))
        if kind == "vscode-workspace":
            above = _above(folder)
            self.workspaces[above] = self.workspaces.get(above, 0) + 1

    def _names_in(self, folder: str) -> _Names | None:
        folders, files = set(), set()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.add(entry.name)
                    elif entry.is_symlink() and entry.is_dir():
                        self._report_link(entry.path)
                    else:
                        files.add(entry.name)
            require_entry(folder)
        except OSError as error:
            self.skipped.append((Path(folder), unreadable(error)))
            return None
        return _Names(frozenset(folders), frozenset(files))

    def _report_link(self, path: str) -> None:
        """Report a link to a folder outside. A target inside the tree is found at its own path."""
        target = os.path.realpath(path)
        if target != self.real_top and not target.startswith(self.real_top.rstrip(os.sep) + os.sep):
            self.skipped.append((Path(path), f"is a link that leads out of {self.top}, to {target}"))

    def _matches(self, folder: str, names: _Names, taken_for: Place | None) -> Iterator[Match]:
        """Yield the kinds of a folder: by its parent's kind, its name and the names of its entries."""
        name = _name_of(folder)
        folders, files = names
        if name == ".copilot" or (taken_for is None and (folders & COPILOT_FOLDERS or files & COPILOT_FILES)):
            yield Match("copilot-home", dict.fromkeys(COPILOT_FOLDERS, "part"))
        if "User" in folders and self._is_data_folder(folder, name):
            yield Match("vscode", {"User": "vscode-user"})
        if taken_for is not None:
            yield Match(taken_for, _OWN.get(taken_for, {}))
        elif name == "workspaceStorage":
            yield Match("vscode-storage", _OWN["vscode-storage"])
        elif name == "globalStorage":
            yield Match("vscode-global", _OWN["vscode-global"])
        elif folders & USER_FOLDERS:
            yield Match("vscode-user", _OWN["vscode-user"])
        elif folders & GLOBAL_FOLDERS:
            yield Match("vscode-global", dict.fromkeys(GLOBAL_FOLDERS, "part"))
        elif (
            folders & WORKSPACE_FOLDERS
            or files & STATE_FILES
            or ("workspace.json" in files and _STORAGE_ID.fullmatch(name))
        ):
            yield Match("vscode-workspace", _OWN["vscode-workspace"])

    def _is_data_folder(self, folder: str, name: str) -> bool:
        """Return whether a folder with a `User` belongs to VS Code: other programs have folders of that name, too."""
        if name in self.products or name == "user-data":
            return True
        if name == "data" and _name_of(_above(folder)).startswith(".vscod"):  # of a remote server
            return True
        user = f"{folder}{os.sep}User"
        try:
            with os.scandir(user) as entries:
                return any(entry.name in USER_NAMES for entry in entries)
        except OSError as error:
            self.skipped.append((Path(user), unreadable(error)))
            return False

    def _is_left_out(self, name: str, path: str) -> bool:
        if name in LEFT_OUT:
            self.left_out.setdefault(name, []).append(path)
        elif path in OF_THE_SYSTEM:
            self.skipped.append((Path(path), f"{NOT_SEARCHED}: it is the operating system's, not a disk"))
        else:
            return False
        return True

    def _note_loose(self, folder: str, files: frozenset[str]) -> None:
        if loose := sorted(name for name in files if name.endswith(LOOSE_SUFFIXES)):
            self.loose[folder] = loose

    def _report_loose(self) -> None:
        """Report the files outside of all found folders that may have conversations."""
        roots = {str(path) for _, path in self.found}
        for folder, names in self.loose.items() if roots else ():
            if roots.isdisjoint((folder, *map(str, Path(folder).parents))):
                self.skipped += [(Path(folder, name), LOOSE) for name in names]

    def _report_left_out(self) -> None:
        for name, paths in self.left_out.items():
            more = f", and {len(paths) - 1:,} more folders called {name}" if len(paths) > 1 else ""
            self.skipped.append((Path(min(paths)), f"{NOT_SEARCHED}{more}: {LEFT_OUT[name]}, not data of an editor"))

    def _with_storage_folders(self) -> list[tuple[RootKind, Path]]:
        """Return the matches, with a folder of nothing but workspaces as one."""
        known = {str(path) for _, path in self.found}
        storages = {
            folder
            for folder, count in self.workspaces.items()
            if count == self.numbers.get(folder) and folder not in known
        }
        found: list[tuple[RootKind, Path]] = [
            (kind, path)
            for kind, path in self.found
            if not (kind == "vscode-workspace" and str(path.parent) in storages)
        ]
        found += [("vscode-storage", Path(folder)) for folder in storages]
        return sorted(found, key=lambda each: (each[1], each[0]))


def _above(folder: str) -> str:
    return folder.rpartition(os.sep)[0]


def _name_of(folder: str) -> str:
    return folder.rpartition(os.sep)[2]
