"""Mark prompts in the transcript of a session that were asked in a fork of it.

VS Code writes a fork's prompts into the transcript of its parent, without their answers. `sources.extension` finds them
in session files, `ingest.forks` in the archive.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from copilog.model import Conversation, Turn

SAME_TIME = timedelta(minutes=2)  # between the records of one prompt
OF_FORK = "asked_in_fork"  # key in the turn's `extra`: the id of the fork's session


def unanswered_turns(conversation: Conversation) -> set[int]:
    """Return the indexes of the turns that have a prompt and nothing else."""
    asked = {message.turn for message in conversation.messages if message.turn is not None and message.role == "user"}
    return asked - {message.turn for message in conversation.messages if message.role != "user"}


def may_be_same_prompt(one: datetime | None, other: datetime | None) -> bool:
    """Return whether two records with these times may be of one prompt; either may lack its time."""
    return one is None or other is None or abs(one - other) <= SAME_TIME


def mark_asked_in_fork(turn: Turn, native_id: str) -> None:
    """Mark a turn as removed, as it is a turn of a fork, and record the id of the fork's session."""
    turn.superseded = "removed"
    turn.extra = {**(turn.extra or {}), OF_FORK: native_id}
