"""A session folder as a conversation: its log, with the files beside it, or one of those files alone."""

from __future__ import annotations

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._cli.companion_books import count_companion
from copilog.sources._cli.companions import Companions
from copilog.sources._cli.conversation import conversation_from, stub_from
from copilog.sources._cli.handlers import messages_from
from copilog.sources._cli.places import is_companion, main_file, session_folder_of
from copilog.sources._cli.reader import Reader
from copilog.sources.base import Found


def read_session(found: Found, ledger: Ledger) -> Conversation | None:
    """What a log says, or a file beside one."""
    if is_companion(found.path):
        return _read_companion(found, ledger)
    companions = Companions(session_folder_of(found.path), ledger)
    reader = Reader(found.path, ledger, companions)
    messages = list(messages_from(reader, keeps_turns=True))
    if reader.facts.first_event is None:
        ledger.note("empty-file", "the log holds no event")
    return conversation_from(found, reader, companions, messages)


def _read_companion(found: Found, ledger: Ledger) -> Conversation | None:
    """A file beside a log is read with the log; without a log, one of them gives a stub of the session."""
    count_companion(found.path, ledger)
    folder = session_folder_of(found.path)
    is_main = folder is not None and main_file(folder) == found.path
    return stub_from(found, Companions(folder, Ledger())) if is_main else None
