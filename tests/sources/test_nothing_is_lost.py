"""Every value of a session is in the model, or in `extra`; and no session can break the reader."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.vscode.conversation import conversation_from
from tests.sources.full_session import (
    INPUT_STATE,
    MESSAGE,
    REQUEST_FIELDS,
    ROOT_FIELDS,
    Json,
    full_request,
    lost_leaves,
)
from tests.sources.vscode_builders import read_session, request, session

FULL = session(full_request(), **ROOT_FIELDS)


@pytest.mark.parametrize("field", REQUEST_FIELDS)
def test_every_field_of_a_request_alone_is_read(field: str, tmp_path: Path) -> None:
    state = session(request() | {field: REQUEST_FIELDS[field]})
    conversation, ledger = read_session(state, tmp_path)

    assert lost_leaves(state, conversation) == []
    assert not ledger.diagnostics()


@pytest.mark.parametrize("field", ROOT_FIELDS)
def test_every_field_of_a_session_alone_is_read(field: str, tmp_path: Path) -> None:
    state = session(request()) | {field: ROOT_FIELDS[field]}
    conversation, ledger = read_session(state, tmp_path)

    assert lost_leaves(state, conversation) == []
    assert not ledger.diagnostics()


def test_all_fields_together_are_read(tmp_path: Path) -> None:
    conversation, ledger = read_session(FULL, tmp_path)

    assert lost_leaves(FULL, conversation) == []
    assert not ledger.diagnostics()
    assert msgspec.convert(msgspec.to_builtins(conversation), Conversation) == conversation


@pytest.mark.parametrize("place", ["/inputState", ""])
def test_the_input_box_is_read_at_every_path(place: str, tmp_path: Path) -> None:
    state = session(request(message=MESSAGE), **({"inputState": INPUT_STATE} if place else INPUT_STATE))
    conversation, _ = read_session(state, tmp_path)

    assert lost_leaves(state, conversation) == []


# --- surprises --------------------------------------------------------------------------------------------------

Path_ = tuple[str | int, ...]


def paths(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """Yield all paths below a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (*path, key)
        yield from paths(item, (*path, key))


def put(state: Json, path: Path_, value: Any) -> None:
    """Replace the value at a path; do nothing if an earlier change removed the path."""
    node: Any = state
    try:
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
    except (LookupError, TypeError):
        return


def read_state(state: Json) -> tuple[Conversation, Ledger]:
    ledger = Ledger()
    conversation = conversation_from(state, ledger, source="vscode-session", native_id="s-1", count_requests=True)
    return conversation, ledger


PLACES = list(paths(FULL))
SURPRISES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "value", "uri", "id", "text", "name", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.tuples(st.sampled_from(PLACES), SURPRISES), max_size=6))
def test_unexpected_values_never_break_reader_or_ledger(changes: list[tuple[Path_, Any]]) -> None:
    state = copy.deepcopy(FULL)
    for path, value in changes:
        put(state, path, copy.deepcopy(value))

    conversation, ledger = read_state(state)

    assert ledger.balances()
    msgspec.convert(msgspec.to_builtins(conversation), Conversation)  # every field is of its type


@pytest.mark.parametrize("value", [True, None, 5, -1.5, "", [], {}])
def test_values_of_the_wrong_type_never_get_into_a_field(value: Any) -> None:
    for path in PLACES:
        state = copy.deepcopy(FULL)
        put(state, path, copy.deepcopy(value))

        conversation, ledger = read_state(state)

        assert ledger.balances()
        msgspec.convert(msgspec.to_builtins(conversation), Conversation)


MARK = "the-needle-in-the-haystack"
# Caches of a URI do not count, and the offset of plain text follows from the text around it.
UNHEARD = ({"fsPath"}, {"external"}, {"$mid"}, {"message", "parts", 1, "range"})
SHAPES: list[Any] = [
    MARK,
    [MARK],
    {"surprise": MARK},
    {"kind": MARK},
    {"value": MARK},
    {"value": "x", "more": MARK},
    {"kind": "text", "text": MARK},
    [{"value": {"uri": MARK}}],
    {"$base64": "AAAA", "more": MARK},
    {"scheme": "file", "path": "/x", "authority": [MARK]},
    {"uri": {"scheme": "file", "path": "/x"}, "range": {"startLineNumber": 1, "endLineNumber": 2, "more": MARK}},
    {"variableName": "v", "value": {"uri": MARK}},
]


@pytest.mark.parametrize("surprise", SHAPES)
def test_unexpected_values_are_stored_or_reported(surprise: Any) -> None:
    missed: list[Path_] = []
    for path in PLACES:
        if any(names <= set(path) for names in UNHEARD):
            continue
        state = copy.deepcopy(FULL)
        put(state, path, copy.deepcopy(surprise))
        conversation, ledger = read_state(state)
        is_told = bool(ledger.bad or ledger.parts.bad)
        if not is_told and MARK not in json.dumps(msgspec.to_builtins(conversation)):
            missed.append(path)

    assert missed == []
