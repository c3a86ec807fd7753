"""Shapes: what is told without building a snapshot's messages is what building them would tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.errors import BadRecord
from copilog.telemetry.messages import PART_UNITS, read_messages
from copilog.telemetry.shapes import Shape, ShapeCache, shape_of, shape_of_snapshot

SCALARS = st.none() | st.booleans() | st.integers(-2, 5) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.sampled_from(
    ["", " ", "hello", "<context>\nx\n</context>", "<userRequest>a</userRequest>", "<todoList></todoList> and", "é→🙂"]
)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["text", "image", "tool_use", "tool_result", "thinking", "new"]),
        "text": TEXTS,
        "thinking": TEXTS,
        "tool_use_id": TEXTS,
        "id": TEXTS,
        "content": TEXTS | st.lists(st.fixed_dictionaries({"text": TEXTS})),
    },
)
ROLES = st.sampled_from(
    ["system", "user", "assistant", "tool", "developer", "function", "critic", "unknown", "", 0, 1, 2, 3]
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "role": ROLES | SCALARS,
        "content": TEXTS | SCALARS | st.lists(BLOCKS | TEXTS | SCALARS, max_size=3),
        "tool_calls": SCALARS | st.lists(st.just({"id": "c"}), max_size=2),
        "tool_call_id": TEXTS | SCALARS,
        "reasoning_text": TEXTS | SCALARS,
        "cot_summary": TEXTS,
        "missing": st.booleans(),
    },
)
SNAPSHOTS = st.lists(ITEMS | SCALARS, max_size=6)


def shape_by_building(properties: dict[str, Any]) -> Shape | None:
    try:
        return shape_of(read_messages(properties).messages)
    except BadRecord:
        return None


def shape_at_a_glance(properties: dict[str, Any], *memory: Any) -> Shape | None:
    try:
        return shape_of_snapshot(properties, "full", False, *memory)
    except BadRecord:
        return None


@given(SNAPSHOTS, st.booleans())
def test_the_shape_from_the_cache_equals_the_shape_from_messages(items: list[Any], spaced: bool) -> None:
    text = json.dumps(items, indent=1 if spaced else None, ensure_ascii=False)
    for value in (text, items):
        assert shape_at_a_glance({"messagesJson": value}) == shape_by_building({"messagesJson": value})


@given(SNAPSHOTS, SNAPSHOTS, st.booleans(), st.integers(0, 40))
def test_memory_changes_nothing(first: list[Any], more: list[Any], is_longer: bool, cut: int) -> None:
    filler = {"role": "user", "content": "x" * 5000}
    texts = [json.dumps([filler, *first]), json.dumps([filler, *(first if is_longer else []), *more])]
    texts.append(texts[-1][: len(texts[-1]) - cut])
    shape_cache = ShapeCache()
    for text in [*texts, *texts]:
        properties = {"messagesJson": text}
        assert shape_at_a_glance(properties, shape_cache, "c") == shape_by_building(properties)


@given(st.integers(0, 60), st.integers(0, 60))
def test_memory_of_cut_texts_changes_nothing(first: int, second: int) -> None:
    items = [{"role": "user", "content": "x" * 100 + '[{]},\\"' * 3} for _ in range(80)]
    text = json.dumps(items, separators=(",", ":"))
    shape_cache = ShapeCache()
    for end in (PART_UNITS, PART_UNITS - first, PART_UNITS, PART_UNITS - second):
        for parts in ({"messagesJson": text[:end]}, {"messagesJson": text[:end], "messagesJson_03": "lost"}):
            assert shape_at_a_glance(parts, shape_cache, "c") == shape_by_building(parts)


@pytest.mark.parametrize("tail", ["", "]", ",", ',{"role"', ',{"role":"tool","content":"}]'])
def test_a_cut_text_keeps_its_complete_messages(tail: str) -> None:
    whole = '[{"role":"system","content":"a"},{"role":"user","content":"b"}'
    gap = {"messagesJson": whole + tail, "messagesJson_03": "x"}
    assert shape_at_a_glance(gap) == Shape("su") == shape_by_building(gap)


def test_numbers_out_of_range_use_the_slow_decoder() -> None:
    properties = {"messagesJson": '[{"role":"user","content":["a",1e999]},{"role":"tool","tool_call_id":1e999}]'}
    assert shape_at_a_glance(properties) == Shape("u") == shape_by_building(properties)
