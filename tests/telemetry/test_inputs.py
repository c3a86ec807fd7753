"""Which files are found, how they are spelled and ordered, of which kind they are, and how they are cut into parts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from copilog.errors import UsageError
from copilog.telemetry.inputs import LeftOut, Readable, list_files, parts_of, prepare


def write(path: Path, data: bytes = b'{"a": 1}\n{"b": 2}\n') -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def shown(*paths: str | Path) -> list[str]:
    return [file.shown for file in list_files(paths)]


def below(folder: Path) -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in shown(folder)]


def readable(tmp_path: Path, data: bytes, name: str = "events.jsonl") -> Readable:
    [file] = list_files([write(tmp_path / name, data)])
    return prepare(file, str(tmp_path))


# --- files -------------------------------------------------------------------------------------------------------


def test_r01_files_are_numbered_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("b/1.jsonl", "b.jsonl", "a.jsonl", "b-1.jsonl", "Z.jsonl", "ä.jsonl", "\U0001f331.jsonl", "10.jsonl"):
        write(tmp_path / name)

    files = list_files([tmp_path])

    names = ["10.jsonl", "Z.jsonl", "a.jsonl", "b-1.jsonl", "b.jsonl", "b/1.jsonl", "ä.jsonl", "\U0001f331.jsonl"]
    assert [file.shown for file in files] == [f"{tmp_path}/{name}" for name in names]
    assert [file.index for file in files] == list(range(len(names)))


def test_r01_several_paths_are_sorted_together(tmp_path: Path) -> None:
    folder = write(tmp_path / "b" / "deep" / "x.jsonl").parent.parent
    first, last = write(tmp_path / "a.jsonl"), write(tmp_path / "c.txt")
    expected = [str(first), f"{folder}/deep/x.jsonl", str(last)]

    assert shown(first, folder, last) == shown(last, folder, first) == expected


def test_r01_only_names_of_json_and_tables_are_found_in_a_folder(tmp_path: Path) -> None:
    wanted = [".json", ".jsonl", ".ndjson", ".JSON", ".jsonl.gz", ".json.GZ", ".ndjson.zst", ".Parquet"]
    for ending in [*wanted, ".txt", ".jsonl.bak", ".gz", ".log.zst", ".jsonl.gz.part", ".parquet.gz", ""]:
        write(tmp_path / f"x{ending}")

    assert sorted(below(tmp_path)) == sorted(f"x{ending}" for ending in wanted)


def test_r01_hidden_folders_are_searched_but_for_those_of_version_control(tmp_path: Path) -> None:
    for name in (".hidden/a.jsonl", ".b.jsonl", ".git/c.json", "deep/.svn/d.json", ".hg/e.json"):
        write(tmp_path / name)

    assert below(tmp_path) == [".b.jsonl", ".hidden/a.jsonl"]


def test_r01_a_named_file_is_read_with_any_ending(tmp_path: Path) -> None:
    path = write(tmp_path / "dump.of.monday")

    assert shown(path) == [str(path)]


def test_r01_a_file_that_is_found_twice_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "in" / "a.jsonl")
    (tmp_path / "link.jsonl").symlink_to(path)
    detour = f"{tmp_path}/in/../in/a.jsonl"

    assert shown(path, path) == [str(path)]
    assert shown(path, path.parent) == shown(path.parent, path) == [str(path)]
    assert shown(detour, path) == shown(path, detour) == [detour]
    assert shown(path, tmp_path / "link.jsonl") == [str(path)]
    assert shown(path.parent, f"{path.parent}/", tmp_path / "in") == [str(path)]


def test_r01_a_very_deep_folder_is_searched(tmp_path: Path) -> None:
    write(tmp_path / "/".join("d" * 300) / "x.jsonl")

    assert len(below(tmp_path)) == 1


# --- spelling ---------------------------------------------------------------------------------------------------


def test_r22_a_path_is_shown_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "in" / "deep" / "x.jsonl")
    monkeypatch.chdir(tmp_path)

    assert shown("in/deep/x.jsonl") == ["in/deep/x.jsonl"]
    assert shown("./in//deep/x.jsonl") == ["./in//deep/x.jsonl"]
    assert shown("in") == shown("in/") == shown(Path("in")) == ["in/deep/x.jsonl"]
    assert shown(".") == ["./in/deep/x.jsonl"]
    assert shown("../" + tmp_path.name) == [f"../{tmp_path.name}/in/deep/x.jsonl"]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_r22_a_name_with_invalid_bytes_is_shown_as_text_and_can_be_opened(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    try:
        Path(os.fsdecode(path)).write_bytes(b'{"a": 1}')
    except OSError:
        pytest.skip("this file system knows no such names")

    [file] = list_files([tmp_path])

    assert file.shown == f"{tmp_path}/caf\ufffd.jsonl"
    assert prepare(file, str(tmp_path)).size == 8


# --- what cannot be read ----------------------------------------------------------------------------------------------


def test_nothing_given_is_an_error() -> None:
    with pytest.raises(UsageError, match="at least one"):
        list_files([])


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "gone")

    with pytest.raises(UsageError, match=r"gone\.jsonl: no such file or folder"):
        list_files([write(tmp_path / "a.jsonl"), tmp_path / "gone.jsonl"])
    with pytest.raises(UsageError, match=r"link\.jsonl: is a link that leads nowhere"):
        list_files([tmp_path / "link.jsonl"])
    with pytest.raises(UsageError, match=r"a\.jsonl/x: cannot be read"):
        list_files([tmp_path / "a.jsonl" / "x"])
    with pytest.raises(UsageError, match="cannot be read"):
        list_files(["a\0b"])


def test_a_folder_without_input_is_reported_with_the_accepted_endings(tmp_path: Path) -> None:
    write(tmp_path / "in" / "notes.txt")
    write(tmp_path / "a.jsonl")

    with pytest.raises(UsageError, match=r"/in: no input .* \.json, \.jsonl, \.ndjson, \.json\.gz, .*\.parquet$"):
        list_files([tmp_path / "a.jsonl", tmp_path / "in"])


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(UsageError, match=r"pipe\.jsonl: is a pipe"):
        list_files([tmp_path / "pipe.jsonl"])
    with pytest.raises(UsageError, match="/dev/null: is a device"):
        list_files(["/dev/null"])


def test_skipped_entries_of_a_folder_are_reported(tmp_path: Path) -> None:
    folder = write(tmp_path / "in" / "a.jsonl").parent
    outside = write(tmp_path / "outside" / "b.jsonl")
    (folder / "gone.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "notes").symlink_to(tmp_path / "nowhere")
    (folder / "out.jsonl").symlink_to(outside)
    (folder / "out.txt").symlink_to(write(tmp_path / "outside" / "notes.txt"))
    (folder / "outer").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.json").mkdir()
    left_out: list[LeftOut] = []

    files = list_files([folder, f"{folder}/"], left_out)

    assert [file.shown for file in files] == [f"{folder}/a.jsonl"]
    assert [(entry.shown.removeprefix(f"{folder}/"), entry.note, entry.code) for entry in left_out] == [
        ("gone.jsonl", "is a link that leads nowhere", "broken-link"),
        ("out.jsonl", f"is a link out of the folder, to {outside}, and was not followed", "broken-link"),
        ("outer", f"is a link out of the folder, to {tmp_path}, and was not followed", "broken-link"),
        ("pipe.jsonl", "is a pipe, not a file", "unreadable"),
    ]


def test_a_folder_with_only_links_to_the_outside_is_reported(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").symlink_to(write(tmp_path / "a.jsonl"))

    with pytest.raises(UsageError, match=r"no input .*; .*/in/a\.jsonl is a link out of the folder"):
        list_files([tmp_path / "in"])


def test_links_within_a_folder_show_nothing_twice(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl")
    write(tmp_path / "data.bin")
    (tmp_path / "c.jsonl").symlink_to("b.jsonl")
    (tmp_path / "d.jsonl").symlink_to("data.bin")
    (tmp_path / "again").symlink_to(".", target_is_directory=True)
    (tmp_path / "self.json").symlink_to("self.json")
    left_out: list[LeftOut] = []

    files = list_files([tmp_path], left_out)

    assert [file.shown.removeprefix(f"{tmp_path}/") for file in files] == ["b.jsonl", "d.jsonl"]
    assert [entry.shown for entry in left_out] == [f"{tmp_path}/self.json"]


def test_a_folder_that_is_a_link_itself_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "real" / "a.jsonl")
    (tmp_path / "link").symlink_to("real")

    assert shown(tmp_path / "link") == [f"{tmp_path}/link/a.jsonl"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is unreadable to the superuser")
def test_an_unreadable_folder_is_reported(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl")
    locked = write(tmp_path / "locked" / "b.jsonl").parent
    locked.chmod(0)
    left_out: list[LeftOut] = []
    try:
        list_files([tmp_path], left_out)
    finally:
        locked.chmod(0o700)

    assert [(entry.shown, entry.code) for entry in left_out] == [(str(locked), "unreadable")]


def test_a_file_deleted_meanwhile_is_reported_and_has_no_parts(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl")
    [file] = list_files([path])
    path.unlink()

    found = prepare(file, str(tmp_path))

    assert (found.note, found.code) == ("cannot be read: No such file or directory", "unreadable")
    assert parts_of(found, 100) == []


# --- kinds -------------------------------------------------------------------------------------------------------

KINDS = {
    "lines": (b'{"a": 1}\n{"b": 2}\n', "lines"),
    "lines after blank ones": (b' \n\r\n\t{"a": 1}\n\n{"b": 2}', "lines"),
    "lines, the last one torn": (b'{"a": 1}\n{"b', "lines"),
    "two objects on the first of several lines": (b'{"a": 1}{"a": 2}\n{"b": 2}\n', "lines"),
    "something behind the object on line 1": (b'{"a": 1},\n{"b": 2}\n', "lines"),
    "line 1 torn in a text": (b'{"a": "be\n{"b": 2}\n', "lines"),
    "line 1 torn behind a backslash": (b'{"a": "be\\\n{"b": 2}\n', "lines"),
    "line 1 torn between values": (b'{"a": 1,\n{"b": 2}\n{"c": 3}\n', "lines"),
    "line 1 torn in an inner object": (b'{"a": {"x": 1\n{"b": {}}}\n{"c": 3}\n', "lines"),
    "words": (b"exported on Monday\n[1]\n", "lines"),
    "a text": (b'"{"\n', "lines"),
    "a number": (b"1\n", "lines"),
    "control character first": (b'\x00{"a": 1}', "lines"),
    "no whitespace of JSON first": (b'\x0c{"a": 1}', "lines"),
    "empty": (b"", "lines"),
    "blank": (b" \r\n\t\n", "lines"),
    "array": (b'[{"a": 1}]', "array"),
    "array with blank lines around": (b'\n\n [{"a": 1}]\n\n', "array"),
    "array over lines": (b'[\n{"a": 1},\n{"b": 2}\n]\n', "array"),
    "array that begins with a value": (b'[{"a": 1},\n{"b": 2}]\n', "array"),
    "array, and more on its line": (b'[{"a": 1}] x\n{"b": 2}\n', "array"),
    "torn array": (b'[{"a": 1}, {"b', "array"),
    "torn array and another line": (b'[{"a": 1}, {"b\n{"c": 3}', "array"),
    "brackets that are no array": (b'[1 2]\n{"c": 3}', "array"),
    "array on line 1 of several": (b'[{"a": 1}]\n{"b": 2}\n', "lines"),
    "array of no numbers on line 1 of several": (b'[NaN, "]", "\\ud83d"] \n{"b": 2}\n', "lines"),
    "one object": (b'{"a": 1}', "objects"),
    "one object with an end": (b'\n{"a": 1}\n \n', "objects"),
    "objects on one line": (b'{"a": 1} {"b": 2}{"c": 3}\n', "objects"),
    "one broken object": (b'{"a": tru', "objects"),
    "object over lines": (b'{\n  "a": 1\n}\n', "objects"),
    "objects over lines": (b'{\n"a": 1}\n{\n"b": 2}', "objects"),
    "object with brackets in texts": (b'{"a": "}{\\"}",\n"b": 2}', "objects"),
    "object whose second line is an object": (b'{"events": [\n{"a": 1}\n]}\n', "objects"),
    "object that begins with an object on line 2": (b'{"a":\n{"b": 2}}\n{"c": 3}\n', "objects"),
    "object over lines that breaks off": (b'{\n  "a": 1,\n  "b', "objects"),
}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(("data", "kind"), KINDS.values(), ids=KINDS)
def test_r02_kinds(tmp_path: Path, data: bytes, kind: str, mark: bytes) -> None:
    found = readable(tmp_path, mark + data)

    assert (found.kind, found.start, found.size, found.note) == (kind, len(mark), len(mark + data), None)
    assert found.path == str(tmp_path / "events.jsonl")
    assert not found.spooled


@pytest.mark.parametrize(("data", "kind"), KINDS.values(), ids=KINDS)
def test_r02_kinds_are_seen_across_the_borders_of_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, kind: str
) -> None:
    for size in (1, 2, 3, 7):
        monkeypatch.setattr("copilog.telemetry.json_values.CHUNK_BYTES", size)

        assert readable(tmp_path, data).kind == kind


def test_r02_the_first_lines_of_a_large_file_are_enough(tmp_path: Path) -> None:
    for first, kind in ((b'{"a": 1}\n', "lines"), (b'[\n{"a": 1}', "array"), (b'{\n"a": 1}', "objects")):
        path = write(tmp_path / "sparse.json", first + b"x")
        os.truncate(path, 1 << 34)
        [file] = list_files([path])

        assert prepare(file, str(tmp_path)).kind == kind


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_file_that_is_not_utf8_is_read_all_the_same(tmp_path: Path, encoding: str) -> None:
    found = readable(tmp_path, '\ufeff{"a": 1}\n{"b": "😀"}\n'.encode(encoding))

    assert (found.code, found.level) == (encoding[:6], "warning")
    assert Path(found.path).read_bytes() == '{"a": 1}\n{"b": "😀"}\n'.encode()
    assert len(parts_of(found, 100)) == 1


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"PK\x03\x04", "a zip archive"),
        (b"BZh91AY", "bzip2"),
        (b"\xfd7zXZ\x00", "xz"),
        (b"SQLite format 3\x00", "a SQLite database"),
    ],
)
def test_other_formats_are_reported_and_not_read(tmp_path: Path, data: bytes, what: str) -> None:
    found = readable(tmp_path, data + b"\n" * 100)

    assert what in (found.note or "")
    assert (found.code, found.size) == ("bad-file", 0)


# --- parts ------------------------------------------------------------------------------------------------------------


def ranges(file: Readable, part_bytes: int, **options: bool) -> list[tuple[int, int]]:
    return [(part.start, part.end) for part in parts_of(file, part_bytes, **options)]


def test_r03_lines_are_cut_into_ranges_when_they_are_streamed(tmp_path: Path) -> None:
    file = readable(tmp_path, b'\xef\xbb\xbf{"a": 1}\n{"b": 2}\n')

    assert ranges(file, 8) == [(3, 11), (11, 19), (19, 21)]
    assert ranges(file, 18) == ranges(file, 1000) == ranges(file, 8, streaming=False) == [(3, 21)]
    assert len(ranges(file, 0)) == 18


@pytest.mark.parametrize("data", [b'[{"a": 1}, {"b": 2}]', b'{"a": 1}{"b": 2}'])
def test_r03_other_kinds_are_one_part(tmp_path: Path, data: bytes) -> None:
    file = readable(tmp_path, data)

    assert ranges(file, 2) == ranges(file, 2, streaming=False) == [(0, len(data))]


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_a_file_without_content_has_no_parts_and_no_note(tmp_path: Path, data: bytes) -> None:
    file = readable(tmp_path, data)

    assert (parts_of(file, 10), file.note) == ([], None)
