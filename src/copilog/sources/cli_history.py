"""Sessions of the first releases of Copilot CLI: history-session-state/*.json.

Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._vscode.places_on_disk import files_in
from copilog.sources._vscode.take import Json, rest, take_list, take_str
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.roots import StorageFolder

FOLDER = "history-session-state"
PREFIX = "session_"
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)


class CliHistory(Source):
    name = "cli-history"
    title = "Copilot CLI session, first form"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        place = folder.path / FOLDER
        if folder.kind != "copilot-home" or place.is_symlink():
            return
        for path in files_in(place):
            if path.suffix.lower() == ".json":
                yield Found(path, self.name, native_id=self.native_id(Probe(path)))

    def claims(self, file: Probe) -> bool:
        if file.suffix == ".json" and file.lies_in(FOLDER):
            return True
        return {"sessionId", "chatMessages"} <= file.keys

    def native_id(self, file: Probe) -> str | None:
        return file.text_value("sessionId") or _id_in_name(file.path)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._vscode.documents import read_document

        state = read_document(found.path, ledger)
        if state is None:
            return
        ledger.seen += 1
        conversation = _conversation_from(state, found, ledger)
        ledger.used += 1
        conversation.provenance = [provenance_of(found)]
        yield conversation


def _id_in_name(path: Path) -> str:
    match = _UUID.search(path.stem)
    return match[0] if match else path.stem.removeprefix(PREFIX)


def _conversation_from(state: Json, found: Found, ledger: Ledger) -> Conversation:
    from copilog.sources._cli.conversation import APPLICATION, ASSISTANT
    from copilog.sources._cli.event import take_iso
    from copilog.sources._cli.history import History

    session_id = take_str(state, "sessionId")
    native_id = found.native_id or session_id or _id_in_name(found.path)
    if session_id is not None and session_id != native_id:
        state["sessionId"] = session_id
    conversation = Conversation(
        id=f"cli:{native_id}",
        native_id=native_id,
        source=found.source,
        assistant=ASSISTANT,
        application=APPLICATION,
        started_at=take_iso(state, "startTime"),
        updated_at=take_iso(state, "endTime"),
    )
    history = History(conversation, ledger, take_str(state, "selectedModel"))
    history.read_messages(take_list(state, "chatMessages") or [])
    history.read_timeline(take_list(state, "timeline") or [])
    if conversation.updated_at is None:
        times = [message.created_at for message in conversation.messages if message.created_at is not None]
        conversation.updated_at = max(times, default=conversation.started_at)
    conversation.extra = rest(state)
    return conversation
