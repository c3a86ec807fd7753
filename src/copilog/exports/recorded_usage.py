"""Recorded tokens and cost by run and turn, as the archive counts them: each once, so that they can be added up."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import msgspec

from copilog.exports.formats import Making
from copilog.model import Conversation, Usage
from copilog.store.documents import without_half_characters
from copilog.store.recorded import caller_of
from copilog.store.rows import SpendRow
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, texts_of


class Amounts(msgspec.Struct):
    """Numbers that were recorded; None for those that were not."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    premium_requests: float | None = None
    credits: float | None = None

    def add(self, other: SpendRow | Usage) -> None:
        for name in self.__struct_fields__:
            more = getattr(other, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__struct_fields__)


class Place(NamedTuple):
    """A turn of a run."""

    turn: int | None
    caller: str | None


class RecordedUsage:
    """The amounts of one conversation. Estimates are not among them."""

    def __init__(self, conversation: Conversation, making: Making) -> None:
        self._by_place: defaultdict[Place, Amounts] = defaultdict(Amounts)
        self._calls = _calls_by_place(conversation)
        estimated = 0
        for row in spend_rows(conversation):
            if row.method == "estimated":
                estimated += 1
            else:
                self._by_place[Place(row.turn, row.parent_call_id)].add(row)
        making.left_out.add(conversation.id, "estimates of tokens", estimated)

    def of_turn(self, place: Place) -> Amounts:
        return self._by_place[place]

    def of_answers(self, place: Place, number: int) -> list[Amounts] | None:
        """Return the amounts of each answer of a turn; None if they are not recorded one by one, or differ in sum."""
        calls = self._calls.get(place, [])
        if not number or len(calls) != number:
            return None
        made = [Amounts() for _ in calls]
        total = Amounts()
        for amounts, usage in zip(made, calls, strict=True):
            amounts.add(usage)
            total.add(usage)
        return made if total == self._by_place[place] else None

    def of_run(self, caller: str | None) -> Amounts:
        """Return the sum of a run, without its sub-agents."""
        total = Amounts()
        for place, amounts in self._by_place.items():
            if place.caller == caller:
                for name in amounts.__struct_fields__:
                    more = getattr(amounts, name)
                    if more is not None:
                        setattr(total, name, (getattr(total, name) or 0) + more)
        return total


def spend_rows(conversation: Conversation) -> list[SpendRow]:
    """Return the rows of tokens and cost, as the archive has them."""
    try:
        return _spend_rows(conversation)
    except UnicodeEncodeError:
        return _spend_rows(without_half_characters(conversation))


def _spend_rows(conversation: Conversation) -> list[SpendRow]:
    calls = Calls(conversation)
    return spends_of(conversation, texts_of(conversation, calls), calls)


def _calls_by_place(conversation: Conversation) -> dict[Place, list[Usage]]:
    found: defaultdict[Place, list[Usage]] = defaultdict(list)
    for turn in conversation.turns:
        for usage in turn.usage:
            if usage.scope == "call" and not usage.is_estimated:
                found[Place(turn.index, caller_of(usage))].append(usage)
    return found
