"""Read tool output that was too long for the session: chat-session-resources/<session>/<call>/content.txt

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.intake.files import read_bytes
from copilog.model import Conversation, Message, ToolResult
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import files_in, folder_names_in, folders_in
from copilog.sources.roots import StorageFolder
from copilog.sources.tool_rounds import clean_id

FOLDER = "chat-session-resources"
EXTENSION = "github.copilot-chat"  # some paths have capitals, and some systems ignore case


class VSCodeResources(Source):
    name = "vscode-resources"
    title = "Spilled tool output"
    is_companion = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        extensions = [folder.path / name for name in folder_names_in(folder.path) if name.lower() == EXTENSION]
        for parent in (*extensions, folder.path):
            for session in folders_in(parent / FOLDER):
                for call in folders_in(session):
                    for path in files_in(call):
                        yield Found(path, self.name, native_id=session.name, application=folder.application)

    def claims(self, file: Probe) -> bool:
        return file.folders[-3:-2] == (FOLDER,)

    def native_id(self, file: Probe) -> str | None:
        return file.folders[-2] if self.claims(file) else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield a conversation of one tool result, to be joined to the one that it belongs to."""
        data = read_bytes(found.path)
        ledger.seen += 1
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            text = data.decode("utf-8", errors="replace")
            ledger.note("invalid-utf8", "the tool's output is not all UTF-8", "info", offset=error.start)
        ledger.used += 1
        session_id, call_id = found.path.parent.parent.name, clean_id(found.path.parent.name)
        result = ToolResult(
            call_id=call_id, text=text, origin="resource file", full_text=text, full_text_path=str(found.path)
        )
        yield Conversation(
            id=f"vscode:{session_id}",
            native_id=session_id,
            source=self.name,
            messages=[Message(role="tool", parts=[result])],
            marks=["resource"],
            provenance=[provenance_of(found, role="resource")],
        )
