"""The files beside a log: workspace, plan, checkpoints, saved files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from copilog import jsonio
from copilog.derive.document_union import sections_in
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.fields import Json, take_dict, take_str
from copilog.intake.files import read_bytes
from copilog.intake.folders import entries_in, files_below, is_link
from copilog.model import (
    SECTIONS,
    AnyDocument,
    CheckpointDocument,
    PlanDocument,
    SummaryDocument,
    TitleOrigin,
    Workspace,
)
from copilog.sources.cli.flat_yaml import FlatMap, read_flat_map
from copilog.sources.documents_of_sessions import PLAN, saved_document
from copilog.sources.folders import file_names_in, files_in, folder_names_in, is_plain_file

# The summaries that a compaction writes: checkpoints/NNN-<title>.md, and the table that lists them.


INDEX = "index.md"
CHECKPOINTS = "checkpoints"
_NUMBER = re.compile(r"(\d{1,6})(?:\D|$)")
_ROW = re.compile(r"\s*\|\s*(\d{1,6})\s*\|(.*)\|([^|]*)\|\s*$")


class Checkpoint:
    """One summary on disk."""

    __slots__ = ("file", "number", "path", "text", "title")

    def __init__(self, path: Path, number: int | None, title: str | None, text: str) -> None:
        self.path = path
        self.file = path.name
        self.number = number
        self.title = title
        self.text = text

    def as_document(self) -> CheckpointDocument:
        return CheckpointDocument(
            text=self.text,
            title=self.title,
            number=self.number,
            sections=sections_in(self.text),
            path=f"{CHECKPOINTS}/{self.file}",
            traces=[str(self.path)],
        )

    def as_extra(self) -> Json:
        """Return the fields that the text and the title do not contain."""
        made: Json = {"number": self.number, "file": self.file}
        return {key: value for key, value in made.items() if value is not None}


class Checkpoints:
    """The summaries beside a log."""

    def __init__(self, folder: Path | None) -> None:
        self.all: list[Checkpoint] = []
        self.problems: list[tuple[Path, str]] = []
        if folder is None or is_link(folder):
            return
        files = files_in(folder)
        titles: dict[str, str] = {}
        for path in files:
            if path.name == INDEX:
                titles = {file: title for _, title, file in self._rows(path)}
        for path in files:
            if path.name != INDEX and path.suffix.lower() in (".md", ".json"):
                self._add(path, titles.get(path.name))

    def _rows(self, path: Path) -> list[tuple[int, str, str]]:
        try:
            return index_rows(text_of(path))
        except BadFile as error:
            self.problems.append((path, str(error)))
            return []

    def _add(self, path: Path, title: str | None) -> None:
        number = _NUMBER.match(path.name)
        try:
            text = checkpoint_text(path)
        except (BadFile, BadRecord) as error:
            self.problems.append((path, str(error)))
            return
        self.all.append(Checkpoint(path, int(number[1]) if number else None, title, text))

    def find(self, path: str | None, number: int | None) -> Checkpoint | None:
        """Return the summary that a compaction names, by its file name, else by its number."""
        names = {PurePosixPath(path).name, PureWindowsPath(path).name} if path else set()
        for checkpoint in self.all:
            if checkpoint.file in names:
                return checkpoint
        for checkpoint in self.all:
            if number is not None and checkpoint.number == number:
                return checkpoint
        return None


def index_rows(text: str) -> list[tuple[int, str, str]]:
    """Return the rows of the table: number, title, file. Everything else in the file is prose."""
    rows: list[tuple[int, str, str]] = []
    for line in text.split("\n"):
        match = _ROW.match(line.rstrip("\r"))
        if match is not None:
            rows.append((int(match[1]), match[2].strip().replace("\\|", "|"), match[3].strip()))
    return rows


def checkpoint_text(path: Path) -> str:
    """Return the text of a summary. The JSON form of an early description is written in the usual sections."""
    if path.suffix.lower() != ".json":
        return text_of(path)
    value, _ = jsonio.decode(jsonio.as_utf8(read_bytes(path))[0].rstrip(b"\0"))
    if not isinstance(value, dict):
        raise BadRecord(f"a checkpoint that is {type(value).__name__}")
    sections = [(name, value[name]) for name in SECTIONS if isinstance(value.get(name), str)]
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in sections)


def text_of(path: Path) -> str:
    """Return the text of a file, without the NUL bytes that a crash leaves."""
    data, _ = jsonio.as_utf8(read_bytes(path))
    return data.rstrip(b"\0").decode("utf-8", "replace")


# Files that a session saved: artefacts and long pastes in files/, reports of the research agent in research/.


SAVED_FOLDERS = ("files", "research")
LONGEST_TEXT = 1 << 20  # bytes; of longer files only name and size are stored


def session_of_saved(path: Path, sessions: str) -> Path | None:
    """Return the session folder that contains a saved file, or None for any other file."""
    for folder in path.parents:
        if folder.name in SAVED_FOLDERS and folder.parent.parent.name == sessions:
            return folder.parent
    return None


def saved_files(session: Path) -> list[Path]:
    """Return the files that a session saved, by name. Links are not followed."""
    found: list[Path] = []
    for name in SAVED_FOLDERS:
        if not is_link(session / name):
            found += files_below(session / name)
    return found


def saved_entry(path: Path, session: Path) -> dict[str, Any]:
    """Return the name and the size of a saved file, and its text if it is text and not too long."""
    entry: dict[str, Any] = {"path": path.relative_to(session).as_posix(), "size": None}
    try:
        entry["size"] = path.stat().st_size
        if entry["size"] <= LONGEST_TEXT:
            entry["text"] = read_bytes(path).decode("utf-8")
    except (OSError, BadFile, UnicodeDecodeError):
        return entry
    return entry


# The files beside a log: the folder and the title of the session, its plan and its summaries.


LOG = "events.jsonl"
OWN_CLIENT = "github/cli"
VSCODE_CLIENT = "vscode"
WORKSPACE = "workspace.yaml"
VSCODE = "vscode.metadata.json"
VSCODE_REQUESTS = "vscode.requests.metadata.json"


class Companions:
    """What the files of one session folder contain. A missing file counts as empty; a broken one is reported."""

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
        if not folders.isdisjoint(SAVED_FOLDERS):
            saved = saved_files(folder)
            self.saved = [saved_entry(path, folder) for path in saved]
            self.paths += saved
        for path, reason in self.checkpoints.problems:
            self._report(path, reason)

    @property
    def client(self) -> str | None:
        """Return the program that ran the session, the CLI or one that uses it; None if no file names it."""
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
            self._report(path, str(error))
            return None
        self.paths.append(path)
        return text

    def _json(self, folder: Path, name: str) -> Any:
        """Return the value of a JSON file. A crash may have left nothing but NUL bytes in it."""
        if name not in self._files:
            return None
        path = folder / name
        try:
            data, _ = jsonio.as_utf8(read_bytes(path))
            value = jsonio.decode(stripped)[0] if (stripped := data.strip(b"\0 \r\n\t")) else None
        except (BadFile, BadRecord) as error:
            self._report(path, str(error))
            return None
        self.paths.append(path)
        return value

    def _report(self, path: Path, reason: str) -> None:
        self._ledger.note("bad-companion", f"{path.name}: {reason}")

    def titles(self) -> Iterator[tuple[str, TitleOrigin]]:
        """Yield the first lines of the titles: from VS Code, the session's name, the older summary."""
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
        """Return the folder of the session. For a worktree, return the repository that it belongs to."""
        text = self.workspace.text
        made = Workspace(
            folder=text("cwd"), kind="folder", repository=text("repository"), branch=text("branch"), extra={}
        )
        assert made.extra is not None
        for key in ("git_root", "host_type"):
            if text(key) is not None:
                made.extra[key] = text(key)
        if self.vscode:
            self._read_vscode_workspace(made, made.extra)
        made.extra = made.extra or None
        is_empty = made.folder is None and made.repository is None and made.extra is None
        return None if is_empty else made

    def _read_vscode_workspace(self, made: Workspace, extra: Json) -> None:
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
        """Return all other fields, by file."""
        made: Json = {}
        if self.workspace.values:
            made["workspace"] = dict(self.workspace.values)
        if self.vscode:
            made["vscode"] = self.vscode
        return made

    def documents(self) -> list[AnyDocument]:
        """Return the plan, checkpoints, saved files, and a title of many lines."""
        made: list[AnyDocument] = []
        if self.folder is None:
            return made
        summary = self.workspace.text("summary")
        if summary is not None and "\n" in summary.strip():
            made.append(SummaryDocument(text=summary, path=WORKSPACE, traces=[str(self.folder / WORKSPACE)]))
        if self.plan is not None:
            made.append(PlanDocument(text=self.plan, path=PLAN, traces=[str(self.folder / PLAN)]))
        made += [checkpoint.as_document() for checkpoint in self.checkpoints.all]
        for entry in self.saved:
            path = self.folder / entry["path"]
            made.append(saved_document(entry["path"], entry.get("text"), entry["size"], [str(path)]))
        return made


def _contents_of(folder: Path) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the plain files in a session folder, and of its folders, with one listing for all of them."""
    files: list[str] = []
    folders: list[str] = []
    for entry in entries_in(folder):
        (files if entry.is_file(follow_symlinks=False) else folders).append(entry.name)
    if files or folders:
        return frozenset(files), frozenset(folders)
    # A folder that cannot be listed may still be readable.
    names = (WORKSPACE, PLAN, VSCODE, VSCODE_REQUESTS)
    return frozenset(name for name in names if is_plain_file(folder / name)), frozenset({CHECKPOINTS, *SAVED_FOLDERS})


# Where sessions are below a Copilot home, and which file belongs to which of them.


SESSIONS = "session-state"
COMPANIONS = (WORKSPACE, PLAN, VSCODE, VSCODE_REQUESTS)


def session_traces(home: Path) -> Iterator[tuple[Path, str]]:
    """Yield the main file of each session with the session's id.

    A session folder has a log, or only its companions if no prompt was ever sent. Early releases wrote a log without a
    folder; where there are both, both are traces of one session.
    """
    sessions = home / SESSIONS
    above, log = f"{sessions}{os.sep}", os.sep + LOG
    for name in folder_names_in(sessions):
        path = sessions.joinpath(name, LOG) if is_plain_file(above + name + log) else main_file(sessions / name)
        if path is not None:
            yield path, name
    for name in file_names_in(sessions):
        path = sessions / name
        if path.suffix.lower() == ".jsonl":
            yield path, path.stem


def main_file(folder: Path) -> Path | None:
    """Return the main file of a session: its log, else the first of its companions that exists."""
    for name in (LOG, WORKSPACE, PLAN, VSCODE):
        if is_plain_file(folder / name):
            return folder / name
    if is_link(folder / CHECKPOINTS):
        return None
    return next((path for path in files_in(folder / CHECKPOINTS) if path.suffix.lower() == ".md"), None)


def session_folder_of(path: Path) -> Path | None:
    """Return the session folder that a file belongs to, if there is one."""
    parent = path.parent
    if parent.parent.name == SESSIONS and path.name in (LOG, *COMPANIONS):
        return parent
    if parent.name == CHECKPOINTS and parent.parent.parent.name == SESSIONS and path.suffix.lower() in (".md", ".json"):
        return parent.parent
    if path.name == LOG and is_plain_file(parent / WORKSPACE):
        return parent  # a session folder that was copied elsewhere
    return session_of_saved(path, SESSIONS)


def is_companion(path: Path) -> bool:
    """Return whether a file is one of the files beside a log."""
    return path.name != LOG and session_folder_of(path) is not None


def is_log_path(path: Path) -> bool:
    """Return whether a file is a log, judged by its path."""
    if path.name == LOG:
        return path.parent.parent.name == SESSIONS
    return path.suffix.lower() == ".jsonl" and path.parent.name == SESSIONS


# The ledger of one companion that is read by itself: one record for the file, or for each row of a table.


def count_companion(path: Path, ledger: Ledger) -> None:
    """Check that a companion can be read, and count its records."""
    if path.name == INDEX and path.parent.name == CHECKPOINTS:
        _count_rows(path, ledger)
        return
    data = read_bytes(path)
    if session_of_saved(path, SESSIONS) is not None:  # any other JSON value is stored unchanged
        ledger.seen += 1
        ledger.used += 1
        return
    if not data.strip(b"\0 \r\n\t"):
        ledger.seen += 1
        ledger.ignore("nul-padding" if data.strip() else "empty-file")
        ledger.note("nul-tail" if data.strip() else "empty-file", "the file holds nothing")
        return
    with ledger.record(offset=0):
        if path.suffix.lower() == ".json":
            _check_json(path, data, ledger)
        elif path.name == WORKSPACE:
            for line, reason in read_flat_map(text_of(path)).problems:
                ledger.note("bad-yaml", reason, "info", line=line)


def _count_rows(path: Path, ledger: Ledger) -> None:
    for number, _, file in index_rows(text_of(path)):
        with ledger.record(pointer=f"/{number}"):
            if not file:
                raise BadRecord("a row of the table without a file")


def _check_json(path: Path, data: bytes, ledger: Ledger) -> None:
    if path.parent.name == CHECKPOINTS:
        checkpoint_text(path)
        return
    text, repairs = jsonio.as_utf8(data)
    value, more = jsonio.decode(text.strip(b"\0 \r\n\t"))
    for repair in (*repairs, *more):
        ledger.note(repair.code, repair.reason, "info", offset=0)
    if not isinstance(value, dict | list):
        raise BadRecord(f"the document is {type(value).__name__}")
