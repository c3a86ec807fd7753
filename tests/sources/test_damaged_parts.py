"""Unrecognized and malformed response parts: stored, or counted as bad, and never a crash."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.fields import json_text
from copilog.model import Message, Unknown, prose_of
from tests.sources.test_parts_lose_nothing import SAMPLES, nodes, replaced
from tests.sources.vscode_builders import all_parts, read_parts, read_session, request, session
from tests.sources.vscode_part_samples import Json, uri

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def damaged_part(draw: st.DrawFn) -> Json:
    """Return a part of some kind with one or two of its values replaced by anything."""
    part = SAMPLES[draw(st.sampled_from(sorted(SAMPLES)))]
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from([path for path, _ in nodes(part)]))
        part = replaced(part, path, draw(any_json))
    return part


def assert_sound(messages: list[Message]) -> None:
    """Assert that the messages match their types: encoded as JSON, they can be decoded."""
    assert msgspec.json.decode(msgspec.json.encode(messages), type=list[Message]) == messages


@settings(max_examples=300, deadline=None)
@given(st.lists(damaged_part() | any_json, min_size=1, max_size=4))
def test_damaged_parts_never_crash_or_unbalance_the_ledger(parts: list[Any]) -> None:
    messages, ledger = read_parts(*parts)

    assert ledger.parts.seen == len(parts)
    assert_sound(messages)


@settings(max_examples=200, deadline=None)
@given(any_json, any_json, any_json)
def test_damaged_records_of_the_extension_never_crash(rounds: Any, calls: Any, results: Any) -> None:
    recorded = {"id": "r", "response": calls, "thinking": results, "toolCalls": calls, "timestamp": rounds}
    call = {"id": "call-1", "name": "read_file", "arguments": rounds}
    for metadata in (
        {"toolCallRounds": rounds, "toolCallResults": results},
        {"toolCallRounds": [recorded, {"toolCalls": [call, calls]}], "toolCallResults": {"call-1": results}},
        {
            "toolCallRounds": [{"toolCalls": [call]}],
            "toolCallResults": {"call-1": {"content": [rounds, calls, results]}},
        },
        {
            "toolCallResults": {
                "call-1": {"content": [{"value": {"node": rounds}}, {"mimeType": calls, "data": results}]}
            }
        },
    ):
        messages, _ = read_parts(SAMPLES["a list of places"], result={"metadata": metadata})

        assert_sound(messages)


def test_an_unknown_kind_is_stored_and_counted(tmp_path: Path) -> None:
    part = {"kind": "hologram", "beam": {"colour": "blue"}}

    conversation, ledger = read_session(session(request(response=[part, part])), tmp_path)

    assert all_parts(conversation.messages[1:]) == [
        Unknown(type="response:hologram", raw=part, position=position) for position in (0, 1)
    ]
    assert ledger.parts.unknown == {"response:hologram": 2}
    assert ledger.parts.used == 2


def test_a_kind_that_is_not_text_is_not_quoted() -> None:
    messages, ledger = read_parts({"kind": {"secret": "hunter2"}})

    assert ledger.parts.unknown == {"response:dict": 1}
    assert all_parts(messages) == [Unknown(type="response:dict", raw={"kind": {"secret": "hunter2"}}, position=0)]


@pytest.mark.parametrize(
    ("part", "column"),
    [
        (None, "ignored"),
        (17, "bad"),
        ([], "bad"),
        ({}, "bad"),
        ({"value": 5}, "bad"),
        ({"kind": "thinking", "value": 5}, "bad"),
        ({"kind": "undoStop"}, "bad"),
        ({"kind": "inlineReference", "inlineReference": 5}, "bad"),
        ({"kind": "textEditGroup", "uri": uri("/a")}, "bad"),
        ({"kind": "markdownVuln"}, "bad"),
        ({"kind": "treeData"}, "bad"),
        ("bare words", "used"),
        ({"kind": "thinking"}, "used"),
    ],
)
def test_a_part_counts_in_exactly_one_column_of_the_ledger(part: Any, column: str) -> None:
    _, ledger = read_parts(part)

    tally = ledger.parts
    assert (
        {"used": tally.used, "ignored": sum(tally.ignored.values()), "bad": len(tally.bad)}[column] == tally.seen == 1
    )
    assert [bad.pointer for bad in tally.bad] == ["/requests/0/response/0"][: len(tally.bad)]


def test_a_bad_part_does_not_affect_others(tmp_path: Path) -> None:
    parts = [{"value": "before"}, {"kind": "undoStop"}, {"value": " after"}]

    conversation, ledger = read_session(session(request(response=parts)), tmp_path)

    assert prose_of(conversation.messages[1].parts) == "before after"
    assert [(bad.code, bad.pointer) for bad in ledger.parts.bad] == [("bad-part", "/requests/0/response/1")]


@pytest.mark.parametrize("key", ["location", "value", "children", "uri", "node", "0"])
@pytest.mark.parametrize(
    "name", ["inlineReference", "elicitationSerialized", "tree", "tool data: input", "a list of places"]
)
def test_data_may_be_nested_as_deeply_as_can_be_decoded(name: str, key: str) -> None:
    deep: Any = "bottom"
    for _ in range(700):
        deep = {"name": "n", "label": "l", key: deep}

    for path, _ in nodes(SAMPLES[name]):
        read_parts(replaced(SAMPLES[name], path, deep))


def test_values_nested_too_deeply_for_text_stay_unchanged() -> None:
    deep: Any = []
    for _ in range(sys.getrecursionlimit() * 2):
        deep = [deep]

    assert json_text(deep) is None
    assert json_text([1]) == "[1]"
