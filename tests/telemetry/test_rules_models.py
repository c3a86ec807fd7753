"""Which model each message is known to come from or go to: R-17 to R-20 of docs/formats/telemetry.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from copilog.trajectory import TrajectoryMessage, encode_trajectory
from tests.telemetry.streams import (
    Record,
    assistant,
    call,
    contents,
    only,
    session_response,
    snapshot,
    system,
    tool,
    user,
    write_lines,
)

CHAT = [system(), user("one"), assistant("1", tool_calls=[call()]), tool("-"), user("two"), assistant("2")]
BASE = {"baseModel": "gpt-4o"}
OPTION = {"request.option.model": '"gpt-4.1"'}


def last_of(folder: Path, messages: list[Record], properties: Record, *facts: Record) -> TrajectoryMessage:
    """Return the last message of a snapshot of the request turn-1."""
    path = write_lines(folder, *facts, snapshot(messages, header="turn-1", properties=properties))
    return only(path).messages[-1]


# --- the last message -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "model", "source"),
    [
        (BASE, "gpt-4o", "engine"),
        ({**BASE, **OPTION}, "gpt-4o", "engine"),
        (OPTION, "gpt-4.1", "engine-request"),
        ({}, None, None),
    ],
)
def test_r17_an_answer_has_its_model_or_else_the_requested_one(
    tmp_path: Path, properties: Record, model: str | None, source: str | None
) -> None:
    last = last_of(tmp_path, CHAT, properties)

    assert (last.role, last.model, last.model_source) == ("assistant", model, source)


@pytest.mark.parametrize("role", ["user", "tool", "system"])
@pytest.mark.parametrize(
    ("properties", "model", "source"),
    [(OPTION, "gpt-4.1", "engine-request"), ({**BASE, **OPTION}, "gpt-4.1", "engine-request"), (BASE, None, None)],
)
def test_r17_a_user_message_has_only_the_requested_model(
    tmp_path: Path, role: str, properties: Record, model: str | None, source: str | None
) -> None:
    last = last_of(tmp_path, [*CHAT, {"role": role, "content": "and?"}], properties)

    assert (last.role, last.model, last.model_source) == (role, model, source)


@pytest.mark.parametrize("properties", [BASE, OPTION])
def test_r17_no_other_message_gets_the_model_of_the_engine(tmp_path: Path, properties: Record) -> None:
    trajectory = only(write_lines(tmp_path, snapshot(CHAT, properties=properties)))

    assert {message.model for message in trajectory.messages[:-1]} == {None}
    assert {message.model_source for message in trajectory.messages[:-1]} == {None}


@pytest.mark.parametrize(
    ("value", "model"),
    [
        ('"gpt-4.1"', "gpt-4.1"),
        ("gpt-4.1", "gpt-4.1"),
        ('"auto"', "auto"),
        ("undefined", None),
        ("null", None),
        ('""', None),
        ("", None),
    ],
)
@pytest.mark.parametrize("key", ["request.option.model", "request_option_model"])
def test_r17_the_option_is_unwrapped_once(tmp_path: Path, key: str, value: str, model: str | None) -> None:
    last = last_of(tmp_path, [system(), user()], {key: value})

    assert (last.model, last.model_source) == (model, model and "engine-request")


def test_r17_a_model_is_used_unchanged(tmp_path: Path) -> None:
    assert last_of(tmp_path, CHAT, {"baseModel": "auto"}).model == "auto"


def test_r17_the_last_message_is_the_last_that_stays(tmp_path: Path) -> None:
    last = last_of(tmp_path, [*CHAT, user(""), {"content": "nobody's"}], {**BASE, **OPTION})

    assert (last.content, last.model, last.model_source) == ("2", "gpt-4o", "engine")


# --- earlier messages -----------------------------------------------------------------------------------------


def test_r18_earlier_questions_and_answers_get_the_model_of_the_session(tmp_path: Path) -> None:
    path = write_lines(tmp_path, session_response("gpt-4o", "turn-1"), snapshot(CHAT, header="turn-1", properties=BASE))

    assert [(message.role, message.model, message.model_source) for message in only(path).messages] == [
        ("system", None, None),
        ("user", "gpt-4o", "interactiveSession"),
        ("assistant", "gpt-4o", "interactiveSession"),
        ("tool", None, None),
        ("user", "gpt-4o", "interactiveSession"),
        ("assistant", "gpt-4o", "engine"),
    ]


def test_r18_the_last_message_gets_nothing_from_the_session(tmp_path: Path) -> None:
    last = last_of(tmp_path, CHAT, {}, session_response("gpt-4o", "turn-1"))

    assert (last.model, last.model_source) == (None, None)


def question_model(folder: Path, *facts: Record, **properties: str) -> str | None:
    path = write_lines(folder, *facts, snapshot(CHAT, properties=properties))
    return only(path).messages[1].model


def test_r18_a_response_is_preferred_to_a_message(tmp_path: Path) -> None:
    response = session_response("gpt-4o", "turn-1", time="2025-08-17T09:00:00Z")
    message = session_response("gpt-4.1", "turn-1", kind="Message", time="2025-08-17T10:00:00Z")

    assert question_model(tmp_path, response, message, headerRequestId="turn-1") == "gpt-4o"


def test_r18_a_response_without_a_real_model_is_skipped_for_the_message(tmp_path: Path) -> None:
    response, message = session_response("auto", "turn-1"), session_response("gpt-4.1", "turn-1", kind="Message")

    assert question_model(tmp_path, response, message, headerRequestId="turn-1") == "gpt-4.1"


def test_r18_the_request_has_priority_over_the_message(tmp_path: Path) -> None:
    by_request, by_message = session_response("gpt-4o", "turn-1"), session_response("gpt-4.1", "m-1")
    ids = {"headerRequestId": "turn-1", "messageId": "m-1"}

    assert question_model(tmp_path, by_message, by_request, **ids) == "gpt-4o"
    assert question_model(tmp_path, by_message, **ids) == "gpt-4.1"


def test_r18_another_request_or_another_session_is_not_used(tmp_path: Path) -> None:
    facts = session_response("gpt-4o", "turn-2"), session_response("gpt-4o", "turn-1", "other")

    assert question_model(tmp_path, *facts, headerRequestId="turn-1") is None


# --- conflicts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "session", "conflict"),
    [
        ("gpt-4o", "claude-sonnet-4", True),
        ("gpt-4o", "gpt-4o-mini", True),
        ("gpt-4o", "gpt-4o", None),
        ("gpt-4o", "GPT-4o", None),
        ("gpt-4o-2024-11-20", "gpt-4o", None),
        ("gpt-4o", "gpt-4o-2024-11-20", None),
        ("GPT-4o-2024-08-06", "gpt-4o-2024-11-20", None),
        ("gpt-4o-2024-11-20", "gpt-4.1-2024-11-20", True),
        ("gpt-4o-20241120", "gpt-4o", True),
        ("2024-11-20-gpt-4o", "gpt-4o", True),
        ("gpt-4o", "auto", None),
        ("gpt-4o", "unknown", None),
        ("auto", "gpt-4o", True),
    ],
)
def test_r19_models_conflict_when_engine_and_session_differ_by_more_than_a_date(
    tmp_path: Path, engine: str, session: str, conflict: bool | None
) -> None:
    last = last_of(
        tmp_path, [system(), user(), assistant()], {"baseModel": engine}, session_response(session, "turn-1")
    )

    assert (last.model, last.model_source, last.model_conflict) == (engine, "engine", conflict)


def test_r19_a_question_can_be_in_conflict_too(tmp_path: Path) -> None:
    last = last_of(tmp_path, [system(), user()], OPTION, session_response("gpt-4o", "turn-1"))

    assert (last.model, last.model_conflict) == ("gpt-4.1", True)


def test_r19_the_session_is_found_by_message_too(tmp_path: Path) -> None:
    last = last_of(tmp_path, CHAT, {**BASE, "messageId": "m-1"}, session_response("gpt-4.1", "m-1"))

    assert last.model_conflict is True


def test_r19_without_a_model_of_the_engine_there_is_no_conflict(tmp_path: Path) -> None:
    assert last_of(tmp_path, CHAT, {}, session_response("gpt-4.1", "turn-1")).model_conflict is None


def test_r19_only_the_last_message_can_be_in_conflict(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path, session_response("gpt-4.1", "turn-1"), snapshot(CHAT, header="turn-1", properties=BASE)
    )

    assert [message.model_conflict for message in only(path).messages] == [None, None, None, None, None, True]


def test_r19_no_conflict_is_not_written(tmp_path: Path) -> None:
    path = write_lines(tmp_path, session_response("gpt-4o", "turn-1"), snapshot(CHAT, header="turn-1", properties=BASE))

    assert b"model_conflict" not in encode_trajectory(only(path))


# --- no model of the whole ------------------------------------------------------------------------------------


def test_r20_a_conversation_has_no_model_of_its_own(tmp_path: Path) -> None:
    path = write_lines(tmp_path, session_response("gpt-4o", "turn-1"), snapshot(CHAT, header="turn-1", properties=BASE))

    trajectory = only(path)
    line = json.loads(encode_trajectory(trajectory))

    assert contents(trajectory)[-1] == "2"
    assert "model" not in {*line, *line["metadata"], *line["context"]}
