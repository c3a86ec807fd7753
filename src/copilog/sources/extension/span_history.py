"""Find what only the prompt of a later call of a model repeats: turns and answers whose own records are lost.

A log may begin in the middle of a conversation, when it was rotated or switched on late. The first call of a model in
a turn sends the conversation so far, so earlier messages are there, without times.
"""

from __future__ import annotations

from collections.abc import Iterable

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.fields import Json, json_text, text_from
from copilog.model import AnyPart, Message, Prompt, Text, ToolCall, ToolResult, Turn
from copilog.sources.extension.genai_messages import GenAiMessage, parts_from, text_of
from copilog.sources.tool_rounds import clean_id

FROM_HISTORY = "from_history"  # in the extra of a turn
SHORTEST = 20  # a shorter text may be said twice


class History:
    """What is known of a conversation so far, compared with what prompts repeat of it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._prompts: set[str] = set()
        self._calls: set[str] = set()
        self._answers: set[str] = set()
        self._words: dict[str, str | None] = {}  # the user's words in a text that was sent
        self._judged: set[str] = set()  # what was sent with turns that a prompt repeated before: the next repeats them

    def learn(self, messages: Iterable[Message]) -> None:
        """Add the texts of a turn."""
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._calls.update((part.id, _call_key(part.name, part.arguments)))
                elif isinstance(part, Text | Prompt) and message.role != "system" and (text := _squeezed(part.text)):
                    (self._prompts if message.role == "user" else self._answers).add(text)

    def turns_in(self, prompt: list[GenAiMessage]) -> list[list[GenAiMessage]]:
        """Divide the messages of a prompt into turns: each begins with words of the user.

        Messages with context alone belong to the words behind them. What is before a summary was replaced by it.
        """
        turns: list[list[GenAiMessage]] = []
        before: list[GenAiMessage] = []
        for message in prompt:
            if message.role == "system":
                continue
            if not _is_asking(message):
                (turns[-1] if turns and not before else before).append(message)
            elif tags.begins_with_summary(text := text_of(message)):
                turns, before = [], []
            elif self._words_in(text) is None:
                before.append(message)
            else:
                turns.append([*before, message])
                before = []
        if before and turns:
            turns[-1] += before
        return turns

    def lost_turns(self, repeated: list[list[GenAiMessage]], place: str) -> list[list[Message]]:
        """Return the messages of each repeated turn of which nothing is known.

        Behind known turns, a prompt without an answer is one of them in other words.
        """
        lost: list[list[Message]] = []
        is_begun = bool(self._prompts)
        for number, turn in enumerate(repeated):
            sent = "\0".join(text_of(message) for message in turn if _is_asking(message))
            if is_begun and sent in self._judged:
                continue
            self._judged.add(sent)
            if not any(map(self._knows, turn)) and not (is_begun and all(map(_is_asking, turn))):
                lost.append(self._messages_of(turn, f"{place}/{number}"))
        return lost

    def lost_answers(self, own: list[GenAiMessage], place: str) -> list[Message]:
        """Return the answers within a turn that are not known, with the results of their calls."""
        lost: list[GenAiMessage] = []
        calls: set[object] = set()
        for message in own:
            if message.role == "assistant" and not self._knows(message):
                calls.update(call.get("id") for call in _parts_like("tool_call", message))
                lost.append(message)
            elif not _is_asking(message) and (results := _parts_like("tool_call_response", message)):
                lost += [message] if all(result.get("id") in calls for result in results) else []
        return self._messages_of(lost, place)

    def _knows(self, message: GenAiMessage) -> bool:
        if _is_asking(message):
            text = _squeezed(self._words_in(text_of(message)) or "")
            return bool(text) and self._was_asked(text)
        for call in _parts_like("tool_call", message):
            native_id, arguments = call.get("id"), call.get("arguments")
            said = arguments if isinstance(arguments, str) or arguments is None else json_text(arguments)
            known = clean_id(native_id) if isinstance(native_id, str) else "", _call_key(str(call.get("name")), said)
            if not self._calls.isdisjoint(known):
                return True
        texts = [_squeezed(text_from(part.get("content")) or "") for part in _parts_like("text", message)]
        return message.role == "assistant" and any(len(text) >= SHORTEST and text in self._answers for text in texts)

    def _was_asked(self, text: str) -> bool:
        return text in self._prompts or any(
            min(text, known, key=len) in max(text, known, key=len)
            for known in self._prompts
            if len(known) >= SHORTEST and len(text) >= SHORTEST
        )

    def _words_in(self, sent: str) -> str | None:
        if sent not in self._words:
            self._words[sent] = tags.user_text(sent)
        return self._words[sent]

    def _messages_of(self, turn: list[GenAiMessage], place: str) -> list[Message]:
        made: list[Message] = []
        for position, repeated in enumerate(turn):
            if _is_asking(repeated):
                if not made or made[-1].role != "user":
                    made.append(Message(role="user", parts=[]))
                made[-1].parts.extend(self._asked(text_of(repeated)))
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

    def _asked(self, sent: str) -> list[AnyPart]:
        words = self._words_in(sent)
        if words is None:
            return [Prompt(text=sent, scope="conversation")]
        return [Text(text=words), *([Prompt(text=sent, scope="turn")] if sent != words else [])]


def turn_from_history(index: int, messages: list[Message]) -> Turn:
    """Return the turn that these messages are, and number them."""
    for message in messages:
        message.turn = index
    return Turn(index=index, extra={FROM_HISTORY: True})


def _is_asking(message: GenAiMessage) -> bool:
    """Return whether a message was sent in the user's name, and does not only bring results."""
    return message.role == "user" and not _parts_like("tool_call_response", message)


def _parts_like(kind: str, message: GenAiMessage) -> list[Json]:
    return [part for part in message.parts if isinstance(part, dict) and part.get("type") == kind]


def _call_key(name: str, arguments: str | None) -> str:
    """Return what identifies a call whose id was not recorded."""
    return f"{name} {_squeezed(arguments or '')}"


def _squeezed(text: str) -> str:
    """Return a text without white space, which varies between prompts."""
    return "".join(text.split())
