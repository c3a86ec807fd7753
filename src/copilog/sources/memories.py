"""What the model's memory tool wrote down: memory-tool/memories/, of users, repositories and sessions.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.intake.files import read_bytes
from copilog.model import Conversation, Document
from copilog.sources._extension.memory import FOLDERS, memory_at
from copilog.sources._extension.places import EXTENSION, extension_folders
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.roots import StorageFolder


class Memories(Source):
    name = "memories"
    title = "Copilot memory"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder, *FOLDERS):
            for path in _files_below(place):
                memory = memory_at(path)
                if memory is not None:
                    yield Found(path, self.name, native_id=memory.native_id, application=folder.application)

    def claims(self, file: Probe) -> bool:
        parts = file.path.parts
        return memory_at(file.path) is not None and any(part.lower() == EXTENSION for part in parts)

    def native_id(self, file: Probe) -> str | None:
        memory = memory_at(file.path)
        return memory.native_id if memory is not None else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """One file of memory, as a part of the conversation it belongs to, or of a collection of its own."""
        memory = memory_at(found.path)
        if memory is None:
            raise BadFile("lies in no folder of the memory tool")
        text = _text_of(found.path, ledger)
        kind = "plan" if memory.is_plan else "memory"
        document = Document(kind=kind, text=text, path=memory.path, extra={"scope": memory.scope})
        yield Conversation(
            id=memory.conversation_id,
            native_id=memory.native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            marks=["memory"],
            provenance=[provenance_of(found, role="resource")],
            documents=[document],
        )


def _text_of(path: Path, ledger: Ledger) -> str:
    data = read_bytes(path)
    ledger.seen += 1
    text, repairs = jsonio.as_utf8(data)
    for repair in repairs:
        ledger.note(repair.code, repair.reason, offset=0)
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        decoded = text.decode("utf-8", errors="replace")
        ledger.note("invalid-utf8", "the memory is not all UTF-8", "info", offset=error.start)
    ledger.used += 1
    return decoded


def _files_below(folder: Path) -> Iterator[Path]:
    """All plain files below a folder, by name; links are not followed."""
    for parent, names, files in os.walk(folder, followlinks=False):
        names.sort()
        for name in sorted(files):
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path
