"""Conclude the outcomes of edits: kept, undone, changed by the user afterwards, or pending.

VS Code records them twice. Each request lists what the user did, since the request before, with files that earlier
turns had edited; and the editing session has a last state of each file. The first is nearer to the edit, so it counts
before the second.
"""

from __future__ import annotations

from bisect import bisect_left
from urllib.parse import unquote

from copilog.model import Conversation, FileEdit, Turn

_BY_ACTION = {"undo": "undone", "modify": "changed", "keep": "kept"}
_BY_DECISION = {"accepted": "kept", "rejected": "undone", "undecided": "pending"}


class EditOutcomes:
    """The outcomes of one conversation's edits."""

    def __init__(self, conversation: Conversation) -> None:
        self._recorded = _states_by_turn(conversation)
        self._last = {_key(file.uri): _BY_DECISION[file.decision] for file in conversation.files if file.decision}
        self._has_records = bool(self._recorded or self._last)

    def of(self, uri: str | None, turn: int | None, is_undone: bool) -> str | None:
        """Return the outcome of this turn's edit of this file: undone, changed, kept, pending; None if not recorded."""
        if is_undone:
            return "undone"
        if not self._has_records or not uri:
            return None
        key = _key(uri)
        recorded = self._recorded.get(key)
        if recorded is not None and turn is not None:
            place = bisect_left(recorded, (turn + 1,))
            if place < len(recorded):
                return recorded[place][1]
        return self._last.get(key)


def is_edit_undone(edit: FileEdit, turn: Turn) -> bool:
    """Return whether an edit in the answer of a turn was undone with the turn, or with its end."""
    if turn.undone_from is not None and edit.position is not None:
        return edit.position >= turn.undone_from
    return turn.is_undone


def _states_by_turn(conversation: Conversation) -> dict[str, list[tuple[int, str]]]:
    """Return, for each file, the turns that record what the user did with it before them, in their order."""
    recorded: dict[str, dict[int, str]] = {}
    for turn in conversation.turns:
        for event in turn.edited_files:
            if event.uri and event.action in _BY_ACTION:
                by_turn = recorded.setdefault(_key(event.uri), {})
                if by_turn.get(turn.index, "kept") == "kept":  # an action outranks a record of no action
                    by_turn[turn.index] = _BY_ACTION[event.action]
    return {key: sorted(by_turn.items()) for key, by_turn in recorded.items()}


def _key(uri: str) -> str:
    """Normalise a URI so that spellings of a file are equal: with or without escapes, with a drive of either case."""
    plain = unquote(uri) if "%" in uri else uri
    if plain[9:10] == ":" and plain.startswith("file:///"):
        return plain[:8] + plain[8].lower() + plain[9:]
    return plain
