"""Find forks in the archive, and the turns of their parents that may be theirs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from copilog.store.accounts import FORK

# Turns that one trace of a parent alone has, with the prompt of a turn that was sent in a fork of it.
_PROMPTS_OF_FORKS = f"""
    SELECT p.conversation, p.position, fork.id, f.started_at
    FROM relation AS r
    JOIN conversation AS parent ON parent.id = r.other_id
    JOIN conversation AS fork ON fork.rowid = r.conversation
    JOIN turn AS p ON p.conversation = parent.rowid AND p.superseded IS NULL AND p.only_trace IS NOT NULL
    JOIN turn AS f ON f.conversation = fork.rowid AND f.prompt = p.prompt AND f.copied_from IS NULL
    WHERE r.kind = '{FORK}'
    AND (fork.rowid IN (SELECT value FROM json_each(?1)) OR parent.rowid IN (SELECT value FROM json_each(?1)))
    ORDER BY 1, 2, 3
"""  # noqa: S608 - constants only


class PromptOfFork(NamedTuple):
    """A turn of a conversation, by their numbers, and the fork that has its prompt."""

    parent: int
    turn: int
    fork_id: str
    sent_at: datetime | None  # in the fork


def prompts_of_forks(connection: sqlite3.Connection, fresh: Collection[int]) -> list[PromptOfFork]:
    """Return the turns that may be those of a fork, where the fork or its parent is one of these conversations."""
    rows = connection.execute(_PROMPTS_OF_FORKS, (json.dumps(list(fresh)),))
    return [
        PromptOfFork(parent, turn, fork_id, datetime.fromisoformat(at) if at is not None else None)
        for parent, turn, fork_id, at in rows
    ]
