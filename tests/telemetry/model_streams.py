"""Builders for streams of the chunked `model.*` family: events with places 100 bytes apart, in their order."""

from __future__ import annotations

import json
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from copilog.telemetry.events import Event, Place
from copilog.telemetry.model_calls import Call, Skipped, calls, rebuilt
from copilog.telemetry.model_events import Pieces, take

SYSTEM = {"role": "system", "content": "You help with gardens."}
USER = {"role": "user", "content": "When do I sow beans?"}
ANSWER = {"role": "assistant", "content": "In May."}
PREFIX = "GitHub.copilot-chat/"


def event(base: str, time: str | None = None, **properties: Any) -> Event:
    return Event(PREFIX + base, base, time, properties)


def chunked(key: str, text: str, parts: int) -> list[dict[str, str]]:
    size = -(-len(text) // parts)
    return [
        {key: text[index * size : (index + 1) * size], "chunkIndex": str(index), "totalChunks": str(parts)}
        for index in range(parts)
    ]


def message(uuid: str, item: Any, parts: int = 1) -> list[Event]:
    chunks = chunked("messageJson", json.dumps(item), parts)
    return [event("model.message.added", messageUuid=uuid, **chunk) for chunk in chunks]


def options(options_id: str, values: Any, parts: int = 1) -> list[Event]:
    chunks = chunked("requestOptionsJson", json.dumps(values), parts)
    return [event("model.request.options.added", requestOptionsId=options_id, **chunk) for chunk in chunks]


def sent(call_id: str, *uuids: Any, parts: int = 1, time: str | None = None, **more: Any) -> list[Event]:
    """Return the input list of a call."""
    chunks = chunked("messageUuids", json.dumps(uuids), parts)
    fixed = {"modelCallId": call_id, "conversationId": "talk", "headerRequestId": "turn-1", **more}
    return [event("model.modelCall.input", time, **fixed, **chunk) for chunk in chunks]


def answered(call_id: str, *uuids: str, parts: int = 1) -> list[Event]:
    chunks = chunked("messageUuids", json.dumps(uuids), parts)
    return [event("model.modelCall.output", modelCallId=call_id, **chunk) for chunk in chunks]


class Stream:
    """Events with their places, and what one pass over all of them notes."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events: dict[Place, Event] = {(0, 100 * index, 100): event for index, event in enumerate(events)}
        self.pieces = Pieces()
        self.reasons = [take(self.pieces, event, place) for place, event in self.events.items()]

    def fetch(self, place: Place) -> Event:
        return deepcopy(self.events[place])

    def calls(self) -> list[Call | Skipped]:
        return list(calls(self.pieces, self.fetch))

    def only(self) -> Call:
        (call,) = self.calls()
        assert isinstance(call, Call)
        return call

    def items(self, call_id: str = "call-1") -> list[Any]:
        items: list[Any] = rebuilt(self.pieces, call_id, self.fetch).properties["messagesJson"]
        return items
