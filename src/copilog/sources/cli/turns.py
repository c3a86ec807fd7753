"""The state that the events of a log build up: its turns, its sub-agents, and the model that answers."""

from __future__ import annotations

from datetime import datetime

from copilog.derive.model_names import is_same_model
from copilog.fields import take_str
from copilog.model import (
    Message,
    Model,
    Round,
    SubAgent,
    ToolCall,
    Turn,
)
from copilog.sources.cli.event import Event, ms_between, with_more

# Turns: from one prompt to the next, and how each of them ended.


class Progress:
    """The progress of a turn."""

    __slots__ = ("has_answer", "is_open")

    def __init__(self) -> None:
        self.has_answer = False
        self.is_open = True  # the main agent has more to do


class Turns:
    """The turns of a log. Between two of them, after a session ended, there is no current one."""

    def __init__(self) -> None:
        self.all: list[Turn] = []
        self.current: Turn | None = None
        self._by_interaction: dict[str | None, Turn] = {}  # None is never in there
        self._progress: list[Progress] = []
        self._rounds: dict[str | None, Round] = {}  # the open round of each agent
        self._forgotten = 0

    def is_of(self, interaction: str | None) -> bool:
        """Return whether a turn of this interaction has begun."""
        return interaction in self._by_interaction

    def begin(self, event: Event | None, interaction: str | None) -> Turn:
        turn = Turn(index=len(self.all))
        if event is not None:
            turn.request_id = event.id
            turn.pointer = f"line:{event.line}"
            turn.timing.started_at = event.at
        if interaction:
            self._adopt(turn, interaction)
        self.all.append(turn)
        self._progress.append(Progress())
        self._rounds.clear()
        self.current = turn
        return turn

    def of(self, interaction: str | None) -> Turn | None:
        """Return the turn of an interaction, else the current one."""
        return self._by_interaction.get(interaction, self.current)

    def index(self, interaction: str | None = None) -> int:
        """Return the number of the turn of an interaction; between turns, that of the next one."""
        turn = self.of(interaction)
        return len(self.all) if turn is None else turn.index

    def answering(self, interaction: str | None, waiting: list[Message]) -> Turn:
        """Return the turn that the main agent works on.

        Without a prompt, the last turn continues; an unknown interaction begins a turn by itself. The messages in
        `waiting` belong to the next turn.
        """
        turn = self._by_interaction.get(interaction)
        if turn is not None and self.current is not None:
            return turn  # nearly always
        turn = self.of(interaction) or (self.all[-1] if self.all else None)
        if turn is not None and interaction and interaction not in self._by_interaction:
            if "interactionId" in (turn.extra or {}):
                turn = None
            else:
                self._adopt(turn, interaction)
        if turn is None:
            turn = self.begin(None, interaction)
            turn.is_system_initiated = len(self.all) > 1
        elif self.current is None:
            self.current = turn
            for message in waiting:
                if message.turn == len(self.all):
                    message.turn = turn.index
        return turn

    def _adopt(self, turn: Turn, interaction: str) -> None:
        self._by_interaction.setdefault(interaction, turn)
        turn.extra = {**(turn.extra or {}), "interactionId": interaction}

    def drop_past(self) -> None:
        """Drop the data of earlier turns, as streaming a log does not need it."""
        for turn in self.all[self._forgotten : -1]:
            turn.rounds, turn.usage, turn.references, turn.skills = [], [], [], []
        self._forgotten = max(0, len(self.all) - 1)

    def pause(self) -> None:
        """End the current turn, as the program ended or began again: later events belong to the next turn."""
        self.current = None
        self._rounds.clear()

    # --- rounds -----------------------------------------------------------------------------------------------------

    def begin_round(self, turn: Turn, parent: str | None, made: Round) -> None:
        turn.rounds.append(made)
        self._rounds[parent] = made

    def round_of(self, parent: str | None) -> Round | None:
        """Return the round that an agent is in."""
        return self._rounds.get(parent)

    def end_round(self, parent: str | None, at: datetime | None) -> Round | None:
        ended = self._rounds.pop(parent, None)
        if ended is not None:
            elapsed_ms = ms_between(ended.started_at, at)
            if elapsed_ms is not None:
                ended.extra = with_more(ended.extra, {"elapsed_ms": elapsed_ms})
        return ended

    # --- outcomes ---------------------------------------------------------------------------------------------------

    def note_activity(self, turn: Turn, at: datetime | None, *, is_open: bool, has_answer: bool = False) -> None:
        """Note that the main agent did something in a turn."""
        progress = self._progress[turn.index]
        progress.is_open = is_open
        progress.has_answer = progress.has_answer or has_answer
        timing = turn.timing
        if timing.responded_at is None:
            timing.responded_at = at
        if at is not None:
            timing.completed_at = at

    def is_answered(self, turn: Turn) -> bool:
        """Return whether the main agent has answered in a turn."""
        return self._progress[turn.index].has_answer

    def is_finished(self, turn: Turn) -> bool:
        """Return whether the main agent has answered and has nothing more to do: later events are after the turn."""
        progress = self._progress[turn.index]
        return progress.has_answer and not progress.is_open

    def recover(self, turn: Turn) -> None:
        """Note an answer after an error: the turn completed after all."""
        if turn.status == "failed":
            turn.status, turn.error = None, None

    def finish(self, *, is_running: bool) -> None:
        """Set how each turn ended. `is_running`: the log has no end, so the last turn may continue."""
        for turn, progress in zip(self.all, self._progress, strict=True):
            if turn.status is not None:
                continue
            if not progress.is_open and progress.has_answer:
                turn.status = "complete"
            elif turn is self.all[-1] and is_running:
                turn.status = "pending" if progress.has_answer or turn.rounds else "unanswered"
            else:
                turn.status = "cancelled" if progress.has_answer else "unanswered"


# Sub-agents: who wrote which message, in a log that interleaves them.


MAIN = "main"


def is_of_subagent(event: Event) -> bool:
    """Return whether a sub-agent wrote an event."""
    return event.agent_id is not None and event.agent_id != MAIN


class Agents:
    """Which call started which sub-agent. The id of an agent is also learned from any event that names the call."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self.running: dict[str, ToolCall] = {}  # calls whose sub-agent has not ended, by id

    def learn(self, agent_id: str | None, call_id: str | None) -> None:
        if agent_id and call_id and agent_id != MAIN:
            self._calls[agent_id] = call_id

    def parent_of(self, event: Event) -> str | None:
        """Return the call whose sub-agent wrote an event; None for the main agent. Remove the older mark from the data.

        While the call is unknown, the agent's own id is used instead, so that its messages never count as
        messages of the main agent; `settle` sets the call later.
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
        """Set the calls where only the id of an agent was available."""
        if self._calls:
            for message in messages:
                if message.parent_call_id is not None:
                    message.parent_call_id = self._calls.get(message.parent_call_id, message.parent_call_id)


def set_subagent_models(messages: list[Message]) -> None:
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
    """Return the sub-agent that an event names."""
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


# Which model answered: the one that a message names, else its round, its tools or the session.


ROUTER = "auto"  # a name for whatever model is picked
RESUMED = "resumed"  # in ends of calls that a resume wrote for a killed program
FROM_MESSAGE = "assistant.message"
FROM_ROUND = "assistant.turn_start"
FROM_TOOL = "tool.execution_complete"


class Models:
    """The models at this point of a log."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.resolved: str | None = None  # the last pick of the router
        self.effort: str | None = None
        self._source: str | None = None
        self.of_agents: dict[str, str] = {}  # the call that started a sub-agent, and its model

    def select(self, model: str | None, source: str, effort: str | None = None) -> None:
        """Set the model of the session; None keeps the current one."""
        if effort is not None:
            self.effort = effort
        if model:
            self.selected, self.resolved, self._source = model, None, source

    def deselect(self) -> None:
        """Remove the model of the session until one is selected."""
        self.selected = self.resolved = self._source = None

    def resolve(self, model: str | None) -> None:
        """Set the model that the router picked."""
        if model:
            self.resolved = model

    def of_session(self) -> tuple[str | None, str | None]:
        """Return the current model, and where its name comes from."""
        if self.resolved is not None and self.selected in (None, ROUTER):
            return self.resolved, "session.auto_mode_resolved"
        return (None, None) if self.selected in (None, ROUTER) else (self.selected, self._source)

    def set_model_of(self, message: Message, recorded: str | None, of_round: str | None) -> None:
        """Set which model wrote a message."""
        parent = message.parent_call_id
        if recorded:
            message.model, message.model_source = recorded, FROM_MESSAGE
        elif of_round and of_round != ROUTER:
            message.model, message.model_source = of_round, FROM_ROUND
        elif parent is None:
            message.model, message.model_source = self.of_session()
        elif parent in self.of_agents:
            message.model, message.model_source = self.of_agents[parent], "subagent.started"

    def for_turn(self) -> Model | None:
        """Return the model that a turn begins with."""
        if not self.selected and not self.resolved:
            return None
        name = self.selected or ROUTER
        resolved = self.resolved if name == ROUTER else None
        return Model(id=name, name=name, resolved=resolved, extra=self._details())

    def correct_turn(self, turn: Turn, message: Message) -> None:
        """Set the model that answered first in a turn, beside the selected one; without an answer, that one stays."""
        if message.model is None:
            return
        if turn.model is None:
            turn.model = Model(id=message.model, name=message.model, extra=self._details())
        elif turn.model.id == ROUTER or turn.model.resolved is None:
            turn.model.resolved = message.model if not is_same_model(turn.model.name, message.model) else None

    def _details(self) -> dict[str, str] | None:
        return {"reasoning_effort": self.effort} if self.effort else None


def correct_by_tool(message: Message, model: str | None) -> None:
    """Set the model of the message that called a tool to the tool's model, unless the message names one."""
    if model and model not in (ROUTER, RESUMED) and message.model_source not in (FROM_MESSAGE, FROM_ROUND):
        message.model, message.model_source = model, FROM_TOOL
