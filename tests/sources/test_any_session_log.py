"""All session logs that fit a small model of the rules are replayed as the model does, wherever they are cut."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.sources.session_log_builders import Json, is_complete, notes_by_line, replayed, written

ABSENT: Any = ...
keys = st.sampled_from(["a", "b", "requests", "response", "text", "0", "1", "ключ", "😀", "\u2028", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)
objects = st.dictionaries(keys, values, max_size=5)


def model_apply(state: Any, record: Json) -> Any:
    """Apply a change by the rules in their smallest form, for changes that fit the state."""
    if record["kind"] == 0:
        return copy.deepcopy(record["v"])
    *above, last = record["k"] or [None]
    node = state
    for key in above:
        node = node[key]
    value = copy.deepcopy(record.get("v", ABSENT))
    if last is None:
        return state
    if record["kind"] == 2:
        old = (node.get(last) if isinstance(node, dict) else (node + [None] * (last + 1))[last]) or []
        kept = (old + [None] * record["i"])[: record["i"]] if "i" in record else old
        value = kept + ([] if value is ABSENT else value)
    if record["kind"] == 3 or value is ABSENT:
        if isinstance(node, dict):
            node.pop(last, None)
            return state
        value = None
    if isinstance(node, list):
        node.extend([None] * (last + 1 - len(node)))
    node[last] = value
    return state


def containers(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all objects and arrays in a state."""
    if isinstance(node, dict):
        return [path, *(deeper for key, item in node.items() for deeper in containers(item, (*path, key)))]
    if isinstance(node, list):
        return [path, *(deeper for index, item in enumerate(node) for deeper in containers(item, (*path, index)))]
    return []


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Json], list[Any]]:
    """Draw a log's records, and the state after each of them."""
    first = {"kind": 0, "v": draw(objects)}
    records, states = [first], [model_apply(None, first)]
    for _ in range(draw(st.integers(0, 12))):
        record = draw(changes(states[-1]))
        records.append(record)
        states.append(model_apply(copy.deepcopy(states[-1]), record))
    return records, states


@st.composite
def changes(draw: st.DrawFn, state: Any) -> Json:
    """Draw a change that VS Code could make to a state."""
    kind = draw(st.sampled_from([1, 1, 2, 2, 2, 3, 0]))
    if kind == 0:
        return {"kind": 0, "v": draw(objects)}
    if kind != 2 and draw(st.integers(0, 9)) == 0:
        return {"kind": kind, "k": [], "v": draw(values)}
    path = draw(st.sampled_from(containers(state)))
    node = state
    for key in path:
        node = node[key]
    last: Any = draw(st.integers(0, len(node) + 2) if isinstance(node, list) else keys)
    record: Json = {"kind": kind, "k": [*path, last]}
    if kind == 1 and draw(st.integers(0, 3)):
        record["v"] = draw(values)
    if kind == 2:
        old = node.get(last) if isinstance(node, dict) else node[last] if last < len(node) else None
        if not isinstance(old, list) and old:  # only an array, or nothing, can be pushed to
            return {"kind": 1, "k": [*path, last], "v": draw(st.lists(values, max_size=3))}
        if old == {}:
            return {"kind": 3, "k": [*path, last]}
        record |= draw(pushes(len(old) if isinstance(old, list) else 0))
    return record


@st.composite
def pushes(draw: st.DrawFn, length: int) -> Json:
    items = {"v": draw(st.lists(values, max_size=3))}
    cut = {"i": draw(st.integers(0, length + 2))}
    return draw(st.sampled_from([items, cut, items | cut]))


@given(logs())
def test_replaying_any_log_equals_applying_its_changes_to_an_object(log: tuple[list[Json], list[Any]]) -> None:
    records, states = log

    result, ledger = replayed(*written(records))

    assert result.state == states[-1]
    assert {code for _, code in notes_by_line(ledger)} <= {"raw-line-separator"}
    assert ledger.used == len(records)


odd_values: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 1, 2.0, -1, 4, "1", "requests", [], {}, ["requests"], ["requests", -1]]
)
odd_paths = st.lists(st.sampled_from(["requests", "0", 0, 1, -1, True, 1.0, None]), max_size=3) | odd_values
odd_records: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.integers(0, 3) | odd_values,
        "k": odd_paths,
        "v": st.sampled_from([{"requests": [{}]}]) | odd_values,
        "i": odd_values,
    },
)


@given(st.lists(odd_records, max_size=6))
def test_unrecognized_fields_of_a_line_are_ignored(records: list[Json]) -> None:
    """Compare lines with only documented fields, decoded in one step, with all others, decoded through a dictionary."""
    known, known_ledger = replayed(*written(records))
    other, other_ledger = replayed(*written([{**record, "other": 1} for record in records]))

    assert known.state == other.state
    assert (known.is_damaged, known.is_headless) == (other.is_damaged, other.is_headless)
    assert known_ledger.used == other_ledger.used
    assert [(d.code, d.reason, d.line) for d in known_ledger.diagnostics()] == [
        (d.code, d.reason, d.line) for d in other_ledger.diagnostics()
    ]


def cut_is_right(lines: list[bytes], states: list[Any], cut: int) -> None:
    """Check that a log that is cut somewhere has its complete lines, and that the rest is reported once."""
    data = b"".join(lines)[:cut]
    complete = data.count(b"\n")
    rest = data[data.rfind(b"\n") + 1 :]
    if rest and is_complete(rest):
        complete, rest = complete + 1, b""

    log, ledger = replayed(data)

    assert log.state == (states[complete - 1] if complete else None)
    assert (log.is_damaged, log.is_headless) == (False, False)
    cuts = [(place, code) for place, code in notes_by_line(ledger) if code != "raw-line-separator"]
    if rest:
        assert cuts == [(complete + 1, "torn-tail")]
    else:
        assert cuts == ([] if data else [(None, "empty-file")])


@given(logs(), st.data())
def test_a_log_cut_at_any_byte_yields_its_complete_lines(
    log: tuple[list[Json], list[Any]], data: st.DataObject
) -> None:
    records, states = log
    lines = written(records)

    cut_is_right(lines, states, data.draw(st.integers(0, sum(map(len, lines)))))
