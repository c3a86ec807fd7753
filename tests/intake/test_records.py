"""The reader of JSON lines: lines and ranges of them, the first record, and what is too long to be held."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.diagnostics import Ledger
from copilog.intake import files, limits, records
from copilog.intake.records import JsonLines, first_record, lines_between, lines_of


def values(data: bytes, ledger: Ledger | None = None) -> list[object]:
    return [value for value, *_ in JsonLines(data, ledger or Ledger(), lambda value: "a" in value)]


def test_only_a_line_feed_ends_a_line() -> None:
    data = "a\u2028b\x85c\r\n\nd\x0be".encode()

    lines = list(lines_of(data))

    assert [line.data for line in lines] == ["a\u2028b\x85c\r".encode(), b"", b"d\x0be"]
    assert [(line.number, line.is_last_open) for line in lines] == [(1, False), (2, False), (3, True)]
    assert all(data[line.offset :].startswith(line.data) for line in lines)


@given(st.lists(st.binary().map(lambda line: b"x" + line.replace(b"\n", b""))), st.booleans())
def test_lines_join_to_the_data(lines: list[bytes], is_open: bool) -> None:
    data = b"".join(line + b"\n" for line in lines) + b"tail" * is_open

    made = list(lines_of(data))

    assert [line.data for line in made] == [*lines, *([b"tail"] * is_open)]
    assert b"".join(line.data + b"\n" * (not line.is_last_open) for line in made) == data


@given(st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\r", b""))), st.integers(1, 20))
def test_ranges_give_every_line_once(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], step: int) -> None:
    data = b"\n".join(lines)
    path = tmp_path_factory.mktemp("ranges") / "lines"
    path.write_bytes(data)

    made = [
        (offset, line)
        for start in range(0, len(data), step)
        for offset, _, line, _ in lines_between(path, start, min(start + step, len(data)))
    ]

    wanted = [line for line in data.splitlines(keepends=True) if line.strip(b" \t\r\n")]
    assert [line for _, line in made] == wanted
    assert all(data[offset:].startswith(line or b"-") for offset, line in made)


def test_a_record_that_is_too_long_is_reported_with_its_size_and_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(limits.RECORD_VARIABLE, "1")
    long = b'{"a": "' + b"x" * (3 << 20) + b'"}'
    for encoding in ("utf-8", "utf-16"):
        ledger = Ledger()

        data = b'{"a": 1}\n' + long + b'\n{"a": 2}\n'
        assert values(data.decode().encode(encoding), ledger) == [{"a": 1}, {"a": 2}]

        assert [(bad.code, bad.line) for bad in ledger.bad] == [("too-large", 2)]
        assert "a record of 3.0 MB; longer than the 1.0 MB" in ledger.bad[0].reason
    path = tmp_path / "events.jsonl"
    path.write_bytes(data)
    met = list(lines_between(path, 0, len(data)))
    assert [line for _, _, line, _ in met] == [b'{"a": 1}\n', None, b'{"a": 2}\n']
    assert [offset for offset, *_ in met] == [0, 9, 9 + len(long) + 1]


def test_an_invalid_limit_is_replaced_by_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("", "many", "0", "-3"):
        monkeypatch.setenv(limits.RECORD_VARIABLE, text)
        assert limits.largest_record() == 256 << 20


@pytest.mark.parametrize(
    ("data", "first"),
    [
        (b'{"a": 1}\n{"a": 2}\n', {"a": 1}),
        (b'\xef\xbb\xbf\n\0\0{"a": 1}\n', {"a": 1}),
        (b'rn"}\n{"a": 2}\n', {"a": 2}),
        (b'{"a": {"b": 1}, "c\n{"a": 2}\n', {"a": 2}),
        (b'{"a": 1}\r{"a": 2}\r', {"a": 1}),
        ('{"a": 1}\u2028{"a": 2}'.encode(), {"a": 1}),
        ('{"a": 1}\n'.encode("utf-32"), {"a": 1}),
        (b'{\n  "a": 1\n}\n', None),
        (b'[\n{"a": 1}\n]\n', None),
        (b"words\n" * 50 + b'{"a": 1}\n', {"a": 1}),
        (b"\n" * 50 + b'{"a": 1}\n', {"a": 1}),
        (b" \t\r\n" * 200_000 + b'{"a": 1}\n', {"a": 1}),
        (("\n" * 50 + '{"a": 1}\n').encode("utf-16"), {"a": 1}),
        ((b"words " * 2_000 + b"\n") * 19 + b'{"a": 1}\n', {"a": 1}),
        ((b"words " * 2_000 + b"\n") * 30 + b'{"a": 1}\n', None),
        (b"", None),
    ],
)
def test_the_first_record_is_found_after_damage(tmp_path: Path, data: bytes, first: object) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)

    assert first_record(path) == first


def test_a_second_byte_order_mark_between_joined_files_loses_no_record() -> None:
    mark = b"\xef\xbb\xbf"

    assert values(mark + b'{"a": 1}\n' + mark + b'{"a": 2}\n') == [{"a": 1}, {"a": 2}]


def test_a_repeated_beginning_of_a_record_is_ignored_as_a_copy() -> None:
    ledger = Ledger()

    assert values(b'{"a": "one{"a": "one and more"}\n', ledger) == [{"a": "one and more"}]
    assert ledger.ignored == {"torn-copy": 1}


def test_a_range_in_the_middle_of_a_long_line_is_not_read_to_the_end_of_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BUFFER_BYTES", 16)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"a": 1}\n' + b"x" * 1000 + b"\n")
    passed: list[int] = []
    rest_of_line = records._rest_of_line

    def counted(file: BinaryIO, most: int | None = None) -> int:
        passed.append(rest_of_line(file, most))
        return passed[-1]

    monkeypatch.setattr(records, "_rest_of_line", counted)

    assert list(lines_between(path, 100, 200)) == []
    assert passed == [112]
