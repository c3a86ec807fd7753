"""The session log: replayed by VS Code's own rules, and salvaged where VS Code would give up."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from copilog.sources.vscode.session_log import MOST_HOLES
from tests.sources.session_log_builders import Json, line, notes_by_line, replayed


def state_after(start: Any, *lines: bytes) -> Any:
    """Return the state that a valid log results in."""
    log, ledger = replayed(line(0, v=start), *lines)
    assert ledger.diagnostics() == []
    assert ledger.used == 1 + len(lines)
    assert (log.is_damaged, log.is_headless) == (False, False)
    return log.state


# --- VS Code's rules --------------------------------------------------------------------------------------------


def test_the_first_line_is_the_complete_state() -> None:
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


def test_removing_a_missing_value_changes_nothing() -> None:
    assert state_after({"version": 3}, line(3, ["title"])) == {"version": 3}


def test_deleting_an_item_leaves_a_hole_and_moves_nothing() -> None:
    assert state_after({"requests": ["a", "b"]}, line(3, ["requests", 0])) == {"requests": [None, "b"]}


def test_a_push_appends_all_its_items() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"], v=["b", "c"])) == {"parts": ["a", "b", "c"]}


@pytest.mark.parametrize("start", [{}, {"parts": None}, {"parts": ""}, {"parts": 0}, {"parts": False}])
def test_a_push_creates_a_missing_array(start: Json) -> None:
    assert state_after(start, line(2, ["parts"], v=["a"])) == {"parts": ["a"]}


def test_a_push_with_an_index_cuts_first() -> None:
    assert state_after({"parts": ["a", "Hel", "x"]}, line(2, ["parts"], v=["Hello"], i=1)) == {"parts": ["a", "Hello"]}


def test_a_push_with_an_index_alone_only_cuts() -> None:
    assert state_after({"parts": ["a", "b", "c"]}, line(2, ["parts"], i=1)) == {"parts": ["a"]}


def test_a_push_beyond_the_end_leaves_holes() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"], v=["d"], i=3)) == {"parts": ["a", None, None, "d"]}


def test_a_push_without_items_creates_the_array() -> None:
    assert state_after({"parts": ["a"]}, line(2, ["parts"]), line(2, ["others"], v=[])) == {
        "parts": ["a"],
        "others": [],
    }


def test_an_item_beyond_the_end_is_appended_leaving_holes() -> None:
    assert state_after({"parts": ["a"]}, line(1, ["parts", 1], v="b")) == {"parts": ["a", "b"]}
    assert state_after({"parts": ["a"]}, line(1, ["parts", 3], v="d")) == {"parts": ["a", None, None, "d"]}


def test_numbers_name_properties_and_digits_name_items_as_in_javascript() -> None:
    assert state_after({"results": {}}, line(1, ["results", 7], v="x")) == {"results": {"7": "x"}}
    assert state_after({"parts": ["a"]}, line(1, ["parts", "0"], v="b")) == {"parts": ["b"]}


@pytest.mark.parametrize("key", ["00", "1.5", "-1", "length", "\u0663", -1])
def test_a_key_that_is_not_an_index_names_no_item(key: Any) -> None:
    log, ledger = replayed(line(0, v={"parts": ["a"]}), line(1, ["parts", key], v="b"))

    assert log.state == {"parts": ["a"]}
    assert notes_by_line(ledger) == [(2, "orphan-mutation"), (None, "damaged-log")]


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


def test_blank_lines_and_carriage_returns_are_ignored() -> None:
    log, ledger = replayed(line(0, v={"n": 1}), b"\n  \r\n", line(1, ["n"], v=2).replace(b"\n", b"\r\n"))

    assert log.state == {"n": 2}
    assert ledger.diagnostics() == []
    assert (ledger.used, ledger.ignored) == (2, {"blank-line": 2})


# --- salvage ----------------------------------------------------------------------------------------------------


def test_a_bad_line_does_not_affect_others() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), b'{"kind":1,"k":["a"\n', line(1, ["b"], v=2))

    assert log.state == {"a": 1, "b": 2}
    assert log.is_damaged
    assert notes_by_line(ledger) == [(2, "bad-json"), (None, "damaged-log")]
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
        (b'["kind"]\n', "bad-record"),
        (b"null\n", "bad-record"),
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
        (b"{" * 5000 + b"\n", "too-large"),
    ],
)
def test_an_impossible_change_is_reported_and_changes_nothing(bad: bytes, code: str) -> None:
    start: Json = {"list": ["x"], "text": "t", "object": {}, "nothing": None}

    log, ledger = replayed(line(0, v=start), bad, line(1, ["later"], v=True))

    assert log.state == {**start, "later": True}
    assert log.is_damaged
    assert notes_by_line(ledger) == [(2, code), (None, "damaged-log")]
    assert ledger.bad[0].level == "error"


def test_the_number_of_holes_in_a_log_is_limited() -> None:
    lines = [line(1, [f"list{number}", MOST_HOLES // 2], v=1) for number in range(4)]

    log, ledger = replayed(line(0, v={f"list{number}": [] for number in range(4)}), *lines)

    assert [len(log.state[f"list{number}"]) for number in range(4)] == [5001, 5001, 0, 0]
    assert [code for _, code in notes_by_line(ledger)] == ["orphan-mutation", "orphan-mutation", "damaged-log"]


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


def test_a_later_initial_line_repairs_earlier_damage() -> None:
    log, ledger = replayed(line(1, ["a"], v=1), b"broken\n", line(0, v={"b": 2}))

    assert log.state == {"b": 2}
    assert (log.is_headless, log.is_damaged) == (False, False)
    assert notes_by_line(ledger) == [(2, "bad-json")]


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
    assert notes_by_line(ledger) == [(1, "headless-log")]


def test_a_headless_log_can_be_damaged_as_well() -> None:
    log, ledger = replayed(line(1, ["version", "a"], v=1), line(1, ["title"], v="x"))

    assert (log.is_headless, log.is_damaged) == (True, True)
    assert notes_by_line(ledger) == [(1, "orphan-mutation"), (1, "headless-log")]


def test_a_log_of_bad_lines_alone_has_no_state() -> None:
    log, ledger = replayed(b"{\n", line(2, []), line(7, ["a"]), line(3, []))

    assert log.state is None
    assert not log.is_headless
    assert notes_by_line(ledger) == [(1, "bad-json"), (2, "bad-record"), (3, "unknown-mutation")]


@pytest.mark.parametrize("nothing", [b"", b"\n", b" \n\r\n\n"])
def test_an_empty_log_has_a_note(nothing: bytes) -> None:
    log, ledger = replayed(nothing)

    assert log.state is None
    assert notes_by_line(ledger) == [(None, "empty-file")]


def test_a_byte_order_mark_is_removed_and_reported() -> None:
    log, ledger = replayed(b"\xef\xbb\xbf", line(0, v={"a": "é"}))

    assert log.state == {"a": "é"}
    assert notes_by_line(ledger) == [(1, "byte-order-mark")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_that_became_utf16_is_read(encoding: str) -> None:
    text = "\ufeff" + line(0, v={"a": "é"}).decode() + line(1, ["b"], v="😀").decode()

    log, ledger = replayed(text.encode(encoding))

    assert log.state == {"a": "é", "b": "😀"}
    assert notes_by_line(ledger) == [(1, "utf-16")]


def test_a_truncated_last_line_is_not_damage() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["a"], v=2)[:-3])

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert notes_by_line(ledger) == [(2, "torn-tail")]


def test_a_last_line_without_a_line_break_counts_when_it_is_complete() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["a"], v=2).rstrip(b"\n"))

    assert log.state == {"a": 2}
    assert notes_by_line(ledger) == []


def test_a_complete_last_line_that_cannot_be_applied_is_damage() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), line(1, ["b", "c"], v=2).rstrip(b"\n"))

    assert log.is_damaged
    assert notes_by_line(ledger) == [(2, "orphan-mutation"), (None, "damaged-log")]


@pytest.mark.parametrize("tail", [b"\0" * 500, b"\0" * 9 + b"\n" + b"\0" * 9])
def test_nul_bytes_at_the_end_are_padding(tail: bytes) -> None:
    log, ledger = replayed(line(0, v={"a": 1}), tail)

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert {code for _, code in notes_by_line(ledger)} == {"nul-tail"}
    assert set(ledger.ignored) == {"nul-padding"}


def test_nul_bytes_around_a_line_are_removed() -> None:
    log, ledger = replayed(line(0, v={"a": 1}), b"\0\0" + line(1, ["a"], v=2), line(1, ["b"], v=3)[:-4] + b"\0\0")

    assert log.state == {"a": 2}
    assert notes_by_line(ledger) == [(3, "torn-tail"), (2, "nul-tail"), (3, "nul-tail")]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_a_raw_line_separator_inside_a_string_is_an_ordinary_character(separator: str) -> None:
    text = f'first{separator}{{}}{separator}12{separator}"last'

    log, ledger = replayed(line(0, v={"a": text}), line(1, ["b"], v=separator))

    assert log.state == {"a": text, "b": separator}
    assert notes_by_line(ledger) == [(1, "raw-line-separator"), (2, "raw-line-separator")]
    assert (ledger.seen, ledger.used) == (2, 2)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029"])
def test_records_between_line_separators_are_records_of_their_own(separator: str) -> None:
    records = [line(0, v={"a": 1}), line(1, ["a", "b"], v=1), line(1, ["c"], v=f"x{separator}y"), line(1, ["d"], v=4)]
    data = separator.encode().join(record.rstrip(b"\n") for record in records)

    log, ledger = replayed(data)

    assert log.state == {"a": 1, "c": f"x{separator}y", "d": 4}
    assert (ledger.bad[0].code, ledger.bad[0].offset) == ("orphan-mutation", len(records[0]) + 2)
    assert {note.code for note in ledger.notes} == {"raw-line-separator", "damaged-log"}
    assert ledger.seen == 4


def test_a_truncated_record_after_a_line_separator_does_not_affect_others() -> None:
    log, ledger = replayed(line(0, v={"a": 1})[:-1] + "\u2028".encode() + line(1, ["a"], v=2)[:-3])

    assert log.state == {"a": 1}
    assert not log.is_damaged
    assert notes_by_line(ledger) == [(1, "torn-tail"), (1, "raw-line-separator")]


def test_a_broken_line_with_a_raw_line_separator_is_one_bad_line() -> None:
    _, ledger = replayed(line(0, v={}), '{"kind":1,"k":["a"],"v":"x\u2028y"\n'.encode())

    assert notes_by_line(ledger) == [(2, "bad-json"), (None, "damaged-log")]


def test_half_characters_are_replaced_and_reported() -> None:
    log, ledger = replayed(
        line(0, v={}),
        b'{"kind":1,"k":["a"],"v":"cut \\ud83d"}\n',
        b'{"kind":1,"k":["b"],"v":"\\ude00 cut \\ud83d\\ude00"}\n',
    )

    assert log.state == {"a": "cut \ufffd", "b": "\ufffd cut 😀"}
    assert not log.is_damaged
    assert notes_by_line(ledger) == [(2, "lone-surrogate"), (3, "lone-surrogate")]


def test_broken_bytes_and_invalid_numbers_are_repaired_and_reported() -> None:
    log, ledger = replayed(
        line(0, v={}), b'{"kind":1,"k":["a"],"v":"\xff"}\n', b'{"kind":1,"k":["b"],"v":[NaN,1e999]}\n'
    )

    assert log.state == {"a": "\ufffd", "b": [None, None]}
    assert notes_by_line(ledger) == [(2, "invalid-utf8"), (3, "not-a-number")]


def test_a_value_that_vs_code_shortened_is_reported_once() -> None:
    shortened = "[VS Code: value truncated for persistence; original 2000000 chars]"

    _, ledger = replayed(line(0, v={"a": shortened}), line(1, ["b"], v=shortened))

    assert notes_by_line(ledger) == [(None, "value-truncated")]


# --- replaced values ------------------------------------------------------------------------------------------------


def test_a_request_with_a_damaged_id_does_not_affect_texts_of_others() -> None:
    requests = [{"requestId": []}, {"requestId": "request_1", "response": [{"value": "A first answer."}]}]
    log, _ = replayed(
        line(0, v={"requests": requests}), line(1, ["requests", 1, "response"], v=[{"value": "Another one."}])
    )

    assert log.lost_texts() == {"request_1": [(0, "A first answer.")]}
