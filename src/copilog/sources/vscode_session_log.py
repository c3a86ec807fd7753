"""Sessions as a log of changes: chatSessions/<id>.jsonl. Format notes: docs/formats/vscode-chat.md"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._vscode.places_on_disk import SESSION_FOLDERS, session_files
from copilog.sources.base import Found, Probe, Source, marks_of_trace, provenance_of
from copilog.sources.roots import StorageFolder


class VSCodeSessionLog(Source):
    name = "vscode-session-log"
    title = "VS Code session (.jsonl)"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        return session_files(folder, ".jsonl", self.name)

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".jsonl" and file.lies_in(*SESSION_FOLDERS):
            return True
        first = file.first_record if file.suffix == ".jsonl" else None
        if first is None or not isinstance(first.get("kind"), int):
            return False
        return isinstance(first.get("v"), dict) if first["kind"] == 0 else isinstance(first.get("k"), list)

    def native_id(self, file: Probe) -> str | None:
        if file.lies_in(*SESSION_FOLDERS):
            return file.path.stem
        state = (file.first_record or {}).get("v")
        session_id = state.get("sessionId") if isinstance(state, dict) else None
        return session_id if isinstance(session_id, str) else file.path.stem

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._vscode.mutations import replay
        from copilog.sources._vscode.overwritten import drafts_as_documents
        from copilog.sources._vscode.session import conversation_from

        log = replay(found.path, ledger)
        if log.state is None:
            return
        native_id = found.native_id or found.path.stem
        removed = log.removed_requests()
        lost, drafts = log.lost_texts(), log.overwritten.lost_drafts(log.state, removed)
        conversation = conversation_from(
            log.state,
            ledger,
            source=self.name,
            native_id=native_id,
            count_requests=False,
            removed=removed,
            lost=lost,
        )
        conversation.documents += drafts_as_documents(drafts)
        if log.is_headless:
            conversation.marks.append("headless")
        if log.is_damaged:
            conversation.marks.append("damaged")
        conversation.provenance = [provenance_of(found, marks=marks_of_trace(ledger))]
        yield conversation
