"""Which files are read, in which order, and what becomes of broken records: R-1 to R-5 of docs/formats/telemetry.md."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from copilog.trajectory import encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    bad_codes,
    contents,
    event,
    line_of,
    only,
    reported,
    session_response,
    snapshot,
    system,
    trajectories,
    user,
    user_text,
    write_lines,
)

CHAT = [system(), user(), assistant()]


def talk(name: str) -> Record:
    """Return a conversation by its id."""
    return snapshot(CHAT, name)


def ids(paths: Any, **options: Any) -> list[str]:
    """Return the conversations in the order of the output."""
    return [trajectory.conversation_id for trajectory in trajectories(paths, **options)]


# --- files and their order -------------------------------------------------------------------------------------


def test_r01_files_of_a_folder_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b.jsonl", "c.jsonl", "a.jsonl"):
        write_lines(tmp_path, talk(name), name=name)

    assert ids(tmp_path) == ["a.jsonl", "b.jsonl", "c.jsonl"]


def test_r01_files_given_by_name_are_sorted_too(tmp_path: Path) -> None:
    first = write_lines(tmp_path, talk("first"), name="a.jsonl")
    second = write_lines(tmp_path, talk("second"), name="b.jsonl")

    assert ids([second, first]) == ["first", "second"]


def test_r01_names_are_compared_by_code_point(tmp_path: Path) -> None:
    names = ["10.jsonl", "9.jsonl", "Z.jsonl", "a.jsonl", "é.jsonl", "\uff5e.jsonl", "\U0001f331.jsonl"]
    for name in reversed(names):
        write_lines(tmp_path, talk(name), name=name)

    assert ids(tmp_path) == names


def test_r01_paths_are_compared_as_texts_and_not_folder_by_folder(tmp_path: Path) -> None:
    for name in ("bed/x.jsonl", "bed-2.jsonl", "bed.jsonl", "bed/seeds/y.jsonl"):
        write_lines(tmp_path, talk(name), name=name)

    assert ids(tmp_path) == ["bed-2.jsonl", "bed.jsonl", "bed/seeds/y.jsonl", "bed/x.jsonl"]


def test_r01_within_a_file_events_keep_their_order(tmp_path: Path) -> None:
    path = write_lines(tmp_path, talk("tomato"), talk("apple"), talk("pear"))

    assert ids(path) == ["tomato", "apple", "pear"]


@pytest.mark.parametrize("name", ["x.json", "x.jsonl", "x.ndjson", "deep/er/x.jsonl", "X.JSON", "x.JsonL", "x.NDJSON"])
def test_r01_a_folder_is_searched_for_names_of_json(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path, talk("found"), name=name)

    assert ids(tmp_path) == ["found"]


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.json.gz", "x.ndjson.gz", "X.JSONL.GZ"])
def test_r01_a_folder_is_searched_for_packed_names_of_json(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(line_of(talk("found")) + b"\n"))

    assert ids(tmp_path) == ["found"]


@pytest.mark.parametrize("name", ["x.txt", "x.log", "x.jsonl.bak", "x", "jsonl", "x.gz", "x.txt.gz"])
def test_r01_files_of_a_folder_with_other_names_are_not_read(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path, talk("found"), name="a.jsonl")
    write_lines(tmp_path, talk("stranger"), name=name)

    assert ids(tmp_path) == ["found"]


@pytest.mark.parametrize("name", ["dump.txt", "dump", "events.log.1"])
def test_r01_a_file_given_by_path_is_read_with_any_ending(tmp_path: Path, name: str) -> None:
    assert ids(write_lines(tmp_path, talk("found"), name=name)) == ["found"]


# --- kinds of files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[{a},{b}]", ["a", "b"], id="array"),
        pytest.param("\n  [\n{a},\n\n{b}\n]\n\n", ["a", "b"], id="array over lines"),
        pytest.param("\ufeff[{a}]", ["a"], id="array after a byte order mark"),
        pytest.param("\ufeff \n{a}\n{b}", ["a", "b"], id="lines after a byte order mark and a blank line"),
        pytest.param("{a}", ["a"], id="one object"),
        pytest.param("{a}\n{b}\n", ["a", "b"], id="lines"),
        pytest.param("{a}\r\n{b}\r\n", ["a", "b"], id="lines that end as on Windows"),
        pytest.param("{a}\n\n   \n{b}", ["a", "b"], id="lines with blank ones between"),
        pytest.param("{a}{b}\n", ["a", "b"], id="objects on the only line"),
        pytest.param("[]", [], id="empty array"),
        pytest.param("", [], id="empty file"),
        pytest.param("\n \n", [], id="blank file"),
    ],
)
def test_r02_the_kind_of_a_file_is_seen_in_its_first_characters(tmp_path: Path, text: str, expected: list[str]) -> None:
    for name in expected:
        text = text.replace(f"{{{name}}}", line_of(talk(name)).decode())
    path = tmp_path / "events.json"
    path.write_bytes(text.encode())

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == expected
    assert bad_codes(report) == []


@pytest.mark.parametrize("between", ["", "\n", "\n\n"])
def test_r02_objects_may_be_spread_over_lines_and_follow_each_other(tmp_path: Path, between: str) -> None:
    path = tmp_path / "pretty.json"
    path.write_text(between.join(json.dumps(talk(name), indent=2) for name in ("a", "b")), encoding="utf-8")

    assert ids(path) == ["a", "b"]


def test_r02_an_array_may_be_spread_over_lines(tmp_path: Path) -> None:
    path = tmp_path / "pretty.json"
    path.write_text(json.dumps([talk("a"), talk("b")], indent=1), encoding="utf-8")

    assert ids(path) == ["a", "b"]


def test_r02_an_array_on_the_first_of_several_lines_is_a_bad_line_and_no_file_of_one_array(tmp_path: Path) -> None:
    path = write_lines(tmp_path, json.dumps([talk("inside")]), talk("line"))

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == ["line"]
    assert bad_codes(report) == ["malformed-record"]


def test_r02_two_objects_on_the_first_of_several_lines_are_a_bad_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path, line_of(talk("a")) + line_of(talk("b")), talk("line"))

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == ["line"]
    assert bad_codes(report) == ["malformed-record"]


def test_r02_a_file_that_begins_with_anything_else_is_read_by_lines(tmp_path: Path) -> None:
    path = write_lines(tmp_path, "exported on a Sunday", talk("line"))

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == ["line"]
    assert bad_codes(report) == ["malformed-record"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize(
    "shape",
    ["[{a},\n{b},\n{'name': oops},\n{c}]", "{a}{b}{'name': oops}{c}", "[{a},\n{b},\n{'name"],
)
def test_r02_in_an_array_everything_after_the_first_error_is_one_bad_record(
    tmp_path: Path, shape: str, streaming: bool
) -> None:
    for name in ("a", "b", "c"):
        shape = shape.replace(f"{{{name}}}", line_of(talk(name)).decode())
    path = tmp_path / "events.json"
    path.write_text(shape, encoding="utf-8")

    found, report = reported(path, streaming=streaming)

    assert [trajectory.conversation_id for trajectory in found] == ["a", "b"]
    assert bad_codes(report) == ["malformed-record"]
    assert report.balances()


@pytest.mark.parametrize("separator", ["\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_r02_nothing_but_a_line_feed_ends_a_line(tmp_path: Path, separator: str) -> None:
    joined = line_of(talk("a")) + separator.encode() + line_of(talk("b"))
    inside = line_of(snapshot([system(), user(f"one{separator}two")], "c"))

    found, report = reported(write_lines(tmp_path, joined, inside))

    assert [contents(trajectory)[1] for trajectory in found] == [f"one{separator}two"]
    assert bad_codes(report) == ["malformed-record"]


def test_r02_packed_files_are_unpacked(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(line_of(talk("a"))) + gzip.compress(b"\n" + line_of(talk("b"))))
    (tmp_path / "c.json.ZST").write_bytes(zstd.compress(json.dumps([talk("c")]).encode()))

    assert ids(tmp_path) == ["a", "b", "c"]


# --- streaming -------------------------------------------------------------------------------------------------


def test_r03_streaming_and_complete_files_yield_the_same_bytes(tmp_path: Path) -> None:
    write_lines(tmp_path, user_text("ask", 0), *(talk(str(number)) for number in range(20)), "oops", name="a.jsonl")
    write_lines(tmp_path, json.dumps([talk("array"), talk("other")]), name="b.json")
    write_lines(tmp_path, json.dumps(talk("pretty"), indent=2), name="c.json")

    streamed, whole = (
        [encode_trajectory(trajectory) for trajectory in trajectories(tmp_path, streaming=streaming)]
        for streaming in (True, False)
    )

    assert streamed == whole
    assert len(streamed) == 23


def test_r03_files_without_any_snapshot_yield_nothing_with_and_without_streaming(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("ask", 0), session_response("gpt-4o", "turn-1"))

    assert trajectories(path) == trajectories(path, streaming=False) == []


# --- broken lines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"name": "caf\xe9"}', id="not UTF-8"),
        pytest.param(b'{"name": "\xed\xa0\xbd"}', id="half a surrogate pair as bytes"),
        pytest.param(b"not JSON", id="not JSON"),
        pytest.param(b'{"name": "copilot-chat/engine.messages"', id="cut off"),
        pytest.param(b'{"name": "a\x00b"}', id="control character"),
        pytest.param(b"[1, 2]", id="an array"),
        pytest.param(b'"a text"', id="a text"),
        pytest.param(b"12", id="a number"),
        pytest.param(b"null", id="null"),
    ],
)
def test_r04_a_broken_line_is_counted_with_its_position_and_loses_only_itself(tmp_path: Path, line: bytes) -> None:
    path = write_lines(tmp_path, talk("before"), line, talk("after"))

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == ["before", "after"]
    (bad,) = report.diagnostics()
    assert (bad.code, bad.line, bad.offset) == ("malformed-record", 2, len(line_of(talk("before"))) + 1)
    assert report.balances()


@pytest.mark.parametrize("element", ["12", "null", '"a text"', "[1, 2]"])
def test_r04_an_array_item_that_is_not_an_object_loses_only_itself(tmp_path: Path, element: str) -> None:
    path = tmp_path / "events.json"
    path.write_bytes(b"[" + b",".join([line_of(talk("a")), element.encode(), line_of(talk("b"))]) + b"]")

    found, report = reported(path)

    assert [trajectory.conversation_id for trajectory in found] == ["a", "b"]
    assert bad_codes(report) == ["malformed-record"]


def test_r04_the_last_line_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line_of(talk("a")) + b"\n" + line_of(talk("b")))

    assert ids(path) == ["a", "b"]


# --- overlapping exports ---------------------------------------------------------------------------------------


def rich_stream() -> list[Record]:
    """Return a stream with every kind of fact and fragment."""
    asked = [system(), user("<context>today</context>"), user("Sow what?")]
    return [
        user_text("ask", 0, header="turn-1", time="2025-08-17T09:00:00Z"),
        session_response("gpt-4o", "turn-1", time="2025-08-17T09:00:01Z"),
        snapshot(asked, header="turn-1", time="2025-08-17T09:00:02Z", properties={"request.option.model": '"gpt-4o"'}),
        snapshot(
            [assistant("Beans.")], header="turn-1", time="2025-08-17T09:00:03Z", properties={"baseModel": "gpt-4o"}
        ),
        event("copilot-chat/participantDetectionContext", {"conversationId": "talk", "contextTypes": "file"}),
        talk("other"),
    ]


def encoded(paths: Any, **options: Any) -> list[bytes]:
    return [encode_trajectory(trajectory) for trajectory in trajectories(paths, **options)]


def test_r05_an_event_that_is_repeated_in_another_file_changes_nothing(tmp_path: Path) -> None:
    first = write_lines(tmp_path, *rich_stream(), name="a.jsonl")
    again = write_lines(tmp_path, *rich_stream(), name="b.jsonl")

    assert encoded([first, again]) == encoded(first)
    assert len(encoded(first)) == 2


@pytest.mark.parametrize("compat", [False, True])
def test_r05_an_event_that_is_repeated_in_the_same_file_changes_nothing(tmp_path: Path, compat: bool) -> None:
    once = write_lines(tmp_path / "once", *rich_stream())
    twice = write_lines(tmp_path / "twice", *rich_stream(), *rich_stream())

    plain = str(tmp_path / "once").encode(), str(tmp_path / "twice").encode()
    assert [line.replace(plain[1], plain[0]) for line in encoded(twice, compat=compat)] == encoded(once, compat=compat)


def test_r05_of_two_equally_good_snapshots_the_first_is_taken(tmp_path: Path) -> None:
    write_lines(tmp_path, snapshot([system(), user("first")], time="2025-08-17T09:00:00Z"), name="a.jsonl")
    write_lines(tmp_path, snapshot([system(), user("second")], time="2025-08-17T09:00:00Z"), name="b.jsonl")

    assert contents(only(tmp_path))[1] == "first"
