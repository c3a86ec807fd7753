"""How much was said in a conversation, turn by turn, and by whom: the main agent or one of its sub-agents.

The measure is characters, and a slot is a turn with the call whose sub-agent spoke (None: the main agent). What went
to the model is the prompt and what tools gave back, what came from it are answers, thinking and arguments. Each text
counts once, although a model is sent the history again with each call.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from copilog.model import Compaction, Conversation, Message, Notice, Prompt, ToolCall, Turn
from copilog.store.details import model_of
from copilog.store.texts import UNNAMED, Texts


class Slot(NamedTuple):
    """Where something was used: a turn, None where it is of none, and the call whose sub-agent used it."""

    turn: int | None
    parent: str | None = None


NOWHERE = Slot(None)


class Talk:
    """What one walk through the messages tells."""

    def __init__(self, conversation: Conversation, texts: list[Texts]) -> None:
        self.turns: dict[int, Turn] = {turn.index: turn for turn in conversation.turns}
        self.sent: dict[Slot, int] = {}  # characters that went to the model
        self.received: dict[Slot, int] = {}  # characters that came from it
        self.models: dict[Slot, str] = {}
        self.first_at: dict[int, datetime] = {}
        self.after_shutdown: set[int] = set()  # turns that were answered after the last end of the program
        self.compacted: list[int | None] = []  # the turns of a log's compactions
        self.subagents: dict[str, str] = {}  # names by the call that started them
        self._calls: dict[str, str] = {}  # the call that started an agent, by the agent's own id
        self._last: dict[int, tuple[Slot, str]] = {}  # the last result of each turn
        slot = NOWHERE
        for message, row in zip(conversation.messages, texts, strict=False):
            turn, parent = message.turn, message.parent_call_id
            if message.role == "system":
                self._look_at_system(message)
            elif turn is not None and turn in self.turns:
                if turn != slot.turn or parent != slot.parent:
                    slot = Slot(turn, parent)
                    if turn not in self.first_at and message.created_at is not None:
                        self.first_at[turn] = message.created_at
                self._listen(turn, slot, message, row)
        self._forget_errors()

    def slot(self, turn: int | None, parent: str | None) -> Slot:
        """The slot of a call, which may be told by the id of the agent that it started."""
        return Slot(turn, self._calls.get(parent, parent) if parent is not None else None)

    def answered(self, turns: Iterable[int]) -> list[int]:
        """Those of the turns that have an answer."""
        return [turn for turn in turns if Slot(turn) in self.received]

    def model_of(self, slot: Slot) -> str | None:
        """The model that answered there, as its turn and its messages tell."""
        turn = self.turns.get(slot.turn) if slot.turn is not None else None
        of_turn = model_of(turn) if turn is not None else None
        of_messages = self.models.get(slot)
        return (of_turn or of_messages) if slot.parent is None else (of_messages or of_turn)

    def _listen(self, turn: int, slot: Slot, message: Message, row: Texts) -> None:
        _, user, answer, thinking, arguments, result, _ = row
        sent = len(user) if user else 0
        if message.role == "user":
            for part in message.parts:
                if type(part) is Prompt and part.scope == "turn" and part.text:
                    sent = len(part.text)  # the user's words, and all that was put around them
            # What a sub-agent was asked stands among the arguments of whoever called it.
            sent = sent or (len(arguments) if arguments else 0)
            result = None
        elif message.role == "assistant":
            self._look_at_answer(turn, slot, message)
            received = len(answer or "") + len(thinking or "") + len(arguments or "")
            if received:
                self.received[slot] = self.received.get(slot, 0) + received
        if result:
            sent += len(result)
        if sent:
            self.sent[slot] = self.sent.get(slot, 0) + sent
        self._last[turn] = slot, result or ""

    def _look_at_answer(self, turn: int, slot: Slot, message: Message) -> None:
        if slot not in self.received and slot.parent is None:
            self.after_shutdown.add(turn)
        if message.model is not None and slot not in self.models:
            self.models[slot] = message.model
        for part in message.parts:
            if type(part) is ToolCall and part.subagent is not None:
                self.subagents[part.id] = part.subagent.name or UNNAMED
                if part.subagent.run_id is not None:
                    self._calls[part.subagent.run_id] = part.id
                if part.subagent.model is not None:
                    self.models.setdefault(Slot(turn, part.id), part.subagent.model)

    def _look_at_system(self, message: Message) -> None:
        for part in message.parts:
            if type(part) is Compaction and part.native == "session.compaction_complete":
                self.compacted.append(message.turn if message.turn in self.turns else None)
            elif type(part) is Notice and part.topic == "shutdown":
                self.after_shutdown.clear()

    def _forget_errors(self) -> None:
        """The texts of a turn's last message end with its error and citations, which no model was sent."""
        for index, turn in self.turns.items():
            if index not in self._last or not (turn.error or turn.citations):
                continue
            slot, result = self._last[index]
            told = [turn.error.message if turn.error else "", *(citation.snippet or "" for citation in turn.citations)]
            rest = result
            for text in reversed(told):
                if text and rest.endswith(text):
                    rest = rest.removesuffix(text).removesuffix("\n")
            if rest != result:
                self.sent[slot] -= len(result) - len(rest)
