"""Replay the calls of a model that a conversation shows, and measure what each of them sent again.

A model is stateless: every call sends the system prompt, the definitions of the tools and the entire conversation
so far. So a turn with ten rounds of tools sends its prompt ten times. The conversation so far is measured here; system
prompt and tools are not in it, and are counted by the number of calls.

The measure is the rough token: four characters of ASCII, or one character of which UTF-8 needs three bytes.
How many real tokens one of them is depends on the model and is for `estimating` to say.

- A message of the assistant is a call. Sub-agents have a conversation of their own, which begins with their task.
- If the results of a sub-agent's tools were not recorded, one call is assumed for every two of its tools.
- A compaction replaces the conversation as it was when it began with a summary.
- A superseded turn was sent and paid for, but is not sent again. A turn that a fork copied was paid for elsewhere.
- A call repeats the one before it of the same model, unless a turn begins more than ten minutes later: providers cache
  such a beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal

import msgspec

from copilog.derive.models import model_of, model_of_message
from copilog.model import (
    Attachment,
    Compaction,
    Conversation,
    FileEdit,
    Message,
    Notice,
    Prompt,
    Reference,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
)

Kind = Literal["cli", "agent", "chat"]  # sender of the fixed part: the CLI, an agent in an editor, a chat without tools

CHARACTERS_PER_ROUGH_TOKEN = 4
ROUGH_TOKENS_PER_EXTRA_BYTE = 3 / 8  # a character of three bytes is a token
CONTEXT_LIMIT = 110_000.0  # rough tokens; programs cut or compact what is longer, mostly without a record
KEPT_FOR = timedelta(minutes=10)  # how long a provider keeps the beginning of a prompt
TOOLS_PER_HIDDEN_CALL = 2
HIDDEN_RESULT = 500.0  # rough tokens of a tool result that was not recorded
COMPACTION_BEGINS = "compaction-start"


class Replay(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The calls that one agent made in one turn. Sizes are rough tokens; the fixed part of prompts is not in them."""

    turn: int
    parent: str | None  # the call whose sub-agent it was
    model: str | None
    kind: Kind
    calls: int = 0
    acting: int = 0  # those that called tools
    context: float = 0.0  # the conversation so far, as each of the calls sent it, together
    last_context: float = 0.0  # as the last of them sent it
    kept_calls: int = 0  # those that repeat the call before, and so may hit a cache
    kept_context: float = 0.0  # the part of their context that the call before had sent
    written: float = 0.0  # answers, thinking and arguments


def rough_tokens(text: str | None) -> float:
    """Return the size of a text in rough tokens."""
    if not text:
        return 0.0
    size = len(text) / CHARACTERS_PER_ROUGH_TOKEN
    if text.isascii():
        return size
    return size + (len(text.encode("utf-8", "surrogatepass")) - len(text)) * ROUGH_TOKENS_PER_EXTRA_BYTE


def replayed(conversation: Conversation) -> list[Replay]:
    """Return the calls of a conversation, by turn and agent, in the order in which they began."""
    return list(_Walk(conversation).replays())


class Replays:
    """The calls of a conversation, replayed when they are needed and only once."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    @cached_property
    def all(self) -> list[Replay]:
        return replayed(self._conversation)


class _Lane:
    """The conversation so far of one agent."""

    def __init__(self) -> None:
        self.context = 0.0
        self.sent: float | None = None  # the context of the call before; None: no longer cached
        self.model: str | None = None
        self.before_turn = 0.0
        self.compacted_from: float | None = None  # the context when a compaction began

    def add(self, size: float) -> None:
        self.context = min(self.context + size, CONTEXT_LIMIT)

    def compact(self, summary: str) -> None:
        """Replace the context as it was when the compaction began with a summary; if that is unknown, all of it."""
        came_since = self.context - self.compacted_from if self.compacted_from is not None else 0.0
        self.context = rough_tokens(summary) + max(0.0, came_since)
        self.sent = 0.0 if self.sent is not None else None  # system prompt and tools do not change
        self.compacted_from = None


class _Walk:
    """Replays the calls of a conversation from its messages."""

    def __init__(self, conversation: Conversation) -> None:
        self._turns = {turn.index: turn for turn in conversation.turns}
        self._messages = conversation.messages
        self._is_cli = conversation.id.startswith("cli:")
        self._main = _Lane()
        self._subagents: dict[str, _Lane] = {}
        self._tasks: dict[str, str] = {}  # the prompts of sub-agents, by the call that started them
        self._with_results: set[str | None] = set()
        self._replays: dict[tuple[int, str | None], Replay] = {}
        if any(message.parent_call_id is not None for message in self._messages):
            self._register_subagents()

    def _register_subagents(self) -> None:
        """Register what sub-agents were asked, and which of their results were recorded."""
        for message in self._messages:
            for part in message.parts:
                if type(part) is ToolCall:
                    if part.subagent is not None:
                        self._tasks[part.id] = part.subagent.prompt or part.arguments or ""
                elif type(part) is ToolResult:
                    self._with_results.add(message.parent_call_id)

    def replays(self) -> Iterator[Replay]:
        current: int | None = None
        last_at: datetime | None = None
        for message in self._messages:
            if message.role == "system":
                self._read_system_message(message)
            turn = self._turns.get(message.turn) if message.turn is not None else None
            if turn is None:
                continue
            if turn.index != current:
                self._begin(turn, self._turns.get(current) if current is not None else None, last_at)
                current = turn.index
            last_at = message.created_at or turn.timing.completed_at or last_at
            self._take(message, turn)
        agents = {replay.turn for replay in self._replays.values() if replay.acting}
        for replay in self._replays.values():
            if replay.turn in agents and replay.kind == "chat":
                replay.kind = "agent"
            if self._turns[replay.turn].copied_from is None:
                yield replay

    def _begin(self, turn: Turn, before: Turn | None, last_at: datetime | None) -> None:
        lane = self._main
        if before is not None and before.superseded is not None:
            lane.context, lane.sent = lane.before_turn, None
        started_at = turn.timing.started_at
        if started_at is not None and last_at is not None and started_at - last_at > KEPT_FOR:
            lane.sent = None
        lane.before_turn = lane.context

    def _read_system_message(self, message: Message) -> None:
        for part in message.parts:
            if type(part) is Notice and part.topic == COMPACTION_BEGINS:
                self._main.compacted_from = self._main.context
            elif type(part) is Compaction:
                self._main.compact(part.text)

    def _take(self, message: Message, turn: Turn) -> None:
        role, parent = message.role, message.parent_call_id
        lane = self._main if parent is None else self._lane_of(parent)
        if role == "user":
            lane.add(_size_of_prompt(message))
        elif role == "tool":
            size = 0.0
            for part in message.parts:
                if type(part) is ToolResult:
                    size += _size_of_result(part)
            lane.add(size)
        elif role == "assistant":
            for part in message.parts:
                if type(part) is Compaction:
                    lane.compact(part.text)
            self._take_call(message, turn, lane)

    def _lane_of(self, parent: str) -> _Lane:
        if parent not in self._subagents:
            lane = self._subagents[parent] = _Lane()
            lane.add(rough_tokens(self._tasks.get(parent)))
        return self._subagents[parent]

    def _take_call(self, message: Message, turn: Turn, lane: _Lane) -> None:
        said, thought, tools = _written(message)
        if not said and not thought and not tools:
            return
        model = model_of_message(message, turn) or model_of(turn) or lane.model
        replay = self._replay_of(turn, message.parent_call_id, model)
        is_hidden = message.parent_call_id is not None and message.parent_call_id not in self._with_results
        hidden = -(-tools // TOOLS_PER_HIDDEN_CALL) if is_hidden else 1
        replay.written += said + thought
        for _ in range(max(1, hidden)):
            _call(replay, lane, model)
            replay.acting += tools > 0
            if is_hidden:
                lane.add(HIDDEN_RESULT * TOOLS_PER_HIDDEN_CALL)
        lane.add(said)

    def _replay_of(self, turn: Turn, parent: str | None, model: str | None) -> Replay:
        key = (turn.index, parent)
        if key not in self._replays:
            kind: Kind = "cli" if self._is_cli else "agent" if _is_agent(turn) else "chat"
            self._replays[key] = Replay(turn=turn.index, parent=parent, model=model, kind=kind)
        return self._replays[key]


def _is_agent(turn: Turn) -> bool:
    return turn.mode is not None and turn.mode.kind == "agent"


def _call(replay: Replay, lane: _Lane, model: str | None) -> None:
    """Count one call of a model, which sends the conversation of its agent so far."""
    replay.calls += 1
    replay.context += lane.context
    replay.last_context = lane.context
    if lane.sent is not None and lane.model == model:
        replay.kept_calls += 1
        replay.kept_context += min(lane.sent, lane.context)
    lane.sent, lane.model = lane.context, model


def _size_of_prompt(message: Message) -> float:
    """Return the size of the prompt as sent to the model; if only the user's text is recorded, with attachments."""
    typed = sent = first = 0.0
    for part in message.parts:
        if type(part) is Text:
            typed += rough_tokens(part.text)
        elif type(part) is Prompt and part.scope == "turn":
            sent = max(sent, rough_tokens(part.text))
        elif type(part) is Prompt and part.scope == "conversation":
            first += rough_tokens(part.text)
    if not sent:
        attached = (part for part in message.parts if type(part) is Attachment and part.is_sent)
        typed += sum(rough_tokens(part.text) for part in attached)
    return first + max(typed, sent)


def _size_of_result(part: ToolResult) -> float:
    if part.text:
        return rough_tokens(part.text)
    return sum(rough_tokens(item.text) for item in part.items)


def _written(message: Message) -> tuple[float, float, int]:
    """Return the size of what later calls send again, the size of thinking, and the number of tool calls."""
    said = thought = loose = 0.0
    tools = 0
    for part in message.parts:
        kind = type(part)
        if kind is ToolCall:
            said += rough_tokens(part.name) + rough_tokens(part.arguments)  # type: ignore[union-attr]
            tools += 1
        elif kind is Text or kind is Reference:
            said += rough_tokens(part.text)  # type: ignore[union-attr]
        elif kind is Thinking:
            thought += rough_tokens(part.text)  # type: ignore[union-attr]
        elif kind is FileEdit and part.call_id is None:  # type: ignore[union-attr]
            loose += _size_of_edit(part)  # type: ignore[arg-type]
    return said if tools else said + loose, thought, tools


def _size_of_edit(edit: FileEdit) -> float:
    return sum(rough_tokens(one.text) for batch in edit.batches for one in batch) or rough_tokens(edit.diff)
