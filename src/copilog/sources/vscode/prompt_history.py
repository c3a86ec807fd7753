"""Read prompts typed into VS Code's chat (rows of `state.vscdb`), also those of deleted sessions.

Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.fields import Json, rest, take_dict, take_list, take_str, take_time
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of
from copilog.sources.vscode.state_rows import BACKUP, STORE, TABLE, read_rows

HISTORY = "memento/interactive-session"
SOURCE = "vscode-prompts"
OLD_ATTACHMENTS = "chatContextAttachments"  # key of releases up to the autumn of 2025, in the state of an entry


def history_stub(value: Any, found: Found, ledger: Ledger) -> Conversation | None:
    """Return a stub for the history before it is read, or None if nothing was typed."""
    if not list(_entries(value, ledger)):
        return None
    native_id = _id_of(found)
    from hashlib import blake2b

    state = blake2b(jsonio.encode(value).encode(), digest_size=16).hexdigest()
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
    from copilog.sources.typed_prompts import Typed, history_from
    from copilog.sources.vscode.attachments import attachments_from
    from copilog.sources.vscode.conversation import draft_from

    prompts: list[Typed] = []
    seen_before = found.native_id is not None  # then the index has reported the bad entries
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
    from copilog.sources.typed_prompts import history_id

    return history_id(found.path.with_name(STORE) if found.path.name == BACKUP else found.path)


def _entries(value: Any, ledger: Ledger) -> Iterator[tuple[str, int, Any]]:
    """Yield the typed prompts, the oldest first, for each location of the input box: panel, editor, terminal."""
    if value is None:
        return
    history = value.get("history") if isinstance(value, dict) else None
    if history is None and isinstance(value, dict):
        return  # the row may have only other settings of the view
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
            elif _has_content(entry):
                yield location, position, entry


def _is_readable(entry: Any) -> bool:
    """Return whether an entry has one of the shapes of a prompt; an empty object is an empty prompt."""
    if not isinstance(entry, dict):
        return isinstance(entry, str)
    if not isinstance(_text_of(entry), str) or not isinstance(entry.get("attachments", []), list | None):
        return False
    return not entry or not entry.keys().isdisjoint(("text", "inputText", "attachments"))


def _has_content(entry: Any) -> bool:
    """Return whether an entry has a text that is not blank, or attachments."""
    if isinstance(entry, str):
        return bool(entry.strip())
    state = entry.get("state")
    attached = [entry.get("attachments"), state.get(OLD_ATTACHMENTS) if isinstance(state, dict) else None]
    return any(attached) or bool(_text_of(entry).strip())


def _text_of(entry: Json) -> Any:
    return entry.get("text", entry.get("inputText", ""))


# Every row of state.vscdb with prompts that the user typed, as one history. Besides the history of the chat's input box
# there are that of inline chat, and the unsent drafts of input boxes. Format notes: docs/formats/vscode-chat.md


LISTS = {"inline-chat-history": "inline-chat", "terminal-inline-chat-history": "terminal-inline-chat"}
DRAFTS = {
    "memento/interactive-session-view-copilot": "draft in the chat view",
    "memento/interactive-session-view-copilot-edits": "draft in the edits view",
    "terminal-inline-chat-view-state": "draft in the terminal",
    "chat.untitledInputState": "draft of a new chat",
}
PROMPT_ROWS = (HISTORY, *LISTS, *DRAFTS)


def typed_in(rows: Mapping[str, Any], ledger: Ledger) -> Any:
    """Return the history of the input box, with the prompts of the other rows as further locations of it."""
    history = rows.get(HISTORY)
    further: dict[str, list[Any]] = {}
    for row, location in LISTS.items():
        if isinstance(entries := rows.get(row, []), list):
            further[location] = entries
        else:
            ledger.note("bad-record", f"{row} is not a list")
    for row, location in DRAFTS.items():
        entry = _entry_of(rows.get(row))
        if entry is not None:
            further[location] = [entry]
    further = {location: entries for location, entries in further.items() if entries}
    if not further:
        return history
    if not isinstance(history, dict):
        if history is not None:
            ledger.note("bad-record", f"{HISTORY} has no history by location")
        history = {}
    known = history.get("history")
    return {**history, "history": {**(known if isinstance(known, dict) else {}), **further}}


def _entry_of(draft: Any) -> Any:
    """Return an unsent draft of an input box in the shape of an entry of the history; None if it has no text."""
    if not isinstance(draft, dict):
        return None
    if isinstance(draft.get("inputText"), str):
        return draft
    text = draft.get("inputValue")
    if not isinstance(text, str):
        return None
    names = {"inputValue": "text", "inputState": "state"}
    return {names.get(name, name): value for name, value in draft.items()}


# Prompts typed into VS Code's chat, also of deleted sessions: rows of state.vscdb, which `vscode_state` finds. Format
# notes: docs/formats/vscode-chat.md


class VSCodePrompts(Source):
    name = SOURCE
    title = "VS Code input history (state.vscdb)"
    is_index = True  # it shares a file with many conversations

    def claims(self, file: Probe) -> bool:  # noqa: ARG002 - the file is that of `vscode_state`
        return False

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield the prompts of the rows, which the index has counted."""
        found, rows = read_rows(found, PROMPT_ROWS, ledger, counts=False)
        history = history_conversation(typed_in(dict(rows), Ledger()), found, ledger)
        if history is not None:
            yield history
