"""Which model answered: what a message says itself, else what its round, its tools or the session say."""

from __future__ import annotations

from copilog.derive.model_names import is_same_model
from copilog.model import Message, Model, Turn

ROUTER = "auto"  # stands for whatever model is picked
RESUMED = "resumed"  # stands in ends of calls that a resume wrote for a killed program
FROM_MESSAGE = "assistant.message"
FROM_ROUND = "assistant.turn_start"
FROM_TOOL = "tool.execution_complete"


class Models:
    """What is known about models at this point of a log."""

    def __init__(self) -> None:
        self.selected: str | None = None
        self.resolved: str | None = None  # what the router picked last
        self.effort: str | None = None
        self._source: str | None = None
        self.of_agents: dict[str, str] = {}  # the call that started a sub-agent, and its model

    def select(self, model: str | None, source: str, effort: str | None = None) -> None:
        """The session goes on with this model; None leaves it as it was."""
        if effort is not None:
            self.effort = effort
        if model:
            self.selected, self.resolved, self._source = model, None, source

    def deselect(self) -> None:
        """The session has no model until one is selected."""
        self.selected = self.resolved = self._source = None

    def resolve(self, model: str | None) -> None:
        """The router picked this model."""
        if model:
            self.resolved = model

    def of_session(self) -> tuple[str | None, str | None]:
        """The model in use, and what says so."""
        if self.resolved is not None and self.selected in (None, ROUTER):
            return self.resolved, "session.auto_mode_resolved"
        return (None, None) if self.selected in (None, ROUTER) else (self.selected, self._source)

    def give_to(self, message: Message, recorded: str | None, of_round: str | None) -> None:
        """Say which model wrote a message."""
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
        """The model that a turn begins with."""
        if not self.selected and not self.resolved:
            return None
        name = self.selected or ROUTER
        resolved = self.resolved if name == ROUTER else None
        return Model(id=name, name=name, resolved=resolved, extra=self._details())

    def correct_turn(self, turn: Turn, message: Message) -> None:
        """Note which model first answered in a turn, beside the one that was selected; it is that one if none was."""
        if message.model is None:
            return
        if turn.model is None:
            turn.model = Model(id=message.model, name=message.model, extra=self._details())
        elif turn.model.id == ROUTER or turn.model.resolved is None:
            turn.model.resolved = message.model if not is_same_model(turn.model.name, message.model) else None

    def _details(self) -> dict[str, str] | None:
        return {"reasoning_effort": self.effort} if self.effort else None


def correct_by_tool(message: Message, model: str | None) -> None:
    """A tool ran under this model, so the message that called it is of this model, unless it says so itself."""
    if model and model not in (ROUTER, RESUMED) and message.model_source not in (FROM_MESSAGE, FROM_ROUND):
        message.model, message.model_source = model, FROM_TOOL
