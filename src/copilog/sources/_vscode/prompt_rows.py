"""Every row of state.vscdb with prompts that the user typed, as one history.

Beside the history of the chat's input box there are the one of inline chat, and what was left unsent in input boxes.
Format notes: docs/formats/vscode-chat.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from copilog.diagnostics import Ledger
from copilog.sources._vscode.prompt_history import HISTORY

LISTS = {"inline-chat-history": "inline-chat", "terminal-inline-chat-history": "terminal-inline-chat"}
DRAFTS = {
    "memento/interactive-session-view-copilot": "draft in the chat view",
    "memento/interactive-session-view-copilot-edits": "draft in the edits view",
    "terminal-inline-chat-view-state": "draft in the terminal",
    "chat.untitledInputState": "draft of a new chat",
}
PROMPT_ROWS = (HISTORY, *LISTS, *DRAFTS)


def typed_in(rows: Mapping[str, Any], ledger: Ledger) -> Any:
    """Return the history of the input box, with what the other rows have as further locations of it."""
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
    """Return what was left in an input box in the shape of an entry of the history; None if it has no text."""
    if not isinstance(draft, dict):
        return None
    if isinstance(draft.get("inputText"), str):
        return draft
    text = draft.get("inputValue")
    if not isinstance(text, str):
        return None
    names = {"inputValue": "text", "inputState": "state"}
    return {names.get(name, name): value for name, value in draft.items()}
