"""Read files and commits from git in such a way that a repository cannot make git run anything else.

No shell, no pager, no hooks, no monitors, no external diffs, no filters: only objects of the repository are read, never
files of the work tree, for which git would run the filters that its configuration names. Nothing is fetched, nothing is
locked, and time and output are limited. Command line arguments come from the user or from git itself, never from a
conversation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Event, Timer
from typing import NamedTuple

from copilog.analysis.lineage.diffs import diffs_from
from copilog.errors import UsageError

TIMEOUT_SECONDS = 30.0
MOST_BYTES = 64 << 20  # of git's output
MOST_NAMES = 20  # that a file had before

_SAFE = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=true"),
    *("-c", "protocol.allow=never"),
    *("-c", "diff.external="),
)
_PLAIN_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_ALLOWED_VARIABLES = (
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
    "GIT_EXEC_PATH",
)

_BLAMED = re.compile(rb"([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?")
_SIGNED_AT = re.compile(rb" (-?\d+) [+-]\d{4}$")
_ESCAPED = re.compile(rb'\\([abfnrtv"\\]|[0-7]{3})')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class GitError(UsageError):
    """Git is missing, there is no repository, or the repository lacks the requested object."""


class Commit(NamedTuple):
    """A commit, with the fields that are needed here."""

    sha: str
    parents: list[str]
    authored_at: datetime | None
    committed_at: datetime | None
    subject: str


class ChangedFile(NamedTuple):
    """A file that a commit changed; both names are from the top of the repository."""

    path: str
    old_path: str | None  # where it was renamed or copied
    added: list[str]
    removed: list[str]
    is_binary: bool


class BlamedLine(NamedTuple):
    """The commit that a line comes from."""

    sha: str
    committed_at: datetime | None
    path: str  # the file's path at that time, from the top of the repository


class Repository:
    """One repository with a work tree; `top` is its folder."""

    def __init__(self, folder: Path) -> None:
        """Find the repository that a folder is in. The folder itself may be deleted."""
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent
        top = _run(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n").removesuffix(b"\r")
        if not top:
            raise GitError(f"{folder}: the repository has no work tree")
        self.top = Path(os.fsdecode(top))

    @cached_property
    def remotes(self) -> list[str]:
        """Return the addresses of the repository's remotes."""
        try:
            listed = self._git("config", "-z", "--get-regexp", r"^remote\..*\.url$")
        except GitError:
            return []  # there are none
        return [entry.partition(b"\n")[2].decode("utf-8", "replace") for entry in listed.split(b"\0") if entry]

    def find(self, revision: str) -> str:
        """Return the full id of the commit that a revision means."""
        if not revision or revision.startswith("-") or "\0" in revision:
            raise GitError(f"{revision!r} is not a revision")
        try:
            found = self._parsed(revision)
            return self._parsed(f"{found}^{{commit}}")  # not at once, as `:/words` includes all that follows
        except GitError:
            raise GitError(f"{revision!r} is not a commit of {self.top}") from None

    def _parsed(self, revision: str) -> str:
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", revision)
        return found.decode("ascii", "replace").strip()

    def commit(self, sha: str) -> Commit:
        head, _, message = self._git("cat-file", "commit", sha).partition(b"\n\n")
        parents: list[str] = []
        times: dict[bytes, datetime | None] = {}
        for line in head.split(b"\n"):
            key, _, value = line.partition(b" ")
            if key == b"parent":
                parents.append(value.decode("ascii", "replace"))
            elif key in (b"author", b"committer"):
                signed = _SIGNED_AT.search(line)
                times[key] = _time_from(signed[1]) if signed else None
        subject = message.strip().partition(b"\n")[0].decode("utf-8", "replace")
        return Commit(sha, parents, times.get(b"author"), times.get(b"committer"), subject)

    def changes_of(self, commit: Commit) -> list[ChangedFile]:
        """Return the files that a commit changed, with their lines; of a merge, against its first parent."""
        which = (commit.parents[0], commit.sha) if commit.parents else ("--root", commit.sha)
        options = ("-r", "-M", "--no-commit-id", *_PLAIN_DIFF)
        names = _names_from(self._git("diff-tree", *options, "--raw", "-z", *which))
        diffs = diffs_from(self._git("diff-tree", *options, "-p", "-U0", *which))
        return [
            ChangedFile(path, old_path, diff.added, diff.removed, diff.is_binary)
            for (path, old_path), diff in zip(names, diffs, strict=True)
        ]

    def text_at(self, sha: str, path: str) -> bytes | None:
        """Return the content of a file in a commit; None if it has no file of that name."""
        try:
            return self._git("cat-file", "blob", f"{sha}:{path}")
        except GitError:
            return None

    def blame(self, sha: str, path: str, first: int, last: int) -> dict[int, BlamedLine]:
        """Return the commits that lines of a file of a commit come from."""
        lines = self._git("blame", "--porcelain", "--no-textconv", "-L", f"{first},{last}", sha, "--", path)
        return _blamed_from(lines)

    def former_names(self, path: str) -> list[str]:
        """Return the former names of a file, as far as git detects them."""
        options = ("--follow", "--format=", "--name-status", "-z", "-M", "--diff-filter=R", "--no-show-signature")
        try:
            listed = self._git("log", *options, *_PLAIN_DIFF, "HEAD", "--", path)
        except GitError:
            return []
        fields = [os.fsdecode(field) for field in listed.split(b"\0")]
        return list(dict.fromkeys(name for name in fields[1::3] if name and name != path))[:MOST_NAMES]

    def _git(self, *arguments: str) -> bytes:
        return _run(self.top, *arguments)


def _run(folder: Path, *arguments: str) -> bytes:
    """Return the output of git. Raise GitError if it fails, takes too long or prints too much."""
    is_late = Event()
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(  # noqa: S603 - fixed words, and what the user or git itself has named
            [_program(), *_SAFE, *arguments],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        watch = Timer(TIMEOUT_SECONDS, _end, (process, is_late))
        watch.start()
        try:
            assert process.stdout is not None
            output = process.stdout.read(MOST_BYTES + 1)
            code = process.wait() if len(output) <= MOST_BYTES else None
        finally:
            watch.cancel()
            process.kill()  # which does nothing if it has ended
        if is_late.is_set():
            raise GitError(f"git {arguments[0]} did not answer within {TIMEOUT_SECONDS:g} seconds")
        if code is None:
            raise GitError(f"git {arguments[0]} printed more than {MOST_BYTES >> 20} MiB")
        if code:
            errors.seek(0)
            raise GitError(_explained(folder, arguments[0], errors.read(4096)))
    return output


def _end(process: subprocess.Popen[bytes], is_late: Event) -> None:
    is_late.set()
    process.kill()


def _explained(folder: Path, verb: str, errors: bytes) -> str:
    said = errors.decode("utf-8", "replace").strip()
    if "not a git repository" in said:
        return f"{folder} is not in a git repository"
    if "dubious ownership" in said:
        return f"{folder} is in a git repository of another user; run `git status` there to see how to trust it"
    if "must be run in a work tree" in said:
        return f"{folder}: the git repository has no work tree"
    said = said.partition("\n")[0].removeprefix("fatal: ")
    return f"git {verb} failed in {folder}" + (f": {said}" if said else "")


def _program() -> str:
    """Return the full path of git. One in the current folder, where Windows looks first, is not used."""
    found = shutil.which("git")
    if found is None or (os.name == "nt" and Path(found).resolve().parent == Path.cwd()):
        raise GitError("git is not installed, or is not on the PATH")
    return str(Path(found).absolute())


def _environment() -> dict[str, str]:
    """Return the user's environment without the variables that make git look elsewhere or run something."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _ALLOWED_VARIABLES
    }
    return kept | _ENVIRONMENT


def _names_from(raw: bytes) -> list[tuple[str, str | None]]:
    """Return the names of `--raw -z`, in the order of the patch, and the former names."""
    fields = iter(raw.split(b"\0"))
    names: list[tuple[str, str | None]] = []
    for field in fields:
        if not field.startswith(b":"):
            continue
        status, name = field[-5:].split(b" ")[-1], os.fsdecode(next(fields))
        if status[:1] in (b"R", b"C"):
            names.append((os.fsdecode(next(fields)), name))
        else:
            # A file that became a link is removed and created again: a patch has two entries for it.
            names += [(name, None)] * (2 if status[:1] == b"T" else 1)
    return names


def _blamed_from(porcelain: bytes) -> dict[int, BlamedLine]:
    """Return the lines of `git blame --porcelain`, which describes each commit once."""
    found: dict[int, BlamedLine] = {}
    times: dict[str, datetime | None] = {}
    names: dict[str, str] = {}
    sha, number = "", 0
    for line in porcelain.split(b"\n"):
        if line.startswith(b"\t"):
            found[number] = BlamedLine(sha, times.get(sha), names.get(sha, ""))
        elif header := _BLAMED.fullmatch(line):
            sha, number = header[1].decode(), int(header[2])
        elif line.startswith(b"committer-time "):
            times[sha] = _time_from(line[15:])
        elif line.startswith(b"filename "):
            names[sha] = unquoted(line[9:])
    return found


def _time_from(seconds: bytes) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def unquoted(name: bytes) -> str:
    """Return a file's name as it is on disk; git quotes unusual ones."""
    if len(name) > 1 and name.startswith(b'"') and name.endswith(b'"'):
        name = _ESCAPED.sub(_character, name[1:-1])
    return os.fsdecode(name)


def _character(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if len(code) == 3:
        return bytes([int(code, 8) & 255])
    return _ESCAPES.get(code, code)
