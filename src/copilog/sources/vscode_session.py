"""Sessions as one JSON document each: chatSessions/<id>.json. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import Conversation
from copilog.sources._vscode.documents import read_document
from copilog.sources._vscode.places_on_disk import SESSION_FOLDERS, session_files
from copilog.sources._vscode.session import conversation_from
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.roots import StorageFolder


class VSCodeSession(Source):
    name = "vscode-session"
    title = "VS Code session (.json)"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        return session_files(folder, ".json", self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".json" and file.lies_in(*SESSION_FOLDERS):
            return True
        return "requests" in file.keys and "sessionId" in file.keys

    def native_id(self, file: Probe) -> str | None:
        return file.path.stem if file.lies_in(*SESSION_FOLDERS) else file.text_value("sessionId")

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        state = read_document(found.path, ledger)
        if state is None:
            return
        ledger.seen += 1
        try:
            conversation = conversation_from(
                state, ledger, source=self.name, native_id=found.native_id, count_requests=True
            )
        except BadRecord as error:
            ledger.reject(error.code, str(error), pointer="")
            return
        ledger.used += 1
        conversation.provenance = [provenance_of(found)]
        yield conversation
