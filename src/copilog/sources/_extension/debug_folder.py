"""A session's folder of debug logs: which file is which, and what the files beside the main log hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.files import read_bytes
from copilog.sources._extension.places import below
from copilog.sources._vscode.places_on_disk import files_in, is_plain_file

FOLDER = "debug-logs"
MAIN = "main.jsonl"
MODELS = "models.json"
_DOCUMENT = re.compile(r"(?:models|system_prompt_\d+|tools_\d+)\.json")


def is_log(path: Path) -> bool:
    return path.suffix.lower() == ".jsonl"


def is_document(path: Path) -> bool:
    return _DOCUMENT.fullmatch(path.name) is not None


def is_debug_file(path: Path) -> bool:
    """Whether a file lies where debug logs lie: in a session's folder, or, as at first, in the folder of all."""
    inner = below(path, FOLDER)
    if inner is None or len(inner) > 2:
        return False
    return is_log(path) or (len(inner) == 2 and is_document(path))


def session_of(path: Path) -> str | None:
    """The session that a file belongs to, going by where it lies."""
    inner = below(path, FOLDER)
    if inner is None or not is_debug_file(path):
        return None
    return inner[0] if len(inner) == 2 else path.stem


def speaks_for_session(path: Path) -> bool:
    """Whether a file gives the conversation: the main log, or else any log that has none beside it."""
    inner = below(path, FOLDER)
    if path.name == MAIN or inner is None or len(inner) == 1:
        return True
    return is_log(path) and not is_plain_file(path.parent / MAIN)


class Companions:
    """The files beside a main log. One that cannot be read says nothing here: its own books tell."""

    def __init__(self, log: Path) -> None:
        is_in_folder = log.name == MAIN and below(log, FOLDER) is not None
        files = files_in(log.parent) if is_in_folder else []
        self.logs = [path for path in files if is_log(path) and path != log]
        self.documents = {path.name: value for path in files if is_document(path) and (value := _value_of(path))}
        self.paths = [*self.logs, *(log.parent / name for name in self.documents)]

    def content(self, name: object) -> str | None:
        """The text of a document that an entry names."""
        value = self.documents.get(name) if isinstance(name, str) else None
        text = value.get("content") if isinstance(value, dict) else None
        return text if isinstance(text, str) else None


def _value_of(path: Path) -> Any:
    try:
        data, _ = jsonio.as_utf8(read_bytes(path))
        return jsonio.decode(data.strip(b"\0 \r\n\t"))[0]
    except (BadFile, BadRecord):
        return None


def count_document(path: Path, ledger: Ledger) -> None:
    """The books of a document beside a log: it is one record."""
    data, repairs = jsonio.as_utf8(read_bytes(path))
    for repair in repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    stripped = data.strip(b"\0 \r\n\t")
    if not stripped:
        ledger.note("nul-tail" if data.strip() else "empty-file", "the file holds nothing")
        return
    with ledger.record(offset=0):
        value, more = jsonio.decode(stripped)
        for repair in more:
            ledger.note(repair.code, repair.reason, "info", offset=0)
        is_right = isinstance(value, list) if path.name == MODELS else isinstance(value, dict) and "content" in value
        if not is_right:
            raise BadRecord("a document of another shape")
