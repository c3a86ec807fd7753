"""Small made-up debug exports, how to read them back, and what is needed to damage them or to look for losses."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation, Message, ToolCall, ToolResult, parts_of, prose_of
from copilog.sources.base import Found, Source

DATA = Path(__file__).parent.parent / "data"

Json = dict[str, Any]
Node = tuple[str | int, ...]


# --- exports ----------------------------------------------------------------------------------------------------


def system(text: str) -> Json:
    return {"role": 0, "content": [{"type": 1, "text": text}]}


def user(text: str) -> Json:
    return {"role": 1, "content": [{"type": 1, "text": text}]}


def assistant(text: str, *calls: tuple[str, str]) -> Json:
    """Make an answer, with calls given by id and name."""
    made: Json = {"role": 2, "content": [{"type": 1, "text": text}]}
    if calls:
        made["toolCalls"] = [
            {"id": native_id, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for native_id, name in calls
        ]
    return made


def tool_message(call_id: str, text: str) -> Json:
    return {"role": 3, "toolCallId": call_id, "content": [{"type": 1, "text": text}]}


def request(
    messages: list[Json],
    answer: str | None = "ok",
    name: str = "panel/editAgent",
    native_id: str = "aaaa0001",
    **fields: Any,
) -> Json:
    """Make a request with its answer; other fields go to the metadata."""
    made: Json = {
        "id": native_id,
        "kind": "request",
        "type": "ChatMLSuccess",
        "name": name,
        "metadata": {"model": "gpt-5.1", **fields},
        "requestMessages": {"messages": messages},
    }
    if answer is not None:
        made["response"] = {"type": "success", "message": [answer]}
    return made


def tool_call(native_id: str, tool: str = "read_file", *response: Any, **fields: Any) -> Json:
    return {"id": native_id, "kind": "toolCall", "tool": tool, "args": "{}", "response": list(response), **fields}


def prompt(label: str, *logs: Any) -> Json:
    return {"prompt": label, "logCount": len(logs), "logs": list(logs)}


def export(*prompts: Any, **fields: Any) -> Json:
    return {"exportedAt": "2026-05-04T11:00:00.000Z", "totalPrompts": len(prompts), "prompts": list(prompts), **fields}


# --- reading ----------------------------------------------------------------------------------------------------


def read_file(source: Source, path: Path) -> tuple[list[Conversation], Ledger]:
    """Read a file; check that the ledger balances, and that every value has the type that the model declares."""
    ledger = Ledger(path=str(path), source=source.name)
    conversations = list(source.read(Found(path, source.name), ledger))
    assert ledger.balances()
    for conversation in conversations:
        assert msgspec.json.decode(msgspec.json.encode(conversation), type=Conversation).id == conversation.id
    return conversations, ledger


def read_document(source: Source, document: Any, name: str = "any.json") -> tuple[list[Conversation], Ledger]:
    """Write a document to a file of its own, and read it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_text(json.dumps(document), encoding="utf-8")
        return read_file(source, path)


def turn_texts(conversation: Conversation) -> list[tuple[int | None, str, str]]:
    """Return role and prose by turn; messages without prose are left out."""
    return [
        (message.turn, message.role, text) for message in conversation.messages if (text := prose_of(message.parts))
    ]


def calls_in(conversation: Conversation) -> list[ToolCall]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolCall)]


def results_in(conversation: Conversation) -> list[ToolResult]:
    return [part for part in parts_of(conversation) if isinstance(part, ToolResult)]


def nested(conversation: Conversation, call_id: str) -> list[Message]:
    return [message for message in conversation.messages if message.parent_call_id == call_id]


# --- losses and damage ------------------------------------------------------------------------------------------


def nodes_of(value: Any, here: Node = ()) -> Iterator[tuple[Node, Any]]:
    """Yield every value below a value, with its path."""
    yield here, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from nodes_of(item, (*here, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from nodes_of(item, (*here, position))


def lost_leaves(document: Any, conversations: list[Conversation]) -> list[Node]:
    """Return the leaves of a document that are missing in the model."""
    model = [value for _, value in nodes_of(msgspec.to_builtins(conversations)) if not isinstance(value, dict | list)]
    numbers = {value for value in model if isinstance(value, int | float)}
    text = "\0".join(value for value in model if isinstance(value, str))
    times = {time for value in model if isinstance(value, str) and (time := _time(value)) is not None}

    def is_there(value: Any) -> bool:
        if isinstance(value, str):
            pieces = value.split("<promptTsxImg src=")  # pictures within a text become bytes beside it
            return value in text or all(_is_included(piece, text) for piece in pieces) or _time(value) in times
        return value is None or value in numbers or str(value) in model

    return [place for place, value in nodes_of(document) if not isinstance(value, dict | list) and not is_there(value)]


def _is_included(piece: str, text: str) -> bool:
    address, _, after = piece.partition('" />')
    return address.rpartition("base64,")[2] in text and after in text


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn, document: Any) -> Any:
    """Draw the document with a few of its values replaced by anything, or removed."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        places = [place for place, _ in nodes_of(document) if place]
        if not places:
            return document
        *parents, last = draw(st.sampled_from(places))
        holder = document
        for key in parents:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(ANY_JSON)
        else:
            del holder[last]
    return document
