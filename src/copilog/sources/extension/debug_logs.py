"""Read debug logs of the Copilot Chat extension: `debug-logs/<session>/main.jsonl` and the files beside it.

Format notes: docs/formats/copilot-chat-extension.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, marks_of_trace, provenance_of
from copilog.sources.extension.debug_files import FOLDER, is_conversation_log, is_debug_file, is_document, session_of
from copilog.sources.folders import extension_folders, files_in, folders_in
from copilog.sources.roots import StorageFolder

ENTRY_KEYS = frozenset({"ts", "dur", "sid", "type", "spanId"})


class DebugLogs(Source):
    name = "debug-logs"
    title = "Copilot Chat debug log"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for place in extension_folders(folder, FOLDER):
            for parent in (place, *folders_in(place)):
                for path in files_in(parent):
                    if is_debug_file(path):
                        yield Found(path, self.name, native_id=session_of(path), application=folder.application)

    def claims(self, file: Probe) -> bool:
        if is_debug_file(file.path):
            return True
        return file.suffix == ".jsonl" and (file.first_record or {}).keys() >= ENTRY_KEYS

    def native_id(self, file: Probe) -> str | None:
        session_id = session_of(file.path) or (file.first_record or {}).get("sid")
        return session_id if isinstance(session_id, str) and session_id else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield the conversation of a session when its main log is read; the files beside that are only counted."""
        from copilog.sources.extension.debug_conversation import conversation_from
        from copilog.sources.extension.debug_entries import Companions, DebugLog, count_document

        if is_document(found.path):
            count_document(found.path, ledger)
            return
        log = DebugLog(found.path, ledger)
        if not log.count:
            ledger.note("empty-file", "the log has no entries")
            return
        if not is_conversation_log(found.path):
            return
        native_id = found.native_id or log.session_id or found.path.stem
        companions = Companions(found.path)
        made = conversation_from(log, companions, native_id, ledger)
        made.application, made.workspace = found.application, found.workspace
        made.provenance = [provenance_of(found, marks=marks_of_trace(ledger))]
        made.provenance += [provenance_of(Found(path, self.name), role="resource") for path in companions.paths]
        yield made
