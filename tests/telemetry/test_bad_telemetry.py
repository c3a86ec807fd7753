"""Damaged, strange and foreign input: what is whole is used, the rest is counted with its place, nothing breaks."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copilog import Report
from copilog.trajectory import ConversationTrajectory, encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    bad_codes,
    call,
    contents,
    event,
    ignored,
    line_of,
    model_call,
    only,
    properties_of,
    reported,
    session_response,
    snapshot,
    system,
    tool,
    user,
    user_text,
    write_lines,
)

GOOD = snapshot([system(), user(), assistant()], "good")
LATER = snapshot([system(), user("And peas?")], "later")


def survives(path: Path, **options: Any) -> tuple[list[ConversationTrajectory], Report]:
    """Return the trajectories of bad input. The ledger balances, and every line is JSON."""
    found, report = reported(path, **options)
    assert report.balances()
    for trajectory in found:
        json.loads(encode_trajectory(trajectory).decode("utf-8"), parse_constant=pytest.fail)
    return found, report


def ids(found: list[ConversationTrajectory]) -> list[str]:
    return [trajectory.conversation_id for trajectory in found]


# --- lines ------------------------------------------------------------------------------------------------------------

BROKEN_LINES = {
    "torn": b'{"name": "copilot-chat/engine.messages", "data": {"secret-word',
    "words": b"a secret-word and nothing else",
    "list": b'["secret-word"]',
    "text": b'"secret-word"',
    "number": b"17",
    "null": b"null",
    "two objects": b'{"a": 1}{"secret-word": 2}',
    "not UTF-8": b'{"name": "secret-word \xff"}',
    "bytes": b"\xff\xfe\x00\x01",
    "NUL bytes": b"\x00" * 40,
    "half a character": '{"name": "secret-word ü"}'.encode()[:-3],
    "raw control character": b'{"name": "secret-word \x01"}',
    "deep": b'{"a":' + b"[" * 100_000,
    "deep and whole": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("line", BROKEN_LINES.values(), ids=BROKEN_LINES)
def test_a_broken_line_loses_only_itself_and_its_position_is_reported(
    tmp_path: Path, line: bytes, streaming: bool
) -> None:
    path = write_lines(tmp_path, GOOD, line, LATER)

    found, report = survives(path, streaming=streaming)

    assert ids(found) == ["good", "later"]
    assert bad_codes(report) == ["too-large" if line.startswith(b'{"a":[[') else "malformed-record"]
    (bad,) = report.files[str(path)].bad
    assert (bad.path, bad.line, bad.offset) == (str(path), 2, len(line_of(GOOD)) + 1)
    assert "secret-word" not in bad.reason


def test_every_broken_line_is_counted(tmp_path: Path) -> None:
    path = write_lines(tmp_path, GOOD, *[b"broken"] * 250, LATER)

    found, report = survives(path)

    assert ids(found) == ["good", "later"]
    ledger = report.files[str(path)]
    assert (ledger.seen, ledger.used) == (252, 2)


def test_a_last_line_without_a_line_feed_is_read_and_a_torn_one_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line_of(GOOD) + b"\n" + line_of(LATER))
    assert ids(survives(path)[0]) == ["good", "later"]

    path.write_bytes(line_of(GOOD) + b"\n" + line_of(LATER)[:-7])
    found, report = survives(path)
    assert ids(found) == ["good"]
    assert bad_codes(report) == ["malformed-record"]


def test_control_characters_and_lines_of_other_systems_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    text = "NUL \x00, line \u2028 and \x85 separators"
    path.write_bytes(line_of(json.dumps(snapshot([system(), user(text)]))) + b"\r\n\r\n" + line_of(LATER) + b"\r\n")

    found, report = survives(path)

    assert contents(found[0])[1] == text
    assert ids(found) == ["talk", "later"]
    assert report.bad_records() == 0


@pytest.mark.parametrize("recovery", [False, True])
@pytest.mark.parametrize("line", BROKEN_LINES.values(), ids=BROKEN_LINES)
def test_recovery_breaks_on_nothing_either(tmp_path: Path, line: bytes, recovery: bool) -> None:
    found, _ = survives(write_lines(tmp_path, GOOD, line, LATER), json_recovery=recovery)

    assert ids(found) == ["good", "later"]


# --- types ------------------------------------------------------------------------------------------------------------

ODD_VALUES: list[Any] = [None, True, 0, -1.5, 10**400, "", "text", "\x00", [], [[]], {}, {"messages": 3}]
PLACES = {
    "name": lambda record, value: record["data"]["baseData"].update(name=value),
    "outer name": lambda record, value: record.update(name=value),
    "time": lambda record, value: record.update(time=value),
    "data": lambda record, value: record.update(data=value),
    "baseData": lambda record, value: record["data"].update(baseData=value),
    "properties": lambda record, value: record["data"]["baseData"].update(properties=value),
}


def strange(key: str, value: Any) -> Record:
    """Return a snapshot in which one node has an unexpected type."""
    record = copy.deepcopy(snapshot([system(), user()], "strange", time="2026-04-12T10:00:00Z"))
    if key in PLACES:
        PLACES[key](record, value)
    else:
        properties_of(record)[key] = value
    return record


PROPERTIES = [
    "conversationId",
    "headerRequestId",
    "messageId",
    "modelCallId",
    "messagesJson",
    "messagesJson_02",
    "subType",
    "parentToolCallId",
    "timestamp",
    "turnIndex",
    "intent",
    "detectedIntent",
    "baseModel",
    "request.option.model",
    "request_option_model",
    "request.option.system",
    "attachedContext",
    "contextTypes",
]


@pytest.mark.parametrize("key", [*PLACES, *PROPERTIES])
def test_wrong_types_of_an_event_lose_nothing_else(tmp_path: Path, key: str) -> None:
    path = write_lines(tmp_path, GOOD, *(strange(key, value) for value in ODD_VALUES), LATER)

    for options in ({}, {"compat": True}, {"json_recovery": True}, {"require_system_first": False}):
        found, report = survives(path, **options)

        assert {"good", "later"} <= set(ids(found))
        assert report.files[str(path)].seen == len(ODD_VALUES) + 2


@pytest.mark.parametrize("key", ["conversationId", "source", "mode", "turnIndex", "headerRequestId", "messageId"])
def test_wrong_types_in_user_texts_lose_nothing_else(tmp_path: Path, key: str) -> None:
    texts = [user_text("agent", 1, "good", properties={key: value}) for value in ODD_VALUES]

    found, _ = survives(write_lines(tmp_path, user_text("ask", 0, "good"), *texts, GOOD))

    assert found[0].messages[1].mode == "ask"


@pytest.mark.parametrize("key", ["sessionId", "requestId", "baseModel", "model"])
def test_wrong_types_in_session_events_lose_nothing_else(tmp_path: Path, key: str) -> None:
    said = [session_response("o3", "h-2", "good", properties={key: value}) for value in ODD_VALUES]
    good = snapshot([system(), user(), assistant()], "good", header="h-1")

    found, _ = survives(write_lines(tmp_path, session_response("gpt-5", "h-1", "good"), *said, good))

    assert found[0].messages[1].model == "gpt-5"


@pytest.mark.parametrize("key", ["role", "content", "tool_calls", "tool_call_id", "name", "reasoning_text", "missing"])
def test_wrong_types_in_a_message_lose_at_most_that_message(tmp_path: Path, key: str) -> None:
    for value in [*ODD_VALUES, [None], [3, "text", {}], [{"type": 3}], [{"type": "text", "text": 3}], 1e308]:
        odd = {**assistant("Odd one"), key: value}

        found, _ = survives(write_lines(tmp_path, snapshot([system(), user(), odd, user("Thanks")])))

        assert contents(found[0])[:2] == ["You help with gardens.", "When do I sow beans?"]
        assert contents(found[0])[-1] == "Thanks"
        assert len(found[0].messages) in (3, 4)


@pytest.mark.parametrize("item", [None, 3, "text", [], ["text"], True, {}])
def test_items_that_are_no_messages_are_dropped(tmp_path: Path, item: Any) -> None:
    for messages in ([system(), item, user()], json.dumps([system(), item, user()])):
        record = snapshot("[]")
        properties_of(record)["messagesJson"] = messages

        assert contents(survives(write_lines(tmp_path, record))[0][0]) == [
            "You help with gardens.",
            "When do I sow beans?",
        ]


@pytest.mark.parametrize("value", ["3", "{}", '"text"', "null", '{"messages": 3}', "[", "{", "text", 3, True, {}])
def test_messages_that_are_no_list_are_rejected_and_counted(tmp_path: Path, value: Any) -> None:
    found, report = survives(write_lines(tmp_path, GOOD, strange("messagesJson", value)))

    assert ids(found) == ["good"]
    assert bad_codes(report) == ["bad-messages"]


@pytest.mark.parametrize("value", [17, True, 1.5, None, "", [], {"id": "talk"}])
def test_ids_are_texts_and_anything_else_is_absent(tmp_path: Path, value: Any) -> None:
    found, report = survives(write_lines(tmp_path, GOOD, strange("conversationId", value)))

    assert ids(found) == ["good"]
    assert ignored(report, "no_conversation_id") == 1


@pytest.mark.parametrize("turn", [1.0, True, "1.0", " 1", "one", "-", "", [1], {"turn": 1}, None])
def test_a_value_that_is_not_an_integer_is_not_a_turn(tmp_path: Path, turn: Any) -> None:
    record = snapshot([system(), user()])
    properties_of(record)["turnIndex"] = turn
    said = user_text("ask", None)
    properties_of(said)["turnIndex"] = turn

    trajectory = only(write_lines(tmp_path, said, record))

    assert json.loads(encode_trajectory(trajectory))["metadata"]["turnIndex"] is None
    assert trajectory.messages[1].mode is None


# --- numbers and nesting ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["1" + "0" * 400, "9" * 6000, "-1e999", "1e-999", "NaN", "-Infinity", "1E400"])
def test_numbers_out_of_range_are_accepted(tmp_path: Path, number: str) -> None:
    inner = json.dumps([system(), user(), assistant("", tool_calls=[{"id": "call-1", "weight": "N"}])])
    records = [
        snapshot(inner.replace('"N"', number), "inner", properties={"attachedContext": f"[{number}]"}),
        user_text("ask", number, "inner"),
        *model_call("c-1", ["u-1"], conversation="deltas", properties={"chunkIndex": number}),
        user_text("ask", "N", "inner"),
    ]
    lines = [json.dumps(record).replace('"N"', number) for record in records]
    lines.append(json.dumps(snapshot([system()], "outer", properties={"turnIndex": "N"})).replace('"N"', number))

    found, _ = survives(write_lines(tmp_path, GOOD, *lines, LATER))

    assert {"good", "later"} <= set(ids(found))


@pytest.mark.parametrize("depth", [50, 500, 900, 5_000, 100_000])
def test_deep_nesting_breaks_nothing(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    messages = '[{"role":"system","content":"x"},{"role":"assistant","content":DEEP,"tool_calls":[DEEP]}]'
    record = snapshot(messages.replace("DEEP", deep), "deep", properties={"attachedContext": deep})
    cooked = json.dumps(snapshot([], "cooked", properties={"messagesJson": "M"})).replace('"M"', messages)
    text = json.dumps({"name": "engine.messages", "customDimensions": deep})

    found, _ = survives(write_lines(tmp_path, GOOD, record, cooked.replace("DEEP", deep), text, LATER))

    assert {"good", "later"} <= set(ids(found))


def test_nesting_at_the_limit_of_the_decoder_breaks_nothing(tmp_path: Path) -> None:
    message = '[{"role":"system","content":"x"},{"role":"assistant","content":"","tool_calls":[DEEP]}]'
    lines: list[Record | str] = []
    for depth in range(700, 1010, 3):
        messages = message.replace("DEEP", "[" * depth + "]" * depth)
        lines.append(snapshot(messages, f"text-{depth}", properties={"attachedContext": "[" * depth + "]" * depth}))
        cooked = json.dumps(snapshot([], f"cooked-{depth}", properties={"messagesJson": "M"}))
        lines.append(cooked.replace('"M"', messages))

    found, _ = survives(write_lines(tmp_path, GOOD, *lines, LATER))

    assert {"good", "later"} <= set(ids(found))


def test_tags_without_end_break_nothing(tmp_path: Path) -> None:
    texts = [
        "<context>" * 20_000,
        "<a>" * 20_000,
        "<userRequest>" * 5_000,
        "```\n" * 20_001,
        "<" * 50_000,
        "@" * 50_000,
    ]
    records = [snapshot([system(), user(text)], f"talk-{number}") for number, text in enumerate(texts)]

    found, _ = survives(write_lines(tmp_path, *records))

    assert len(found) == len(texts)


# --- cut messages -----------------------------------------------------------------------------------------------------

WHOLE = [
    system("You help."),
    user('Say "[{" and \\ to me'),
    assistant("", tool_calls=[call()]),
    tool("12°"),
    user("🫘"),
]


@given(st.integers(0, len(json.dumps(WHOLE))), st.booleans())
def test_cut_messages_are_rejected_or_recovered_up_to_the_last_complete_one(cut: int, is_ascii: bool) -> None:
    text = json.dumps(WHOLE, ensure_ascii=is_ascii)[:cut]
    whole = contents_of(json.dumps(WHOLE))
    with tempfile.TemporaryDirectory() as folder:
        path = write_lines(Path(folder), GOOD, snapshot(text, "cut"))
        strict, report = survives(path)
        mended, _ = survives(path, json_recovery=True)

    assert ids(strict) in (["good"], ["good", "cut"])
    assert len(strict) + report.bad_records() + ignored(report, "no_messages") == 2
    for trajectory in mended[1:]:
        found = [message.content for message in trajectory.messages]
        assert found == whole[: len(found)]
        assert trajectory.metadata.recovered or len(found) == len(whole)


def contents_of(text: str) -> list[str]:
    return [message["content"] for message in json.loads(text)]


@given(st.integers(1, 8191), st.integers(0, 60))
@settings(max_examples=30)
def test_a_gap_between_parts_leaves_the_complete_messages_before_it(length: int, missing: int) -> None:
    text = json.dumps([system(), *(user(f"Bed {number}") for number in range(60))])
    parts = [text[start : start + length] for start in range(0, len(text), length)][:900]
    keys = ["messagesJson", *(f"messagesJson_{number:02d}" for number in range(2, len(parts) + 1))]
    properties = dict(zip(keys, parts, strict=True))
    properties.pop(keys[missing % len(keys)])
    with tempfile.TemporaryDirectory() as folder:
        found, report = survives(
            write_lines(Path(folder), event("engine.messages", {"conversationId": "gap"} | properties))
        )

    assert len(found) + report.bad_records() + ignored(report, "no_messages") <= 1
    for trajectory in found:
        texts = contents(trajectory)
        assert texts[1:] == [f"Bed {number}" for number in range(len(texts) - 1)]
