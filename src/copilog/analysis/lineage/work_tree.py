"""A work tree that recorded files are compared with. No path that a conversation records leads out of it."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from copilog.analysis.lineage.git import GitError, Repository
from copilog.analysis.lineage.path_matching import is_absolute, is_below, plain_path
from copilog.derive.recorded_edits import FileText, NoText

MOST_BYTES = 16 << 20

OUTSIDE = "the file is outside of the work tree"
NOT_A_FILE = "this does not name a file"
OF_GIT = "the file is git's own"
BEYOND_LINK = "the path leads through a symbolic link"

_OTHER_SCHEME = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:(?!//)")  # "untitled:Untitled-1"


class OutsideError(Exception):
    """A recorded path is not a file of the work tree; the message says why."""


class WorkTree:
    """A folder, the top of its repository if it is in one. `homes` are folders that stand for it in records."""

    def __init__(self, folder: Path, homes: Iterable[str] = ()) -> None:
        self.repository = _repository_of(folder)
        self.top = self.repository.top if self.repository is not None else folder.absolute()
        own = (str(self.top), os.path.realpath(self.top), str(folder.absolute()))
        self._homes = [(plain_path(home), "") for home in own[:2]]
        inner = plain_path(os.path.relpath(os.path.realpath(folder), os.path.realpath(self.top)))
        self._homes += [(plain_path(home), inner) for home in (own[2], *homes)]
        self._relative_to = plain_path(next(iter(homes), str(folder.absolute())))

    def relative(self, recorded: str) -> str:
        """Return a recorded path from the top on; raise OutsideError if it leads elsewhere."""
        if not recorded or "\0" in recorded or "\n" in recorded or _OTHER_SCHEME.match(recorded):
            raise OutsideError(NOT_A_FILE)
        path = plain_path(recorded)
        if not is_absolute(path):
            slashed = f"/{path}"  # diffs of Copilot CLI lack the first slash
            known = any(is_below(slashed, home) for home, _ in self._homes)
            path = slashed if known else posixpath.normpath(f"{self._relative_to}/{path}")
        for home, inner in self._homes:
            if home and is_below(path, home):
                return self._checked(posixpath.normpath(posixpath.join(inner, path[len(home.rstrip("/")) + 1 :])))
        raise OutsideError(OUTSIDE)

    def _checked(self, name: str) -> str:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts or name == ".":
            raise OutsideError(OUTSIDE)
        if any(part.casefold() == ".git" for part in parts):
            raise OutsideError(OF_GIT)
        try:
            if any((self.top / "/".join(parts[:end])).is_symlink() for end in range(1, len(parts) + 1)):
                raise OutsideError(BEYOND_LINK)
        except (OSError, ValueError):
            raise OutsideError(NOT_A_FILE) from None
        return name

    def text(self, name: str) -> FileText:
        """Return the present text of a file; unknown if it is not a plain file of UTF-8, or is too large."""
        path = self.top / name
        try:
            state = path.lstat()
            if not stat.S_ISREG(state.st_mode) or state.st_size > MOST_BYTES:
                return NoText.UNKNOWN
            return path.read_bytes().decode()
        except (FileNotFoundError, NotADirectoryError):
            return NoText.ABSENT
        except (OSError, ValueError):
            return NoText.UNKNOWN

    def has_commit(self, sha: str | None) -> bool:
        """Return whether the repository has a commit that a conversation records."""
        if self.repository is None or sha is None or not re.fullmatch(r"[0-9a-fA-F]{7,64}", sha):
            return False
        try:
            self.repository.find(sha)
        except GitError:
            return False
        return True

    def text_in_commit(self, sha: str, name: str) -> FileText:
        assert self.repository is not None
        data = self.repository.text_at(sha, name)
        try:
            return NoText.ABSENT if data is None else data.decode()
        except UnicodeDecodeError:
            return NoText.UNKNOWN


def _repository_of(folder: Path) -> Repository | None:
    try:
        return Repository(folder.absolute())
    except (GitError, OSError):
        return None
