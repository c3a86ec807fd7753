"""What happened to files: chatEditingSessions/<key>/state.json and contents/<hash>.

Texts in `contents` that the state does not name, or that have no state, are kept as files without a name.

Format notes: docs/formats/vscode-editing.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from copilog.diagnostics import Ledger
from copilog.errors import BadFile
from copilog.intake.files import read_bytes
from copilog.model import Conversation, FileState
from copilog.model.questions import unnamed_uri
from copilog.sources._vscode.places_on_disk import file_names_in, folder_names_in, is_plain_file
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.roots import StorageFolder

if TYPE_CHECKING:
    from copilog.sources._vscode.editing import Editing

FOLDER = "chatEditingSessions"
CONTENTS = "contents"
STATE_FILE = "state.json"

_EMPTY_HASH = "da39a3ee5e6b4b0d3255bfef95601890afd80709"  # SHA-1 of no text
_content_name = re.compile(r"[0-9a-f]{7}")
_safe_hash = re.compile(r"[0-9a-f]{4,40}")


class VSCodeEditing(Source):
    name = "vscode-editing"
    title = "VS Code editing session"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        sessions = folder.path / FOLDER
        for session in folder_names_in(sessions):
            state = sessions.joinpath(session, STATE_FILE)
            path = state if is_plain_file(state) else _first_content(sessions.joinpath(session, CONTENTS))
            if path is not None:
                yield Found(path, self.name, native_id=session, application=folder.application)

    def claims(self, file: Probe) -> bool:
        if file.name == STATE_FILE and file.folders[-2:-1] == (FOLDER,):
            return True
        if _content_name.fullmatch(file.name):
            return file.lies_in(CONTENTS) and file.folders[-3:-2] == (FOLDER,)
        if {"initialFileContents", "recentSnapshot"} <= file.keys:
            return True
        return file.name == STATE_FILE and bool({"timeline", "linearHistory"} & file.keys)

    def native_id(self, file: Probe) -> str | None:
        if file.name == STATE_FILE and file.folders[-2:-1] == (FOLDER,):
            return file.folders[-1]
        is_alone = file.lies_in(CONTENTS) and not is_plain_file(file.path.parent.parent / STATE_FILE)
        return file.folders[-2] if is_alone and file.folders[-3:-2] == (FOLDER,) else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """A conversation of file changes and file states, to be joined to the one that it belongs to."""
        from copilog.sources._vscode.documents import read_document
        from copilog.sources._vscode.editing import Editing, editing_from

        if found.path.parent.name == CONTENTS:
            yield from self._without_state(found, ledger)
            return
        contents = Contents(found.path.parent / CONTENTS, ledger)
        state = read_document(found.path, ledger)
        editing = Editing() if state is None else editing_from(state, contents, ledger)
        editing.files += contents.unnamed()
        if editing.is_empty:
            if ledger.used:
                ledger.ignore("empty", ledger.used)
                ledger.used = 0
            return
        native_id = found.native_id or _native_id(found.path, (state or {}).get("sessionId"))
        yield self._conversation(native_id, found, editing)

    def _without_state(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Read the texts of a session whose state is gone; one that a state names can only be checked here."""
        _check_content(found.path, ledger)
        folder = found.path.parent
        if found.native_id is None or found.path != _first_content(folder):  # the first stands for all of them
            return
        from copilog.sources._vscode.editing import Editing

        editing = Editing(files=Contents(folder, ledger).unnamed())
        if not editing.is_empty:
            yield self._conversation(found.native_id, found, editing)

    def _conversation(self, native_id: str, found: Found, editing: Editing) -> Conversation:
        return Conversation(
            id=f"vscode:{native_id}",
            native_id=native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            file_changes=editing.file_changes,
            files=editing.files,
            marks=["orphan-edits"],
            provenance=[provenance_of(found, role="edits")],
            extra=editing.extra or None,
        )


class Contents:
    """The texts beside a state.json, by their hash; each is read when it is first asked for."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._texts: dict[str, str | None] = {}

    def __call__(self, name: str) -> str | None:
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def unnamed(self) -> list[FileState]:
        """Return the texts that were not asked for: no state names them, so which files they are of is not known."""
        names = [name for name in file_names_in(self._folder) if _content_name.fullmatch(name)]
        left = ((name, self(name)) for name in names if name not in self._texts)
        return [FileState(uri=unnamed_uri(name), current=text) for name, text in left if text]

    def _read(self, name: str) -> str | None:
        if not _safe_hash.fullmatch(name):  # it comes from the file, and must not lead out of the folder
            self._ledger.note("missing-content", "a text is named by something that is no hash")
            return None
        path = self._folder / name
        try:
            if path.is_symlink():
                raise BadFile("is a link, which was not followed")
            data = read_bytes(path)
        except BadFile as error:
            if _EMPTY_HASH.startswith(name):
                return ""
            self._ledger.note("missing-content", f"{CONTENTS}/{name} {error}")
            return None
        return _checked_text(name, data, self._ledger)


def _checked_text(name: str, data: bytes, ledger: Ledger) -> str:
    import hashlib

    digest = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    if not digest.startswith(name):
        ledger.note("content-hash-mismatch", f"{CONTENTS}/{name} holds another text: its hash is {digest[:7]}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        ledger.note("invalid-utf8", f"{CONTENTS}/{name} has invalid UTF-8 at byte {error.start}", "info")
        return data.decode("utf-8", errors="replace")


def _check_content(path: Path, ledger: Ledger) -> None:
    """A text belongs to the state.json that names it; by itself it can only be checked."""
    data = read_bytes(path)
    ledger.seen += 1
    _checked_text(path.name, data, ledger)
    ledger.used += 1


def _first_content(folder: Path) -> Path | None:
    return next((folder / name for name in file_names_in(folder) if _content_name.fullmatch(name)), None)


def _native_id(path: Path, session_id: object) -> str:
    """The key of an editing session is the name of its folder; the id inside counts for a file taken out of it."""
    if path.parent.parent.name == FOLDER or not isinstance(session_id, str) or not session_id:
        return path.parent.name or path.stem
    return session_id
