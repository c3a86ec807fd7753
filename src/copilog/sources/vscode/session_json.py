"""Read sessions (`chatSessions/<id>.json`) and exports (`chat.json`) as one JSON document each.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import SESSION_FOLDERS, session_files
from copilog.sources.roots import StorageFolder


class VSCodeSession(Source):
    name = "vscode-session"
    title = "VS Code session (.json)"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        return session_files(folder, ".json", self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".json" and file.is_directly_in(*SESSION_FOLDERS):
            return True
        return "requests" in file.keys and "sessionId" in file.keys

    def native_id(self, file: Probe) -> str | None:
        return file.path.stem if file.is_directly_in(*SESSION_FOLDERS) else file.text_value("sessionId")

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.documents import mark_damage, read_session_document
        from copilog.sources.vscode.conversation import conversation_from

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


# Exports: the chat.json that a user saves by hand. Format notes: docs/formats/vscode-chat.md


class ChatExport(Source):
    name = "chat-export"
    title = "Chat export (chat.json)"
    is_nameless = True

    def claims(self, file: Probe) -> bool:
        if file.is_directly_in(*SESSION_FOLDERS):
            return False
        if "requests" not in file.keys or "sessionId" in file.keys:
            return False
        if file.keys & {"responderUsername", "requesterUsername"}:
            return True
        first = file.first_item_keys("requests")
        return "message" in first and bool(first & {"response", "requestId", "result", "variableData"})

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.documents import mark_damage, read_session_document
        from copilog.sources.vscode.conversation import conversation_from
        from copilog.sources.vscode.written import copied, keep_root

        document = read_session_document(found.path, ledger)
        if document is None:
            return
        ledger.seen += 1
        root = copied({key: value for key, value in document.state.items() if key != "requests"})
        conversation = conversation_from(
            document.state,
            ledger,
            source=self.name,
            native_id=None,
            count_requests=True,
            family="export",
            keeps_written=True,
        )
        if root is not None:
            keep_root(conversation, root)
        ledger.used += 1
        mark_damage(conversation, document)
        conversation.provenance = [provenance_of(found)]
        yield conversation
