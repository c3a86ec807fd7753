"""Read VS Code's key-value store, `state.vscdb`: the session index, early sessions, prompts, to-do lists.

It is read from a private copy, so that a running VS Code is neither locked out nor disturbed. Only the rows named here
are read: the store also holds secrets. Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from copilog import jsonio
from copilog.derive import add_title
from copilog.diagnostics import Ledger
from copilog.fields import Json, take_bool, take_dict, take_str, take_time, time_from_ms
from copilog.model import Conversation, Provenance
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.folders import is_plain_file
from copilog.sources.roots import StorageFolder
from copilog.sources.vscode.agent_sessions import (
    MODEL_CACHE,
    STATE_CACHE,
    name_of,
    states_from_cache,
    stubs_from_cache,
)
from copilog.sources.vscode.prompt_history import PROMPT_ROWS, history_conversation, history_stub, typed_in
from copilog.sources.vscode.state_rows import BACKUP, LISTS_OF_SESSIONS, STORE, TABLE, read_rows, stubs_with_todos
from copilog.uris import uri_to_string

INDEX = "chat.ChatSessionStore.index"
SESSIONS = "interactive.sessions"
TRANSFERS = "ChatSessionStore.transferIndex"
OLD_TRANSFERS = "chat.workspaceTransfer"
# Custom agents, which copilog/definitions reads; here they are only checked.
MODES = ("chat.customModes", "chat.customModes.local")
NO_SESSIONS = (
    INDEX,
    TRANSFERS,
    MODEL_CACHE,
    STATE_CACHE,
    LISTS_OF_SESSIONS,
    *MODES,
    *PROMPT_ROWS,
)  # rows without sessions in them
ROWS = (SESSIONS, OLD_TRANSFERS, *NO_SESSIONS)
REQUIRED = ("sessionId", "title", "lastMessageDate")


class VSCodeState(Source):
    name = "vscode-state"
    title = "VS Code store (state.vscdb)"
    is_index = True

    def locate(self, folder: StorageFolder) -> Iterator[Found]:
        for name in (STORE, BACKUP):
            path = folder.path / name
            if is_plain_file(path):
                yield Found(path, self.name, application=folder.application)
                return

    def claims(self, file: Probe) -> bool:
        return file.name in (STORE, BACKUP) or TABLE in file.tables

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        kept_ids: set[str] = set()
        is_copy = found.path.name == BACKUP and is_plain_file(found.path.with_name(STORE))
        found, rows = read_rows(found, ROWS, ledger, counts=True)
        yield from _listed(dict(rows), found, ledger)
        for key, value in rows:
            if key not in NO_SESSIONS:
                _reject_what_is_no_session(key, value, ledger)
                for kept in _stored_sessions(key, value):
                    native_id = _id_of(kept.state)
                    if native_id not in kept_ids:  # one read returns all that the store has of a session
                        kept_ids.add(native_id)
                        yield _stub(native_id, found, _provenance_of(found, key), "inside")
        history = history_stub(typed_in(dict(rows), ledger), found, ledger)
        if history is not None and not is_copy:  # a backup's history is skipped: the store has a newer one
            yield history

    def state_of(self, stub: Conversation) -> str | None:
        """Return the state of the input history: it is read again when it has changed, not whenever the store has."""
        return str(stub.extra["state"]) if stub.extra and "state" in stub.extra else None

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield all that the store holds; with a `native_id` that one session of it, whose rows `index` has counted."""
        found, rows = read_rows(found, ROWS, ledger, counts=found.native_id is None)
        for key, value in rows:
            if key not in NO_SESSIONS:
                yield from _sessions(key, value, found, ledger)
        if found.native_id is None:
            yield from _listed(dict(rows), found, ledger)
            history = history_conversation(typed_in(dict(rows), ledger), found, ledger)
            if history is not None:
                yield history


def _listed(rows: dict[str, Any], found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield stubs of all sessions that the store's lists name."""
    if INDEX in rows:
        yield from _entries(rows[INDEX], found, ledger)
    for row in MODES:
        _note_bad_modes(row, rows.get(row, []), ledger)
    if TRANSFERS in rows:
        yield from _transfers(rows[TRANSFERS], found, ledger)
    yield from stubs_from_cache(rows.get(MODEL_CACHE), found, states_from_cache(rows.get(STATE_CACHE)))
    if LISTS_OF_SESSIONS in rows:
        yield from stubs_with_todos(rows[LISTS_OF_SESSIONS], found, ledger)


def _note_bad_modes(row: str, modes: Any, ledger: Ledger) -> None:
    if not isinstance(modes, list):
        ledger.note("bad-record", f"{row} is not a list of agents")
        return
    for position, mode in enumerate(modes):
        if not isinstance(mode, dict):
            ledger.note("bad-record", f"an agent of {row} is not an object", pointer=f"/{position}")


# --- sessions inside the store ----------------------------------------------------------------------------------


class StoredSession(NamedTuple):
    """A session in the store itself, its location, and the transfer that carries it, if any."""

    pointer: str
    state: Json
    transfer: Json | None = None


def _stored_sessions(key: str, value: Any) -> Iterator[StoredSession]:
    """Yield the sessions of a row: a list of them, or of transfers that carry one."""
    for position, item in enumerate(value if isinstance(value, list) else []):
        if not isinstance(item, dict):
            continue
        if key != OLD_TRANSFERS:
            yield StoredSession(f"/{position}", item)
        elif isinstance(item.get("chat"), dict):
            yield StoredSession(f"/{position}/chat", item.pop("chat"), item)


def _sessions(key: str, value: Any, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    from copilog.sources.vscode.conversation import conversation_from

    if found.native_id is None:
        _reject_what_is_no_session(key, value, ledger)
    for pointer, state, transfer in _stored_sessions(key, value):
        native_id = _id_of(state)
        if found.native_id not in (None, native_id):
            continue
        ledger.seen += 1
        conversation = conversation_from(state, ledger, source="vscode-state", native_id=native_id, count_requests=True)
        ledger.used += 1
        if transfer:
            conversation.extra = {**(conversation.extra or {}), "transfer": transfer}
        conversation.provenance = [provenance_of(found, table=TABLE, row=key, pointer=pointer)]
        yield conversation


def _id_of(state: Json) -> str:
    """Return the session's id. The oldest sessions may have none; their id is computed from their content."""
    native_id = state.get("sessionId")
    if isinstance(native_id, str) and native_id:
        return native_id
    import hashlib

    return hashlib.sha256(jsonio.encode(state).encode()).hexdigest()[:32]


def _reject_what_is_no_session(key: str, value: Any, ledger: Ledger) -> None:
    if not isinstance(value, list):
        ledger.note("bad-record", f"{key} is not a list", "error")
        return
    for position, item in enumerate(value):
        if not isinstance(item.get("chat") if key == OLD_TRANSFERS and isinstance(item, dict) else item, dict):
            ledger.seen += 1
            ledger.reject("bad-record", "a session that is not an object", table=TABLE, row=f"{key}/{position}")


# --- entries about sessions elsewhere ---------------------------------------------------------------------------


def _entries(value: Any, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield one stub for each entry of the index."""
    entries = value.get("entries") if isinstance(value, dict) else None
    if not isinstance(entries, dict):
        ledger.note("wrong-index", "the index has no entries", "error")
        return
    if value.get("version") != 1:
        ledger.note("wrong-index", f"the index has version {value.get('version')!r}, not 1")
    place = _provenance_of(found, INDEX)
    for number, (key, entry) in enumerate(entries.items()):
        if not isinstance(entry, dict):
            ledger.note("wrong-index", "an entry that is not an object")
            continue
        missing = ", ".join(name for name in REQUIRED if name not in entry)
        if missing:
            ledger.note("wrong-index", f"an entry without {missing}", "info")
        stub = _entry_stub(key, entry, found, place)
        box = entry.get("inputState")
        if isinstance(box, dict) and (box.get("inputText") or box.get("attachments")):
            from copilog.sources.vscode.conversation import draft_from

            stub.draft = draft_from(entry.pop("inputState"), ledger, f"/entries/{number}/inputState/attachments")
        yield stub


def _entry_stub(native_id: str, entry: Json, found: Found, place: Provenance) -> Conversation:
    is_external = take_bool(entry, "isExternal") or False
    stub = _stub(native_id, found, replace(place), *(["external"] if is_external else []))
    if is_external:  # the entry's key is the address of another agent's session
        name = name_of(native_id)
        stub.id, stub.native_id = name.conversation_id, name.native_id
    timing = take_dict(entry, "timing") or {}
    created = time_from_ms(timing.get("created")) or time_from_ms(timing.get("startTime"))
    ended = time_from_ms(timing.get("lastRequestEnded")) or time_from_ms(timing.get("endTime"))
    is_empty = take_bool(entry, "isEmpty") or False
    add_title(stub, take_str(entry, "title"), "placeholder" if is_empty else "index")
    stub.location = take_str(entry, "initialLocation")
    stub.started_at = created
    stub.updated_at = ended or take_time(entry, "lastMessageDate")
    stub.has_pending_edits = take_bool(entry, "hasPendingEdits")
    if is_empty:
        stub.marks.append("empty")
    if take_bool(entry, "isImported"):
        stub.marks.append("imported")
    if timing:
        entry["timing"] = timing
    stub.extra = {"index": entry}
    return stub


def _provenance_of(found: Found, row: str) -> Provenance:
    return provenance_of(found, role="index", table=TABLE, row=row)


def _stub(native_id: str, found: Found, place: Provenance, *marks: str) -> Conversation:
    return Conversation(
        id=f"vscode:{native_id}",
        native_id=native_id,
        source="vscode-state",
        workspace=found.workspace,
        application=found.application,
        marks=["stub", *marks],
        provenance=[place],
    )


def _transfers(value: Any, found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """Yield sessions that are being moved to another workspace."""
    if not isinstance(value, dict):
        ledger.note("wrong-index", f"{TRANSFERS} is not an object", "error")
        return
    for target, entry in value.items():
        resource = uri_to_string(entry.get("sessionResource")) if isinstance(entry, dict) else None
        if resource is None:
            ledger.note("wrong-index", "a transfer without a session")
            continue
        stub = _stub(name_of(resource).native_id, found, _provenance_of(found, TRANSFERS))
        stub.extra = {"transfer": {"toWorkspace": target, **entry}}
        yield stub
