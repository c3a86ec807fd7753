"""Turns that VS Code copied into a fork: they were asked, and paid for, in the session that was forked.

A copy has new ids and the time of the fork. What it still has of the first turn is the session's id in the metadata of
its result, and the time at which its response began: before the request itself, as only a copy can have it.
"""

from __future__ import annotations

import msgspec

from copilog.model import Conversation, Relation, Turn

FORK = "fork"


def mark_copies(conversation: Conversation) -> None:
    """Give copied turns the time of the first ones, and leave what they used to the session that they are from."""
    parents: dict[str, None] = {}
    for turn in conversation.turns:
        parent = _parent_of(turn)
        if parent is None or conversation.native_id in (None, parent):
            continue
        name = f"vscode:{parent}"
        parents[name] = None
        turn.copied_from = name
        if turn.usage:
            turn.extra = {**(turn.extra or {}), "copied_usage": msgspec.to_builtins(turn.usage)}
            turn.usage = []
        for message in conversation.messages:
            if message.turn == turn.index and message.created_at == turn.timing.started_at:
                message.created_at = turn.timing.responded_at
        turn.timing.started_at, turn.timing.completed_at = turn.timing.responded_at, None
    conversation.relations += [Relation(kind=FORK, other_id=name, reason="forked in VS Code") for name in parents]


def _parent_of(turn: Turn) -> str | None:
    """Return the id of the session in which a turn was asked, if that was another one."""
    began, asked = turn.timing.responded_at, turn.timing.started_at
    if began is None or asked is None or began >= asked:
        return None
    result = (turn.extra or {}).get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    name = metadata.get("sessionId") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) and name else None
