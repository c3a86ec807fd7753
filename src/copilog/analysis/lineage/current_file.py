"""Read a file in its present state, and the commit of each of its lines."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from copilog.analysis.lineage.git import GitError, Repository
from copilog.analysis.lineage.line_origins import Committed
from copilog.analysis.lineage.path_matching import Project, RequestedFile, plain_path
from copilog.errors import UsageError
from copilog.textdiff import unified_diff
from copilog.textdiff.changed_lines import changed_lines, lines_of

MOST_BYTES = 16 << 20
SEARCHED_BYTES = 8_000  # bytes that git, too, searches for a NUL


class CurrentFile:
    """The file of a request. It may be deleted, or outside of any repository."""

    def __init__(self, path: Path) -> None:
        self.notes: list[str] = []
        self.path = path.absolute()
        self.spellings = [os.path.realpath(self.path), os.path.normpath(self.path)]
        self.repository = self._repository()
        self.lines = self._lines_on_disk()
        self.exists = self.lines is not None or os.path.lexists(self.path)
        self.wanted = self._requested_file()
        self._head = self._head_of_repository()
        if not self.exists:
            self._take_from_head()

    def _repository(self) -> Repository | None:
        try:
            return Repository(Path(self.spellings[0]).parent)
        except (GitError, OSError) as error:
            self.notes.append(f"{error}; the result is without data from git")
            return None

    def _requested_file(self) -> RequestedFile:
        if self.repository is None:
            return RequestedFile(self.spellings)
        project = Project(str(self.repository.top), self.repository.remotes)
        return RequestedFile(self.spellings, project, self.repository.former_names(self._name_in_repository()))

    def _name_in_repository(self) -> str:
        """Return the path from the top of the repository on, as it is on disk."""
        assert self.repository is not None
        return Path(os.path.relpath(self.spellings[0], os.path.realpath(self.repository.top))).as_posix()

    def _head_of_repository(self) -> str | None:
        try:
            return self.repository.find("HEAD") if self.repository is not None else None
        except GitError:
            return None  # nothing was committed yet

    # --- text -------------------------------------------------------------------------------------------------------

    def _lines_on_disk(self) -> list[str] | None:
        try:
            state = self.path.stat()
            if stat.S_ISDIR(state.st_mode):
                raise UsageError(f"{self.path} is a folder; name a file in it")
            if not stat.S_ISREG(state.st_mode):
                self.notes.append("this is not a plain file; its lines are not compared")
                return None
            with self.path.open("rb") as file:
                return self._lines_from(file.read(MOST_BYTES + 1))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            self.notes.append(f"the file cannot be read: {error}")
            return None

    def _lines_from(self, data: bytes) -> list[str] | None:
        if len(data) > MOST_BYTES:
            self.notes.append(f"the file has more than {MOST_BYTES >> 20} MiB; its lines are not compared")
            return None
        if data.startswith((b"\xff\xfe", b"\xfe\xff")):
            return lines_of(data.decode("utf-16", "replace"))
        if b"\0" in data[:SEARCHED_BYTES]:
            self.notes.append("the file is binary; its lines are not compared")
            return None
        return lines_of(data.decode("utf-8-sig", "replace"))

    def _take_from_head(self) -> None:
        """Take the lines of a deleted file from the last commit."""
        data = self._data_in_head()
        self.lines = self._lines_from(data) if data is not None else None
        where = "; its lines are those of the last commit" if self.lines is not None else ""
        self.notes.append(f"the file does not exist{where}")

    def _data_in_head(self) -> bytes | None:
        if self.repository is None or self._head is None:
            return None
        return self.repository.text_at(self._head, self._name_in_repository())

    # --- commits ----------------------------------------------------------------------------------------------------

    def commits_of(self, first: int, last: int) -> dict[int, Committed]:
        """Return the commits of lines, by their numbers now; lines that were not committed yet are left out."""
        data = self._data_in_head()
        if data is None or self.lines is None or self.repository is None or self._head is None:
            return {}
        committed = lines_of(data.decode("utf-8-sig", "replace"))
        numbers = numbers_before(committed, self.lines)
        wanted = {numbers[line]: line for line in range(first, last + 1) if line in numbers}
        if not wanted:
            return {}
        try:
            blamed = self.repository.blame(self._head, self._name_in_repository(), min(wanted), max(wanted))
        except GitError as error:
            self.notes.append(f"{error}; the result is without commits")
            return {}
        return {
            line: Committed(blamed[number].sha, blamed[number].committed_at)
            for number, line in wanted.items()
            if number in blamed
        }

    @property
    def shown_path(self) -> str:
        return plain_path(str(self.path))


def numbers_before(old: list[str], new: list[str]) -> dict[int, int]:
    """Return the old numbers of the lines of `new` that `old` has too, by their new numbers."""
    if old == new:
        return {number: number for number in range(1, len(new) + 1)}
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    changes = list(changed_lines(unified_diff(before, after, "file", context=0)))
    removed = {change.number for change in changes if change.sign == "-"}
    added = {change.number for change in changes if change.sign == "+"}
    kept = (number for number in range(1, len(old) + 1) if number not in removed)
    return dict(zip((number for number in range(1, len(new) + 1) if number not in added), kept, strict=False))
