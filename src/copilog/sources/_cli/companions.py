"""The files beside a log: where the session ran, what it is called, its plan and its summaries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.files import read_bytes
from copilog.model import Document, TitleOrigin, Workspace
from copilog.sources._cli.checkpoints import FOLDER as CHECKPOINTS
from copilog.sources._cli.checkpoints import Checkpoints, text_of
from copilog.sources._cli.flat_yaml import FlatMap, read_flat_map
from copilog.sources._cli.saved_files import FOLDERS as SAVED
from copilog.sources._cli.saved_files import saved_entry, saved_files
from copilog.sources._vscode.places_on_disk import is_plain_file
from copilog.sources._vscode.take import Json, take_dict, take_str

LOG = "events.jsonl"
OWN_CLIENT = "github/cli"
VSCODE_CLIENT = "vscode"
WORKSPACE = "workspace.yaml"
PLAN = "plan.md"
VSCODE = "vscode.metadata.json"
VSCODE_REQUESTS = "vscode.requests.metadata.json"


class Companions:
    """What the files of one session folder say. A file that is missing says nothing, a broken one is told."""

    def __init__(self, folder: Path | None, ledger: Ledger) -> None:
        self.folder = folder
        self._ledger = ledger
        self.paths: list[Path] = []
        self.workspace = FlatMap()
        self.vscode: Json = {}
        self.requests: list[Any] = []
        self.plan: str | None = None
        self.saved: list[Json] = []
        self._files, folders = _contents_of(folder) if folder else (frozenset(), frozenset())
        self.checkpoints = Checkpoints(folder / CHECKPOINTS if folder and CHECKPOINTS in folders else None)
        if folder is None:
            return
        self._read_workspace(folder)
        self.plan = self._text(folder, PLAN)
        vscode, requests = self._json(folder, VSCODE), self._json(folder, VSCODE_REQUESTS)
        self.vscode = vscode if isinstance(vscode, dict) else {}
        self.requests = requests if isinstance(requests, list) else []
        self.paths += [checkpoint.path for checkpoint in self.checkpoints.all]
        if not folders.isdisjoint(SAVED):
            saved = saved_files(folder)
            self.saved = [saved_entry(path, folder) for path in saved]
            self.paths += saved
        for path, reason in self.checkpoints.problems:
            self._tell(path, reason)

    @property
    def client(self) -> str | None:
        """Return which program ran the session: the CLI itself, or another by means of it; None where nothing tells."""
        name = self.workspace.text("client_name")
        return name or (VSCODE_CLIENT if self.vscode or self.requests else None)

    def _read_workspace(self, folder: Path) -> None:
        text = self._text(folder, WORKSPACE)
        if text is not None:
            self.workspace = read_flat_map(text)
            for line, reason in self.workspace.problems:
                self._ledger.note("bad-yaml", f"{WORKSPACE}, line {line}: {reason}", "info")

    def _text(self, folder: Path, name: str) -> str | None:
        if name not in self._files:
            return None
        path = folder / name
        try:
            text = text_of(path)
        except BadFile as error:
            self._tell(path, str(error))
            return None
        self.paths.append(path)
        return text

    def _json(self, folder: Path, name: str) -> Any:
        """The value of a JSON file; a crash may have left nothing but NUL bytes in it."""
        if name not in self._files:
            return None
        path = folder / name
        try:
            data, _ = jsonio.as_utf8(read_bytes(path))
            value = jsonio.decode(stripped)[0] if (stripped := data.strip(b"\0 \r\n\t")) else None
        except (BadFile, BadRecord) as error:
            self._tell(path, str(error))
            return None
        self.paths.append(path)
        return value

    def _tell(self, path: Path, reason: str) -> None:
        self._ledger.note("bad-companion", f"{path.name}: {reason}")

    # --- what they say ----------------------------------------------------------------------------------------------

    def titles(self) -> Iterator[tuple[str, TitleOrigin]]:
        """The titles: one given in VS Code, the name of the session, the older summary; the first line of each."""
        custom, text = self.vscode.get("customTitle"), self.workspace.text
        is_named = self.workspace.values.get("user_named") is True
        found: list[tuple[str | None, TitleOrigin]] = [
            (custom if isinstance(custom, str) else None, "custom"),
            (text("name"), "named" if is_named else "generated"),
            (text("summary"), "summary"),
        ]
        for title, origin in found:
            line = next((line.strip() for line in (title or "").split("\n") if line.strip()), None)
            if line is not None:
                yield line, origin

    def place(self) -> Workspace | None:
        """The folder that the session belongs to. Of a worktree, that is the repository it was made from."""
        text = self.workspace.text
        made = Workspace(
            folder=text("cwd"), kind="folder", repository=text("repository"), branch=text("branch"), extra={}
        )
        assert made.extra is not None
        for key in ("git_root", "host_type"):
            if text(key) is not None:
                made.extra[key] = text(key)
        if self.vscode:
            self._read_vscode_place(made, made.extra)
        made.extra = made.extra or None
        is_empty = made.folder is None and made.repository is None and made.extra is None
        return None if is_empty else made

    def _read_vscode_place(self, made: Workspace, extra: Json) -> None:
        worktree = take_dict(dict(self.vscode), "worktreeProperties")
        repository = take_dict(dict(self.vscode), "repositoryProperties")
        folder = take_dict(dict(self.vscode), "workspaceFolder")
        if worktree is not None and isinstance(worktree.get("repositoryPath"), str):
            extra["cwd"] = made.folder
            made.folder = worktree["repositoryPath"]
            made.branch = take_str(dict(worktree), "branchName") or made.branch
            extra["worktree"] = worktree
        elif made.folder is None and folder is not None:
            made.folder = take_str(folder, "folderPath")
        if made.folder is None and repository is not None:
            made.folder = take_str(repository, "repositoryPath")

    def extras(self) -> Json:
        """All the rest, by file."""
        made: Json = {}
        if self.workspace.values:
            made["workspace"] = dict(self.workspace.values)
        if self.vscode:
            made["vscode"] = self.vscode
        unreadable = [entry for entry in self.saved if "text" not in entry]
        if unreadable:
            made["saved_files"] = unreadable
        return made

    def documents(self) -> list[Document]:
        """The plan, summaries that no compaction of the log has, what the session saved, and a title of many lines."""
        made: list[Document] = []
        summary = self.workspace.text("summary")
        if summary is not None and "\n" in summary.strip():
            made.append(Document(kind="summary", text=summary, path=WORKSPACE))
        if self.plan is not None:
            made.append(Document(kind="plan", text=self.plan, path=PLAN))
        made += [checkpoint.as_document() for checkpoint in self.checkpoints.all if not checkpoint.is_taken]
        for entry in self.saved:
            if "text" in entry:
                made.append(Document(kind="file", text=entry["text"], path=entry["path"]))
        return made


def _contents_of(folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the plain files in a session folder, and of the folders. One look is cheaper than one for each."""
    try:
        with os.scandir(folder) as entries:
            files, folders = [], []
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
            return frozenset(files), frozenset(folders)
    except OSError:  # what may not be listed may still be read
        names = (WORKSPACE, PLAN, VSCODE, VSCODE_REQUESTS)
        return frozenset(name for name in names if is_plain_file(folder / name)), frozenset({CHECKPOINTS, *SAVED})
