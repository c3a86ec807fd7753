"""Pieces of messages, calls and outputs, as captured streams hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from copilog.fields import take_str
from copilog.model import (
    AnyPart,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from copilog.sources.cli.event import Event

if TYPE_CHECKING:
    from copilog.sources.cli.reader import Reader

# Pieces of messages, as they were streamed. They are redundant once the complete message comes. Only captured
# streams hold them. Whether a piece is used is decided when its message comes, or when it is certain that it will
# not: then the pieces are all that is left of it.


REASON = "streaming-delta"
Kind = Literal["message", "reasoning", "call", "output"]
DEFERRED = "deferred"  # a record that will be counted later


class Pieces:
    """The pieces of one message, call or output so far."""

    __slots__ = ("count", "first", "kind", "name", "parent", "texts", "turn")

    def __init__(self, kind: Kind, first: Event, parent: str | None, turn: int) -> None:
        self.kind: Kind = kind
        self.first = first
        self.parent = parent
        self.turn = turn
        self.name = ""
        self.count = 0
        self.texts: list[str] = []

    def add(self, text: str | None) -> None:
        if not text:
            return
        # Output may be repeated in full each time.
        if self.kind == "output" and self.texts and text.startswith(self.texts[-1]):
            self.texts[-1] = text
        else:
            self.texts.append(text)

    def text(self) -> str:
        return "".join(self.texts)


class Deltas:
    """The pieces that wait for the complete text."""

    def __init__(self) -> None:
        self.waiting: dict[tuple[Kind, str], Pieces] = {}  # empty in a log on disk

    def add(self, reader: Reader, event: Event) -> str:
        """Hold a piece until the complete text comes."""
        data = event.data
        kind, id_key, text_key = KEYS[event.type]
        native_id = take_str(data, id_key) or ""
        pieces = self.waiting.get((kind, native_id))
        if pieces is None:
            parent = reader.agents.parent_of(event)
            pieces = self.waiting[kind, native_id] = Pieces(kind, event, parent, reader.turns.index())
        pieces.count += 1
        pieces.name = take_str(data, "toolName") or pieces.name
        pieces.add(take_str(data, text_key))
        return DEFERRED

    def complete(self, reader: Reader, kind: Kind, native_id: str | None) -> str:
        """Drop the pieces of a complete text, but not those of output that was cut. Return the text of the pieces."""
        pieces = self.waiting.pop((kind, native_id), None) if native_id is not None else None
        if pieces is None:
            return ""
        reader.ledger.ignore(REASON, pieces.count)
        return pieces.text()

    def complete_reasoning(self, reader: Reader, text: str) -> None:
        """Drop the pieces of reasoning that a message holds in full, without its id."""
        for key, pieces in list(self.waiting.items()):
            if pieces.kind == "reasoning" and pieces.text().strip() == text.strip():
                del self.waiting[key]
                reader.ledger.ignore(REASON, pieces.count)

    def give_up(self, reader: Reader) -> None:
        """Use the pieces of a text that will never be completed."""
        if not self.waiting:
            return
        given_up, self.waiting = self.waiting, {}
        for (_, native_id), pieces in given_up.items():
            reader.ledger.used += pieces.count
            part = _part_from(pieces, native_id)
            if part is None:
                continue
            message = reader.add(
                pieces.first,
                "tool" if pieces.kind == "output" else "assistant",
                [part],
                parent=pieces.parent,
                extra={"is_partial": True, **(pieces.first.extra() or {})},
            )
            message.turn = pieces.turn
            _assign_model(reader, message)


def _assign_model(reader: Reader, message: Message) -> None:
    if message.role == "assistant":
        reader.models.set_model_of(message, None, None)


def _part_from(pieces: Pieces, native_id: str) -> AnyPart | None:
    text = pieces.text()
    native = pieces.first.native
    if pieces.kind == "call":
        call_id = native_id or (pieces.first.id or "")
        return ToolCall(id=call_id, name=pieces.name, arguments=text or None, status="cancelled", native=native)
    if not text:
        return None  # a message that was announced and never begun
    if pieces.kind == "output":
        return ToolResult(call_id=native_id, text=text, origin="display", native=native)
    if pieces.kind == "reasoning":
        return Thinking(text=text, id=native_id or None, native=native)
    return Text(text=text, native=native)


KEYS: dict[str, tuple[Kind, str, str]] = {
    "assistant.message_start": ("message", "messageId", ""),
    "assistant.message_delta": ("message", "messageId", "deltaContent"),
    "assistant.reasoning_delta": ("reasoning", "reasoningId", "deltaContent"),
    "assistant.tool_call_delta": ("call", "toolCallId", "inputDelta"),
    "tool.execution_partial_result": ("output", "toolCallId", "partialOutput"),
    "tool.shell_output": ("output", "toolCallId", "text"),
}
