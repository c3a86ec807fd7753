"""Facts of other events about a snapshot: the mode of a turn, the model of a request (R-11 to R-14).

Facts form a semilattice: of two about the same thing the later one holds, of two with the same time the first one in
the stream. So they can be collected in any order, in any number of processes, and more than once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

import msgspec

from copilog.telemetry.events import (
    SESSION_RESPONSE,
    TEXT_EVENTS,
    Event,
    Seq,
    instant_of,
    text_prop,
    timestamp_of,
    turn_index,
)

EARLIEST = -(1 << 63)  # the time of an event without one
_NO_MODEL = frozenset({"", "auto", "unknown", "undefined"})
_DATE_DIGITS = (4, 2, 2)

Key = TypeVar("Key")
Scoped = tuple[int, str]  # the file, or -1 for the complete run, and an id


class Fact(NamedTuple):
    """A value that holds unless there is a greater fact: later first, then earlier in the stream."""

    instant: int
    minus_file: int
    minus_offset: int
    value: str


class Facts(msgspec.Struct):
    """All collected facts."""

    modes_by_turn: dict[Scoped, dict[int, Fact]] = {}  # conversation -> turn
    modes_by_request: dict[Scoped, Fact] = {}
    modes_by_message: dict[Scoped, Fact] = {}
    models_by_response: dict[Scoped, dict[str, Fact]] = {}  # session -> request
    models_by_message: dict[Scoped, dict[str, Fact]] = {}

    def mode_of(self, scope: int, request_id: str | None, message_id: str | None) -> str | None:
        """Return the mode of the turn that a request belongs to."""
        fact = None
        if request_id is not None:
            fact = self.modes_by_request.get((scope, request_id))
        if fact is None and message_id is not None:
            fact = self.modes_by_message.get((scope, message_id))
        return fact.value if fact else None

    def turn_modes(self, scope: int, conversation: str) -> dict[int, Fact]:
        return self.modes_by_turn.get((scope, conversation), {})

    def session_model(
        self, scope: int, conversation: str, request_id: str | None, message_id: str | None
    ) -> str | None:
        """Return the model that the session names for a request. The model in an answer has priority."""
        responses = self.models_by_response.get((scope, conversation))
        messages = self.models_by_message.get((scope, conversation))
        if responses is None and messages is None:
            return None
        for key in (request_id, message_id):
            if key is not None:
                fact = (responses or {}).get(key) or (messages or {}).get(key)
                if fact is not None:
                    return fact.value
        return None


def take_fact(facts: Facts, event: Event, seq: Seq, scope: int) -> str | None:
    """Add the facts of a text or session event. Return the reason if it has none."""
    if event.base in TEXT_EVENTS:
        return _take_mode(facts, event, seq, scope)
    return _take_model(facts, event, seq, scope)


def _take_mode(facts: Facts, event: Event, seq: Seq, scope: int) -> str | None:
    properties = event.properties
    if properties.get("source") != "user":
        return "not_a_user_text"
    mode = text_prop(properties, "mode")
    if mode is None:
        return "no_mode"
    fact = _fact(event, seq, mode)
    conversation, turn = text_prop(properties, "conversationId"), turn_index(properties)
    request_id, message_id = text_prop(properties, "headerRequestId"), text_prop(properties, "messageId")
    if conversation is not None and turn is not None:
        _keep(facts.modes_by_turn.setdefault((scope, conversation), {}), turn, fact)
    if request_id is not None:
        _keep(facts.modes_by_request, (scope, request_id), fact)
    if message_id is not None:
        _keep(facts.modes_by_message, (scope, message_id), fact)
    explains_something = (conversation is not None and turn is not None) or request_id or message_id
    return None if explains_something else "no_ids"


def _take_model(facts: Facts, event: Event, seq: Seq, scope: int) -> str | None:
    properties = event.properties
    session = text_prop(properties, "sessionId") or text_prop(properties, "conversationId")
    request_id = text_prop(properties, "requestId")
    if session is None or request_id is None:
        return "no_ids"
    models = (text_prop(properties, key) for key in ("baseModel", "model"))
    model = next((model.strip() for model in models if model and model.strip().lower() not in _NO_MODEL), None)
    if model is None:
        return "no_model"
    slot = facts.models_by_response if event.base == SESSION_RESPONSE else facts.models_by_message
    _keep(slot.setdefault((scope, session), {}), request_id, _fact(event, seq, model))
    return None


def _fact(event: Event, seq: Seq, value: str) -> Fact:
    instant = instant_of(timestamp_of(event))
    return Fact(EARLIEST if instant is None else instant, -seq[0], -seq[1], value)


def _keep(facts: dict[Key, Fact], key: Key, fact: Fact) -> None:
    known = facts.get(key)
    if known is None or fact > known:
        facts[key] = fact


def combine_facts(left: Facts, right: Facts) -> Facts:
    """Add the right facts to `left`, and return it."""
    for nested, more in (
        (left.models_by_response, right.models_by_response),
        (left.models_by_message, right.models_by_message),
    ):
        for owner, facts in more.items():
            _keep_all(nested.setdefault(owner, {}), facts.items())
    for conversation, turns in right.modes_by_turn.items():
        _keep_all(left.modes_by_turn.setdefault(conversation, {}), turns.items())
    _keep_all(left.modes_by_request, right.modes_by_request.items())
    _keep_all(left.modes_by_message, right.modes_by_message.items())
    return left


def _keep_all(facts: dict[Key, Fact], more: Iterable[tuple[Key, Fact]]) -> None:
    for key, fact in more:
        _keep(facts, key, fact)


def same_model(left: str, right: str) -> bool:
    """Return whether two names mean one model: letter case and a date at the end do not matter (R-19)."""
    return _without_date(left.lower()) == _without_date(right.lower())


def _without_date(name: str) -> str:
    """Return `gpt-4o` for `gpt-4o-2024-11-20`."""
    head, *date = name.rsplit("-", 3)
    is_date = [len(part) for part in date] == list(_DATE_DIGITS) and all(
        part.isascii() and part.isdigit() for part in date
    )
    return head if is_date else name
