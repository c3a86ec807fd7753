"""The history of the chat's input box: the row `memento/interactive-session` of state.vscdb.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._vscode.store_rows import BACKUP, STORE, TABLE
from copilog.sources._vscode.take import Json, rest, take_dict, take_list, take_str, take_time
from copilog.sources.base import Found, provenance_of

HISTORY = "memento/interactive-session"
SOURCE = "vscode-prompts"
OLD_ATTACHMENTS = "chatContextAttachments"  # where releases up to the autumn of 2025 had them, in the state of an entry


def history_stub(value: Any, found: Found, ledger: Ledger) -> Conversation | None:
    """Return a stub for the history before it is read, or None if nothing was typed."""
    if not list(_entries(value, ledger)):
        return None
    native_id = _id_of(found)
    state = hashlib.blake2b(jsonio.encode(value).encode(), digest_size=16).hexdigest()
    return Conversation(
        id=f"vscode:{native_id}",
        native_id=native_id,
        source=SOURCE,
        workspace=found.workspace,
        application=found.application,
        marks=["stub", "inside"],
        provenance=[provenance_of(found, role="index", table=TABLE, row=HISTORY)],
        extra={"state": state},
    )


def history_conversation(value: Any, found: Found, ledger: Ledger) -> Conversation | None:
    """Return the prompts of the history as a conversation, or None if nothing was typed. Takes the value apart."""
    from copilog.sources._prompts.history import Typed, history_from
    from copilog.sources._vscode.attachments import attachments_from
    from copilog.sources._vscode.session import draft_from

    prompts: list[Typed] = []
    seen_before = found.native_id is not None  # then the index has reported what is wrong with entries
    for location, position, entry in _entries(value, Ledger() if seen_before else ledger):
        where = {"location": location}
        pointer = f"/history/{location}/{position}"
        if isinstance(entry, str):
            prompts.append(Typed(entry, extra=where))
            continue
        at = take_time(entry, "timestamp")
        if (text := take_str(entry, "text")) is not None:  # releases up to the autumn of 2025
            state = take_dict(entry, "state") or {}
            attachments = attachments_from(
                take_list(state, OLD_ATTACHMENTS), ledger, f"{pointer}/state/{OLD_ATTACHMENTS}"
            )
            left = {name: each for name, each in state.items() if each}
            prompts.append(Typed(text, at, attachments, extra=where | left | (rest(entry) or {})))
            continue
        draft = draft_from(entry, ledger, f"{pointer}/attachments")
        model = {"selectedModel": draft.model.id} if draft.model is not None else {}
        left = {name: each for name, each in (draft.extra or {}).items() if each not in ([], {}, None)}
        prompts.append(Typed(draft.text, at, draft.attachments, draft.mode, where | model | left))
    if not prompts:
        return None
    named = replace(found, source=SOURCE, native_id=_id_of(found))
    return history_from(prompts, named, source=SOURCE, family="vscode", table=TABLE, row=HISTORY)


def _id_of(found: Found) -> str:
    """Return the id of the history; the one in a backup is the same."""
    from copilog.sources._prompts.history import history_id

    return history_id(found.path.with_name(STORE) if found.path.name == BACKUP else found.path)


def _entries(value: Any, ledger: Ledger) -> Iterator[tuple[str, int, Any]]:
    """Yield what was typed, the oldest first, for each location of the input box: panel, editor, terminal."""
    if value is None:
        return
    history = value.get("history") if isinstance(value, dict) else None
    if history is None and isinstance(value, dict):
        return  # other things of the view may be all that is there
    if not isinstance(history, dict):
        ledger.note("bad-record", f"{HISTORY} has no history by location")
        return
    for location, entries in history.items():
        if not isinstance(entries, list):
            ledger.note("bad-record", f"{HISTORY} has a location without a list")
            continue
        for position, entry in enumerate(entries):
            if not _is_readable(entry):
                ledger.note(
                    "bad-record", f"an entry of {HISTORY} is not a prompt", pointer=f"/history/{location}/{position}"
                )
            elif _holds_something(entry):
                yield location, position, entry


def _is_readable(entry: Any) -> bool:
    """Whether an entry has one of the shapes of a prompt; an empty object is a prompt without anything."""
    if not isinstance(entry, dict):
        return isinstance(entry, str)
    if not isinstance(_text_of(entry), str) or not isinstance(entry.get("attachments", []), list | None):
        return False
    return not entry or not entry.keys().isdisjoint(("text", "inputText", "attachments"))


def _holds_something(entry: Any) -> bool:
    """Whether an entry has a text that is not blank, or attachments."""
    if isinstance(entry, str):
        return bool(entry.strip())
    state = entry.get("state")
    attached = [entry.get("attachments"), state.get(OLD_ATTACHMENTS) if isinstance(state, dict) else None]
    return any(attached) or bool(_text_of(entry).strip())


def _text_of(entry: Json) -> Any:
    return entry.get("text", entry.get("inputText", ""))
