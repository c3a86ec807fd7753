"""Where each message of a conversation is shown: at the top level, in the tool call it answers, or below the call.

Messages are one flat list. A page shows the result of a call with the call, wherever in the list it is, and the
messages of a sub-agent below the call that started it; the other messages are at the top level, and make the page.
There the messages of a branch follow the turn at which it begins.
"""

from __future__ import annotations

from copilog.derive import in_reading_order, is_branched
from copilog.model import Conversation, FileEdit, Message, Terminal, TodoList, ToolCall, ToolResult

DEEPEST = 12  # levels of sub-agents: deeper messages, and those in a circle, are shown at the top level

ANSWERS = (ToolResult, Terminal)

At = tuple[int, int]  # the index of a message, and that of a part in it


class Nesting:
    """The nesting of a conversation's messages, found in one pass; everything after that is a look-up."""

    def __init__(self, conversation: Conversation) -> None:
        self.calls: dict[str, At] = {}
        self.results: dict[str, list[At]] = {}
        self.terminals: dict[str, list[At]] = {}
        self.todos: set[str] = set()
        self.diffs: set[str] = set()  # calls whose edit is in the answer, with a diff
        for number, message in enumerate(conversation.messages):
            self._note(number, message)
        self.below: dict[str, list[int]] = {}
        self.top: list[int] = []
        self.holders: list[int] = []  # of each message, the top-level one that shows it
        self._nest(conversation.messages)
        if is_branched(conversation):
            self._read(conversation)
        self._places = {number: place for place, number in enumerate(self.top)}

    def _note(self, number: int, message: Message) -> None:
        for position, part in enumerate(message.parts):
            match part:
                case ToolCall():
                    self.calls.setdefault(part.id, (number, position))
                case ToolResult():
                    self.results.setdefault(part.call_id, []).append((number, position))
                case Terminal(call_id=str(call)):
                    self.terminals.setdefault(call, []).append((number, position))
                case TodoList(call_id=str(call)):
                    self.todos.add(call)
                case FileEdit(call_id=str(call), diff=str()):
                    self.diffs.add(call)

    def _nest(self, messages: list[Message]) -> None:
        self._answers = [self.is_answer_to_call(message) for message in messages]
        above = [self._above(number, message) for number, message in enumerate(messages)]
        for number, message in enumerate(messages):
            holder = _top_of(number, above)
            if holder is None:  # nested too deeply, or in itself, which no program writes
                above[number] = None
                holder = number
            self.holders.append(holder)
            if holder == number:
                self.top.append(number)
            elif not self._answers[number]:
                self.below.setdefault(message.parent_call_id or "", []).append(number)

    def _read(self, conversation: Conversation) -> None:
        """Sort the top-level messages into reading order.

        A message without a turn stays before the next one with a turn; those after the last turn stay at the end.
        """
        order = {placed.turn.index: place for place, placed in enumerate(in_reading_order(conversation))}
        place = len(order)
        placed: list[tuple[int, int]] = []
        for number in reversed(self.top):
            turn = conversation.messages[number].turn
            place = order.get(turn, place) if turn is not None else place
            placed.append((place, number))
        self.top = [number for _, number in sorted(placed)]

    def _above(self, number: int, message: Message) -> int | None:
        """Return the message with the call in which, or below which, this one is shown."""
        call: str | None = message.parent_call_id
        if self._answers[number]:
            call = next(part.call_id for part in message.parts if isinstance(part, ANSWERS))
        if call is None or call not in self.calls or self.calls[call][0] == number:
            return None
        return self.calls[call][0]

    def is_answer_to_call(self, message: Message) -> bool:
        """Return whether a message contains only results of calls of this conversation."""
        for part in message.parts:
            if not isinstance(part, ANSWERS) or part.call_id not in self.calls:
                return False
        return bool(message.parts)

    def place_of(self, message: int) -> int:
        """Return the position of the top-level message that shows this one; beyond the end, the last one."""
        if 0 <= message < len(self.holders):
            return self._places[self.holders[message]]
        return 0 if message < 0 else max(0, len(self.top) - 1)


def _top_of(number: int, above: list[int | None]) -> int | None:
    """Return the top-level message that shows this one; None if the messages form a circle."""
    for _ in range(DEEPEST):
        higher = above[number]
        if higher is None:
            return number
        number = higher
    return None
