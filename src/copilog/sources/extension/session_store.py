"""Read the index of sessions of Copilot CLI and the Copilot Chat extension: `session-store.db`.

It is derived from the sessions and partial: it fills gaps if a session's own files are gone, and only it records the
tokens of each call of a model. It is read from a private copy. Format notes: docs/formats/session-store.md
"""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.extension.store_rows import SessionRows, load_store
from copilog.sources.folders import extension_folders, is_extension_folder, is_plain_file
from copilog.sources.roots import StorageFolder

FILE = "session-store.db"
CLI = "Copilot CLI"
STATE = "state of rows"


class SessionStore(Source):
    name = "session-store"
    title = "Copilot session store (session-store.db)"
    is_index = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        places = [folder.path] if folder.kind == "copilot-home" else extension_folders(folder)
        for place in places:
            if is_plain_file(place / FILE):
                yield Found(place / FILE, self.name, application=folder.application)

    def claims(self, file: Probe) -> bool:
        return file.name == FILE or {"sessions", "turns"} <= file.tables.keys()

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each session; all rows are counted here, so that reading a session counts none again."""
        from copilog.sources.extension.store_conversation import stub_of

        for rows in load_store(found.path, ledger).sessions.values():
            stub = stub_of(rows, _namespace(found, rows))
            stub.marks.append("inside")
            stub.extra = {**(stub.extra or {}), STATE: _digest_of(rows)}
            yield self._with_provenance(stub, found, "index")

    def state_of(self, stub: Conversation) -> str | None:
        state = (stub.extra or {}).get(STATE)
        return state if isinstance(state, str) else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield all sessions; with a `native_id` only that one, whose rows `index` has counted."""
        from copilog.sources.extension.store_conversation import conversation_of

        store = load_store(found.path, ledger if found.native_id is None else Ledger(), found.native_id)
        for rows in store.sessions.values():
            yield self._with_provenance(conversation_of(rows, _namespace(found, rows), store.version), found, "lead")

    def _with_provenance(self, made: Conversation, found: Found, role: str) -> Conversation:
        made.application = CLI if made.id.startswith("cli:") else found.application
        made.provenance = [provenance_of(found, role=role, table="sessions", row=made.native_id)]
        return made


def _digest_of(rows: SessionRows) -> str:
    """Return a short digest that changes when any row of the session does."""
    import hashlib

    said = repr((rows.session, rows.tables, rows.indexed))
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _namespace(found: Found, rows: SessionRows) -> str:
    """Return the program that a session is of. Both use the same tables; only the extension calls a host "vscode"."""
    is_vscode = is_extension_folder(found.path.parent) or rows.session.get("host_type") == "vscode"
    return "vscode" if is_vscode else "cli"
