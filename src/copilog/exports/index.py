"""Make the index of exported conversations: a line for each."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from copilog.derive import without_superseded
from copilog.model import Conversation, title_of
from copilog.view.terminal_text import clean_line
from copilog.view.wording import counted, timestamp_text

LONGEST_TITLE = 200


class Entry(NamedTuple):
    """A line of the index."""

    id: str
    title: str
    moment: datetime | None = None
    turns: int = 0
    started_at: datetime | None = None

    @property
    def facts(self) -> str:
        return facts_of(self.moment, self.turns)


def facts_of(moment: datetime | None, turns: int) -> str:
    """Return what a line says beside the title: when, and how much."""
    when = timestamp_text(moment)[:16] if moment is not None else ""
    return ", ".join(fact for fact in (when, counted(turns, "turn")) if fact)


def entry_of(conversation: Conversation) -> Entry:
    """Return the line of one conversation."""
    turns = len(without_superseded(conversation).turns)
    moment = conversation.updated_at or conversation.started_at
    return entry(conversation.id, title_of(conversation), moment, turns, conversation.started_at)


def entry(
    conversation_id: str, title: str, moment: datetime | None, turns: int, started_at: datetime | None = None
) -> Entry:
    """Return a line from the fields of a list."""
    return Entry(conversation_id, clean_line(title, LONGEST_TITLE) or "(untitled)", moment, turns, started_at or moment)
