"""The summaries that a compaction leaves: checkpoints/NNN-<title>.md, and the table that lists them."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

from copilog import jsonio
from copilog.errors import BadFile, BadRecord
from copilog.intake.files import read_bytes
from copilog.model import Document
from copilog.sources._vscode.places_on_disk import files_in
from copilog.sources._vscode.take import Json

INDEX = "index.md"
FOLDER = "checkpoints"
SECTIONS = ("overview", "history", "work_done", "technical_details", "important_files", "next_steps")
_NUMBER = re.compile(r"(\d{1,6})(?:\D|$)")
_ROW = re.compile(r"\s*\|\s*(\d{1,6})\s*\|(.*)\|([^|]*)\|\s*$")


class Checkpoint:
    """One summary on disk."""

    __slots__ = ("file", "is_taken", "number", "path", "text", "title")

    def __init__(self, path: Path, number: int | None, title: str | None, text: str) -> None:
        self.path = path
        self.file = path.name
        self.number = number
        self.title = title
        self.text = text
        self.is_taken = False  # a compaction of the log has it

    def as_document(self) -> Document:
        extra = {"number": self.number} if self.number is not None else None
        path = f"{FOLDER}/{self.file}"
        return Document(kind="checkpoint", text=self.text, title=self.title, path=path, extra=extra)

    def as_extra(self) -> Json:
        """What to keep of it beside a text and a title that are known anyway."""
        made: Json = {"number": self.number, "file": self.file}
        return {key: value for key, value in made.items() if value is not None}


class Checkpoints:
    """The summaries beside a log."""

    def __init__(self, folder: Path | None) -> None:
        self.all: list[Checkpoint] = []
        self.problems: list[tuple[Path, str]] = []
        if folder is None or folder.is_symlink():
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
        """The summary that a compaction names, by the name of its file, else by its number."""
        names = {PurePosixPath(path).name, PureWindowsPath(path).name} if path else set()
        for checkpoint in self.all:
            if checkpoint.file in names:
                return checkpoint
        for checkpoint in self.all:
            if number is not None and checkpoint.number == number:
                return checkpoint
        return None


def index_rows(text: str) -> list[tuple[int, str, str]]:
    """The rows of the table: number, title, file. Everything else in the file is prose."""
    rows: list[tuple[int, str, str]] = []
    for line in text.split("\n"):
        match = _ROW.match(line.rstrip("\r"))
        if match is not None:
            rows.append((int(match[1]), match[2].strip().replace("\\|", "|"), match[3].strip()))
    return rows


def checkpoint_text(path: Path) -> str:
    """The text of a summary. One in JSON, as an early description has it, is put into the usual sections."""
    if path.suffix.lower() != ".json":
        return text_of(path)
    value, _ = jsonio.decode(jsonio.as_utf8(read_bytes(path))[0].rstrip(b"\0"))
    if not isinstance(value, dict):
        raise BadRecord(f"a checkpoint that is {type(value).__name__}")
    sections = [(name, value[name]) for name in SECTIONS if isinstance(value.get(name), str)]
    return "\n\n".join(f"<{name}>\n{text}\n</{name}>" for name, text in sections)


def text_of(path: Path) -> str:
    """A text file as it is, without the NUL bytes that a crash leaves."""
    data, _ = jsonio.as_utf8(read_bytes(path))
    return data.rstrip(b"\0").decode("utf-8", "replace")
