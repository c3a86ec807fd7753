"""Sub-agents: whose words are whose, in a log where they stand side by side."""

from __future__ import annotations

from copilog.model import Message, SubAgent, ToolCall
from copilog.sources._cli.event import Event
from copilog.sources._vscode.take import take_str

MAIN = "main"


def is_of_subagent(event: Event) -> bool:
    """Return whether a sub-agent wrote an event."""
    return event.agent_id is not None and event.agent_id != MAIN


class Agents:
    """Which call started which sub-agent. An id of an agent is learned from any event that names the call, too."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self.running: dict[str, ToolCall] = {}  # calls whose sub-agent has not ended, by id

    def learn(self, agent_id: str | None, call_id: str | None) -> None:
        if agent_id and call_id and agent_id != MAIN:
            self._calls[agent_id] = call_id

    def parent_of(self, event: Event) -> str | None:
        """The call whose sub-agent wrote an event; None for the main agent. Takes the older mark out of the data.

        Before the call is known, the agent's own id stands for it, so that its words are never taken for the main
        agent's; `settle` puts the call there later.
        """
        agent_id = event.agent_id
        parent = None
        if "parentToolCallId" in event.data:
            parent = take_str(event.data, "parentToolCallId") or None
        if agent_id is None or not is_of_subagent(event):
            return parent
        if parent is not None:
            self._calls.setdefault(agent_id, parent)
        return self._calls.get(agent_id) or parent or agent_id

    def settle(self, messages: list[Message]) -> None:
        """Put calls where only the id of an agent was known."""
        if self._calls:
            for message in messages:
                if message.parent_call_id is not None:
                    message.parent_call_id = self._calls.get(message.parent_call_id, message.parent_call_id)


def give_models(messages: list[Message]) -> None:
    """Give sub-agents the model of their answers: releases before 1.0.60 record none with their start."""
    models: dict[str, str] = {}
    for message in messages:
        if message.parent_call_id is not None and message.role == "assistant" and message.model is not None:
            models.setdefault(message.parent_call_id, message.model)
    if not models:
        return
    for message in messages:
        for part in message.parts:
            if type(part) is ToolCall and part.subagent is not None and part.subagent.model is None:
                part.subagent.model = models.get(part.id)


def subagent_from(event: Event, arguments: object) -> SubAgent:
    """The sub-agent that an event names."""
    data = event.data
    prompt = arguments.get("prompt") if isinstance(arguments, dict) else None
    return SubAgent(
        run_id=event.agent_id,
        name=take_str(data, "agentName"),
        description=take_str(data, "agentDisplayName"),
        prompt=prompt if isinstance(prompt, str) else None,
        model=take_str(data, "model"),
        started_at=event.at,
        extra=event.extra(),
    )
