"""Packed files and tables: what comes out of them, what of damaged ones, and where the plain copies are kept."""

from __future__ import annotations

import datetime
import gzip
import json
import os
import random
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from copilog.telemetry import parquet as parquet_module
from copilog.telemetry import spool as spool_module
from copilog.telemetry.inputs import Readable, list_files, parts_of, prepare
from copilog.telemetry.records import records
from copilog.telemetry.spool import spool_folder

LINES = b'{"a": 1}\n{"b": 2}\n'


@pytest.fixture
def spool(tmp_path: Path) -> str:
    (tmp_path / "spool").mkdir()
    return str(tmp_path / "spool")


def prepared(spool: str, data: bytes, name: str) -> Readable:
    path = Path(spool).parent / name
    path.write_bytes(data)
    [file] = list_files([path])
    return prepare(file, spool)


def content(file: Readable) -> bytes:
    """Return the plain bytes of a usable file."""
    return Path(file.path).read_bytes() if file.size else b""


def whole_lines(file: Readable) -> list[bytes]:
    found = [data for part in parts_of(file, 1 << 20) for _, _, data, _ in records(part, False)]
    return [data for data in found if data is not None and data.endswith(b"\n")]


def zstd_packed(data: bytes) -> bytes:
    packed: bytes = pytest.importorskip("backports.zstd").compress(data)
    return packed


def noise(size: int) -> bytes:
    """Return lines that hardly compress, so that a packed file has many bytes to damage."""
    numbers = random.Random(7)
    return b"".join(json.dumps({"n": numbers.randbytes(200).hex()}).encode() + b"\n" for _ in range(size // 400))


# --- gzip and zstd -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.jsonl", "dump"])
def test_r02_a_packed_file_is_unpacked_under_any_name(spool: str, pack: Any, name: str) -> None:
    found = prepared(spool, pack(LINES), name)

    assert content(found) == LINES
    assert (found.kind, found.size, found.spooled, found.note, found.code) == ("lines", len(LINES), True, None, None)
    assert Path(found.path).parent == Path(spool)
    assert found.shown.endswith(name)


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_r02_the_kind_is_that_of_the_content(spool: str, pack: Any) -> None:
    assert prepared(spool, pack(b'\xef\xbb\xbf[\n{"a": 1}]'), "a.json.gz").kind == "array"
    assert prepared(spool, pack(b'\xef\xbb\xbf[\n{"a": 1}]'), "a.json.gz").start == 3
    assert prepared(spool, pack(b'{"a": 1}'), "a.json.gz").kind == "objects"
    assert "UTF-16" in (prepared(spool, pack(b"\xff\xfe{\x00"), "a.json.gz").note or "")


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_r02_all_members_of_a_packed_file_are_read(spool: str, pack: Any) -> None:
    large = noise(300_000)
    members = pack(b'{"a": 1}\n') + pack(b"") + pack(large) + pack(b'{"b": 2}\n')

    found = prepared(spool, members, "a.jsonl.gz")

    assert content(found) == b'{"a": 1}\n' + large + b'{"b": 2}\n'
    assert found.note is None


@pytest.mark.parametrize("step", [4, 7, 64])
@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_r02_members_may_begin_and_end_at_any_byte(
    spool: str, monkeypatch: pytest.MonkeyPatch, pack: Any, step: int
) -> None:
    monkeypatch.setattr(spool_module, "_PACKED_STEP", step)
    monkeypatch.setattr(spool_module, "_PLAIN_STEP", 5)
    members = pack(LINES) + b"\0" * 100 + pack(LINES) + b"\0" * 3

    found = prepared(spool, members, "a.jsonl.gz")

    assert (content(found), found.note) == (LINES * 2, None)


def test_r02_frames_to_be_skipped_are_skipped(spool: str) -> None:
    skipped = bytes.fromhex("552a4d18") + (5).to_bytes(4, "little") + b"notes"

    found = prepared(spool, skipped + zstd_packed(LINES) + skipped, "a.jsonl.zst")

    assert (content(found), found.note) == (LINES, None)


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_a_high_compression_ratio_is_accepted(spool: str, pack: Any) -> None:
    found = prepared(spool, pack(b" " * 30_000_000 + LINES), "a.jsonl.gz")

    assert (found.size, found.note, found.kind) == (30_000_000 + len(LINES), None, "lines")
    assert len(whole_lines(found)) == 2


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_an_empty_file_is_empty_under_any_name(spool: str, name: str) -> None:
    found = prepared(spool, b"", name)

    assert (found.size, found.note) == (0, None)


def test_a_file_named_packed_that_is_not_is_reported(spool: str) -> None:
    plain = prepared(spool, LINES, "a.jsonl.gz")
    words = prepared(spool, b"not packed at all", "b.jsonl.zst")
    table = prepared(spool, b"not a table", "c.parquet")

    assert (plain.note, plain.code) == ("is named .gz, but is not packed with gzip; read as it is", "bad-file")
    assert whole_lines(plain) == LINES.splitlines(keepends=True)
    assert (words.note, words.code, words.size) == ("is named .zst, but is not packed with zstd", "bad-file", 0)
    assert (table.note, table.size) == ("is named .parquet, but is not packed with parquet", 0)


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_a_torn_file_yields_its_complete_lines(spool: str, pack: Any) -> None:
    plain = noise(600_000)
    packed = pack(plain)

    found = prepared(spool, packed[: len(packed) * 2 // 3], "a.jsonl.gz")

    assert "cut off at byte" in (found.note or "")
    assert found.code == "salvaged-document"
    assert plain.startswith(content(found))
    assert len(whole_lines(found)) > len(plain.splitlines()) // 3


def test_a_cut_checksum_only_causes_a_note(spool: str) -> None:
    found = prepared(spool, gzip.compress(LINES)[:-3], "a.jsonl.gz")

    assert content(found) == LINES
    assert "cut off" in (found.note or "")


def test_a_wrong_checksum_only_causes_a_note(spool: str) -> None:
    packed = bytearray(gzip.compress(LINES))
    packed[-6] ^= 1

    found = prepared(spool, bytes(packed), "a.jsonl.gz")

    assert content(found) == LINES
    assert "is damaged at byte" in (found.note or "")
    assert found.code == "salvaged-document"


@pytest.mark.parametrize("step", [16, 1 << 16])
@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_all_that_comes_before_the_damage_is_used(
    spool: str, monkeypatch: pytest.MonkeyPatch, pack: Any, step: int
) -> None:
    monkeypatch.setattr(spool_module, "_PACKED_STEP", step)
    plain = noise(20_000)
    packed = pack(LINES) + pack(plain) + b"\x1f\x8b\x08\x00 and \x28\xb5\x2f\xfd"

    found = prepared(spool, packed, "a.jsonl.gz")

    assert content(found).startswith(LINES + plain)
    assert found.code == "salvaged-document"


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_bytes_after_the_packed_data_are_reported(spool: str, pack: Any) -> None:
    packed = pack(LINES)

    found = prepared(spool, packed + b"\0\0 and more", "a.jsonl.gz")

    assert content(found) == LINES
    assert f"from byte {len(packed) + 2} on" in (found.note or "")


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8b\x08\x00", b"\x1f\x8bnonsense", bytes.fromhex("28b52ffd0458")])
def test_a_file_of_which_nothing_comes_out_cannot_be_used(spool: str, data: bytes) -> None:
    pytest.importorskip("backports.zstd")

    found = prepared(spool, data, "a.jsonl.gz")

    assert (found.size, found.code, found.spooled) == (0, "bad-file", False)
    assert found.note
    assert parts_of(found, 100) == []


@pytest.mark.parametrize("pack", [gzip.compress, zstd_packed])
def test_any_damage_is_survived(spool: str, pack: Any) -> None:
    plain = noise(3000)
    packed = pack(plain)
    for place in range(0, len(packed), 11):
        damaged = packed[:place] + bytes([packed[place] ^ 0x55]) + packed[place + 1 :]
        found = prepared(spool, damaged, "a.jsonl")
        whole_lines(found)
        if pack is gzip.compress and place > 10:  # zstd has a checksum only when it was asked for
            assert found.note


def test_without_the_library_a_file_of_zstd_says_what_to_install(spool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd_packed(LINES)
    for name in ("backports.zstd", "compression.zstd"):
        monkeypatch.setitem(sys.modules, name, None)

    found = prepared(spool, packed, "a.jsonl.zst")

    assert found.note == "needs a library for zstd: pip install backports.zstd"
    assert (found.code, found.size) == ("missing-library", 0)


# --- the folder -------------------------------------------------------------------------------------------------------


@pytest.fixture
def private_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a temporary folder of the system for this test alone."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_copies_are_private_and_go_with_the_folder(private_temp: Path, tmp_path: Path) -> None:
    with spool_folder() as folder:
        (tmp_path / "spool").symlink_to(folder)
        found = prepared(str(tmp_path / "spool"), gzip.compress(LINES), "a.jsonl.gz")
        assert Path(folder).name.startswith(f"copilog-{os.getpid()}-spool-")
        assert Path(folder).parent == private_temp
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(found.path).stat().st_mode) == 0o600
    assert list(private_temp.iterdir()) == []
    with pytest.raises(RuntimeError, match="ours"), spool_folder():
        raise RuntimeError("ours")
    assert list(private_temp.iterdir()) == []


def test_folders_of_runs_that_were_killed_are_removed(private_temp: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    stale = private_temp / f"copilog-{ended.pid}-spool-abc"
    stale.mkdir()
    (stale / "000000").touch()
    with spool_folder() as other, spool_folder():
        assert Path(other).exists()
        assert not stale.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_ends_the_run(spool: str) -> None:
    Path(spool, "000000").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left") as caught:
        prepared(spool, gzip.compress(LINES), "a.jsonl.gz")

    assert caught.value.filename == spool


def test_a_file_may_be_prepared_again(spool: str) -> None:
    first = prepared(spool, gzip.compress(LINES), "a.jsonl.gz")

    assert prepared(spool, gzip.compress(b'{"c": 3}'), "a.jsonl.gz").path == first.path
    assert content(first)[:8] == b'{"c": 3}'


# --- tables -----------------------------------------------------------------------------------------------------------


def table(spool: str, columns: dict[str, Any], name: str = "events.parquet", **options: Any) -> Readable:
    arrow = pytest.importorskip("pyarrow")
    path = Path(spool).parent / name
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path, **options)
    [file] = list_files([path])
    return prepare(file, spool)


def rows(file: Readable) -> list[Any]:
    assert (file.kind, file.spooled) == ("lines", True)
    return [json.loads(line) for line in whole_lines(file)]


def test_r01_tables_are_found_in_folders(spool: str) -> None:
    table(spool, {"event": ["{}"]})

    assert len(list_files([Path(spool).parent])) == 1


def test_r01_a_table_of_envelopes_is_one_event_per_row(spool: str) -> None:
    found = table(
        spool,
        {
            "row": [1, 2],
            "measurements": ['{"n": 1}', None],
            "properties": ['{"conversationId": "talk"}', '{"x": "\u2028\\n"}'],
            "time": ["2025-08-17T09:12:44.120Z", None],
            "name": ["copilot-chat/engine.messages", "other"],
        },
    )

    assert rows(found) == [
        {
            "name": "copilot-chat/engine.messages",
            "time": "2025-08-17T09:12:44.120Z",
            "properties": '{"conversationId": "talk"}',
            "measurements": '{"n": 1}',
        },
        {"name": "other", "properties": '{"x": "\u2028\\n"}'},
    ]
    assert list(rows(found)[0]) == ["name", "time", "properties", "measurements"]


def test_r01_properties_may_be_maps_or_structs(spool: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    maps = arrow.array([[("a", "1"), ("b", None)], [], None], arrow.map_(arrow.string(), arrow.string()))
    numbers = arrow.array([[("n", 1.5), ("x", float("nan"))], None, []], arrow.map_(arrow.string(), arrow.float64()))

    assert rows(table(spool, {"name": ["x", "y", "z"], "properties": maps, "measurements": numbers})) == [
        {"name": "x", "properties": {"a": "1"}, "measurements": {"n": 1.5, "x": None}},
        {"name": "y", "properties": []},
        {"name": "z", "measurements": []},
    ]
    structs = [{"a": "1", "deep": {"b": [1, None]}, "at": datetime.date(2025, 8, 17)}, {"a": None}, None]
    assert rows(table(spool, {"name": ["x", "y", "z"], "properties": structs})) == [
        {"name": "x", "properties": {"a": "1", "deep": {"b": [1, None]}, "at": "2025-08-17"}},
        {"name": "y", "properties": {}},
        {"name": "z"},
    ]


@pytest.mark.parametrize(
    ("unit", "zone", "count", "text"),
    [
        ("s", None, 1_755_421_964, "2025-08-17T09:12:44Z"),
        ("ms", None, 1_755_421_964_120, "2025-08-17T09:12:44.120Z"),
        ("us", "UTC", 1_755_421_964_120_007, "2025-08-17T09:12:44.120007Z"),
        ("ns", "Europe/Madrid", 1_755_421_964_120_007_001, "2025-08-17T09:12:44.120007001Z"),
        ("ms", "UTC", -1, "1969-12-31T23:59:59.999Z"),
        ("ms", None, -60_000_000_000_000, "0068-09-03T13:20:00.000Z"),
        ("ms", None, 9_000_000_000_000_000, None),
    ],
)
def test_r21_timestamps_become_texts_in_utc_with_the_digits_they_have(
    spool: str, unit: str, zone: str | None, count: int, text: str | None
) -> None:
    arrow = pytest.importorskip("pyarrow")
    times = arrow.array([count, None], arrow.int64()).cast(arrow.timestamp(unit, zone))
    if unit == "s":  # the format itself knows no seconds
        assert parquet_module._time(count, unit) == text
        return

    found = table(spool, {"name": ["x", "y"], "time": times, "properties": ["{}", "{}"]})

    assert [row.get("time") for row in rows(found)] == [text, None]


def test_r04_a_table_of_events_is_one_line_per_row_and_nothing_is_lost(spool: str) -> None:
    events = ['{"a": 1}', None, "", '{\n "b": "2\\n"\n}', '{"c": "raw\nline"}', "[", " \n"]

    found = table(spool, {"event": events, "other": events}, row_group_size=2)

    assert whole_lines(found) == [
        b'{"a": 1}\n',
        b"null\n",
        b"null\n",
        b'{\r "b": "2\\n"\r}\n',
        b'{"c": "raw\rline"}\n',
        b"[\n",
        b"null\n",
    ]


def test_r02_the_first_event_of_a_table_does_not_make_it_an_array(spool: str) -> None:
    assert table(spool, {"event": ["[1", '{"a": 1}']}).kind == "lines"
    assert table(spool, {"event": ['{"a": 1}']}).kind == "lines"


def test_events_may_be_bytes_dictionaries_or_structs(spool: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    texts = ['{"a": 1}', '{"a": 1}', '{"b": "é"}']

    for column in (
        arrow.array(texts).dictionary_encode(),
        arrow.array([text.encode() for text in texts]),
        arrow.array(texts, arrow.large_string()),
    ):
        assert rows(table(spool, {"event": column})) == [{"a": 1}, {"a": 1}, {"b": "é"}]
    assert rows(table(spool, {"event": [{"a": 1, "b": None}, None]})) == [{"a": 1}, None]


def test_r04_rows_that_are_not_text_are_counted_as_malformed(spool: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    texts = arrow.array([b'{"a": 1}', b'{"\xff": 2}', b'{"c": 3}'], arrow.binary())
    no_text = arrow.StringArray.from_buffers(3, *texts.buffers()[1:])

    assert rows(table(spool, {"event": texts})) == [{"a": 1}, None, {"c": 3}]
    assert rows(table(spool, {"event": no_text})) == [{"a": 1}, None, {"c": 3}]
    assert rows(table(spool, {"name": ["x", "y", "z"], "properties": no_text})) == [
        {"name": "x", "properties": '{"a": 1}'},
        None,
        {"name": "z", "properties": '{"c": 3}'},
    ]


def test_columns_are_found_in_any_letter_case_the_exact_one_first(spool: str) -> None:
    assert rows(table(spool, {"NAME": ["x"], "Properties": ["{}"], "TIME": ["t"]})) == [
        {"name": "x", "time": "t", "properties": "{}"}
    ]
    assert rows(table(spool, {"Name": ["wrong"], "name": ["x"], "properties": ["{}"]})) == [
        {"name": "x", "properties": "{}"}
    ]
    assert rows(table(spool, {"Event": ['{"a": 1}'], "EVENT": ["wrong"]})) == [{"a": 1}]
    assert rows(table(spool, {"event": ["wrong"], "name": ["x"], "properties": ["{}"]})) == [
        {"name": "x", "properties": "{}"}
    ]


def test_a_table_without_known_columns_is_reported(spool: str) -> None:
    found = table(spool, {"name": ["x"], "payload": ["{}"]})

    assert found.note == "has neither a column `event` nor the columns `name` and `properties`"
    assert (found.code, found.size) == ("bad-file", 0)


def test_a_table_without_rows_yields_nothing(spool: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    found = table(spool, {"event": arrow.array([], arrow.string())})

    assert (found.size, found.note) == (0, None)


def test_a_table_is_recognised_under_any_name(spool: str) -> None:
    assert rows(table(spool, {"event": ['{"a": 1}']}, "dump.jsonl")) == [{"a": 1}]


def test_a_damaged_table_is_reported_and_its_first_rows_are_used(spool: str) -> None:
    events = [json.dumps({"n": number, "text": "x" * 100}) for number in range(1000)]
    path = Path(table(spool, {"event": events}, row_group_size=100, compression="none").shown)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 20_000] = b"\xff" * 20_000

    cut = prepared(spool, bytes(data[:middle]), "cut.parquet")
    holed = prepared(spool, bytes(data), "holed.parquet")

    assert (cut.size, cut.code) == (0, "bad-file")
    assert "cannot be read as Parquet" in (cut.note or "")
    assert whole_lines(holed)[:100] == [text.encode() + b"\n" for text in events[:100]]
    assert (holed.code, holed.kind) == ("salvaged-document", "lines")


def test_without_the_library_a_table_says_what_to_install(spool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(table(spool, {"event": ["{}"]}).shown)
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    [file] = list_files([path])
    found = prepare(file, spool)

    assert found.note == "is a Parquet table; to read it: pip install 'copilog[parquet]'"
    assert (found.code, found.size) == ("missing-library", 0)


def test_libraries_are_not_loaded_before_they_are_needed() -> None:
    program = """
import sys
import copilog.telemetry.records, copilog.telemetry.inputs
assert not {"pyarrow", "backports.zstd", "compression.zstd"} & set(sys.modules), sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
