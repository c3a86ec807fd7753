"""The turns of a conversation that have events: `message_metadata` of R-11, which is used by checks only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from copilog.telemetry.events import Event, Seq, instant_of, text_prop, timestamp_of, turn_index
from copilog.telemetry.facts import EARLIEST

MOST_MISSING = 5  # missing turns that are listed


class Turn(NamedTuple):
    """The fields of one turn: of several texts a user's counts, then the later, then the first in the stream (R-12)."""

    is_user: bool
    instant: int
    minus_file: int
    minus_offset: int
    source: str | None
    message_id: str | None
    timestamp: str | None
    mode: str | None


class Gap(msgspec.Struct):
    """A conversation with turns that have no text of the user."""

    conversation_id: str
    expected: int
    missing: int
    first_missing: list[int]


class Turns:
    """The turns of all conversations."""

    def __init__(self) -> None:
        self.conversations: dict[str, dict[int, Turn]] = {}

    def take(self, event: Event, seq: Seq) -> bool:
        """Add the turn of a text event. Return False if the event names none."""
        properties = event.properties
        conversation, index = text_prop(properties, "conversationId"), turn_index(properties)
        if conversation is None or index is None or index < 0:
            return False
        source, time = text_prop(properties, "source"), timestamp_of(event)
        instant = instant_of(time)
        turn = Turn(
            source == "user",
            EARLIEST if instant is None else instant,
            -seq[0],
            -seq[1],
            source,
            text_prop(properties, "messageId"),
            time,
            text_prop(properties, "mode"),
        )
        turns = self.conversations.setdefault(conversation, {})
        known = turns.get(index)
        turns[index] = turn if known is None else _joined(known, turn)
        return True

    def counts(self) -> tuple[int, int, int]:
        """Return how many turns have a text of the user, and how many of these no mode, and no message id."""
        number = without_mode = without_message_id = 0
        for turns in self.conversations.values():
            for turn in turns.values():
                number += turn.is_user
                without_mode += turn.is_user and turn.mode is None
                without_message_id += turn.is_user and turn.message_id is None
        return number, without_mode, without_message_id

    def gaps(self) -> Iterator[Gap]:
        """Yield the conversations with missing turns. Assistants count turns from 1, so that their 3 means 0 to 2."""
        for conversation, turns in self.conversations.items():
            expected = max(index + turn.is_user for index, turn in turns.items())
            users = sum(turn.is_user for turn in turns.values())
            if users < expected:
                yield Gap(conversation, expected, expected - users, list(_missing(turns, expected)))


def _joined(one: Turn, other: Turn) -> Turn:
    """Return the greater turn, with the mode of the other if it has none and both are from the same side."""
    winner, loser = (one, other) if one[:4] >= other[:4] else (other, one)
    if winner.mode is None and winner.is_user == loser.is_user:
        return winner._replace(mode=loser.mode)
    return winner


def _missing(turns: dict[int, Turn], expected: int) -> Iterator[int]:
    """Yield the first turns without a text of the user."""
    found = 0
    for index in range(expected):
        turn = turns.get(index)
        if turn is None or not turn.is_user:
            yield index
            found += 1
        if found == MOST_MISSING:
            return
