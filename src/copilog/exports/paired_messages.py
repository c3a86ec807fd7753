"""Arrange messages as training programs accept them: every call with its result, and roles that alternate.

An optional system message comes first. Then the user and the assistant alternate, and between a call and the next
message of the assistant are its results. The assistant has the last word before each message of the user.

- A call without a result is dropped, and so is a result without a call. A result that came late moves to its call.
- Messages in a row of the same role become one, with an empty line between them.
- Calls after which the assistant wrote nothing more before the user's next message are dropped with their results.
- A user's message without an answer is dropped, and so are answers before the first message of the user.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.trajectory import TrajectoryMessage

Count = Callable[[str, int], None]


class Call(msgspec.Struct):
    """A call with its result."""

    id: str
    name: str
    arguments: str  # JSON text of an object
    result: str


class Answer(msgspec.Struct):
    """A message of the assistant: a text, calls, or both."""

    text: str = ""
    thinking: str = ""
    calls: list[Call] = []

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.calls


class Exchange(msgspec.Struct):
    """A message of the user, and everything that the assistant did about it."""

    prompt: str
    answers: list[Answer] = []

    def texts(self) -> Iterable[str]:
        """Yield all texts that a model would read or write, without thinking."""
        yield self.prompt
        for answer in self.answers:
            yield answer.text
            for call in answer.calls:
                yield from (call.name, call.arguments, call.result)


def exchanges_of(messages: list[TrajectoryMessage], count: Count) -> tuple[str, list[Exchange]]:
    """Return the system prompt and the exchanges of a conversation; `count` is called for what is dropped."""
    system = [message.content for message in messages if message.role == "system" and message.content.strip()]
    count("system prompts after the first", max(0, len(set(system)) - 1))
    results = _Results(messages)
    exchanges: list[Exchange] = []
    for message in messages:
        if message.role == "user" and message.content.strip():
            _add_prompt(exchanges, message.content)
        elif message.role == "assistant":
            _add_answer(exchanges, _answer(message, results, count), count)
    count("results of tools without a call", results.left())
    return next(iter(system), ""), [exchange for exchange in exchanges if _is_complete(exchange, count)]


class _Results:
    """The results that no call has taken yet, by the id of their call."""

    def __init__(self, messages: list[TrajectoryMessage]) -> None:
        self._waiting: defaultdict[str, deque[str]] = defaultdict(deque)
        for message in messages:
            if message.role == "tool":
                self._waiting[message.tool_call_id or ""].append(message.content)

    def take(self, call_id: str) -> str | None:
        waiting = self._waiting[call_id]
        return waiting.popleft() if waiting else None

    def left(self) -> int:
        return sum(map(len, self._waiting.values()))


def _answer(message: TrajectoryMessage, results: _Results, count: Count) -> Answer:
    answer = Answer(text=message.content, thinking=message.reasoning or "")
    for raw in message.tool_calls or []:
        call_id, name, arguments = _fields_of(raw)
        if not call_id or not name:
            count("tool calls that cannot be read", 1)
            continue
        result = results.take(call_id)
        if result is None:
            count("tool calls without a result", 1)
            continue
        answer.calls.append(Call(call_id, name, object_text(arguments), result))
    return answer


def _fields_of(raw: Any) -> tuple[str, str, str]:
    function = raw.get("function") if isinstance(raw, dict) else None
    if not isinstance(function, dict):
        return "", "", ""
    fields = (raw.get("id"), function.get("name"), function.get("arguments"))
    return tuple(field if isinstance(field, str) else "" for field in fields)  # type: ignore[return-value]


def object_text(arguments: str) -> str:
    """Return arguments as JSON text of an object: text that is no object becomes the value of `input`."""
    if not arguments.strip():
        return "{}"
    value = arguments_object(arguments)
    return arguments if value is not None else jsonio.encode({"input": jsonio.replace_lone_surrogates(arguments)})


def arguments_object(arguments: str) -> dict[str, Any] | None:
    """Return the arguments of a call if they are a JSON object without damage."""
    try:
        value, repairs = jsonio.decode(arguments.encode("utf-8", "replace"))
    except BadRecord:
        return None
    return value if isinstance(value, dict) and not repairs else None


def _add_prompt(exchanges: list[Exchange], text: str) -> None:
    if exchanges and not exchanges[-1].answers:
        exchanges[-1].prompt += f"\n\n{text}"
    else:
        exchanges.append(Exchange(text))


def _add_answer(exchanges: list[Exchange], answer: Answer, count: Count) -> None:
    if answer.is_empty:
        return
    if not exchanges:
        count("answers before the first prompt", 1)
        return
    answers = exchanges[-1].answers
    if answers and not answers[-1].calls:
        last = answers[-1]
        last.text = "\n\n".join(filter(None, (last.text, answer.text)))
        last.thinking = "\n\n".join(filter(None, (last.thinking, answer.thinking)))
        last.calls = answer.calls
    else:
        answers.append(answer)


def _is_complete(exchange: Exchange, count: Count) -> bool:
    """Drop calls at the end of an exchange; return whether an answer is left."""
    answers = exchange.answers
    while answers and answers[-1].calls:
        last = answers[-1]
        count("tool calls after which nothing was answered", len(last.calls))
        last.calls = []
        if last.is_empty:
            answers.pop()
    if not answers:
        count("prompts without an answer", 1)
    return bool(answers)
