"""The rows of `spend` that a conversation gives, with the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from copilog.model import Conversation
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, texts_of

ESTIMATE = ("characters / 4", "estimated")


class Spend(NamedTuple):
    position: int
    turn: int | None
    at: str | None
    model: str | None
    agent: str | None
    subagent: str | None
    parent_call_id: str | None
    input: int | None
    output: int | None
    cache_read: int | None
    cache_write: int | None
    reasoning: int | None
    premium_requests: float | None
    credits: float | None
    source: str
    method: str


def spent(conversation: Conversation) -> list[Spend]:
    calls = Calls(conversation)
    return [Spend(*row) for row in spends_of(conversation, texts_of(conversation, calls), calls)]


def pick(spends: Iterable[Spend], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(spend, name) for name in names) for spend in spends]


def recorded(spends: Iterable[Spend]) -> list[Spend]:
    return [spend for spend in spends if spend.method != "estimated"]


def total(spends: Iterable[Spend], name: str) -> Any:
    numbers = [number for spend in spends if (number := getattr(spend, name)) is not None]
    return sum(numbers) if numbers else None
