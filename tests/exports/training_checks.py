"""What published checks and loaders demand of fine-tuning data, written anew from their descriptions.

- OpenAI's cookbook, "Data preparation and analysis for chat model fine-tuning": roles, keys, an answer in each example;
  it is older than tools, so that `tool_calls` count as its `function_call`.
- The types of the package `openai`, which are made from the published description of the API.
- The guide on fine-tuning: names of functions and ids of calls have a largest length; each call is answered.
- LLaMA-Factory's description of the ShareGPT form: `human` and `observation` at odd positions, `gpt` and
  `function_call` at even ones; `tools` and calls are JSON text.
"""

from __future__ import annotations

import itertools
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
from openai.types.chat import ChatCompletionFunctionToolParam, ChatCompletionMessageParam
from pydantic import TypeAdapter

Json = dict[str, Any]

KEYS = {"role", "content", "name", "function_call", "weight", "tool_calls", "tool_call_id"}
ROLES = ("system", "user", "assistant", "tool")
NAME = r"^[a-zA-Z0-9_-]{1,64}$"

SHAREGPT_SCHEMA: Json = {
    "type": "object",
    "required": ["conversations", "system", "tools"],
    "additionalProperties": False,
    "properties": {
        "conversations": {
            "type": "array",
            "minItems": 2,
            "items": {
                "type": "object",
                "required": ["from", "value"],
                "additionalProperties": False,
                "properties": {
                    "from": {"enum": ["human", "gpt", "function_call", "observation"]},
                    "value": {"type": "string"},
                },
            },
        },
        "system": {"type": "string"},
        "tools": {"type": "string"},
    },
}
CALL_SCHEMA: Json = {
    "type": "object",
    "required": ["name", "arguments"],
    "additionalProperties": False,
    "properties": {"name": {"type": "string", "pattern": NAME}, "arguments": {"type": "object"}},
}
TOOLS_SCHEMA: Json = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["name", "parameters"],
        "properties": {
            "name": {"type": "string", "pattern": NAME},
            "description": {"type": "string"},
            "parameters": {"type": "object", "required": ["type", "properties"]},
        },
    },
}


def lines_of(path: Path) -> list[Json]:
    """The lines of a file: strictly UTF-8, and each a JSON object."""
    return [json.loads(line) for line in path.read_bytes().decode("utf-8").split("\n")[:-1]]


@cache
def _types() -> tuple[TypeAdapter[Any], TypeAdapter[Any]]:
    return TypeAdapter(list[ChatCompletionMessageParam]), TypeAdapter(list[ChatCompletionFunctionToolParam])


def check_openai(line: Json, *, with_thinking: bool = False) -> None:
    """Assert that a line is one that OpenAI's checks accept."""
    messages = line["messages"]
    known = KEYS | {"reasoning_content"} if with_thinking else KEYS
    for message in messages:
        assert {"role", "content"} <= message.keys() <= known
        assert message["role"] in ROLES
        assert isinstance(message["content"], str)
        assert message["content"] or message.get("tool_calls") or message["role"] == "tool"
    assert any(message["role"] == "assistant" for message in messages)
    typed, typed_tools = _types()
    for checked in typed.validate_python(messages):
        list(checked.get("tool_calls", ()))  # checked when they are read
    typed_tools.validate_python(line.get("tools", []))
    check_calls(line)
    check_alternation([_role(message) for message in messages if message["role"] != "system"])
    assert [message["role"] for message in messages].count("system") == (messages[0]["role"] == "system")


def check_calls(line: Json) -> None:
    """Assert that each call has one result right after it, and that its tool is defined."""
    waiting: list[str] = []
    used: set[str] = set()
    tools = {tool["function"]["name"] for tool in line.get("tools", [])}
    for message in line["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            continue
        assert waiting == []
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            assert re.match(NAME, call["function"]["name"])
            assert call["function"]["name"] in tools
            assert len(call["id"]) <= 40
            assert call["id"] not in used
            used.add(call["id"])
            waiting.append(call["id"])
    assert waiting == []


def _role(message: Json) -> str:
    return "function_call" if message.get("tool_calls") else str(message["role"])


def check_alternation(roles: list[str]) -> None:
    """Assert that users and results alternate with answers and calls; results in a row count as one."""
    merged = [role for place, role in enumerate(roles) if not (role == "tool" and roles[place - 1] == "tool")]
    assert len(merged) % 2 == 0
    assert all(role in ("user", "tool", "human", "observation") for role in merged[::2])
    assert all(role in ("assistant", "function_call", "gpt") for role in merged[1::2])
    assert merged[0] in ("user", "human")
    assert merged[-1] in ("assistant", "gpt")
    for before, after in itertools.pairwise(merged):
        assert (before == "function_call") == (after in ("tool", "observation"))


def check_sharegpt(line: Json) -> None:
    """Assert that a line is one that LLaMA-Factory's loader takes."""
    jsonschema.validate(line, SHAREGPT_SCHEMA)
    check_alternation([message["from"] for message in line["conversations"]])
    tools = json.loads(line["tools"] or "[]")
    jsonschema.validate(tools, TOOLS_SCHEMA)
    names = {tool["name"] for tool in tools}
    for message in line["conversations"]:
        if message["from"] == "function_call":
            call = json.loads(re.sub(r"\A<think>\n.*?\n</think>\n\n", "", message["value"], flags=re.DOTALL))
            jsonschema.validate(call, CALL_SCHEMA)
            assert call["name"] in names
