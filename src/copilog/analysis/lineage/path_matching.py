"""Decide whether a path that a conversation recorded is the requested file.

| Likeness | Means | Allows |
|---|---|---|
| exact | the same absolute path | strong |
| elsewhere | the same path in the same project: a clone in another folder, WSL, another machine | medium |
| relative | the same path, of at least two components, in a project that may be another one | weak |
| name | a bare file name without a folder | weak |

A file of the same name in another folder is another file.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple
from urllib.parse import unquote

from copilog.analysis.lineage.evidence import Strength
from copilog.text_cache import cached_by_text

Likeness = Literal["exact", "elsewhere", "relative", "name"]
ALLOWS: dict[Likeness, Strength] = {"exact": "strong", "elsewhere": "medium", "relative": "weak", "name": "weak"}

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/?#]*)([^?#]*)")
_DRIVE = re.compile(r"/?([A-Za-z]):(?=/|$)")
_REPOSITORY = re.compile(r"([^/:\s]+)/([^/\s]+?)(?:\.git)?/*$")
_WORKTREE = re.compile(r"([^/]+)\.worktrees/[^/]+(?=/|$)")  # VS Code's folder for further work trees of a repository
_HALF = re.compile("[\ud800-\udfff]")
_ON_ANOTHER_MACHINE = ("ssh-remote", "tunnel", "dev-container", "attached-container", "codespaces")


class Home(NamedTuple):
    """The folder and repository of a conversation."""

    folder: str | None = None
    repository: str | None = None  # "owner/name", or an address


class Project:
    """The folder that a file belongs to, and its repository."""

    def __init__(self, top: str, remotes: Iterable[str] = ()) -> None:
        self.top = plain_path(top)
        self.name = _folder_name(self.top)
        self.repositories = {name for remote in remotes if (name := repository_name(remote))}

    def likeness_of(self, home: Home) -> Literal["exact", "elsewhere"] | None:
        """Return whether a conversation took place in this project, or in a copy of it."""
        folder = plain_path(home.folder) if home.folder else ""
        if folder and (folder == self.top or is_below(folder, self.top) or is_below(self.top, folder)):
            return "exact"
        if home.repository and repository_name(home.repository) in self.repositories:
            return "elsewhere"
        # A folder of the same name, or a clone that kept the name of the repository.
        name = _folder_name(folder)
        names = {self.name, *(repository.rpartition("/")[2] for repository in self.repositories)}
        return "elsewhere" if name and name.casefold() in {known.casefold() for known in names} else None


class RequestedFile:
    """A file, under all its names."""

    def __init__(self, paths: Iterable[str], project: Project | None = None, former: Iterable[str] = ()) -> None:
        """Take absolute `paths`, including targets of links, and `former` names from the top of the project on."""
        self.project = project
        self.paths = list(dict.fromkeys(map(plain_path, paths)))
        self.path = self.paths[0]
        self.former = [f"{project.top}/{plain_path(name)}" for name in former] if project is not None else []
        self.paths += self.former

    @property
    def relative(self) -> str:
        """Return the path from the top of its project on; the full path if there is no project."""
        return self._relative(self.path)

    def _relative(self, path: str) -> str:
        return path[len(self.project.top) + 1 :] if self.project and is_below(path, self.project.top) else path

    def names(self) -> set[str]:
        """Return the file's names without folders, for a first selection."""
        return {path.rpartition("/")[2].casefold() for path in self.paths}

    def is_at_home(self, home: Home) -> bool:
        """Return whether a conversation took place where the file is, or in a copy of its project."""
        if self.project is not None and self.project.likeness_of(home) is not None:
            return True
        return any(is_below(path, plain_path(home.folder)) for path in self.paths) if home.folder else False

    def names_at(self, path: str, home: Home) -> list[str]:
        """Return a path's names in a conversation in that folder: from the project on, or from the folder on."""
        names = []
        if self.project is not None and self.project.likeness_of(home) is not None:
            names.append(self._relative(path))
        folder = plain_path(home.folder) if home.folder else ""
        if folder and is_below(path, folder):
            names.append(path[len(folder.rstrip("/")) + 1 :])
        return list(dict.fromkeys(names))

    def likeness_of(self, recorded: str, home: Home) -> Likeness | None:
        """Return how like a recorded path is to the file; None if it is another file."""
        found = [self._likeness(path, recorded, home) for path in self.paths]
        return min((likeness for likeness in found if likeness), key=list(ALLOWS).index, default=None)

    def _likeness(self, path: str, recorded: str, home: Home) -> Likeness | None:
        spelled = plain_path(recorded)
        name = path.rpartition("/")[2]
        if spelled.rpartition("/")[2].casefold() != name.casefold():
            return None
        folder = plain_path(home.folder) if home.folder else ""
        whole = spelled if is_absolute(spelled) or not folder else posixpath.normpath(f"{folder}/{spelled}")
        if is_same(whole, path) or is_same(f"/{spelled}", path):  # diffs of the CLI lack the first slash
            return "elsewhere" if _is_on_another_machine(recorded) else "exact"
        return self._likeness_elsewhere(path, whole, folder, home)

    def _likeness_elsewhere(self, path: str, whole: str, folder: str, home: Home) -> Likeness | None:
        inner = whole[len(folder) + 1 :] if folder and is_below(whole, folder) else ""
        if inner and _ends_with(path, f"{folder.rpartition('/')[2]}/{inner}"):
            return "elsewhere"
        relative = self._relative(path) if self.project else inner
        if self.project is not None:
            if _ends_with(_WORKTREE.sub(r"\1", whole), f"{self.project.name}/{relative}"):
                return "elsewhere"
            is_same_place = is_same(inner or whole, relative)
            if is_same_place and home.repository and repository_name(home.repository) in self.project.repositories:
                return "elsewhere"
        if "/" in relative and (_ends_with(whole, relative) and _ends_with(path, relative)):
            return "relative"
        return "name" if "/" not in whole else None


class RequestedFiles:
    """Several files, found by their names."""

    def __init__(self, files: Iterable[RequestedFile]) -> None:
        self.by_name: dict[str, list[RequestedFile]] = {}
        for file in files:
            for name in file.names():
                self.by_name.setdefault(name, []).append(file)

    def match(self, recorded: str, home: Home) -> tuple[str, Likeness] | None:
        """Return the file's path that a recorded path is most like, and the likeness; None if it is none of them."""
        found = [
            (file.path, likeness)
            for file in self.by_name.get(file_name(recorded), ())
            if (likeness := file.likeness_of(recorded, home)) is not None
        ]
        return min(found, key=lambda pair: list(ALLOWS).index(pair[1]), default=None)


def file_name(path: str) -> str:
    """Return the last part of a path, without regard to case."""
    return plain_path(path).rpartition("/")[2].casefold()


@cached_by_text(1 << 16)  # a conversation often names the same few files
def plain_path(path: str) -> str:
    """Return a path with forward slashes and a lower-case drive letter, from a path or a URI."""
    uri = _URI.match(path)
    if uri is not None:
        scheme, authority, path = uri[1], uri[2], unquote(uri[3])
        path = f"//{authority}{path}" if scheme.lower() == "file" and authority else path
    if "\\" in path and ("/" not in path or path[1:3] == ":\\" or path.startswith("\\\\")):
        path = path.replace("\\", "/")
    drive = _DRIVE.match(path)
    if drive is not None:
        path = f"{drive[1].lower()}:{path[drive.end() :]}"
    path = posixpath.normpath(path) if path else ""
    # Names on disk may be invalid text; the archive has the same replacement character.
    return "" if path == "." else _HALF.sub("\ufffd", path)


def is_absolute(path: str) -> bool:
    return path.startswith("/") or _DRIVE.match(path) is not None


def is_same(one: str, other: str) -> bool:
    """Return whether two plain paths are the same; Windows ignores case."""
    return one == other or (one[1:2] == ":" == other[1:2] and one.casefold() == other.casefold())


def is_below(path: str, folder: str) -> bool:
    start = f"{folder.rstrip('/')}/"
    return path.startswith(start) or (folder[1:2] == ":" and path.casefold().startswith(start.casefold()))


def repository_name(address: str) -> str | None:
    """Return the owner and the name of a repository, from any way to write its address."""
    found = _REPOSITORY.search(address.strip())
    return f"{found[1]}/{found[2]}".casefold() if found else None


def _folder_name(folder: str) -> str:
    """Return the name of a folder; that of its repository for a further work tree."""
    return _WORKTREE.sub(r"\1", folder).rpartition("/")[2]


def _ends_with(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def _is_on_another_machine(recorded: str) -> bool:
    uri = _URI.match(recorded)
    return uri is not None and unquote(uri[2]).startswith(_ON_ANOTHER_MACHINE)
