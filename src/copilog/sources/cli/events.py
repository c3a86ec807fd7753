"""Sessions of Copilot CLI: `session-state/<id>/events.jsonl` and the files beside it.

Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import CopilogError
from copilog.intake.files import opened
from copilog.model import Conversation, Message
from copilog.sources.base import Found, Probe, Source
from copilog.sources.cli.companions import (
    SESSIONS,
    Companions,
    count_companion,
    is_companion,
    is_log_path,
    main_file,
    session_folder_of,
    session_traces,
)
from copilog.sources.cli.event import RESULT, is_known
from copilog.sources.roots import StorageFolder
from copilog.sources.transcript_events import is_headless_transcript

PRODUCER = "copilot-agent"
TRANSCRIPTS = "transcripts"  # of VS Code, in a dialect of this format
TAIL_BYTES = 1 << 16


class CliEvents(Source):
    name = "cli-events"
    title = "Copilot CLI session"

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        if folder.kind == "copilot-home":
            for path, session_id in session_traces(folder.path):
                yield Found(path, self.name, native_id=session_id)

    def claims(self, file: Probe) -> bool:
        if is_log_path(file.path) or is_companion(file.path):
            return True
        if file.suffix not in (".jsonl", ".json") or file.is_directly_in(TRANSCRIPTS) or not file.may_hold_records:
            return False
        first = file.first_record or {}
        data, event_type = first.get("data"), first.get("type")
        if not isinstance(event_type, str) or not isinstance(data, dict) or not is_known(event_type):
            return False
        if event_type == "session.start":
            return data.get("producer") == PRODUCER and "vscodeVersion" not in data
        return event_type != RESULT and not is_headless_transcript(file)

    def native_id(self, file: Probe) -> str | None:
        folder = session_folder_of(file.path)
        if folder is not None and folder.parent.name == SESSIONS:
            return folder.name
        if is_log_path(file.path):
            return file.path.stem
        data = (file.first_record or {}).get("data")
        session_id = data.get("sessionId") if isinstance(data, dict) else None
        return session_id if isinstance(session_id, str) and session_id else _id_at_the_end(file.path)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        conversation = read_session(found, ledger)
        if conversation is not None:
            yield conversation


def stream_messages(found: Found, ledger: Ledger) -> Iterator[Message]:
    """Yield the messages of a log, turn by turn, without holding earlier ones: for logs larger than memory."""
    from copilog.sources.cli.dispatch import messages_from
    from copilog.sources.cli.reader import Reader

    companions = Companions(session_folder_of(found.path), ledger)
    return messages_from(Reader(found.path, ledger, companions), keeps_turns=False)


def _id_at_the_end(path: Path) -> str | None:
    """Return the session's id from the last line of a captured stream, whose first line has none."""
    try:
        with opened(path) as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            line = file.read().rstrip(b"\0 \r\n\t").rpartition(b"\n")[2]
        value, _ = jsonio.decode(line)
    except CopilogError:
        return None
    if not isinstance(value, dict) or value.get("type") != RESULT:
        return None
    session_id = value.get("sessionId")
    return session_id if isinstance(session_id, str) and session_id else None


# A session folder as a conversation: its log with the files beside it, or one of those files alone.


def read_session(found: Found, ledger: Ledger) -> Conversation | None:
    """Read a log, or a file beside one."""
    from copilog.sources.cli.conversation import conversation_from
    from copilog.sources.cli.dispatch import messages_from
    from copilog.sources.cli.reader import Reader

    if is_companion(found.path):
        return _read_companion(found, ledger)
    companions = Companions(session_folder_of(found.path), ledger)
    reader = Reader(found.path, ledger, companions)
    messages = list(messages_from(reader, keeps_turns=True))
    if reader.facts.first_event is None:
        ledger.note("empty-file", "the log holds no event")
    return conversation_from(found, reader, companions, messages)


def _read_companion(found: Found, ledger: Ledger) -> Conversation | None:
    """Read a file beside a log: together with the log, or without one as a stub of the session."""
    from copilog.sources.cli.conversation import stub_from

    count_companion(found.path, ledger)
    folder = session_folder_of(found.path)
    is_main = folder is not None and main_file(folder) == found.path
    return stub_from(found, Companions(folder, Ledger())) if is_main else None
