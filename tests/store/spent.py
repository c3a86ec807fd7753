"""The rows of `spend` that a conversation gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from copilog.model import Conversation, Message, Turn, Usage
from copilog.store.rows import SpendRow
from copilog.store.spending import spends_of
from copilog.store.texts import Calls, texts_of

ESTIMATE = ("replayed calls", "estimated")


def spent(conversation: Conversation) -> list[SpendRow]:
    calls = Calls(conversation)
    return spends_of(conversation, texts_of(conversation, calls), calls)


def conversation_of(turn: Turn, *messages: Message, usage: list[Usage] | None = None) -> Conversation:
    for message in messages:
        message.turn = turn.index
    return Conversation(
        id="vscode:x", source="vscode-session", turns=[turn], messages=list(messages), usage=usage or []
    )


def pick(spends: Iterable[SpendRow], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(spend, name) for name in names) for spend in spends]


def recorded(spends: Iterable[SpendRow]) -> list[SpendRow]:
    return [spend for spend in spends if spend.method != "estimated"]


def total(spends: Iterable[SpendRow], name: str) -> Any:
    numbers = [number for spend in spends if (number := getattr(spend, name)) is not None]
    return sum(numbers) if numbers else None
