"""Export conversations for fine-tuning in the form of OpenAI's chat completions: a line for each example.

{"messages": [{"role", "content", "tool_calls", "tool_call_id"}], "tools": [{"type": "function", "function"}]}
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.paired_messages import Answer
from copilog.exports.training import OPTIONS, Example, examples_of
from copilog.model import Conversation
from copilog.trajectory import encoded

LONGEST_NAME = 64
LONGEST_ID = 40
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def function_name(name: str) -> str:
    """Return the name of a tool with only those characters that the name of a function may have."""
    plain = _NOT_IN_NAMES.sub("_", name)
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 9]}_{_digest(name)[:8]}"


def with_function_name(definition: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a tool with a name that a function may have."""
    function = definition["function"]
    return {**definition, "function": {**function, "name": function_name(function["name"])}}


def _line(example: Example) -> dict[str, Any]:
    ids = _Ids()
    messages: list[dict[str, Any]] = [{"role": "system", "content": example.system}] if example.system else []
    for exchange in example.exchanges:
        messages.append({"role": "user", "content": exchange.prompt})
        for answer in exchange.answers:
            messages += _messages(answer, ids)
    line: dict[str, Any] = {"messages": messages}
    if example.tools:
        line["tools"] = [with_function_name(definition) for definition in example.tools]
    return line


def _messages(answer: Answer, ids: _Ids) -> Iterator[dict[str, Any]]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.thinking:
        message["reasoning_content"] = answer.thinking
    calls = [(ids.of(call.id), call) for call in answer.calls]
    if calls:
        message["tool_calls"] = [
            {
                "id": call_id,
                "type": "function",
                "function": {"name": function_name(call.name), "arguments": call.arguments},
            }
            for call_id, call in calls
        ]
    yield message
    for call_id, call in calls:
        yield {"role": "tool", "tool_call_id": call_id, "content": call.result}


class _Ids:
    """Ids of calls, each once in an example, and not longer than they may be."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def of(self, native_id: str) -> str:
        made = native_id
        while made in self._used or len(made) > LONGEST_ID:
            made = f"call_{_digest(f'{native_id} {len(self._used)}')[:24]}"
        self._used.add(made)
        return made


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    for conversation in conversations:
        for example in examples_of(conversation, making):
            yield encoded(_line(example))
            yield b"\n"


FORMAT = Format(
    "openai",
    "Chat fine-tuning (OpenAI)",
    ".openai.jsonl",
    "application/x-ndjson",
    _pieces,
    shape="lines",
    options=OPTIONS,
)
