"""The session log: replayed by VS Code's own rules, and salvaged where VS Code would give up."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.model import Conversation, prose_of
from copilog.sources._vscode.mutations import MOST_HOLES, Replayed, replay
from copilog.sources.base import Found
from copilog.sources.vscode_session_log import VSCodeSessionLog

Json = dict[str, Any]


def line(kind: Any, path: Any = None, **fields: Any) -> bytes:
    """One line of a log as VS Code writes it."""
    record = {"kind": kind, **({} if path is None else {"k": path}), **fields}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def replayed(*lines: bytes) -> tuple[Replayed, Ledger]:
    ledger = Ledger(path="session.jsonl")
    log = replay(b"".join(lines), ledger)
    assert ledger.balances()
    return log, ledger


def state_after(start: Any, *lines: bytes) -> Any:
    """What a sound log comes to."""
    log, ledger = replayed(line(0, v=start), *lines)
    assert ledger.diagnostics() == []
    assert ledger.used == 1 + len(lines)
    assert (log.is_damaged, log.is_headless) == (False, False)
    return log.state


def told(ledger: Ledger) -> list[tuple[int | None, str]]:
    return [(diagnostic.line, diagnostic.code) for diagnostic in ledger.diagnostics()]


# --- VS Code's rules --------------------------------------------------------------------------------------------


def test_the_first_line_is_the_whole_state() -> None:
    assert state_after({"version": 3, "requests": []}) == {"version": 3, "requests": []}


def test_a_value_is_set_at_the_end_of_a_path() -> None:
    start = {"requests": [{}, {"message": {"text": "old"}}]}

    assert state_after(start, line(1, ["requests", 1, "message", "text"], v="new")) == {
        "requests": [{}, {"message": {"text": "new"}}]
    }


def test_null_is_a_value() -> None:
    assert state_after({"title": "Tides"}, line(1, ["title"], v=None)) == {"title": None}


@pytest.mark.parametrize("removal", [line(1, ["title"]), line(3, ["title"])])
def test_a_set_without_a_value_removes_like_a_delete(removal: bytes) -> None:
    assert state_after({"title": "Tides", "version": 3}, removal) == {"version": 3}


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert state_after({"version": 3}, line(3, ["title"])) == {"version": 3}


def test_deleting_an_item_leaves_a_hole_and_moves_nothing() -> None:
    assert state_after({"requests": ["a", "b"]}, line(3, ["requests", 0])) == {"requests": [None, "b"]}


def test_a_push_appends_all_its_items() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"], v=["b", "c"])) == {"parts": ["a", "b", "c"]}


@pytest.mark.parametrize("start", [{}, {"parts": None}, {"parts": ""}, {"parts": 0}, {"parts": False}])
def test_a_push_makes_the_array_where_there_is_nothing(start: Json) -> None:
    assert state_after(start, line(2, ["parts"], v=["a"])) == {"parts": ["a"]}


def test_a_push_with_an_index_cuts_first() -> None:
    assert state_after({"parts": ["a", "Hel", "x"]}, line(2, ["parts"], v=["Hello"], i=1)) == {"parts": ["a", "Hello"]}


def test_a_push_with_an_index_alone_only_cuts() -> None:
    assert state_after({"parts": ["a", "b", "c"]}, line(2, ["parts"], i=1)) == {"parts": ["a"]}


def test_a_push_with_an_index_behind_the_end_leaves_holes() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"], v=["d"], i=3)) == {"parts": ["a", None, None, "d"]}


def test_a_push_of_nothing_is_no_change_but_makes_the_array() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"]), line(2, ["others"], v=[])) == {
        "parts": ["a"],
        "others": [],
    }


def test_an_item_behind_the_end_is_appended_and_further_behind_leaves_holes() -> None:
    assert state_after({"parts": ["a"]}, line(1, ["parts", 1], v="b")) == {"parts": ["a", "b"]}
    assert state_after({"parts": ["a"]}, line(1, ["parts", 3], v="d")) == {"parts": ["a", None, None, "d"]}


def test_numbers_name_properties_and_digits_name_items_as_in_javascript() -> None:
    assert state_after({"results": {}}, line(1, ["results", 7], v="x")) == {"results": {"7": "x"}}
    assert state_after({"parts": ["a"]}, line(1, ["parts", "0"], v="b")) == {"parts": ["b"]}


@pytest.mark.parametrize("key", ["00", "1.5", "-1", "length", "\u0663", -1])
def test_what_is_no_index_names_no_item(key: Any) -> None:
    log, ledger = replayed(line(0, v={"parts": ["a"]}), line(1, ["parts", key], v="b"))

    assert log.state == {"parts": ["a"]}
    assert told(ledger) == [(2, "orphan-mutation"), (None, "damaged-log")]


@pytest.mark.parametrize("nothing", [line(1, [], v={"version": 9}), line(1, []), line(3, [])])
def test_a_change_of_nothing_changes_nothing(nothing: bytes) -> None:
    assert state_after({"version": 3}, nothing) == {"version": 3}


def test_a_later_initial_line_starts_over() -> None:
    assert state_after({"title": "old", "parts": [1]}, line(2, ["parts"], v=[2]), line(0, v={"title": "new"})) == {
        "title": "new"
    }


def test_items_of_one_push_are_changed_by_later_lines() -> None:
    pushed = line(2, ["requests"], v=[{"requestId": "r1", "response": []}])
    grown = line(2, ["requests", 0, "response"], v=[{"value": "Hello"}], i=0)

    assert state_after({"requests": []}, pushed, line(2, ["requests", 0, "response"], v=[{"value": "Hel"}]), grown) == {
        "requests": [{"requestId": "r1", "response": [{"value": "Hello"}]}]
    }


def test_blank_lines_and_carriage_returns_are_no_matter() -> None:
    log, ledger = replayed(line(0, v={"n": 1}), b"\n  \r\n", line(1, ["n"], v=2).replace(b"\n", b"\r\n"))

    assert log.state == {"n": 2}
    assert ledger.diagnostics() == []
    assert (ledger.used, ledger.ignored) == (2, {"blank-line": 2})


# --- salvage ----------------------------------------------------------------------------------------------------


def test_a_bad_line_costs_that_line() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), b'{"kind":1,"k":["a"\n', line(1, ["b"], v=2))

    assert log.state == {"a": 1, "b": 2}
    assert log.is_damaged
    assert told(ledger) == [(2, "bad-json"), (None, "damaged-log")]
    assert ledger.bad[0].offset == len(line(0, v={"a": 1}))
    assert (ledger.seen, ledger.used) == (3, 2)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (line(4, ["a"], v=1), "unknown-mutation"),
        (line(-1, ["a"], v=1), "unknown-mutation"),
        (line(True, ["a"], v=1), "unknown-mutation"),
        (line(False, v={}), "unknown-mutation"),
        (line("1", ["a"], v=1), "unknown-mutation"),
        (line([1], ["a"], v=1), "unknown-mutation"),
        (b'{"k":["a"],"v":1}\n', "unknown-mutation"),
        (b'["kind"]\n', "unknown-mutation"),
        (b"null\n", "unknown-mutation"),
        (line(0), "bad-record"),
        (line(0, v=[1]), "bad-record"),
        (line(1, v=1), "bad-record"),
        (line(1, "a", v=1), "bad-record"),
        (line(1, [["a"]], v=1), "bad-record"),
        (line(1, [True], v=1), "bad-record"),
        (line(2, [], v=[1]), "bad-record"),
        (line(2, ["list"], v="abc"), "bad-record"),
        (line(2, ["list"], v=[1], i=-1), "bad-record"),
        (line(2, ["list"], v=[1], i="0"), "bad-record"),
        (line(2, ["text"], v=[1]), "orphan-mutation"),
        (line(2, ["object"], v=[1]), "orphan-mutation"),
        (line(1, ["missing", "a"], v=1), "orphan-mutation"),
        (line(1, ["nothing", "a"], v=1), "orphan-mutation"),
        (line(1, ["text", "a"], v=1), "orphan-mutation"),
        (line(2, ["list", 5, "response"], v=[1]), "orphan-mutation"),
        (line(1, ["list", MOST_HOLES + 2], v=1), "orphan-mutation"),
        (line(2, ["list"], v=[1], i=10**15), "orphan-mutation"),
        (b"{" * 5000 + b"\n", "bad-json"),
    ],
)
def test_a_change_that_cannot_be_made_changes_nothing_and_is_told(bad: bytes, code: str) -> None:
    start: Json = {"list": ["x"], "text": "t", "object": {}, "nothing": None}

    log, ledger = replayed(line(0, v=start), bad, line(1, ["later"], v=True))

    assert log.state == {**start, "later": True}
    assert log.is_damaged
    assert told(ledger) == [(2, code), (None, "damaged-log")]
    assert ledger.bad[0].level == "error"


def test_holes_are_limited_in_the_whole_log() -> None:
    lines = [line(1, [f"list{number}", MOST_HOLES // 2], v=1) for number in range(4)]

    log, ledger = replayed(line(0, v={f"list{number}": [] for number in range(4)}), *lines)

    assert [len(log.state[f"list{number}"]) for number in range(4)] == [5001, 5001, 0, 0]
    assert [code for _, code in told(ledger)] == ["orphan-mutation", "orphan-mutation", "damaged-log"]


def test_a_diagnostic_quotes_no_content() -> None:
    secret = "hunter2-" * 20

    _, ledger = replayed(
        line(0, v={"a": secret}),
        line(secret, ["a"]),
        line(1, [secret, "b"], v=secret),
        line(1, ["a", "b"], v=secret),
        f'{{"kind":1,"v":"{secret}\n'.encode(),
        f'{{"kind":1,"v":"{secret}'.encode(),
    )

    assert len(ledger.bad) == 5
    assert secret not in msgspec.json.encode(ledger).decode()


def test_an_initial_line_heals_what_was_damaged_before() -> None:
    log, ledger = replayed(line(1, ["a"], v=1), b"broken\n", line(0, v={"b": 2}))

    assert log.state == {"b": 2}
    assert (log.is_headless, log.is_damaged) == (False, False)
    assert told(ledger) == [(2, "bad-json")]


def test_a_log_without_its_beginning_is_built_up_from_its_changes() -> None:
    log, ledger = replayed(
        line(1, ["requests", 1, "message", "text"], v="second"),
        line(2, ["requests", 1, "response"], v=[{"value": "yes"}]),
        line(1, ["inputState", "inputText"], v="draft"),
    )

    assert log.is_headless
    assert not log.is_damaged
    assert log.state == {
        "version": 3,
        "requests": [None, {"message": {"text": "second"}, "response": [{"value": "yes"}]}],
        "inputState": {"inputText": "draft"},
    }
    assert told(ledger) == [(1, "headless-log")]


def test_a_headless_log_can_be_damaged_as_well() -> None:
    log, ledger = replayed(line(1, ["version", "a"], v=1), line(1, ["title"], v="x"))

    assert (log.is_headless, log.is_damaged) == (True, True)
    assert told(ledger) == [(1, "orphan-mutation"), (1, "headless-log")]


def test_a_log_of_bad_lines_alone_has_no_state() -> None:
    log, ledger = replayed(b"{\n", line(2, []), line(7, ["a"]), line(3, []))

    assert log.state is None
    assert not log.is_headless
    assert told(ledger) == [(1, "bad-json"), (2, "bad-record"), (3, "unknown-mutation")]


@pytest.mark.parametrize("nothing", [b"", b"\n", b" \n\r\n\n"])
def test_an_empty_log_says_so(nothing: bytes) -> None:
    log, ledger = replayed(nothing)

    assert log.state is None
    assert told(ledger) == [(None, "empty-file")]


def test_a_byte_order_mark_is_taken_off_and_told() -> None:
    log, ledger = replayed(b"\xef\xbb\xbf", line(0, v={"a": "é"}))

    assert log.state == {"a": "é"}
    assert told(ledger) == [(1, "byte-order-mark")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_that_became_utf16_is_read(encoding: str) -> None:
    text = "\ufeff" + line(0, v={"a": "é"}).decode() + line(1, ["b"], v="😀").decode()

    log, ledger = replayed(text.encode(encoding))

    assert log.state == {"a": "é", "b": "😀"}
    assert told(ledger) == [(1, "utf-16")]


def test_a_torn_last_line_is_no_damage() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["a"], v=2)[:-3])

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert told(ledger) == [(2, "torn-tail")]


def test_a_last_line_without_a_line_break_counts_when_it_is_complete() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["a"], v=2).rstrip(b"\n"))

    assert log.state == {"a": 2}
    assert told(ledger) == []


def test_a_last_line_that_is_complete_but_fits_nowhere_is_damage() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["b", "c"], v=2).rstrip(b"\n"))

    assert log.is_damaged
    assert told(ledger) == [(2, "orphan-mutation"), (None, "damaged-log")]


@pytest.mark.parametrize("tail", [b"\0" * 500, b"\0" * 9 + b"\n" + b"\0" * 9])
def test_nul_bytes_at_the_end_are_padding(tail: bytes) -> None:
    log, ledger = replayed(line(0, v={"a": 1}), tail)

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert {code for _, code in told(ledger)} == {"nul-tail"}
    assert set(ledger.ignored) == {"nul-padding"}


def test_nul_bytes_around_a_line_are_taken_off() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), b"\0\0" + line(1, ["a"], v=2), line(1, ["b"], v=3)[:-4] + b"\0\0")

    assert log.state == {"a": 2}
    assert told(ledger) == [(3, "torn-tail"), (2, "nul-tail"), (3, "nul-tail")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_a_raw_line_separator_inside_a_string_is_an_ordinary_character(separator: str) -> None:
    text = f'first{separator}{{}}{separator}12{separator}"last'

    log, ledger = replayed(line(0, v={"a": text}), line(1, ["b"], v=separator))

    assert log.state == {"a": text, "b": separator}
    assert told(ledger) == [(1, "raw-line-separator"), (2, "raw-line-separator")]
    assert (ledger.seen, ledger.used) == (2, 2)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_records_between_line_separators_are_records_of_their_own(separator: str) -> None:
    records = [line(0, v={"a": 1}), line(1, ["a", "b"], v=1), line(1, ["c"], v=f"x{separator}y"), line(1, ["d"], v=4)]
    data = separator.encode().join(record.rstrip(b"\n") for record in records)

    log, ledger = replayed(data)

    # The string with a raw separator cannot be told from two broken records here.
    assert log.state == {"a": 1, "d": 4}
    assert (ledger.bad[0].code, ledger.bad[0].offset) == ("orphan-mutation", len(records[0]) + 2)
    assert {note.code for note in ledger.notes} == {"raw-line-separator", "damaged-log"}
    assert ledger.seen == 5


def test_a_torn_record_behind_a_line_separator_costs_only_itself() -> None:
    log, ledger = replayed(line(0, v={"a": 1})[:-1] + "\u2028".encode() + line(1, ["a"], v=2)[:-3])

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert told(ledger) == [(1, "torn-tail"), (1, "raw-line-separator")]


def test_a_broken_line_with_a_raw_line_separator_is_one_bad_line() -> None:
    _, ledger = replayed(line(0, v={}), '{"kind":1,"k":["a"],"v":"x\u2028y"\n'.encode())

    assert told(ledger) == [(2, "bad-json"), (None, "damaged-log")]


def test_half_characters_are_replaced_and_told() -> None:
    log, ledger = replayed(
        line(0, v={}),
        b'{"kind":1,"k":["a"],"v":"cut \\ud83d"}\n',
        b'{"kind":1,"k":["b"],"v":"\\ude00 cut \\ud83d\\ude00"}\n',
    )

    assert log.state == {"a": "cut \ufffd", "b": "\ufffd cut 😀"}
    assert not log.is_damaged
    assert told(ledger) == [(2, "lone-surrogate"), (3, "lone-surrogate")]


def test_broken_bytes_and_numbers_that_are_none_are_repaired_and_told() -> None:
    log, ledger = replayed(
        line(0, v={}), b'{"kind":1,"k":["a"],"v":"\xff"}\n', b'{"kind":1,"k":["b"],"v":[NaN,1e999]}\n'
    )

    assert log.state == {"a": "\ufffd", "b": [None, None]}
    assert told(ledger) == [(2, "invalid-utf8"), (3, "not-a-number")]


def test_a_value_that_vs_code_shortened_is_told_once() -> None:
    shortened = "[VS Code: value truncated for persistence; original 2000000 chars]"

    _, ledger = replayed(line(0, v={"a": shortened}), line(1, ["b"], v=shortened))

    assert told(ledger) == [(None, "value-truncated")]


# --- as a conversation ------------------------------------------------------------------------------------------


def read_log(path: Path, data: bytes) -> tuple[list[Conversation], Ledger]:
    path.write_bytes(data)
    source = VSCodeSessionLog()
    ledger = Ledger(path=str(path), source=source.name)
    conversations = list(source.read(Found(path, source.name, native_id=path.stem), ledger))
    assert ledger.balances()
    return conversations, ledger


def request(number: int, text: str, answer: str | None = None) -> Json:
    made: Json = {
        "requestId": f"request_{number}",
        "timestamp": 1767000000000 + number * 60_000,
        "message": {"text": text, "parts": []},
        "variableData": {"variables": []},
    }
    return made if answer is None else {**made, "response": [{"value": answer}]}


def prose(conversation: Conversation) -> list[str]:
    return [prose_of(message.parts) for message in conversation.messages]


def test_holes_among_the_requests_are_passed_over_and_told(tmp_path: Path) -> None:
    start = {"version": 3, "sessionId": "s", "requests": [None, request(1, "hi", "hello"), None]}

    [conversation], ledger = read_log(tmp_path / "s.jsonl", line(0, v=start))

    assert prose(conversation) == ["hi", "hello"]
    assert [turn.pointer for turn in conversation.turns] == ["/requests/1"]
    assert [(note.code, note.pointer) for note in ledger.notes] == [
        ("null-request", "/requests/0"),
        ("null-request", "/requests/2"),
    ]
    assert conversation.marks == []


def test_marks_say_what_is_wrong_with_a_log(tmp_path: Path) -> None:
    start = line(0, v={"version": 3, "requests": []})
    pushed = line(2, ["requests"], v=[request(0, "hi", "hello")])
    orphan = line(1, ["requests", 4, "vote"], v=1)

    def marks(*lines: bytes) -> list[str]:
        [conversation], _ = read_log(tmp_path / "s.jsonl", b"".join(lines))
        assert prose(conversation) == ["hi", "hello"]
        return conversation.marks

    assert marks(start, pushed) == []
    assert marks(pushed) == ["headless"]
    assert marks(start, orphan, pushed) == ["damaged"]
    assert marks(b"{\n", pushed) == ["headless", "damaged"]
    assert marks(start, pushed, orphan[:-4]) == []


def test_the_id_is_the_name_of_the_file_and_another_id_inside_is_kept(tmp_path: Path) -> None:
    [conversation], _ = read_log(tmp_path / "name.jsonl", line(0, v={"sessionId": "inside", "requests": []}))

    assert (conversation.id, conversation.native_id) == ("vscode:name", "name")
    assert conversation.extra == {"sessionId": "inside"}


def test_requests_that_are_no_list_are_told_and_kept_aside(tmp_path: Path) -> None:
    [conversation], ledger = read_log(tmp_path / "s.jsonl", line(0, v={"requests": "none"}))

    assert conversation.extra == {"requests": "none"}
    assert [(note.level, note.pointer) for note in ledger.notes] == [("error", "/requests")]


# --- a model of the log, and all logs that fit it ---------------------------------------------------------------


ABSENT: Any = ...
keys = st.sampled_from(["a", "b", "requests", "response", "text", "0", "1", "ключ", "😀", "\u2028", ""])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)
objects = st.dictionaries(keys, values, max_size=5)


def model_apply(state: Any, record: Json) -> Any:
    """The rules in their smallest form, for changes that fit the state."""
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
    """The paths of all objects and arrays in a state."""
    if isinstance(node, dict):
        return [path, *(deeper for key, item in node.items() for deeper in containers(item, (*path, key)))]
    if isinstance(node, list):
        return [path, *(deeper for index, item in enumerate(node) for deeper in containers(item, (*path, index)))]
    return []


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Json], list[Any]]:
    """A log's records, and the state after each of them."""
    first = {"kind": 0, "v": draw(objects)}
    records, states = [first], [model_apply(None, first)]
    for _ in range(draw(st.integers(0, 12))):
        record = draw(changes(states[-1]))
        records.append(record)
        states.append(model_apply(copy.deepcopy(states[-1]), record))
    return records, states


@st.composite
def changes(draw: st.DrawFn, state: Any) -> Json:
    """A change that VS Code could make to a state."""
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


def written(records: list[Json]) -> list[bytes]:
    return [json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records]


@given(logs())
def test_any_log_comes_to_what_its_changes_make_of_a_plain_object(log: tuple[list[Json], list[Any]]) -> None:
    records, states = log

    result, ledger = replayed(*written(records))

    assert result.state == states[-1]
    assert {code for _, code in told(ledger)} <= {"raw-line-separator"}
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
def test_a_field_that_nobody_knows_changes_nothing(records: list[Json]) -> None:
    """Lines with known fields alone are decoded in one go, all others through a dictionary: both say the same."""
    known, known_ledger = replayed(*written(records))
    other, other_ledger = replayed(*written([{**record, "other": 1} for record in records]))

    assert known.state == other.state
    assert (known.is_damaged, known.is_headless) == (other.is_damaged, other.is_headless)
    assert known_ledger.used == other_ledger.used
    assert [(d.code, d.reason, d.line) for d in known_ledger.diagnostics()] == [
        (d.code, d.reason, d.line) for d in other_ledger.diagnostics()
    ]


def is_complete(rest: bytes) -> bool:
    try:
        json.loads(rest)
    except ValueError:
        return False
    return True


def cut_is_right(lines: list[bytes], states: list[Any], cut: int) -> None:
    """A log that is cut somewhere holds its complete lines, and what is left over is told once."""
    data = b"".join(lines)[:cut]
    complete = data.count(b"\n")
    rest = data[data.rfind(b"\n") + 1 :]
    if rest and is_complete(rest):
        complete, rest = complete + 1, b""

    log, ledger = replayed(data)

    assert log.state == (states[complete - 1] if complete else None)
    assert (log.is_damaged, log.is_headless) == (False, False)
    cuts = [(place, code) for place, code in told(ledger) if code != "raw-line-separator"]
    if rest:
        assert cuts == [(complete + 1, "torn-tail")]
    else:
        assert cuts == ([] if data else [(None, "empty-file")])


@given(logs(), st.data())
def test_a_log_cut_at_any_byte_holds_its_complete_lines(log: tuple[list[Json], list[Any]], data: st.DataObject) -> None:
    records, states = log
    lines = written(records)

    cut_is_right(lines, states, data.draw(st.integers(0, sum(map(len, lines)))))


# --- the same through the source --------------------------------------------------------------------------------


RICH = [
    {
        "kind": 0,
        "v": {
            "version": 3,
            "creationDate": 1767000000000,
            "initialLocation": "panel",
            "responderUsername": "GitHub Copilot",
            "sessionId": "rich",
            "requests": [],
            "pendingRequests": [],
            "inputState": {"inputText": "Wie hoch ist die Flut?", "attachments": [], "mode": {"id": "agent"}},
        },
    },
    {"kind": 2, "k": ["requests"], "v": [request(0, "Wann ist Hochwasser in Büsum? 🌊")]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Um "}]},
    {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Um 14:30 Uhr – morgen später."}], "i": 0},
    {"kind": 1, "k": ["customTitle"], "v": 'Tide \\ "times" \t 潮汐'},
    {
        "kind": 2,
        "k": ["requests", 0, "response"],
        "v": [
            {
                "kind": "toolInvocationSerialized",
                "toolCallId": "call_1",
                "toolId": "copilot_readFile",
                "invocationMessage": {"value": "Reading tides.csv"},
                "isConfirmed": {"type": 1},
                "isComplete": True,
            },
            {"value": "See "},
            {
                "kind": "inlineReference",
                "inlineReference": {"$mid": 1, "path": "/home/ana/tides.csv", "scheme": "file"},
            },
            {"kind": "undoStop", "id": "stop_1"},
            {"kind": "somethingNew", "data": [1, 2.5, None]},
        ],
    },
    {"kind": 1, "k": ["requests", 0, "modelState"], "v": {"value": 1, "completedAt": 1767000005000}},
    {"kind": 2, "k": ["requests"], "v": [request(1, "And in Husum?", "Earlier."), request(2, "Thanks")]},
    {"kind": 1, "k": ["requests", 1, "vote"], "v": 1},
    {"kind": 2, "k": ["requests"], "i": 2},
    {"kind": 3, "k": ["inputState"]},
    {"kind": 1, "k": ["requests", 1, "followups"], "v": [{"kind": "reply", "message": "And in Tönning?"}]},
    {"kind": 1, "k": ["customTitle"]},
]


def essence(conversations: list[Conversation]) -> list[bytes]:
    """Conversations without what depends on the file's size and time."""
    return [msgspec.json.encode(msgspec.structs.replace(made, provenance=[])) for made in conversations]


def test_a_rich_log_cut_at_every_byte_gives_the_conversation_of_its_complete_lines(tmp_path: Path) -> None:
    lines = written(RICH)
    path = tmp_path / "rich.jsonl"
    wholes = [read_log(path, b"".join(lines[:count])) for count in range(len(lines) + 1)]
    assert len(wholes[-1][0][0].turns) == 2
    assert all(ledger.diagnostics() == [] for conversations, ledger in wholes if conversations)

    data = b"".join(lines)
    for cut in range(len(data) + 1):
        conversations, ledger = read_log(path, data[:cut])
        complete = data[:cut].count(b"\n")
        rest = data[:cut].rpartition(b"\n")[2]
        if rest and is_complete(rest):
            complete, rest = complete + 1, b""
        assert essence(conversations) == essence(wholes[complete][0])
        codes = [diagnostic.code for diagnostic in ledger.diagnostics()]
        assert codes == (["torn-tail"] if rest else [] if cut else ["empty-file"])


words = st.text(max_size=20)
parts = st.fixed_dictionaries({"value": words}) | st.fixed_dictionaries({"kind": st.just("undoStop"), "id": words})


@st.composite
def session_logs(draw: st.DrawFn) -> list[Json]:
    """The log of a session that grew turn by turn, as VS Code would write it."""
    records: list[Json] = [{"kind": 0, "v": {"version": 3, "sessionId": "made", "requests": []}}]
    for number in range(draw(st.integers(0, 3))):
        records.append({"kind": 2, "k": ["requests"], "v": [request(number, draw(words))]})
        for _ in range(draw(st.integers(0, 3))):
            push = {"kind": 2, "k": ["requests", number, "response"], "v": draw(st.lists(parts, max_size=3))}
            records.append(push | draw(st.sampled_from([{}, {"i": 0}])))
        if draw(st.booleans()):
            records.append({"kind": 1, "k": ["customTitle"], "v": draw(words)})
    return records


@given(session_logs(), st.data())
def test_any_session_cut_at_any_byte_gives_the_conversation_of_its_complete_lines(
    tmp_path_factory: pytest.TempPathFactory, records: list[Json], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "made.jsonl"
    lines = written(records)
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    rest = whole[:cut].rpartition(b"\n")[2]
    kept = lines[: whole[:cut].count(b"\n") + is_complete(rest)]

    expected, _ = read_log(path, b"".join(kept))
    conversations, ledger = read_log(path, whole[:cut])

    assert essence(conversations) == essence(expected)
    assert bool(conversations) == bool(kept)
    codes = [found.code for found in ledger.diagnostics() if found.code != "raw-line-separator"]
    assert codes == (["torn-tail"] if rest and not is_complete(rest) else [] if cut else ["empty-file"])
