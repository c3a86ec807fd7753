"""Export conversations for fine-tuning in the form of ShareGPT with tools, as LLaMA-Factory and axolotl read it.

    {"conversations": [{"from", "value"}], "system": "...", "tools": "[...]"}

`human` and `observation` alternate with `gpt` and `function_call`: calls that were made at once follow each other, each
with its result. A message with a call has no place for a text; `--thinking` puts thinking before a message, as
`<think>`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.exports.openai import function_name, with_function_name
from copilog.exports.paired_messages import Answer, arguments_object
from copilog.exports.training import OPTIONS, Example, examples_of
from copilog.model import Conversation
from copilog.trajectory import encoded


def _line(example: Example) -> dict[str, Any]:
    said: list[dict[str, str]] = []
    for exchange in example.exchanges:
        said.append({"from": "human", "value": exchange.prompt})
        for answer in exchange.answers:
            said += _messages(answer)
    tools = [with_function_name(definition)["function"] for definition in example.tools]
    # All lines have the same keys, which readers of tables need.
    return {"conversations": said, "system": example.system, "tools": encoded(tools).decode() if tools else ""}


def _messages(answer: Answer) -> Iterator[dict[str, str]]:
    thought = f"<think>\n{answer.thinking}\n</think>\n\n" if answer.thinking else ""
    if not answer.calls:
        yield {"from": "gpt", "value": thought + answer.text}
    for call in answer.calls:
        request = {"name": function_name(call.name), "arguments": arguments_object(call.arguments) or {}}
        yield {"from": "function_call", "value": thought + encoded(request).decode()}
        yield {"from": "observation", "value": call.result}
        thought = ""


def _texts_beside_calls(example: Example) -> int:
    answers = (answer for exchange in example.exchanges for answer in exchange.answers)
    return sum(bool(answer.calls and answer.text.strip()) for answer in answers)


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:  # noqa: ARG001
    for conversation in conversations:
        for example in examples_of(conversation, making):
            making.left_out.add(conversation.id, "texts beside tool calls", _texts_beside_calls(example))
            yield encoded(_line(example))
            yield b"\n"


FORMAT = Format(
    "sharegpt",
    "ShareGPT fine-tuning",
    ".sharegpt.jsonl",
    "application/x-ndjson",
    _pieces,
    shape="lines",
    options=OPTIONS,
)
