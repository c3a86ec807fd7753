"""Sessions as one JSON document each: chatSessions/<id>.json. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._vscode.places_on_disk import SESSION_FOLDERS, session_files
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
        from copilog.sources._vscode.documents import mark_damage, read_session_document
        from copilog.sources._vscode.session import conversation_from

        document = read_session_document(found.path, ledger)
        if document is None:
            return
        ledger.seen += 1
        conversation = conversation_from(
            document.state, ledger, source=self.name, native_id=found.native_id, count_requests=True
        )
        ledger.used += 1
        mark_damage(conversation, document)
        conversation.provenance = [provenance_of(found)]
        yield conversation
