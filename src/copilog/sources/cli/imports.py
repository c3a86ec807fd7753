"""Recognise a session that `copilot sessions import` made, and remove the times that are those of the import.

The importer writes all events of the file at once, with new ids and the time of the import. The first event has the
time at which the conversation began elsewhere. Turns that were added later have their own times.
Format notes: docs/formats/copilot-cli.md
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from copilog.model import AnyPart, Attachment, Conversation, Message, Text, Timing

LEAST_GAP = timedelta(minutes=1)  # between the beginning of a conversation and its import
AT_ONCE = timedelta(seconds=5)  # all that is imported is written within this time
TIMES = ("started_at", "completed_at", "elapsed_ms")

# What `copilog export --format copilot-cli` writes of an attachment, at the end of the prompt.
_ATTACHED = re.compile(r"(?:^|\n\n)\[Attached (?P<type>[\w-]+): (?P<name>[^\n]*)\]\Z")


def settle_import(made: Conversation, written_at: datetime | None) -> bool:
    """Return whether a session was imported; then its imported turns have no times, and attachments are parts again."""
    if written_at is None or made.started_at is None or written_at - made.started_at < LEAST_GAP:
        return False
    by_turn: dict[int | None, list[Message]] = {}
    for message in made.messages:
        by_turn.setdefault(message.turn, []).append(message)
    imported = []
    for turn in made.turns:
        messages = by_turn.get(turn.index, [])
        times = [message.created_at for message in messages if message.created_at is not None]
        if not times or max(times) - written_at > AT_ONCE:
            break
        imported.append(turn)
    if not any(message.role == "assistant" for turn in imported for message in by_turn[turn.index]):
        return False
    for turn in imported:
        turn.timing = Timing()
        for message in by_turn[turn.index]:
            _settle(message)
    return True


def _settle(message: Message) -> None:
    message.created_at = None
    for part in message.parts:
        for name in TIMES:
            if getattr(part, name, None) is not None:
                setattr(part, name, None)
    if message.role == "user":
        message.parts = [restored for part in message.parts for restored in _with_attachments(part)]


def _with_attachments(part: AnyPart) -> list[AnyPart]:
    if not isinstance(part, Text):
        return [part]
    found: list[AnyPart] = []
    text = part.text
    while match := _ATTACHED.search(text):
        found.insert(0, Attachment(type=match["type"], name=match["name"]))
        text = text[: match.start()]
    if not found:
        return [part]
    part.text = text
    return [part, *found] if text else found
