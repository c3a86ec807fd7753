"""Plan an index by which VS Code lists every session of a storage folder that it would open.

Entries that VS Code lists stay as they are. One of a wrong shape, by which VS Code discards all, is written anew if its
session is there, and else dropped. Sessions that VS Code refuses get no entry: they would open empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from copilog import jsonio
from copilog.chat_json.sessions import index_entry, json_text_of
from copilog.errors import BadFile, BadRecord, UsageError
from copilog.fields import Json
from copilog.model import Conversation
from copilog.recover.indexes import PANEL, is_entry, why_discarded
from copilog.recover.losses import read_by_vscode
from copilog.recover.refusals import examine, is_json
from copilog.recover.store_rows import Value, value_in
from copilog.sources import Found
from copilog.sources.vscode.state_database import INDEX, SESSIONS

Read = Callable[[Found], Iterable[Conversation]]


class EntryChange(msgspec.Struct, frozen=True):
    """One entry of the index before and after; none before if it is added, none after if it is dropped."""

    session_id: str
    action: str
    why: str
    before: Any = None
    after: Json | None = None


class IndexPlan(msgspec.Struct, frozen=True):
    """The index that a store will have: why, what changes, and the value of the row."""

    path: Path
    why: str | None  # why VS Code discards the whole index today
    changes: list[EntryChange]
    before: Value | None
    after: Value
    listed: int  # sessions that VS Code lists afterwards


def plan_index(store: Path, founds: Iterable[Found], read: Read) -> IndexPlan:
    """Return the repair of an index; raise UsageError if it needs none, or cannot be made safely."""
    try:
        before = value_in(store, INDEX)
        has_early_sessions = before is None and value_in(store, SESSIONS) is not None
    except BadFile as error:
        raise UsageError(f"{store}: {error}; nothing can be written into it") from None
    if has_early_sessions:
        raise UsageError(f"{store}: has sessions that VS Code still takes over itself; open the workspace once")
    value, why = _decoded(before)
    entries = value.get("entries")
    old: dict[str, Any] = dict(entries) if isinstance(entries, dict) else {}
    sessions = {each.native_id or "": each for found in founds for each in _shown_files(found, store.parent)}
    changes = [change for key, entry in old.items() if (change := _mended(key, entry, sessions, read)) is not None]
    changes += [
        EntryChange(key, "added", "the index has no entry for it", None, made)
        for key, found in sorted(sessions.items())
        if key not in old and (made := _entry_of(found, read)) is not None
    ]
    if not changes and why is None:
        raise UsageError(f"{store}: the index lists every session that VS Code opens; nothing was changed")
    made = dict(old)
    for change in changes:
        if change.after is None:
            del made[change.session_id]
        else:
            made[change.session_id] = change.after
    after = {**value, "version": 1, "entries": made}
    assert why_discarded(after) is None
    listed = sum(each.get("initialLocation") == PANEL and not each.get("isEmpty") for each in made.values())
    stored = Value(json_text_of(after).encode(), before is None or before.is_text)
    return IndexPlan(store, why, changes, before, stored, listed)


def _decoded(raw: Value | None) -> tuple[Json, str | None]:
    """Return the index, or what of it can be read, and why VS Code discards it."""
    if raw is None:
        return {}, "there is none"
    try:
        value = jsonio.decode(raw.data)[0]
    except BadRecord as error:
        return {}, f"it is not JSON ({error})"
    if not is_json(raw.data):
        return (value if isinstance(value, dict) else {}), "it is not JSON"
    return (value if isinstance(value, dict) else {}), why_discarded(value)


def _shown_files(found: Found, storage: Path) -> Iterable[Found]:
    """Yield the session file of a conversation in one storage folder, if VS Code opens it and it has a turn."""
    for each in read_by_vscode(found.traces()):
        if each.path.parent.parent == storage:
            examined = examine(each.path)
            if not examined.refusals and (examined.state or {}).get("requests"):
                yield each


def _entry_of(found: Found, read: Read) -> Json | None:
    requests = (examine(found.path).state or {}).get("requests") or []
    session_id = found.native_id or ""
    for conversation in read(found.alone()):
        return index_entry(conversation, session_id, requests[-1])
    return None


def _mended(key: str, entry: Any, sessions: dict[str, Found], read: Read) -> EntryChange | None:
    """Return the change of an entry that VS Code does not list, or by which it discards all."""
    found = sessions.get(key)
    if not is_entry(entry):
        made = _entry_of(found, read) if found is not None else None
        why = "its shape makes VS Code discard the index"
        return EntryChange(key, "dropped" if made is None else "mended", why, entry, made)
    if found is None or entry.get("isExternal") or (entry.get("initialLocation") == PANEL and not entry.get("isEmpty")):
        return None
    mended = {**entry, "initialLocation": PANEL, "isEmpty": False}
    return EntryChange(key, "mended", "VS Code does not list it", entry, mended)
