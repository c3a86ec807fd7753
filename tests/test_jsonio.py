"""Bytes to JSON values: strict and fast first, kind where that fails."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog import jsonio
from copilog.errors import BadRecord


def codes(repairs: list[jsonio.Repair]) -> list[str]:
    return [repair.code for repair in repairs]


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b' {"a": [1, 2.5, null, true]} \r\n', {"a": [1, 2.5, None, True]}),
        ('"潮\u2028汐"'.encode(), "潮\u2028汐"),
        (b'"\\ud83d\\ude00 \\u0000"', "😀 \0"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
    ],
)
def test_valid_json_is_decoded_unchanged(data: bytes, value: Any) -> None:
    assert jsonio.decode(data) == (value, [])


@pytest.mark.parametrize(
    ("data", "value", "code"),
    [
        (b'["a\\ud83d"]', ["a\ufffd"], "lone-surrogate"),
        (b'["\\ud83db", "\\ude00"]', ["\ufffdb", "\ufffd"], "lone-surrogate"),
        (b'{"\\ud800": 1, "b": 2}', {"\ufffd": 1, "b": 2}, "lone-surrogate"),
        (
            b'{"\\ud800": 1, "\\ud801": 2, "\\ufffd": 3}',
            {"\ufffd\ufffd": 1, "\ufffd" * 3: 2, "\ufffd": 3},
            "lone-surrogate",
        ),
        (b'{"a": NaN, "b": -Infinity}', {"a": None, "b": None}, "not-a-number"),
        (b"[1e999, -1e999, 1e3]", [None, None, 1000.0], "not-a-number"),
        (b'"caf\xe9"', "caf\ufffd", "invalid-utf8"),
        (b'["a\nb\x1b"]', ["a\nb\x1b"], "raw-control-character"),
    ],
)
def test_repairs_are_made_and_reported(data: bytes, value: Any, code: str) -> None:
    made, repairs = jsonio.decode(data)

    assert made == value
    assert codes(repairs) == [code]
    json.loads(jsonio.encode(made))


def test_the_order_of_keys_survives_a_repair() -> None:
    made, _ = jsonio.decode(b'{"z": 1, "\\ud800": 2, "a": 3}')

    assert list(made) == ["z", "\ufffd", "a"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"{'a': 1}", b"[1,]", b"hello", b'{"a": 1} {"b": 2}', b"9" * 5000, b'"\xff', b'"\x01']
)
def test_text_that_is_not_json_is_a_bad_record(data: bytes) -> None:
    with pytest.raises(BadRecord) as caught:
        jsonio.decode(data)
    assert caught.value.code == "bad-json"


def test_too_deep_nesting_is_reported_as_too_large() -> None:
    with pytest.raises(BadRecord, match="100,000 bytes") as caught:
        jsonio.decode(b"[" * 100_000)
    assert caught.value.code == "too-large"


def nested(depth: int, inside: bytes = b"") -> bytes:
    """Return JSON that is nested so deeply, with brackets in a text that do not count."""
    return b'["' + b"[{" * 600 + b'",' + b"[" * (depth - 1) + inside + b"]" * depth


def from_a_deep_call(calls: int, data: bytes) -> Any:
    """Decode from within so many calls."""
    return from_a_deep_call(calls - 1, data) if calls else jsonio.decode(data)[0]


@pytest.mark.parametrize("inside", [b"", b'"\\ud800"', b"NaN", b'"\xff"'])
@pytest.mark.parametrize("calls", [0, 100, 600])
def test_the_limit_on_nesting_does_not_depend_on_the_call_stack(calls: int, inside: bytes) -> None:
    limit = sys.getrecursionlimit()
    try:
        for _ in range(2):  # the second time, the interpreter allows more calls
            value = from_a_deep_call(calls, nested(1_000, inside))
            for _ in range(999):
                value = value[-1]
            assert isinstance(value, list)
            with pytest.raises(BadRecord, match="nested too deeply") as caught:
                from_a_deep_call(calls, nested(1_001, inside))
            assert caught.value.code == "too-large"
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("depth", range(900, 1010, 5))
def test_deep_nesting_is_read_or_bad_but_never_a_crash(depth: int) -> None:
    try:
        made, _ = jsonio.decode(b"[" * depth + b'"\\ud800"' + b"]" * depth)
    except BadRecord:
        return
    assert isinstance(made, list)


def test_a_reason_quotes_no_content() -> None:
    for data in (b'{"secret": "hunter2"', b'{"secret": hunter2}', b'"hunter2\xff'):
        with pytest.raises(BadRecord) as caught:
            jsonio.decode(data)
        assert "hunter2" not in str(caught.value)


def test_a_byte_order_mark_is_removed() -> None:
    assert jsonio.as_utf8(b"{}") == (b"{}", [])
    for encoding, code in [("utf-8-sig", "byte-order-mark"), ("utf-16", "utf-16"), ("utf-32", "utf-32")]:
        data, repairs = jsonio.as_utf8('{"a": "潮😀"}'.encode(encoding))
        assert (data.decode(), codes(repairs)) == ('{"a": "潮😀"}', [code])
    assert jsonio.as_utf8(b"\xfe\xff\0{\0}\0")[0] == "{}\ufffd".encode()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_is_recognised_without_a_byte_order_mark(encoding: str) -> None:
    data, repairs = jsonio.as_utf8('{"a": "潮😀"}'.encode(encoding))

    assert (data.decode(), codes(repairs)) == ('{"a": "潮😀"}', [encoding[:6]])


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values)
def test_encoded_values_are_decoded_unchanged(value: Any) -> None:
    assert jsonio.decode(jsonio.encode(value).encode()) == (value, [])


@given(values)
def test_the_lenient_decoder_returns_the_same_values(value: Any) -> None:
    made, repairs = jsonio.decode(b'["\\ud800",' + jsonio.encode(value).encode() + b"]")

    assert made == ["\ufffd", value]
    assert codes(repairs) == ["lone-surrogate"]


@given(st.binary())
def test_any_bytes_are_read_or_bad(data: bytes) -> None:
    try:
        value, _ = jsonio.decode(data)
    except BadRecord:
        return
    jsonio.encode(value)


def test_top_level_values_stay_encoded() -> None:
    assert jsonio.top_level_values(b'{"a": [1, 2], "b": "x"}') == {"a": b"[1, 2]", "b": b'"x"'}
    for data in (b"", b"[1]", b'{"a": ', b"{" * 100_000, b'{"a": "\xff"}x'):
        assert jsonio.top_level_values(data) == {}
