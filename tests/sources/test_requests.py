"""One request: who answered and how, when, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.derive import conclude
from copilog.diagnostics import Ledger
from copilog.model import Prompt, Text, Turn, duration_of, prose_of
from tests.sources.vscode_builders import read_session, request, session

Json = dict[str, Any]


def read_turn(tmp_path: Path, **fields: Any) -> Turn:
    """Return the turn of a session with one request that has these fields."""
    conversation, _ = read_session(session(request() | fields), tmp_path)
    (turn,) = conversation.turns
    return turn


def read_requests(tmp_path: Path, requests: Any) -> tuple[list[str], Ledger]:
    """Return the prompts of the user in a session with these requests."""
    conversation, ledger = read_session(session() | {"requests": requests}, tmp_path)
    return [prose_of(message.parts) for message in conversation.messages if message.role == "user"], ledger


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


# --- how it ended -----------------------------------------------------------------------------------------------

TROUBLE = {"message": "no luck", "code": "trouble"}
CANCELED = {"message": "stopped", "code": "canceled"}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"modelState": {"value": 0}}, "pending"),
        ({"modelState": {"value": 1}}, "complete"),
        ({"modelState": {"value": 2}}, "cancelled"),
        ({"modelState": {"value": 3}}, "failed"),
        ({"modelState": {"value": 4}}, "needs-input"),
        ({"modelState": {"value": 1}, "result": {"errorDetails": TROUBLE}}, "failed"),
        ({"modelState": {"value": 1}, "result": {"errorDetails": CANCELED}}, "cancelled"),
        ({"modelState": {"value": 1}, "isCanceled": True}, "complete"),
        ({"modelState": {"value": 2}, "result": {"errorDetails": TROUBLE}}, "cancelled"),
        ({"modelState": {"value": 99}, "isCanceled": True}, "cancelled"),
        ({"modelState": {"value": True}}, "complete"),
        ({"isCanceled": True}, "cancelled"),
        ({"isCanceled": True, "result": {"errorDetails": TROUBLE}}, "cancelled"),
        ({"isCanceled": False}, "complete"),
        ({"result": {"errorDetails": TROUBLE}}, "failed"),
        ({"result": {"errorDetails": CANCELED}}, "cancelled"),
        ({"responseErrorDetails": TROUBLE}, "failed"),
        ({"result": {"timings": {"totalElapsed": 5}, "errorDetails": TROUBLE}}, "failed"),
        ({}, "complete"),
        ({"response": None}, "unanswered"),
        ({"response": None, "result": {}}, "complete"),
        ({"response": None, "result": {"metadata": {"renderedUserMessage": "x"}}}, "complete"),
        ({"response": None, "responseErrorDetails": TROUBLE}, "failed"),
    ],
)
def test_the_status_is_the_one_that_vscode_would_show(fields: Json, status: str, tmp_path: Path) -> None:
    assert read_turn(tmp_path, **{"response": [{"value": "x"}], **fields}).status == status


def test_an_unrecognized_state_stays_in_extra(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, modelState={"value": 7, "completedAt": 1767000005000})

    assert turn.extra == {"modelState": {"value": 7}}
    assert turn.timing.completed_at == at(1767000005000)


def test_flags_of_an_error_are_separate_from_its_code(tmp_path: Path) -> None:
    details = {
        "message": "too much",
        "code": "rate_limit",
        "isRateLimited": True,
        "isQuotaExceeded": True,
        "isExpectedError": True,
        "responseIsIncomplete": True,
        "responseIsFiltered": True,
        "responseIsRedacted": False,
        "level": 2,
    }

    error = read_turn(tmp_path, result={"errorDetails": details}).error

    assert error is not None
    assert (error.message, error.code) == ("too much", "rate_limit")
    assert set(error.flags) == {"rate-limited", "quota-exceeded", "expected", "incomplete", "filtered"}
    assert error.extra == {"responseIsRedacted": False, "level": 2}


def test_a_redacted_answer_is_empty_without_an_error(tmp_path: Path) -> None:
    details = {"message": "gone", "responseIsRedacted": True}
    conversation, ledger = read_session(session(request(result={"errorDetails": details})), tmp_path)

    assert conversation.turns[0].status == "failed"
    assert not ledger.diagnostics()


# --- undone, hidden, not typed by the user ----------------------------------------------------------------------

STOP: Json = {"kind": "undoStop", "id": "stop"}
CODE_BLOCK: Json = {"kind": "codeblockUri", "uri": {"$mid": 1, "scheme": "file", "path": "/a.py"}, "isEdit": True}


def test_the_old_hidden_flag_means_undone(tmp_path: Path) -> None:
    assert read_turn(tmp_path, isHidden=True).is_undone
    assert not read_turn(tmp_path, isHidden=False).is_undone


def test_a_turn_can_be_undone_completely(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, shouldBeRemovedOnSend={"requestId": "request_1"})

    assert turn.is_undone
    assert turn.undone_from is None
    assert turn.extra == {"shouldBeRemovedOnSend": {"requestId": "request_1"}}


@pytest.mark.parametrize(
    ("parts", "cut"),
    [
        ([{"value": "a"}, STOP, {"value": "b"}], 1),
        ([{"value": "a"}, {"value": "```"}, STOP, CODE_BLOCK], 1),
        ([{"value": "a"}, {"kind": "thinking", "value": "b"}, STOP, CODE_BLOCK], 2),
        ([STOP, {"value": "b"}], 0),
        ([{"value": "a"}], None),
    ],
)
def test_a_turn_can_be_undone_from_a_checkpoint_on(parts: list[Any], cut: int | None, tmp_path: Path) -> None:
    mark = {"requestId": "request_1", "afterUndoStop": "stop"}

    turn = read_turn(tmp_path, response=parts, shouldBeRemovedOnSend=mark)

    assert turn.undone_from == cut
    assert turn.is_undone == (cut == 0)


def test_hidden_and_system_requests_are_marked(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        hiddenFromTranscript=True,
        requestHiddenFromTranscript=True,
        isSystemInitiated=True,
        systemInitiatedLabel="The terminal has ended",
        confirmation="Go on",
    )

    assert (turn.is_hidden, turn.is_request_hidden, turn.is_system_initiated) == (True, True, True)
    assert (turn.system_label, turn.confirmation) == ("The terminal has ended", "Go on")


# --- when -------------------------------------------------------------------------------------------------------


def test_times_of_a_request_are_in_the_turn(tmp_path: Path) -> None:
    turn = read_turn(
        tmp_path,
        timestamp=1767000001000,
        responseTimestamp=1767000002000,
        modelState={"value": 1, "completedAt": 1767000009000},
        timeSpentWaiting=3000,
        result={"timings": {"firstProgress": 400, "totalElapsed": 7500}},
    )
    timing = turn.timing

    assert timing.started_at == at(1767000001000)
    assert timing.responded_at == at(1767000002000)
    assert timing.completed_at == at(1767000009000)
    assert (timing.first_progress_ms, timing.elapsed_ms, timing.waited_ms) == (400, 7500, 3000)
    assert turn.extra is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"elapsedMs": 1234}, 1734),
        ({"responseTimestamp": 1767000003000}, 7500),
        ({}, 7500),
        ({"result": {"timings": {"totalElapsed": 9000}}}, 8000),
        ({"modelState": {"value": 1}}, 7500),
        ({"modelState": {"value": 1}, "result": {}}, None),
    ],
)
def test_elapsed_is_the_smallest_recorded_time_and_working_leaves_out_waiting(
    fields: Json, expected: float | None, tmp_path: Path
) -> None:
    fields = {
        "timestamp": 1767000001000,
        "modelState": {"value": 1, "completedAt": 1767000009000},
        "timeSpentWaiting": 500,
        "result": {"timings": {"totalElapsed": 7500}},
        **fields,
    }
    conversation, _ = read_session(session(request() | fields), tmp_path)
    conclude(conversation)

    took = duration_of(conversation.turns[0])
    assert took.elapsed_ms == expected
    assert took.working_ms == (expected - 500 if expected else None)


def test_a_wait_that_is_a_timestamp_is_the_start_of_the_response(tmp_path: Path) -> None:
    timing = read_turn(tmp_path, timeSpentWaiting=1767000002000).timing

    assert timing.responded_at == at(1767000002000)
    assert timing.waited_ms is None


def test_two_different_start_times_are_both_stored(tmp_path: Path) -> None:
    turn = read_turn(tmp_path, timeSpentWaiting=1767000002000, responseTimestamp=1767000003000)

    assert turn.timing.responded_at == at(1767000003000)
    assert turn.extra == {"timeSpentWaiting": 1767000002000}


@pytest.mark.parametrize("nonsense", [0, -1, 1e300, "yesterday", True, None])
def test_a_missing_time_is_not_invented(nonsense: Any, tmp_path: Path) -> None:
    turn = read_turn(tmp_path, timestamp=nonsense)

    assert turn.timing.started_at is None
    assert turn.extra == {"timestamp": nonsense}


# --- the message and the response as old files have them --------------------------------------------------------


def test_a_message_may_be_a_plain_text(tmp_path: Path) -> None:
    conversation, _ = read_session(session(request(message="just words")), tmp_path)

    assert conversation.messages[0].parts == [Text(text="just words")]


def test_a_response_may_be_or_contain_plain_text(tmp_path: Path) -> None:
    first, second = request(), request(response=["one, ", {"value": "two"}])
    conversation, ledger = read_session(session(first | {"response": "all of it"}, second), tmp_path)

    answers = [prose_of(message.parts) for message in conversation.messages if message.role == "assistant"]
    assert answers == ["all of it", "one, two"]
    assert ledger.parts.used == 3


@pytest.mark.parametrize("missing", [{}, {"message": None}, {"message": 5}, {"message": ["hi"]}])
def test_a_request_without_a_message_is_one_bad_record(missing: Json, tmp_path: Path) -> None:
    words, ledger = read_requests(tmp_path, [{"requestId": "r", "response": []} | missing, request("still here")])

    assert words == ["still here"]
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("no-message", "/requests/0")]
    assert (ledger.seen, ledger.used) == (3, 2)


@pytest.mark.parametrize("missing", [{}, {"message": None}, {"message": 5}])
def test_a_request_without_a_message_has_its_answer(missing: Json, tmp_path: Path) -> None:
    answered = request("x", [{"value": "an answer"}], responseId="a-1")
    del answered["message"]
    conversation, ledger = read_session(session(answered | missing, request("still here")), tmp_path)

    first, *others = conversation.messages
    assert (first.role, first.turn, first.id, prose_of(first.parts)) == ("assistant", 0, "a-1", "an answer")
    assert [prose_of(message.parts) for message in others] == ["still here"]
    assert (conversation.turns[0].pointer, conversation.turns[0].status) == ("/requests/0", "complete")
    assert [(note.code, note.pointer, note.level) for note in ledger.notes] == [
        ("no-message", "/requests/0", "warning")
    ]
    assert (ledger.bad, ledger.seen, ledger.used) == ([], 3, 3)


def test_a_request_without_a_message_has_the_sent_prompt(tmp_path: Path) -> None:
    sent = {"metadata": {"renderedUserMessage": [{"type": 1, "text": "<userRequest>why?</userRequest>"}]}}
    conversation, _ = read_session(session({"requestId": "r", "result": sent}), tmp_path)

    (message,) = conversation.messages
    assert (message.role, [type(part) for part in message.parts]) == ("user", [Prompt])


def test_an_empty_slot_in_the_requests_is_ignored_and_reported(tmp_path: Path) -> None:
    words, ledger = read_requests(tmp_path, [request("one"), None, request("two")])

    assert words == ["one", "two"]
    assert ledger.ignored == {"null-request": 1}
    assert [(note.code, note.pointer) for note in ledger.notes] == [("null-request", "/requests/1")]


def test_a_value_that_is_not_a_request_does_not_affect_others(tmp_path: Path) -> None:
    words, ledger = read_requests(tmp_path, [5, "text", [], request("words")])

    assert words == ["words"]
    assert [(bad.code, bad.pointer) for bad in ledger.bad] == [("bad-request", f"/requests/{n}") for n in range(3)]


def test_turns_have_pointers_and_consecutive_indexes(tmp_path: Path) -> None:
    conversation, _ = read_session(session(None, request("one"), 5, request("two")), tmp_path)

    assert [(turn.index, turn.pointer) for turn in conversation.turns] == [(0, "/requests/1"), (1, "/requests/3")]
    assert {message.turn for message in conversation.messages} == {0, 1}


def test_a_response_of_the_wrong_type_does_not_cost_the_prompt(tmp_path: Path) -> None:
    conversation, ledger = read_session(session(request() | {"response": {"value": "odd"}}), tmp_path)

    assert prose_of(conversation.messages[0].parts) == "hi"
    assert conversation.turns[0].extra == {"response": {"value": "odd"}}
    assert [bad.pointer for bad in ledger.parts.bad] == ["/requests/0/response"]


def test_ids_are_read_unchanged(tmp_path: Path) -> None:
    conversation, _ = read_session(
        session(request(requestId="7", responseId="§", response=[{"value": "x"}]), request(requestId="7")), tmp_path
    )

    assert [(turn.request_id, turn.response_id) for turn in conversation.turns] == [("7", "§"), ("7", None)]
    assert [message.id for message in conversation.messages] == ["7", "§", "7"]


# --- the model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "model", "answered"),
    [
        ({"modelId": "copilot/gpt-x"}, ("copilot/gpt-x", "gpt-x", "copilot", None), "gpt-x"),
        ({"modelId": "gpt-x"}, ("gpt-x", "gpt-x", None, None), "gpt-x"),
        ({"modelId": "customendpoint/Mine/m-1"}, ("customendpoint/Mine/m-1", "m-1", "customendpoint", None), "m-1"),
        ({"modelId": "router/maker/m-1"}, ("router/maker/m-1", "maker/m-1", "router", None), "maker/m-1"),
        ({"result": {"metadata": {"modelId": "copilot/m"}}}, ("copilot/m", "m", "copilot", None), "m"),
        ({"result": {"metadata": {"model": "m"}}}, ("m", "m", None, None), "m"),
        (
            {"modelId": "copilot/auto", "result": {"metadata": {"resolvedModel": "m-2"}}},
            ("copilot/auto", "auto", "copilot", "m-2"),
            "m-2",
        ),
        ({"result": {"metadata": {"resolvedModel": "m-2"}}}, ("m-2", "m-2", None, None), "m-2"),
        (
            {
                "modelId": "copilot/auto",
                "response": [{"kind": "autoModeResolution", "resolved": {"id": "copilot/m-3"}}],
            },
            ("copilot/auto", "auto", "copilot", "copilot/m-3"),
            "m-3",
        ),
        (
            {"modelId": "copilot/auto", "modelTotals": [{"model": "m-4", "inputTokens": 1}]},
            ("copilot/auto", "auto", "copilot", "m-4"),
            "m-4",
        ),
        (
            {"modelId": "copilot/auto", "modelTotals": [{"model": "m-4"}, {"model": "m-5"}]},
            ("copilot/auto", "auto", "copilot", None),
            "auto",
        ),
    ],
)
def test_requested_and_answering_model_are_both_recorded(
    fields: Json, model: tuple[str, str, str | None, str | None], answered: str, tmp_path: Path
) -> None:
    conversation, _ = read_session(session(request(**{"response": [{"value": "x"}], **fields})), tmp_path)
    found = conversation.turns[0].model

    assert found is not None
    assert (found.id, found.name, found.vendor, found.resolved) == model
    answers = [message for message in conversation.messages if message.role == "assistant"]
    assert [(message.model, message.model_source) for message in answers] == [(answered, "session")]


@pytest.mark.parametrize("native_id", [None, "", 5])
def test_a_missing_model_is_none(native_id: Any, tmp_path: Path) -> None:
    assert read_turn(tmp_path, modelId=native_id).model is None


def test_the_settings_of_a_model_go_with_it(tmp_path: Path) -> None:
    model = read_turn(tmp_path, modelId="copilot/m", modelConfiguration={"reasoningEffort": "high"}).model

    assert model is not None
    assert model.extra == {"modelConfiguration": {"reasoningEffort": "high"}}


def test_last_activity_is_the_end_of_the_last_request(tmp_path: Path) -> None:
    hour, start = 3_600_000, 1_767_000_000_000
    late = {
        "modelState": {"value": 1, "completedAt": start + 720 * hour},
        "result": {"timings": {"totalElapsed": 7000}},
    }
    requests = [request() | late | {"requestId": f"r{at}", "timestamp": start + at * hour} for at in range(2)]

    conversation, _ = read_session(session() | {"requests": requests}, tmp_path)

    assert conversation.updated_at == at(start + hour + 7000)
