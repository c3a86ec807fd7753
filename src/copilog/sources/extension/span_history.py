"""Find what only the prompt of a later call of a model repeats: turns and answers whose own records are lost.

A log may begin in the middle of a conversation, when it was rotated or switched on late. The first call of a model in
a turn sends the conversation so far, so what was said before is there, without times.
"""

from __future__ import annotations

from collections.abc import Iterable

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Message, Prompt, Text, ToolCall, ToolResult, Turn
from copilog.sources.extension.genai_messages import GenAiMessage, parts_from, text_of

FROM_HISTORY = "from_history"  # in the extra of a turn
SHORTEST = 20  # a shorter text may be said twice


class History:
    """What is known of a conversation so far, compared with what prompts repeat of it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._prompts: set[str] = set()
        self._calls: set[str] = set()
        self._answers: set[str] = set()

    def learn(self, messages: Iterable[Message]) -> None:
        """Add what a turn says."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._calls.update((part.id, _call_key(part.name, part.arguments)))
                elif isinstance(part, Text | Prompt) and message.role != "system" and (text := _squeezed(part.text)):
                    (self._prompts if message.role == "user" else self._answers).add(text)

    def lost_turns(self, repeated: list[list[GenAiMessage]], place: str) -> list[list[Message]]:
        """Return the messages of each repeated turn of which nothing is known.

        Behind known turns, a prompt without an answer is one of them in other words.
        """
        made = [self._messages_of(turn, place) for turn in repeated]
        is_begun = bool(self._prompts)
        return [said for said in made if not self._knows(said) and (not is_begun or len(said) > 1)]

    def lost_answers(self, own: list[GenAiMessage], place: str) -> list[Message]:
        """Return the answers within a turn that are not known, with the results of their calls."""
        made = self._messages_of([message for message in own if message.role != "user"], place)
        lost: list[Message] = []
        calls: set[str] = set()
        for message in made:
            if message.role == "assistant" and not self._knows([message]):
                calls |= {part.id for part in message.parts if isinstance(part, ToolCall)}
                lost.append(message)
            elif message.role == "tool" and calls.issuperset(_called(message)):
                lost.append(message)
        return lost

    def _knows(self, messages: list[Message]) -> bool:
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    if not self._calls.isdisjoint((part.id, _call_key(part.name, part.arguments))):
                        return True
                elif isinstance(part, Text):
                    text = _squeezed(part.text)
                    if message.role == "user" and self._was_asked(text):
                        return True
                    if message.role == "assistant" and len(text) >= SHORTEST and text in self._answers:
                        return True
        return False

    def _was_asked(self, text: str) -> bool:
        return text in self._prompts or any(
            min(text, known, key=len) in max(text, known, key=len)
            for known in self._prompts
            if len(known) >= SHORTEST and len(text) >= SHORTEST
        )

    def _messages_of(self, turn: list[GenAiMessage], place: str) -> list[Message]:
        made: list[Message] = []
        for position, repeated in enumerate(turn):
            if repeated.role == "user" and not _has_results(repeated):
                if not made or made[-1].role != "user":
                    made.append(Message(role="user", parts=[]))
                made[-1].parts.extend(_asked(repeated))
                made[-1].parts.sort(key=lambda part: not isinstance(part, Text))  # context last
                continue
            parts = parts_from(repeated, self._ledger, f"{place}/{position}")
            for number, part in enumerate(parts):
                if isinstance(part, ToolCall):
                    part.id = part.id or f"{place}/{position}/{number}"
            results: list[AnyPart] = [part for part in parts if isinstance(part, ToolResult)]
            others: list[AnyPart] = [part for part in parts if not isinstance(part, ToolResult)]
            if others:
                made.append(Message(role="assistant", parts=others))
            made += [Message(role="tool", parts=[result]) for result in results]
        return made


def turn_from_history(index: int, messages: list[Message]) -> Turn:
    """Return the turn that these messages are, and number them."""
    for message in messages:
        message.turn = index
    return Turn(index=index, extra={FROM_HISTORY: True})


def turns_in(prompt: list[GenAiMessage]) -> list[list[GenAiMessage]]:
    """Divide the messages of a prompt into turns: each begins with words of the user.

    Messages with context alone belong to the words behind them. What is before a summary was replaced by it.
    """
    turns: list[list[GenAiMessage]] = []
    before: list[GenAiMessage] = []
    for message in prompt:
        if message.role == "system":
            continue
        text = text_of(message) if message.role == "user" and not _has_results(message) else None
        if text is None:
            (turns[-1] if turns and not before else before).append(message)
        elif tags.begins_with_summary(text):
            turns, before = [], []
        elif tags.user_text(text) is None:
            before.append(message)
        else:
            turns.append([*before, message])
            before = []
    if before and turns:
        turns[-1] += before
    return turns


def _asked(message: GenAiMessage) -> list[AnyPart]:
    sent = text_of(message)
    words = tags.user_text(sent)
    if words is None:
        return [Prompt(text=sent, scope="conversation")]
    return [Text(text=words), *([Prompt(text=sent, scope="turn")] if sent != words else [])]


def _has_results(message: GenAiMessage) -> bool:
    return any(isinstance(part, dict) and part.get("type") == "tool_call_response" for part in message.parts)


def _called(message: Message) -> list[str]:
    return [part.call_id for part in message.parts if isinstance(part, ToolResult)]


def _call_key(name: str, arguments: str | None) -> str:
    """Return what identifies a call whose id was not recorded."""
    return f"{name} {_squeezed(arguments or '')}"


def _squeezed(text: str) -> str:
    """Return a text without white space, which varies between prompts."""
    return "".join(text.split())
