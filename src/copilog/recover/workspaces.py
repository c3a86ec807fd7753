"""Find workspaces whose folder VS Code can no longer reach through their storage, and where the folder may be now.

VS Code names the storage of a folder by a hash of its path and, on Linux, its inode number: a folder that was renamed,
moved, or made anew has another storage, and the sessions stay behind. Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from copilog.errors import BadFile
from copilog.intake.files import read_small
from copilog.intake.folders import names_in
from copilog.model import Conversation
from copilog.sources.roots import WorkspaceRecord, workspace_of
from copilog.uris import uri_to_path

MOST_SIBLINGS = 200  # folders beside a lost one that are looked at
MOST_FILES = 200  # of a conversation that are looked for in another folder
LARGEST_TEXT = 1 << 20
_ID = re.compile(r"[0-9a-f]{32}")
_REMOTE = re.compile(r"^\s*url\s*=\s*(\S+)\s*$", re.MULTILINE)


class LikelyFolder(msgspec.Struct, frozen=True):
    """A folder that a lost one may have become, and why."""

    folder: str
    evidence: list[str]


class Unreachable(NamedTuple):
    """A workspace whose storage VS Code does not use: the cause, the reason, and the folder it was made for."""

    cause: str
    reason: str
    folder: Path


def record_of(storage: Path) -> WorkspaceRecord | None:
    try:
        return workspace_of(storage)
    except ValueError:
        return None


def why_unreachable(storage: Path, *, may_be_elsewhere: bool = False) -> Unreachable | None:
    """Return why VS Code does not use a workspace's storage; None if it does, or if that cannot be known here.

    A storage that the user named may be copied from another machine, whose homes do not exist here.
    """
    record = record_of(storage)
    if record is None or record.scheme != "file" or record.authority or record.path is None:
        return None
    folder = Path(record.path)
    if not folder.is_absolute():
        return None  # of another system
    if may_be_elsewhere and _is_in_foreign_home(folder):
        return None
    if not folder.exists():
        what = "folder" if record.kind == "folder" else "workspace file"
        return Unreachable("workspace-gone", f"the {what} {folder} does not exist", folder)
    now = storage_name(folder) if record.kind == "folder" and folder.is_dir() else None
    if now is not None and now != storage.name and _ID.fullmatch(storage.name):
        reason = f"{folder} was made anew, or is another disk's: VS Code now uses the storage {now}"
        return Unreachable("workspace-replaced", reason, folder)
    return None


def _is_in_foreign_home(folder: Path) -> bool:
    """Return whether a folder is in the home of a user that this machine does not have."""
    parts = folder.parts
    return len(parts) > 3 and parts[1] in ("home", "Users") and not Path(*parts[:3]).exists()


def storage_name(folder: Path) -> str | None:
    """Return the name that VS Code gives the storage of a folder, where its rule is known to be exact: on Linux."""
    if not sys.platform.startswith("linux"):
        return None
    digest = hashlib.md5(str(folder).encode("utf-8", "surrogateescape"), usedforsecurity=False)
    digest.update(str(folder.stat().st_ino).encode())
    return digest.hexdigest()


# --- where a folder may be now ----------------------------------------------------------------------------------------


class Memory:
    """What is known of a lost folder: its repositories, and the files that conversations edited in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repositories: set[str] = set()
        self.texts: dict[str, str | None] = {}  # by path within the folder, the last recorded text

    def add(self, conversation: Conversation) -> None:
        if conversation.workspace is not None and conversation.workspace.repository:
            self.repositories.add(_plain_remote(conversation.workspace.repository))
        edited = [(change.uri, change.after) for change in conversation.file_changes]
        for uri, text in [*edited, *((state.uri, state.current) for state in conversation.files)]:
            path = uri_to_path(uri)
            if path is not None and Path(path).is_relative_to(self.folder) and len(self.texts) < MOST_FILES:
                name = str(Path(path).relative_to(self.folder))
                self.texts[name] = text if text is not None else self.texts.get(name)

    def likely_folder(self, known: Iterable[Path]) -> LikelyFolder | None:
        """Return the folder that the lost one has most likely become, or None if nothing speaks for any."""
        best: tuple[int, LikelyFolder] | None = None
        for folder in _candidates(self.folder, known):
            score, evidence = _evidence(folder, self.texts, self.repositories)
            if score and (best is None or score > best[0]):
                best = score, LikelyFolder(str(folder), evidence)
        return best[1] if best is not None else None


def _candidates(lost: Path, known: Iterable[Path]) -> list[Path]:
    siblings = sorted(names_in(lost.parent).folders)[:MOST_SIBLINGS]
    folders = [*known, *(lost.parent / name for name in siblings)]
    return [folder for folder in dict.fromkeys(folders) if folder != lost and folder.is_dir()]


def _evidence(folder: Path, texts: dict[str, str | None], repositories: set[str]) -> tuple[int, list[str]]:
    evidence: list[str] = []
    score = 0
    same = repositories & set(_remotes_of(folder))
    if same:
        score += 1000
        evidence.append(f"same repository: {min(same)}")
    present = [name for name in texts if (folder / name).is_file()]
    if present:
        score += 10 * len(present)
        evidence.append(f"same files: {len(present)} of the {len(texts)} that were edited")
    equal = sum(1 for name in present if texts[name] is not None and _text_of(folder / name) == texts[name])
    if equal:
        score += 100 * equal
        evidence.append(f"same editing history: {equal} of them with the very text that was recorded last")
    is_weak = not same and not equal and 2 * len(present) < len(texts)
    return (0, []) if is_weak else (score, evidence)


def _remotes_of(folder: Path) -> Iterator[str]:
    text = _text_of(folder / ".git" / "config")
    for url in _REMOTE.findall(text or ""):
        yield _plain_remote(url)


def _plain_remote(url: str) -> str:
    """Return a remote's address in one form: host and path, without user, protocol and ending."""
    plain = re.sub(r"^[a-z+]+://", "", url.strip().lower())
    plain = plain.rpartition("@")[2].removesuffix("/").removesuffix(".git")
    return re.sub(r"^([^/:]+):(?!\d)", r"\1/", plain)


def _text_of(path: Path) -> str | None:
    try:
        return read_small(path, LARGEST_TEXT).decode("utf-8", "replace")
    except BadFile:
        return None
