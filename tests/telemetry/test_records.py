"""How parts of files become records, and records become objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.errors import BadRecord
from copilog.telemetry import records as records_module
from copilog.telemetry.inputs import Part, Readable, list_files, parts_of, prepare
from copilog.telemetry.json_values import ValueScan, end_of_value
from copilog.telemetry.records import decode_record, line_number, read_at, records


def opened(tmp_path: Path, data: bytes) -> Readable:
    path = tmp_path / "events.json"
    path.write_bytes(data)
    [file] = list_files([path])
    return prepare(file, str(tmp_path))


def read(file: Readable, part_bytes: int = 1 << 20, **options: bool) -> list[tuple[int, int, bytes | None, str | None]]:
    recovery = options.pop("recovery", False)
    found = [record for part in parts_of(file, part_bytes, **options) for record in records(part, recovery)]
    return [(*record, str(error) if error else None) for *record, error in found]  # type: ignore[misc]


def found(tmp_path: Path, data: bytes, **options: bool) -> list[tuple[int, int, bytes | None]]:
    """Return the records without reasons. Every record is at its offset, with any size of chunks."""
    file = opened(tmp_path, data)
    result = [record[:3] for record in read(file, **options)]
    for offset, line, record in result:
        if record is not None:
            assert read_at(file, offset, len(record)) == record
        if file.kind != "lines":
            assert line == data.count(b"\n", file.start, offset)
    return result


# --- R-2: lines -------------------------------------------------------------------------------------------------------


def test_r02_lines_have_offset_and_number_and_blank_ones_are_skipped(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf{"a": 1}\n\n \t\r\n{"b": 2}\r\nnot JSON\n\x0c\n{"c": 3}'

    assert found(tmp_path, data) == [
        (3, 0, b'{"a": 1}\n'),
        (17, 3, b'{"b": 2}\r\n'),
        (27, 4, b"not JSON\n"),
        (36, 5, b"\x0c\n"),
        (38, 6, b'{"c": 3}'),
    ]


def test_r02_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    data = '{"a": "x\u2028\x85\x0b\x0c"}\r{"b": 2}\n{"c": 3}\n'.encode()

    assert [record for _, _, record in found(tmp_path, data)] == cut(data)


def cut(data: bytes) -> list[bytes]:
    """Return lines with their ends, cut at line feeds."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]] + [line for line in data.split(b"\n")[-1:] if line]


@given(
    st.lists(st.sampled_from([b"", b" ", b"\r", b'{"a": 1}', b"x", b'{"b": "a rather long line"}']), max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_r03_any_ranges_of_lines_yield_the_same_records(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], has_mark: bool, has_end: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.jsonl"
    mark = b"\xef\xbb\xbf" if has_mark else b""
    path.write_bytes(mark + b"\n".join([b"first", *lines]) + (b"\n" if has_end else b""))
    [listed] = list_files([path])
    file = prepare(listed, "")

    whole = [(offset, data) for offset, _, data, _ in read(file, streaming=False)]

    assert [data for _, data in whole] == [line for line in cut(path.read_bytes()[len(mark) :]) if line.strip()]
    for size in range(1, file.size + 1):
        assert [(offset, data) for offset, _, data, _ in read(file, size)] == whole


def test_r03_a_part_numbers_the_lines_that_begin_in_it(tmp_path: Path) -> None:
    file = opened(tmp_path, b'{"a": 1}\n\n{"b": 2}\n{"c": 3}\n')

    def numbers(start: int, end: int) -> list[tuple[int, int]]:
        return [(offset, line) for offset, line, _, _ in records(Part(file, start, end), False)]

    assert numbers(0, 9) == [(0, 0)]
    assert numbers(9, 20) == [(10, 1), (19, 2)]
    assert numbers(8, 10) == []
    assert numbers(1, 9) == []
    assert numbers(10, 11) == [(10, 0)]
    assert numbers(11, 19) == []
    assert numbers(11, 20) == [(19, 0)]
    assert [line_number(file, offset) for offset in (0, 8, 9, 10, 19, 27, 28)] == [1, 1, 2, 3, 4, 4, 5]


# --- R-2: arrays and objects ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[]", []),
        (b" [ \n ] \n", []),
        (b'[{"a": 1}]', [(1, b'{"a": 1}')]),
        (b'\xef\xbb\xbf\n[ {"a": 1} ,\n\t{"b": [2]}\r\n]\n', [(6, b'{"a": 1}'), (18, b'{"b": [2]}')]),
        (
            b'["a,]", 1, -2.5e3, true, null, [[]], {"b": "\\"]"}, NaN]',
            [
                (1, b'"a,]"'),
                (8, b"1"),
                (11, b"-2.5e3"),
                (19, b"true"),
                (25, b"null"),
                (31, b"[[]]"),
                (37, b'{"b": "\\"]"}'),
                (51, b"NaN"),
            ],
        ),
        (b'{"a": 1}', [(0, b'{"a": 1}')]),
        (b'{"a": 1}{"b": 2} {"c": 3}\n', [(0, b'{"a": 1}'), (8, b'{"b": 2}'), (17, b'{"c": 3}')]),
        (b'\n{\n "a": 1\n}\n\n{\n"b": 2}', [(1, b'{\n "a": 1\n}'), (14, b'{\n"b": 2}')]),
        (b'{"a": "\xc3\xa9"} {"b": "\\ud83d"}', [(0, b'{"a": "\xc3\xa9"}'), (12, b'{"b": "\\ud83d"}')]),
        (b'{"a": 1}["b"] 3 {"c": 3}', [(0, b'{"a": 1}'), (8, b'["b"]'), (14, b"3"), (16, b'{"c": 3}')]),
    ],
)  # fmt: skip
def test_r02_values_have_their_offsets(
    tmp_path: Path, data: bytes, expected: list[tuple[int, bytes]], streaming: bool
) -> None:
    assert [(offset, value) for offset, _, value in found(tmp_path, data, streaming=streaming)] == expected


FAULTS = [
    (b'[{"a": 1}, {"b": 2}, {\'c\': 3}, {"d": 4}]', 2, 21, "not JSON"),
    (b'[{"a": 1}, {"b": oops}, {"d": 4}]', 1, 11, "not JSON"),
    (b'[{"a": 1}, oops, {"d": 4}]', 1, 11, "not JSON"),
    (b'[{"a": 1}, {"b": "\xff"}, {"d": 4}]', 1, 11, "not UTF-8 (byte 7 of the record)"),
    (b'[{"a": 1}, {"b": "\x01"}, {"d": 4}]', 1, 11, "not JSON"),
    (b'[{"a": 1}, {"b": 2', 1, 11, "cut off"),
    (b'[{"a": 1}, {"b": "2', 1, 11, "cut off"),
    (b'[{"a": 1}, ', 1, 11, "cut off"),
    (b'[{"a": 1}', 1, 9, "the array has no end"),
    (b"[", 0, 1, "cut off"),
    (b'[{"a": 1} {"b": 2}]', 1, 10, "a comma is missing"),
    (b'[{"a": 1},, {"b": 2}]', 1, 10, "not JSON"),
    (b'[{"a": 1}, ]', 1, 11, "not JSON"),
    (b'[{"a": 1}]]', 1, 10, "text after the end"),
    (b'[{"a": 1}\n] {"b": 2}', 1, 12, "text after the end"),
    (b'[{"a": 1}, ' + b"1" * 5000 + b", 2]", 1, 11, "not JSON"),
    (b'{"a": 1}{"b": oops}{"c": 3}', 1, 8, "not JSON"),
    (b'{"a": 1},{"c": 3}', 1, 8, "not JSON"),
    (b'{"a": 1}}', 1, 8, "not JSON"),
    (b'{\n"a": 1}\n{\n"b', 1, 10, "cut off"),
    (b'{"a": tru', 0, 0, "cut off"),
]


@pytest.mark.parametrize(("data", "good", "offset", "reason"), FAULTS)
def test_r02_everything_after_the_first_error_is_one_record(
    tmp_path: Path, data: bytes, good: int, offset: int, reason: str
) -> None:
    file = opened(tmp_path, data)

    *before, last = read(file)

    assert [value for _, _, value, _ in before if value is None] == []
    assert len(before) == good
    assert last[:3] == (offset, data.count(b"\n", 0, offset), None)
    assert reason in (last[3] or "")
    assert read(file, streaming=False) == [*before, last]


@pytest.mark.parametrize("data", [fault[0] for fault in FAULTS])
def test_r02_the_size_of_chunks_makes_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    file = opened(tmp_path, data)
    expected = read(file)
    for held in (0, 4, 1000):
        monkeypatch.setattr(records_module, "MOST_HELD_BYTES", held)
        for size in (1, 2, 3, 5, 8):
            monkeypatch.setattr(records_module, "CHUNK_BYTES", size)

            assert read(file) == expected


json_values_of_any_kind = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
spaces = st.sampled_from(["", " ", "\n", "\r\n\t"])


@given(st.lists(json_values_of_any_kind, max_size=6), st.sampled_from([None, 2]), spaces, st.integers(1, 40))
def test_r02_any_array_is_split_into_its_items(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], indent: int | None, space: str, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    texts = [json.dumps(item, indent=indent, ensure_ascii=False) for item in items]
    text = f"{space}[{space}" + f"{space},{space}".join(texts) + f"{space}]{space}"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    file = Readable(0, str(path), "any.json", "array", 0, path.stat().st_size, False)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records_module, "CHUNK_BYTES", size)
        result = read(file)

    assert [value for _, _, value, _ in result] == [text.encode() for text in texts]
    assert all(value is not None and read_at(file, offset, len(value)) == value for offset, _, value, _ in result)


def test_a_value_larger_than_the_buffer_is_read_and_one_without_an_end_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_module, "MOST_HELD_BYTES", 1 << 16)
    large = json.dumps({"a": ["\\" * 100_000, "[{" * 100_000]}).encode()

    whole = found(tmp_path, b"[1, " + large + b", 2]")
    torn = found(tmp_path, b"[1, " + large[:-3] + b", 2]")

    assert [value for _, _, value in whole] == [b"1", large, b"2"]
    assert torn == [(1, 0, b"1"), (4, 0, None)]


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000])
def test_endless_nesting_is_one_bad_record(tmp_path: Path, data: bytes) -> None:
    assert [value for _, _, value in found(tmp_path, data)] == [None]
    with pytest.raises(BadRecord):
        decode_record(data, recovery=True)


@pytest.mark.parametrize("piece", [b'"', b"\\", b'\\"', b'"{', b"[[]", b'{"', b"]", b"\x00", b"1,", b'[""],'])
@pytest.mark.parametrize("head", [b"[", b"{", b'[{"a": "'])
def test_long_nonsense_ends_soon_and_breaks_nothing(tmp_path: Path, head: bytes, piece: bytes) -> None:
    file = opened(tmp_path, head + piece * 20_000)
    for recovery in (False, True):
        *_, last = read(file, recovery=recovery)
        assert last[2] is None


# --- where values end -------------------------------------------------------------------------------------------------


@given(json_values_of_any_kind.filter(lambda value: isinstance(value, (str, list, dict))), st.integers(1, 20))
def test_the_end_of_a_value_is_found_in_chunks(value: Any, size: int) -> None:
    text = json.dumps(value).encode()
    data = text + b', "}]'
    scan = ValueScan()
    ends = ((at, scan.feed(data[at : at + size])) for at in range(0, len(data), size))

    assert next(at + end for at, end in ends if end >= 0) == len(text)
    assert end_of_value(b"[" + data, 1) == len(text) + 1


def test_the_end_of_a_value_is_searched_if_the_decoder_reports_none() -> None:
    assert end_of_value(b'{"a": 1', 0) == -1
    assert end_of_value(b'{"a": NaN}, 1', 0) is None
    assert end_of_value(b'{"a": "\xff"}, 1', 0) is None
    assert end_of_value(b"[" * 100_000, 0) is None
    assert end_of_value(b'{"a": 1} \n, 1', 0) == 8
    assert end_of_value(b'{"a": 1} \n', 0) == 8


# --- R-4: objects -----------------------------------------------------------------------------------------------------


def test_r04_an_object_is_an_object() -> None:
    assert decode_record(b' {"a": [1, "\xc3\xa9"]}\r\n', False) == ({"a": [1, "é"]}, False)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a": "\xff"}', "not UTF-8 (byte 7 of the record)"),
        (b'{"a": "\xed\xa0\xbd"}', "not UTF-8 (byte 7 of the record)"),
        (b"\xff\xfe{\x00", "not UTF-8 (byte 0 of the record)"),
        (b"oops", "not JSON: Expecting value (character 0 of the record)"),
        (b'{"a": 1}{"b": 2}', "not JSON: Extra data (character 8 of the record)"),
        (b'{"a": "x\x01"}', "not JSON: Invalid control character at (character 8 of the record)"),
        (b'{"a": 1', "not JSON: Expecting ',' delimiter (character 7 of the record)"),
        (b"", "not JSON: Expecting value (character 0 of the record)"),
        (b"[1]", "not an object but an array"),
        (b'"a"', "not an object but a text"),
        (b"1", "not an object but a number"),
        (b"1.5", "not an object but a number"),
        (b"true", "not an object but a boolean"),
        (b"null", "not an object but null"),
        (b"NaN", "not an object but null"),
    ],
)
def test_r04_anything_else_is_malformed(data: bytes, reason: str) -> None:
    with pytest.raises(BadRecord) as caught:
        decode_record(data, False)

    assert (str(caught.value), caught.value.code) == (reason, "malformed-record")


def test_r04_what_is_nested_too_deeply_is_too_large() -> None:
    with pytest.raises(BadRecord, match="nested too deeply to be read, in 100,005 bytes") as caught:
        decode_record(b'{"a":' + b"[" * 100_000, False)

    assert caught.value.code == "too-large"


def test_r04_invalid_numbers_are_absent() -> None:
    data = b'{"a": [NaN, Infinity, -Infinity, 1e999, 1.5, 12345678901234567890123], "b": ' + b"9" * 5000 + b"}"

    assert decode_record(data, False) == (
        {"a": [None, None, None, None, 1.5, 12345678901234567890123], "b": None},
        False,
    )


def test_r07_halves_of_a_split_character_are_preserved_until_joined() -> None:
    record, is_recovered = decode_record(b'{"m": "a\\ud83c", "m_02": "\\udf31b"}', False)

    assert (record, is_recovered) == ({"m": "a\ud83c", "m_02": "\udf31b"}, False)
    assert (record["m"] + record["m_02"]).encode("utf-16", "surrogatepass").decode("utf-16") == "a\U0001f331b"


# --- R-8b: recovery ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b'\x00\x00{"a": "be\x00an\x1fs"}\n',
        b'{"a":\x00 "beans"}',
        b'{"a": "beans"}\x00\x00\x00',
        b'{"a": "be\nans"}',
        b'{"a": "beans"}}',
        b'{"a": "beans"}, {"b": 2}',
        b' {"a": "beans"} and more',
        b'{"a": "beans"}\xff\xfe',
        b'{"a": "b\x07eans"}{"b',
    ],
)
def test_r08_recovery_removes_control_characters_and_then_takes_the_longest_beginning(data: bytes) -> None:
    with pytest.raises(BadRecord):
        decode_record(data, False)

    assert decode_record(data, True) == ({"a": "beans"}, True)


def test_r08_recovery_does_not_change_valid_text() -> None:
    assert decode_record(b'{"a": "be\\u0000an\\ns"}', True) == ({"a": "be\0an\ns"}, False)
    assert decode_record(b'{"a": NaN}', True) == ({"a": None}, False)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x00",
        b"oops",
        b'{"a": "be',
        b'{"a": "\xff"}',
        b"[1, 2]",
        b'[{"a": 1}]}',
        b'1 {"a": 1}',
        b"12",
        b'}{"a"',
    ],
)
def test_r08_recovery_invents_nothing(data: bytes) -> None:
    with pytest.raises(BadRecord) as caught:
        decode_record(data, True)

    assert caught.value.code == "malformed-record"


@pytest.mark.parametrize("end", [b"", b"\n", b"\n \n"])
def test_r08_the_only_line_of_a_file_is_a_line(tmp_path: Path, end: bytes) -> None:
    data = b'{"a": "be\x00ans"}'

    assert found(tmp_path, data + end) == [(0, 0, None)]
    assert found(tmp_path, data + end, recovery=True) == [(0, 0, data)]
    assert found(tmp_path, b'{"b": 2} ' + data + end, recovery=True) == [(0, 0, b'{"b": 2}'), (9, 0, data)]


@pytest.mark.parametrize("data", [b'{"a": 1}oops', b'{"a": 1}\n{\n"b": \x00 2}\n', b'[{"a": 1}, {"b": "\x00"}]'])
def test_r08_recovery_is_for_lines(tmp_path: Path, data: bytes) -> None:
    with_recovery = found(tmp_path, data, recovery=True)

    if opened(tmp_path, data).kind != "lines":
        assert with_recovery == found(tmp_path, data)
    assert len(with_recovery) >= 2


# --- reading again ----------------------------------------------------------------------------------------------------


def test_a_file_that_became_shorter_is_reported(tmp_path: Path) -> None:
    file = opened(tmp_path, b'{"a": 1}\n{"b": 2}\n')
    (tmp_path / "events.json").write_bytes(b"{}")

    with pytest.raises(BadRecord) as caught:
        read_at(file, 9, 9)

    assert caught.value.code == "changed-while-reading"
