"""Make the index of an exported file with several conversations."""

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

    title: str
    facts: str = ""


def entry_of(conversation: Conversation) -> Entry:
    """Return the line of one conversation."""
    turns = len(without_superseded(conversation).turns)
    return entry(title_of(conversation), conversation.updated_at or conversation.started_at, turns)


def entry(title: str, moment: datetime | None, turns: int) -> Entry:
    """Return a line from the fields of a list."""
    facts = [timestamp_text(moment)[:16] if moment is not None else "", counted(turns, "turn")]
    return Entry(clean_line(title, LONGEST_TITLE) or "(untitled)", ", ".join(fact for fact in facts if fact))
