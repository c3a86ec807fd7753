"""Count what the model wrote by turn and by agent: the main agent or one of its sub-agents.

A slot is a turn with the call whose sub-agent wrote (None: the main agent). What it wrote are answers, thinking and
arguments, in characters.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from copilog.derive.forks import FORK_NOTICE, parent_in
from copilog.derive.models import model_of, model_of_message
from copilog.model import Conversation, Message, Notice, ToolCall, Turn, Usage
from copilog.model.recorded_names import SHUTDOWN
from copilog.store.checkpoints import Checkpoints
from copilog.store.details import LARGEST_NUMBER
from copilog.store.lost_runs import End, LostRun, divided
from copilog.store.schema import UNNAMED
from copilog.store.texts import Calls, Texts


class Slot(NamedTuple):
    """The turn of some usage, None if it has no turn, and the call whose sub-agent used it."""

    turn: int | None
    parent: str | None = None


NOWHERE = Slot(None)
HELPER = "(helper)"  # in place of an agent: requests of the product, such as for a title
HELPERS = Slot(None, HELPER)


class MessageCounts:
    """The counts of one walk through the messages."""

    def __init__(self, conversation: Conversation, texts: list[Texts], calls: Calls) -> None:
        self.turns: dict[int, Turn] = {turn.index: turn for turn in conversation.turns}
        self.received: dict[Slot, int] = {}  # characters of the model's output
        self.models: dict[Slot, str] = {}
        self.first_at: dict[int, datetime] = {}
        self.after_shutdown: set[int] = set()  # turns that were answered after the last end of the program
        self.runs: list[set[int]] = []  # turns that each run of the program answered, up to its end
        # Turns of runs without an end: answered before a resume after a kill, or before the fork that copied them.
        self.cut_off: set[int] = set()
        self.checkpoints = Checkpoints()
        self.credits: dict[Slot, float] = {}  # of sub-agents, as the calls that started them record
        self.subagents: dict[str, str] = {}  # names by the call that started them
        self._met: set[int] = set()  # turns of which the run has any message
        self._latest: int | None = None  # the turn of the last message
        self._calls: dict[str, str] = {}  # the call that started an agent, by the agent's own id
        self._has_subagents = bool(calls.delegated)
        self._session = conversation.native_id
        self._ends: list[End] = []
        self._walk(conversation.messages, texts)
        superseded = {turn.index for turn in conversation.turns if turn.superseded is not None}
        self.lost_runs: list[LostRun] = []  # that a rewind cut out of the log
        if superseded and self._ends:
            self.runs, self.lost_runs = divided(self._ends, _runs_in_totals(conversation.usage), superseded)

    def _walk(self, messages: list[Message], texts: list[Texts]) -> None:
        turns = self.turns
        at, by = slot = NOWHERE
        for message, row in zip(messages, texts, strict=False):
            role, turn, parent = message.role, message.turn, message.parent_call_id
            if role == "system":
                self._read_system_message(message)
                continue
            if turn is None or turn not in turns:
                continue
            if turn != at or parent != by:
                at, by, slot = turn, parent, Slot(turn, parent)
                self._met.add(turn)
                self._latest = turn
                if turn not in self.first_at and message.created_at is not None:
                    self.first_at[turn] = message.created_at
            if role == "assistant":
                self._listen(turn, slot, message, row)

    def slot(self, turn: int | None, parent: str | None) -> Slot:
        """Return the slot of a call, which may be given by the id of the agent that it started."""
        return Slot(turn, self._calls.get(parent, parent) if parent is not None else None)

    def answered(self, turns: Iterable[int]) -> list[int]:
        """Return the turns that have an answer."""
        return [turn for turn in turns if Slot(turn) in self.received]

    def model_of(self, slot: Slot) -> str | None:
        """Return the model that answered there, according to its turn and its messages."""
        turn = self.turns.get(slot.turn) if slot.turn is not None else None
        of_turn = model_of(turn) if turn is not None else None
        of_messages = self.models.get(slot)
        return (of_turn or of_messages) if slot.parent is None else (of_messages or of_turn)

    def _listen(self, turn: int, slot: Slot, message: Message, row: Texts) -> None:
        if slot.parent is None:
            self.after_shutdown.add(turn)
            self.checkpoints.listen(turn)
        if message.model is not None and slot not in self.models:
            self.models[slot] = model_of_message(message, self.turns.get(turn)) or message.model
        if self._has_subagents:
            self._record_subagents(turn, message)
        _, _, answer, thinking, arguments, _, _ = row
        received = (len(answer) if answer else 0) + (len(thinking) if thinking else 0)
        received += len(arguments) if arguments else 0
        if received:
            self.received[slot] = self.received.get(slot, 0) + received

    def _record_subagents(self, turn: int, message: Message) -> None:
        for part in message.parts:
            if type(part) is ToolCall and part.subagent is not None:
                self.subagents[part.id] = part.subagent.name or UNNAMED
                if part.subagent.run_id is not None:
                    self._calls[part.subagent.run_id] = part.id
                credits_ = (part.subagent.extra or {}).get("credits")
                if isinstance(credits_, int | float) and 0 <= credits_ < LARGEST_NUMBER:
                    self.credits[Slot(turn, part.id)] = float(credits_)
                if part.subagent.model is not None:
                    self.models.setdefault(Slot(turn, part.id), part.subagent.model)

    def _read_system_message(self, message: Message) -> None:
        for part in message.parts:
            if type(part) is Notice and part.topic in ("usage", "shutdown"):
                self.checkpoints.read(part.data)
            if type(part) is Notice and part.topic == "shutdown":
                self.runs.append(self._turns_of_run())
                self._ends.append(End(self.runs[-1], part.data or {}))
                self.after_shutdown, self._met = set(), set()
            elif type(part) is Notice and (part.topic == "resume" or self._is_fork(part)):
                self.cut_off |= self.after_shutdown

    def _is_fork(self, part: Notice) -> bool:
        is_notice = part.topic == "info" and (part.data or {}).get("infoType") == FORK_NOTICE
        return is_notice and parent_in(part.text, self._session) is not None

    def _turns_of_run(self) -> set[int]:
        """Return the turns that a run answered; if it answered none, those it has messages of, else the last one."""
        if self.after_shutdown or self._met:
            return self.after_shutdown or self._met
        return {self._latest} if self._latest is not None else set()


def _runs_in_totals(usages: Iterable[Usage]) -> int:
    """Return how many runs of the program the totals of a log cover."""
    of_ends = [usage.extra or {} for usage in usages if usage.source == SHUTDOWN and usage.scope == "session"]
    lists: list[object] = [extra.get("runs") for extra in of_ends]
    return max((len(runs) if isinstance(runs, list) else 1 for runs in lists), default=0)
