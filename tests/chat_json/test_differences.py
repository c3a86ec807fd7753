"""The difference of two JSON values, applied, gives the other value."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.chat_json.differences import applied, difference, of_items

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc1$"), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from("abc1$"), VALUES, max_size=4)


def told(value: Any) -> str:
    """A value with the types of its numbers: 1 is not true."""
    if isinstance(value, dict):
        return str(sorted((key, told(item)) for key, item in value.items()))
    if isinstance(value, list):
        return str([told(item) for item in value])
    return repr(float(value) + 0) if type(value) in (int, float) else repr(value)


@given(OBJECTS, OBJECTS)
def test_a_difference_turns_one_object_into_the_other(made: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert told(applied(made, difference(made, wanted))) == told(wanted)


@given(OBJECTS)
def test_equal_objects_have_no_difference(value: dict[str, Any]) -> None:
    assert difference(value, value) is None


@given(st.dictionaries(st.integers(0, 6), VALUES, max_size=5), st.lists(VALUES, max_size=6))
def test_items_at_some_positions_become_a_list(made: dict[int, Any], wanted: list[Any]) -> None:
    found = of_items(made, wanted)
    items = applied(made, found) if found is not None else [made[at] for at in range(len(made))]

    assert told(items) == told(wanted)


@pytest.mark.parametrize("spelling", ["keys", "buffer"])
def test_bytes_in_an_early_spelling_are_not_kept_twice(spelling: str) -> None:
    data = bytes(range(200))
    made = {"value": {"$base64": base64.b64encode(data).decode()}}
    spelt = (
        {str(at): byte for at, byte in enumerate(data)} if spelling == "keys" else {"type": "Buffer", "data": [*data]}
    )

    found = difference(made, {"value": spelt})

    assert found == {"in": {"value": {"bytes": spelling}}}
    assert applied(made, found) == {"value": spelt}
