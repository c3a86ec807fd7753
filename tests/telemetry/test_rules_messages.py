"""How the messages of a snapshot are put together again: R-7 to R-9 of docs/formats/telemetry.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.trajectory import ConversationTrajectory, encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    bad_codes,
    call,
    contents,
    line_of,
    only,
    reported,
    roles,
    snapshot,
    system,
    tool,
    trajectories,
    user,
    write_lines,
)

UNITS = 8192  # UTF-16 code units in one part


def utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def in_parts(text: str, size: int = UNITS) -> dict[str, str]:
    """Return a text cut as the extension does it: by UTF-16 units, further parts under numbered keys."""
    data = text.encode("utf-16-le")
    cuts = [data[start : start + 2 * size] for start in range(0, len(data), 2 * size)]
    keys = ["messagesJson", *(f"messagesJson_{number:02}" for number in range(2, len(cuts) + 1))]
    return {key: cut.decode("utf-16-le", "surrogatepass") for key, cut in zip(keys, cuts, strict=True)}


def chat_of_length(units: int, filler: str = "x") -> str:
    """Return the JSON text of a system, a user and a long assistant message, exactly so many UTF-16 units long."""
    empty = json.dumps([system(), user(), assistant("")])
    missing = units - utf16_length(empty)
    text = filler * (missing // utf16_length(filler)) + "." * (missing % utf16_length(filler))
    return json.dumps([system(), user(), assistant(text)], ensure_ascii=False)


def cut_chat(units: int, filler: str = "x") -> str:
    """Return the chat text cut after so many units, inside the assistant's text."""
    whole = chat_of_length(units + 400, filler).encode("utf-16-le")
    return whole[: 2 * units].decode("utf-16-le", "surrogatepass")


def write(folder: Path, messages: Any, **properties: Any) -> Path:
    """Return a file with one snapshot; the line is pure ASCII, so that halves of surrogate pairs can be written."""
    return write_lines(folder, json.dumps(snapshot(messages, properties=properties)))


def extracted(folder: Path, *messages: Record, compat: bool = False, **properties: Any) -> ConversationTrajectory:
    """Return the trajectory of these messages, with or without a system message."""
    return only(write(folder, list(messages), **properties), compat=compat, require_system_first=False)


# --- parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("units", "parts"), [(8191, 1), (8192, 1), (8193, 2), (16384, 2), (20_000, 3), (409_600, 50)])
def test_r07_parts_are_joined_again(tmp_path: Path, units: int, parts: int) -> None:
    text = chat_of_length(units)
    cut = in_parts(text)

    trajectory = only(write(tmp_path, None, **cut))

    assert len(cut) == parts
    assert contents(trajectory) == [message["content"] for message in json.loads(text)]
    assert trajectory.metadata.truncated is None


def test_r07_parts_are_joined_by_number_and_not_by_order(tmp_path: Path) -> None:
    text = chat_of_length(3000)
    shuffled = dict(sorted(in_parts(text, size=100).items(), key=lambda part: part[0][::-1]))

    assert contents(only(write(tmp_path, None, **shuffled))) == [message["content"] for message in json.loads(text)]


def test_r07_numbers_may_have_three_digits(tmp_path: Path) -> None:
    text = chat_of_length(3000)
    cut = in_parts(text, size=20)

    assert "messagesJson_150" in cut
    assert contents(only(write(tmp_path, None, **cut))) == [message["content"] for message in json.loads(text)]


@pytest.mark.parametrize(
    "key", ["messagesJson_1", "messagesJson_2", "messagesJson_01", "messagesJson_00", "messagesJson_0002"]
)
def test_r07_other_keys_are_not_parts(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, [system(), user()], **{key: "oops"})

    assert roles(only(path)) == ["system", "user"]


def test_r07_joining_ends_at_the_first_gap(tmp_path: Path) -> None:
    cut = in_parts(json.dumps([system(), user("word " * 3), assistant("much " * 40)]), size=120)
    cut.pop("messagesJson_02")

    trajectory = only(write(tmp_path, None, **cut))

    assert contents(trajectory) == ["You help with gardens.", "word " * 3]
    assert trajectory.metadata.truncated is True


def test_r07_a_surrogate_pair_that_was_split_is_joined(tmp_path: Path) -> None:
    text = json.dumps([system(), user("\U0001f331" * 5000)], ensure_ascii=False)
    text = text if text.index("\U0001f331") % 2 else f" {text}"
    cut = in_parts(text)

    assert "\ud83c" in cut["messagesJson"][-1]
    assert contents(only(write(tmp_path, None, **cut)))[1] == "\U0001f331" * 5000


def test_r07_a_lone_surrogate_becomes_a_replacement_character(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps([system(), user("half \ud83c here")], ensure_ascii=False))

    assert contents(only(path))[1] == "half \ufffd here"


def test_r07_a_lone_surrogate_in_an_inner_escape_loses_no_message(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps([system(), user("half \ud83c here")]))

    assert json.loads(encode_trajectory(only(path)))["messages"][1]["content"] == "half \ufffd here"


def test_r07_the_value_may_be_a_list_already(tmp_path: Path) -> None:
    path = write(tmp_path, None, messagesJson=[system(), user("as it is")])

    assert contents(only(path)) == ["You help with gardens.", "as it is"]


def test_r07_an_object_may_hold_the_list(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"model": "gpt-4o", "messages": [system(), user("inside")]}))

    assert contents(only(path)) == ["You help with gardens.", "inside"]


@pytest.mark.parametrize(
    "text", ["{}", '{"messages": 3}', '{"messages": null}', "42", '"a text"', "null", "true", "oops", "["]
)
def test_r07_anything_else_is_rejected_and_counted(tmp_path: Path, text: str) -> None:
    found, report = reported(write(tmp_path, text))

    assert (found, bad_codes(report)) == ([], ["bad-messages"])
    assert report.balances()


# --- cut and broken texts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("units", [8192, 16384, 409_600])
def test_r08_a_text_cut_at_full_parts_keeps_its_complete_messages(tmp_path: Path, units: int) -> None:
    trajectory = only(write(tmp_path, None, **in_parts(cut_chat(units))))

    assert roles(trajectory) == ["system", "user"]
    assert (trajectory.metadata.truncated, trajectory.metadata.recovered) == (True, None)


@pytest.mark.parametrize("units", [8191, 8193, 12_000])
def test_r08_a_text_that_was_cut_anywhere_else_is_rejected(tmp_path: Path, units: int) -> None:
    found, report = reported(write(tmp_path, None, **in_parts(cut_chat(units))))

    assert (found, bad_codes(report)) == ([], ["bad-messages"])


def test_r08_the_length_counts_utf16_units(tmp_path: Path) -> None:
    counted = cut_chat(UNITS, filler="\U0001f331")
    not_counted = cut_chat(UNITS)[:-10] + "\U0001f331" * 10

    assert (len(counted) < UNITS, len(not_counted)) == (True, UNITS)
    assert only(write(tmp_path / "a", counted)).metadata.truncated is True
    assert trajectories(write(tmp_path / "b", not_counted)) == []


def test_r08_a_complete_text_is_never_reported_as_truncated(tmp_path: Path) -> None:
    assert only(write(tmp_path, chat_of_length(UNITS))).metadata.truncated is None


def test_r08_before_a_gap_any_length_will_do(tmp_path: Path) -> None:
    cut = in_parts(chat_of_length(20_000))
    path = write(tmp_path, None, messagesJson=cut["messagesJson"], messagesJson_03=cut["messagesJson_03"])

    trajectory = only(path)

    assert (roles(trajectory), trajectory.metadata.truncated) == (["system", "user"], True)


GAP = {"messagesJson_03": "lost"}  # a later part exists, so the first one may be cut


@pytest.mark.parametrize(
    "last",
    [
        pytest.param(r', {"role": "user", "content": "a ] and a } and \"]}', id="brackets in a text"),
        pytest.param(r', {"role": "user", "content": "a \\"', id="an escaped backslash"),
        pytest.param(', {"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]', id="an inner bracket"),
        pytest.param(", ", id="a comma"),
        pytest.param("", id="nothing"),
        pytest.param(", 12", id="a number, which may go on"),
        pytest.param(', "text"', id="a text, which has no bracket"),
    ],
)
def test_r08_the_text_ends_after_the_last_closed_element(tmp_path: Path, last: str) -> None:
    first = json.dumps([system(), user('a ] and "quotes" \\ and { in a text')])[:-1]

    trajectory = only(write(tmp_path, first + last, **GAP))

    assert contents(trajectory) == ["You help with gardens.", 'a ] and "quotes" \\ and { in a text']
    assert trajectory.metadata.truncated is True


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('[{"role": "system", "content": "You he', id="no whole element"),
        pytest.param("[", id="no element"),
        pytest.param('[{"role": oops}, {"role": "us', id="what is left is no JSON"),
        pytest.param('{"messages": [{"role": "system", "content": "x"}, {"ro', id="no array"),
    ],
)
def test_r08_without_a_complete_element_the_event_is_rejected(tmp_path: Path, text: str) -> None:
    found, report = reported(write(tmp_path, text, **GAP))

    assert (found, bad_codes(report)) == ([], ["bad-messages"])


def test_r08_recovery_accepts_a_text_cut_at_any_character(tmp_path: Path) -> None:
    path = write(tmp_path, cut_chat(1000))

    assert trajectories(path) == []
    trajectory = only(path, json_recovery=True)
    assert (roles(trajectory), trajectory.metadata.recovered) == (["system", "user"], True)


def test_r08_recovery_does_not_change_complete_texts_or_known_cuts(tmp_path: Path) -> None:
    whole = only(write(tmp_path / "whole", chat_of_length(1000)), json_recovery=True)
    cut = only(write(tmp_path / "cut", cut_chat(UNITS)), json_recovery=True)

    assert (whole.metadata.truncated, whole.metadata.recovered) == (None, None)
    assert (cut.metadata.truncated, cut.metadata.recovered) == (True, None)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda line: line.replace(b"beans", b"be\x00an\x01s"), id="control characters in a text"),
        pytest.param(lambda line: b"\x00\x00" + line, id="NUL before"),
        pytest.param(lambda line: line + b"\x00\x00", id="NUL behind"),
        pytest.param(lambda line: line + b"}}", id="too many brackets"),
        pytest.param(lambda line: line + b'{"name": "cop', id="the beginning of another record"),
    ],
)
def test_r08_recovery_repairs_a_line(tmp_path: Path, damage: Any) -> None:
    path = write_lines(tmp_path, damage(line_of(snapshot([system(), user()]))), snapshot([system()], "other"))

    strict, report = reported(path)
    mended, other = trajectories(path, json_recovery=True)

    assert ([trajectory.conversation_id for trajectory in strict], bad_codes(report)) == (
        ["other"],
        ["malformed-record"],
    )
    assert contents(mended) == ["You help with gardens.", "When do I sow beans?"]
    assert (mended.metadata.recovered, other.metadata.recovered) == (True, None)


@pytest.mark.parametrize("line", ["oops", "[1, 2]", '{"name": "cop', "12"])
def test_r08_a_line_beyond_recovery_is_still_counted(tmp_path: Path, line: str) -> None:
    found, report = reported(write_lines(tmp_path, snapshot([system()]), line), json_recovery=True)

    assert (len(found), bad_codes(report)) == (1, ["malformed-record"])


# --- which messages stay ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        {"content": "nobody's words"},
        {"role": None, "content": "x"},
        {"role": ["user"], "content": "x"},
        {"role": 9, "content": "x"},
        {"role": -1, "content": "x"},
        {"role": True, "content": "x"},
        "a text",
        7,
        None,
        ["user", "x"],
    ],
)
def test_r09_an_item_without_a_role_is_dropped(tmp_path: Path, item: Any) -> None:
    assert contents(extracted(tmp_path, user("one"), item, user("two"))) == ["one", "two"]


@pytest.mark.parametrize("content", ["", None, [], [""], [{"type": "text", "text": ""}], 7, {"text": "x"}])
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool", "critic"])
def test_r09_a_message_without_anything_is_dropped(tmp_path: Path, role: str, content: Any) -> None:
    assert contents(extracted(tmp_path, user("one"), {"role": role, "content": content}, user("two"))) == ["one", "two"]


@pytest.mark.parametrize(
    ("message", "with_compat"),
    [
        pytest.param(assistant("", tool_calls=[call()]), True, id="tool calls"),
        pytest.param({"role": "assistant", "tool_calls": [call()]}, True, id="tool calls and no content at all"),
        pytest.param(tool("", "call-1"), False, id="the answer to a call"),
        pytest.param(user([{"type": "image_url", "image_url": {"url": "x"}}]), False, id="an image"),
        pytest.param(assistant("", reasoning_text="Hm."), False, id="thinking"),
        pytest.param(assistant([{"type": "thinking", "thinking": "Hm."}]), False, id="thinking in a block"),
        pytest.param(assistant(" \n"), True, id="white space is text"),
    ],
)
@pytest.mark.parametrize("compat", [False, True])
def test_r09_a_message_with_something_stays(tmp_path: Path, message: Record, with_compat: bool, compat: bool) -> None:
    trajectory = extracted(tmp_path, user("one"), message, user("two"), compat=compat)

    assert len(trajectory.messages) == (3 if with_compat or not compat else 2)


def test_r09_an_empty_list_of_calls_counts_as_absent(tmp_path: Path) -> None:
    assert roles(extracted(tmp_path, user("one"), assistant("", tool_calls=[]))) == ["user"]


@pytest.mark.parametrize("messages", [[], [{"content": "x"}], [user("")]])
def test_r09_a_snapshot_without_messages_is_skipped(tmp_path: Path, messages: list[Record]) -> None:
    found, report = reported(write(tmp_path, messages), require_system_first=False)

    assert (found, bad_codes(report)) == ([], [])
    assert report.balances()
