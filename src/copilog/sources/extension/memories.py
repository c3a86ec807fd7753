"""Read what the model's memory tool wrote: `memory-tool/memories/`, of users, repositories and sessions.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from copilog import jsonio
from copilog.derive import add_title
from copilog.derive.documents import COLLECTION
from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.intake.files import read_bytes
from copilog.intake.folders import files_below
from copilog.model import AnyDocument, Conversation, MemoryDocument, MemoryScope, PlanDocument
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import EXTENSION, below, extension_folders
from copilog.sources.roots import StorageFolder

# The memory tool's files, and their owners by the folders that they are in.


FOLDERS = ("memory-tool", "memories")
REPO = "repo"
FOLDER_NAMES_IN_KEY = 7  # distinguishes users of a machine, and is the same when a home is copied elsewhere
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SCOPES: dict[MemoryScope, str] = {
    "user": "/memories/",
    "workspace": "/memories/",
    "session": "/memories/session/",
    "repository": "/memories/repo/",
}
_NAMES_IN_IDS: dict[MemoryScope, str] = {"repository": REPO}  # as earlier versions named these collections


class Memory(NamedTuple):
    """The scope and owner of a memory file."""

    scope: MemoryScope
    conversation_id: str
    native_id: str
    path: str  # as the tool names it

    @property
    def is_plan(self) -> bool:
        return self.scope == "session" and self.path == "/memories/session/plan.md"


def memory_at(path: Path) -> Memory | None:
    """Return the scope and owner of a memory file by its path, or None if the path is not that of a memory file."""
    inner = below(path, *FOLDERS)
    if not inner:
        return None
    root = Path(*path.parts[: len(path.parts) - len(inner)])
    extension = root.parent.parent
    if extension.parent.name == "globalStorage":
        return _shared_memory(root, "user", inner)
    if len(inner) == 1:
        return _shared_memory(root, "workspace", inner)
    folder, *rest = inner
    if folder == REPO:
        return _shared_memory(root, "repository", tuple(rest))
    session_id = session_of_folder(folder)
    # Folders of local chats are named in base64; the bare id is that of a session of Copilot CLI, shown in VS Code.
    namespace = "cli" if session_id == folder and _UUID.fullmatch(folder) else "vscode"
    return Memory("session", f"{namespace}:{session_id}", session_id, _SCOPES["session"] + "/".join(rest))


def _shared_memory(root: Path, scope: MemoryScope, inner: tuple[str, ...]) -> Memory:
    """Return memory that belongs to no conversation: that of a user, of a repository, of a workspace."""
    import hashlib

    key = "/".join(root.parent.parent.absolute().parts[-FOLDER_NAMES_IN_KEY:])
    native_id = f"{_NAMES_IN_IDS.get(scope, scope)}:{hashlib.sha256(key.encode('utf-8', 'replace')).hexdigest()[:16]}"
    return Memory(scope, f"memory:{native_id}", native_id, _SCOPES[scope] + "/".join(inner))


def session_of_folder(name: str) -> str:
    """Return the session of a folder's name: base64 of its id without padding, or the id itself."""
    if _UUID.fullmatch(name):
        return name
    import base64
    import binascii

    for alphabet in (b"-_", b"+/"):
        try:
            decoded = base64.b64decode(name + "=" * (-len(name) % 4), altchars=alphabet, validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            continue
        if decoded and decoded.isprintable():
            return decoded
    return name


# The texts of the model's memory tool: memory-tool/memories/, of users, repositories and sessions. Format notes:
# docs/formats/copilot-chat-extension.md


class Memories(Source):
    name = "memories"
    title = "Copilot memory"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder, *FOLDERS):
            for path in files_below(place):
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
        """Yield one memory file, as a part of the conversation it belongs to, or of a collection of its own."""
        memory = memory_at(found.path)
        if memory is None:
            raise BadFile("is not in a folder of the memory tool")
        text = _text_of(found.path, ledger)
        document: AnyDocument
        if memory.is_plan:
            document = PlanDocument(text=text, path=memory.path)
        else:
            document = MemoryDocument(text=text, path=memory.path, scope=memory.scope)
        made = Conversation(
            id=memory.conversation_id,
            native_id=memory.native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            marks=["memory"] if memory.scope == "session" else ["memory", COLLECTION],
            provenance=[provenance_of(found, role="resource")],
            documents=[document],
        )
        if memory.scope != "session":
            add_title(made, f"Memories of the {memory.scope}", "placeholder")
        yield made


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
