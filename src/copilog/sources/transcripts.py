"""Transcripts of the Copilot Chat extension: transcripts/<session>.jsonl, a second, shorter record of a chat.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.intake.records import read_records
from copilog.model import Conversation
from copilog.sources._extension.places import EXTENSION, extension_folders
from copilog.sources._vscode.places_on_disk import files_in
from copilog.sources._vscode.take import Json
from copilog.sources.base import Found, Probe, Source, marks_of_trace, provenance_of
from copilog.sources.roots import StorageFolder

FOLDER = "transcripts"


class Transcripts(Source):
    name = "transcripts"
    title = "Copilot Chat transcript"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder, FOLDER):
            for path in files_in(place):
                if path.suffix.lower() == ".jsonl":
                    yield Found(path, self.name, native_id=path.stem, application=folder.application)

    def claims(self, file: Probe) -> bool:
        if file.suffix != ".jsonl":
            return False
        if file.lies_in(FOLDER) and file.folders[-2:-1] and file.folders[-2].lower() == EXTENSION:
            return True
        from copilog.sources._extension.transcript import EVENTS

        first = file.first_record or {}
        data = first.get("data")
        if not isinstance(data, dict) or first.get("type") not in EVENTS:
            return False
        return "vscodeVersion" in data or file.lies_in(FOLDER)

    def native_id(self, file: Probe) -> str | None:
        if file.lies_in(FOLDER):
            return file.path.stem
        data = (file.first_record or {}).get("data")
        session_id = data.get("sessionId") if isinstance(data, dict) else None
        return session_id if isinstance(session_id, str) and session_id else file.path.stem

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._extension.transcript import Transcript

        transcript = Transcript(ledger)
        read_records(found.path, ledger, transcript.use, _is_event)
        if ledger.seen == 0:
            ledger.note("empty-file", "the transcript holds no event")
            return
        native_id = found.native_id or transcript.session_id or found.path.stem
        extra: Json = {"transcript": transcript.header} if transcript.header else {}
        if transcript.session_id not in (None, native_id):
            extra["session_id"] = transcript.session_id
        yield Conversation(
            id=f"vscode:{native_id}",
            native_id=native_id,
            source=self.name,
            application=found.application,
            workspace=found.workspace,
            started_at=transcript.started_at or transcript.first_at,
            updated_at=transcript.last_at,
            turns=transcript.turns,
            messages=transcript.messages,
            marks=["transcript"],
            provenance=[provenance_of(found, marks=marks_of_trace(ledger))],
            extra=extra or None,
        )


def _is_event(value: Json) -> bool:
    return isinstance(value.get("type"), str) and "data" in value
