"""Telemetry with anything at any place: nothing breaks, the books balance, and every line that comes out is JSON."""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.trajectory import encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    event,
    line_of,
    model_call,
    model_message,
    model_options,
    reported,
    session_response,
    snapshot,
    system,
    tool,
    user,
    user_text,
)

STREAM: list[Record] = [
    user_text("ask", 0, header="h-1", message="m-1", time="2026-04-12T10:00:00Z"),
    session_response("gpt-5", "h-1", properties={"model": "o3"}),
    snapshot(
        [system(), user("<context>May</context> @workspace #file:a.md"), assistant("", tool_calls=[call()]), tool()],
        header="h-1",
        time="2026-04-12T10:00:01Z",
        properties={
            "messageId": "m-1",
            "modelCallId": "c-1",
            "request.option.model": '"gpt-5"',
            "request.option.system": '[{"type":"text","text":"You help."}]',
            "attachedContext": '[{"file":"a.md"}]',
            "turnIndex": "0",
        },
    ),
    snapshot([user([{"type": "text", "text": "Hi"}, {"type": "tool_result", "tool_use_id": "t", "content": []}])]),
    snapshot([assistant("In May.")], header="h-1", properties={"modelCallId": "c-1", "baseModel": "gpt-5"}),
    snapshot([system(), user()], header="h-2", properties={"subType": "subagent", "parentToolCallId": "call-1"}),
    event("participantDetectionContext", {"conversationId": "talk", "detectedParticipant": '{"name":"workspace"}'}),
    *model_message("u-1", system(), conversation="deltas"),
    *model_message("u-2", user(), parts=2, conversation="deltas"),
    *model_options("o-1", {"request.option.model": '"o3"'}, conversation="deltas"),
    *model_call("c-2", ["u-1", "u-2", "u-3"], conversation="deltas", properties={"requestOptionsId": "o-1"}),
    *model_call("c-2", ["u-4"], direction="output", conversation="deltas"),
    {"name": "engine.messages", "timestamp": "2026-04-12", "customDimensions": json.dumps({"conversationId": "flat"})},
]
JSON_TEXTS = (
    "messagesJson",
    "messageJson",
    "messageUuids",
    "requestOptionsJson",
    "attachedContext",
    "customDimensions",
)

ANYTHING = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.sampled_from([2**63, 2**64, -(2**70), 10**4000, float("nan"), float("inf"), 1e308]),
        st.floats(),
        st.text(st.characters(exclude_categories=[]), max_size=8),  # half characters too
        st.sampled_from(["system", "user", "assistant", "h-1", "c-1", "u-1", "[", "{}", "null", "0", "subagent"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "type", "text", "x"]), inner),
    max_leaves=6,
)


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths to all nodes, those inside JSON texts too: such a step is marked with an ellipsis."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from nodes(inner, (*path, key))
            if key in JSON_TEXTS and isinstance(inner, str):
                try:
                    yield from nodes(json.loads(inner), (*path, key, ...))
                except ValueError:
                    continue
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from nodes(inner, (*path, index))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another node at a path."""
    if not path:
        return new
    step, *rest = path
    if step is ...:
        return dump(replaced(json.loads(value), tuple(rest), new))
    changed = copy.copy(value)
    changed[step] = replaced(value[step], tuple(rest), new)
    return changed


def dump(value: Any) -> str:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(value)
    finally:
        sys.set_int_max_str_digits(limit)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "compat": st.booleans(),
        "json_recovery": st.booleans(),
        "require_system_first": st.booleans(),
        "correlate": st.booleans(),
        "streaming": st.booleans(),
        "merge_tool_metadata": st.booleans(),
        "regex": st.just("a|$"),
        "sample": st.integers(1, 3),
    },
)


def survives(path: Path, **options: Any) -> None:
    found, report = reported(path, **options)
    assert report.balances()
    for trajectory in found:
        json.loads(encode_trajectory(trajectory).decode("utf-8"), parse_constant=pytest.fail)


@settings(max_examples=300)
@given(st.data(), OPTIONS)
def test_any_node_of_a_stream_may_be_anything(data: st.DataObject, options: dict[str, Any]) -> None:
    stream: Any = STREAM
    for _ in range(data.draw(st.integers(1, 3))):
        stream = replaced(
            stream, data.draw(st.sampled_from([path for path in nodes(stream) if path])), data.draw(ANYTHING)
        )
    is_array = data.draw(st.booleans())
    text = dump(stream) if is_array else "".join(dump(record) + "\n" for record in stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.json")
        path.write_text(text)

        survives(path, **options)


@settings(max_examples=150)
@given(st.data(), OPTIONS)
def test_any_byte_of_a_file_may_be_anything(data: st.DataObject, options: dict[str, Any]) -> None:
    whole = b"\n".join(line_of(record) for record in STREAM)
    whole = data.draw(st.sampled_from([whole, dump(STREAM).encode(), json.dumps(STREAM, indent=1).encode()]))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(whole)))
        end = data.draw(st.sampled_from([start, start + 1, start + 5, len(whole)]))
        whole = (
            whole[:start] + data.draw(st.binary(max_size=4) | st.sampled_from([b"\n", b'"', b"]", b"{"])) + whole[end:]
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "events.jsonl")
        path.write_bytes(whole)

        survives(path, **options)
