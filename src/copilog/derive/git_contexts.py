"""Find the repository and the branch that each turn of a session of Copilot CLI was sent in.

The program records them when it starts, when it is resumed, and when they change. A conversation has the last ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from copilog.model import Conversation, Notice

TOPICS = frozenset({"context", "resume"})


class GitContext(NamedTuple):
    """The repository and the branch of a folder; empty where it has none."""

    repository: str
    branch: str


def git_contexts(conversation: Conversation) -> dict[int, GitContext]:
    """Return the contexts of turns that were sent in another one than the last of their conversation."""
    session = (conversation.extra or {}).get("session")
    now = _context_in(session.get("context")) if isinstance(session, dict) else None
    found: dict[int, GitContext | None] = {}
    for message in conversation.messages:
        if message.role == "system":
            for part in message.parts:
                if type(part) is Notice and part.topic in TOPICS:
                    data = part.data or {}
                    now = _context_in(data if part.topic == "context" else data.get("context")) or now
        elif message.turn is not None:
            found.setdefault(message.turn, now)
    return {turn: context for turn, context in found.items() if context is not None and context != now}


def _context_in(data: Any) -> GitContext | None:
    """Return the context that an event records; None if it has none, or if another one follows at once."""
    if not isinstance(data, dict) or not data or data.get("pendingGitContext") is True:
        return None
    repository, branch = data.get("repository"), data.get("branch")
    return GitContext(repository if isinstance(repository, str) else "", branch if isinstance(branch, str) else "")
