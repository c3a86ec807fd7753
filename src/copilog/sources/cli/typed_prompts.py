"""Prompts typed into Copilot CLI (`command-history-state.json`), also those of sessions that are gone.

Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.fields import take_time
from copilog.intake.files import read_bytes
from copilog.intake.folders import is_link
from copilog.intake.records import JsonLines
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source
from copilog.sources.folders import files_in, folders_in, is_plain_file
from copilog.sources.roots import StorageFolder
from copilog.sources.typed_prompts import Typed, history_from, history_id

FOLDER = "command-history-state"
FILE = f"{FOLDER}.json"
LIST = "commandHistory"


class CliPrompts(Source):
    name = "cli-prompts"
    title = "Copilot CLI prompt history"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        if folder.kind != "copilot-home":
            return
        files = [folder.path / FILE] if is_plain_file(folder.path / FILE) else []
        for path in [*files, *_files_below(folder.path / FOLDER)]:
            yield Found(path, self.name, native_id=history_id(path))

    def claims(self, file: Probe) -> bool:
        return file.name == FILE or FOLDER in file.folders or file.keys == {LIST}

    def native_id(self, file: Probe) -> str | None:
        return history_id(file.path)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one conversation with the prompts, the oldest first; the file has the newest first."""
        if found.path.suffix == ".jsonl":
            typed = list(_typed_in(found.path, ledger))
            if typed:
                yield history_from(typed[::-1], found, source=self.name, family="cli")
            return
        data, repairs = jsonio.as_utf8(read_bytes(found.path))
        try:
            entries, more = _entries_from(data.rstrip(b"\0"))
        except BadRecord as error:
            ledger.seen += 1
            ledger.reject(error.code, str(error), offset=0)
            return
        for repair in (*repairs, *more):
            ledger.note(repair.code, repair.reason, "info")
        prompts: list[Typed] = []
        for position in reversed(range(len(entries))):
            with ledger.record(pointer=f"/{LIST}/{position}"):
                prompts.append(_prompt_from(entries[position]))
        prompts = [prompt for prompt in prompts if prompt.text.strip()]
        if prompts:
            yield history_from(prompts, found, source=self.name, family="cli")


def _files_below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, with any name, so that unreadable ones are reported."""
    if is_link(folder):
        return
    yield from files_in(folder)
    for inner in folders_in(folder):
        yield from _files_below(inner)


def _typed_in(path: Path, ledger: Ledger) -> Iterator[Typed]:
    """Yield the prompts of a file of lines, each a text or an object."""
    for entry, line, offset, _ in JsonLines(path, ledger, lambda _: False, decode=jsonio.decode_strictly):
        try:
            prompt = _prompt_from(entry)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
            continue
        ledger.used += 1
        if prompt.text.strip():
            yield prompt


def _entries_from(data: bytes) -> tuple[list[Any], list[jsonio.Repair]]:
    value, repairs = jsonio.decode(data)
    entries = value.get(LIST) if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise BadRecord(f"a history without a list {LIST}")
    return entries, repairs


def _prompt_from(entry: Any) -> Typed:
    """Return a prompt: a text, or an object with one and perhaps its time."""
    if isinstance(entry, str):
        return Typed(entry)
    if isinstance(entry, dict):
        for key in ("text", "prompt", "command"):
            if isinstance(entry.get(key), str):
                return Typed(entry.pop(key), take_time(entry, "timestamp"), extra=entry or None)
    raise BadRecord("a prompt that is not text")
