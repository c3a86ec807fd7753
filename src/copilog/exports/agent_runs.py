"""Divide a conversation into the runs of its agents: the main one, and a sub-agent for each call that started one.

Each run has its messages without the results of its calls, which belong to these whenever they came.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from copilog.derive import ends_of
from copilog.exports.formats import Making
from copilog.model import Conversation, Message, Prompt, Text, ToolCall, ToolResult, Turn, prose_of
from copilog.trajectory.messages import MessageWriter


class Result(msgspec.Struct):
    """A result of a call, and the message that it was in."""

    part: ToolResult
    message: Message


class AgentRuns:
    """The runs of one linear conversation."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.turns: dict[int | None, Turn] = {turn.index: turn for turn in conversation.turns}
        self.writer = MessageWriter(conversation)
        self._calls = {
            (message.parent_call_id, part.id): part
            for message in conversation.messages
            for part in message.parts
            if isinstance(part, ToolCall) and part.status != "prepared"
        }
        self._results: defaultdict[tuple[str | None, str], list[Result]] = defaultdict(list)
        self._messages: defaultdict[str | None, list[Message]] = defaultdict(list)
        self._begun: set[str] = set()
        for message in conversation.messages:
            of_calls = [
                part for part in message.parts if isinstance(part, ToolResult) and self._has_call(message, part)
            ]
            for part in of_calls:
                self._results[message.parent_call_id, part.call_id].append(Result(part, message))
            if len(of_calls) < len(message.parts) or message.role != "tool":
                self._messages[message.parent_call_id].append(message)

    def main(self) -> list[Message]:
        """Return the messages of the user and of the main agent."""
        return self._messages[None]

    def take_results(self, caller: str | None, call_id: str) -> list[Result]:
        """Return the results of a call of a run, at its first occurrence."""
        return self._results.pop((caller, call_id), [])

    def results_without_call(self, message: Message) -> list[Result]:
        """Return the results in a message whose call is missing."""
        results = (part for part in message.parts if isinstance(part, ToolResult))
        return [Result(part, message) for part in results if not self._has_call(message, part)]

    def _has_call(self, message: Message, result: ToolResult) -> bool:
        return (message.parent_call_id, result.call_id) in self._calls

    def begin(self, call: ToolCall) -> list[Message]:
        """Return the messages of the sub-agent that a call started, at its first occurrence; empty if there is none.

        A prompt or a last answer that only the call has is added.
        """
        if call.id in self._begun:
            return []
        agent, messages = call.subagent, list(self._messages.get(call.id, ()))
        if not messages and (agent is None or not (agent.prompt and agent.result)):
            return []
        self._begun.add(call.id)
        if agent is None:
            return messages
        turn = messages[0].turn if messages else None
        if agent.prompt and all(message.role != "user" for message in messages):
            messages.insert(0, _message("user", agent.prompt, turn, call.id))
        if agent.result and not any(message.role == "assistant" for message in messages):
            messages.append(_message("assistant", agent.result, turn, call.id))
        return messages

    def loose_runs(self) -> Iterator[tuple[str, list[Message]]]:
        """Yield the messages of sub-agents whose call is missing, with its id."""
        for caller, messages in self._messages.items():
            if caller is not None and caller not in self._begun:
                self._begun.add(caller)
                yield caller, messages

    def spelled(self, call_id: str) -> str:
        """Return the id of a call as the model saw it."""
        return self.writer.spelled(call_id)

    def call(self, call_id: str) -> ToolCall | None:
        """Return a call, of whichever run."""
        return next((call for (_, known), call in self._calls.items() if known == call_id), None)


def _message(role: str, text: str, turn: int | None, caller: str) -> Message:
    made = Message(role="user", parts=[Text(text=text)], turn=turn, parent_call_id=caller)
    if role == "assistant":
        made.role = "assistant"
    return made


def is_only_context(message: Message) -> bool:
    """Return whether a message in the user's name holds nothing but context that the product sent."""
    prompts = [part for part in message.parts if isinstance(part, Prompt)]
    return bool(prompts) and not prose_of(message.parts) and all(part.scope == "conversation" for part in prompts)


def trunk_of(conversation: Conversation, making: Making) -> Conversation:
    """Return the trunk without superseded turns; count the turns of branches."""
    trunk, *branches = ends_of(conversation)
    known = {turn.index for turn in trunk.turns}
    others = {turn.index for branch in branches for turn in branch.turns} - known
    making.left_out.add(conversation.id, "turns of branches", len(others))
    return trunk
