"""Exports: the chat.json that a person saves by hand. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.errors import BadRecord
from copilog.model import Conversation
from copilog.sources._vscode.documents import read_document
from copilog.sources._vscode.places_on_disk import SESSION_FOLDERS
from copilog.sources._vscode.session import content_id, conversation_from
from copilog.sources.base import Found, Probe, Source, provenance_of


class ChatExport(Source):
    name = "chat-export"
    title = "Chat export (chat.json)"

    def claims(self, file: Probe) -> bool:
        if file.lies_in(*SESSION_FOLDERS):
            return False
        if "requests" not in file.keys or "sessionId" in file.keys:
            return False
        names = {"responderUsername", "requesterUsername"}
        return bool(names & file.keys) or file.first_item_keys("requests") >= {"message", "response"}

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        document = read_document(found.path, ledger)
        if document is None:
            return
        ledger.seen += 1
        try:
            conversation = conversation_from(document, ledger, source=self.name, native_id=None, count_requests=True)
        except BadRecord as error:
            ledger.reject(error.code, str(error), pointer="")
            return
        ledger.used += 1
        conversation.id = f"export:{content_id(conversation)}"
        conversation.provenance = [provenance_of(found)]
        yield conversation
