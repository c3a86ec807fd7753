"""Checks of raw telemetry: what holds of the model fields, what explains what, and which events there are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from copilog.telemetry.checks import MOST_PLACES, RecordPosition
from copilog.telemetry.event_types import SERVES, EventTypes, count_event_types
from copilog.telemetry.events import RECOGNISED, event_of
from copilog.telemetry.inputs import list_files
from copilog.telemetry.model_correlation import Invariant, ModelCorrelation, check_model_correlation
from copilog.telemetry.turns import Gap, Turns
from tests.telemetry.streams import (
    Record,
    assistant,
    event,
    line_of,
    model_message,
    session_response,
    snapshot,
    system,
    tool,
    user,
    user_text,
    write_lines,
)

REQUEST_MODEL = {"request.option.model": '"gpt-4.1"'}
BASE_MODEL = {"baseModel": "gpt-4.1"}


def correlation(folder: Path, *records: Record | str | bytes) -> ModelCorrelation:
    return check_model_correlation(list_files([write_lines(folder, *records)]))


def broken(found: ModelCorrelation) -> dict[str, int]:
    return {invariant.code: invariant.broken for invariant in found.invariants if invariant.broken}


def checked(found: ModelCorrelation, code: str) -> int:
    return invariant_of(found, code).checked


def invariant_of(found: ModelCorrelation, code: str) -> Invariant:
    return next(invariant for invariant in found.invariants if invariant.code == code)


def types(folder: Path, *records: Record | str | bytes, contains: str | None = None) -> EventTypes:
    return count_event_types(list_files([write_lines(folder, *records)]), contains)


# --- invariants -----------------------------------------------------------------------------------------------------


def test_valid_requests_and_answers_violate_no_invariant(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        snapshot([system(), user()], header="turn-1", properties=REQUEST_MODEL),
        snapshot(
            [system(), user(), assistant("", tool_calls=[]), tool()], properties={"request_option_model": "gpt-4.1"}
        ),
        snapshot([assistant()], header="turn-1", properties=BASE_MODEL),
        session_response("gpt-4.1-2025-04-14", "turn-1"),
    )

    assert not found.is_broken
    assert [invariant.checked for invariant in found.invariants] == [3, 1, 2, 2]
    assert found.files[0].balances()


def test_two_model_fields_on_one_event_are_reported_with_their_position(tmp_path: Path) -> None:
    first = snapshot([assistant()], properties=BASE_MODEL)

    found = correlation(tmp_path, first, snapshot([assistant()], properties={**BASE_MODEL, **REQUEST_MODEL}))

    invariant = invariant_of(found, "one-model-field")
    assert (invariant.checked, invariant.broken) == (2, 1)
    path = str(tmp_path / "events.jsonl")
    assert [breach.spot for breach in invariant.first] == [RecordPosition(path, len(line_of(first)) + 1, 2)]


@pytest.mark.parametrize(
    ("messages", "properties", "what_breaks"),
    [
        ([assistant()], {}, {"assistant-base-model": 1}),
        ([user()], BASE_MODEL, {"assistant-base-model": 1, "request-option-model": 1}),
        ([user()], {}, {"request-option-model": 1}),
        ([assistant("", tool_calls=[{"id": "1"}]), tool()], {}, {"request-option-model": 1}),
        ([assistant()], REQUEST_MODEL, {"assistant-base-model": 1, "request-option-model": 1}),
        ([user()], {"request.option.model": "undefined"}, {"request-option-model": 1}),
        ([system()], REQUEST_MODEL, {}),
        ([system()], {}, {}),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "dry"}]}],
            REQUEST_MODEL,
            {},
        ),
    ],
)
def test_the_last_role_and_the_model_field_go_together(
    tmp_path: Path, messages: list[Any], properties: Record, what_breaks: dict[str, int]
) -> None:
    assert broken(correlation(tmp_path, snapshot(messages, properties=properties))) == what_breaks


def test_a_snapshot_whose_end_was_cut_has_no_last_role(tmp_path: Path) -> None:
    whole = json.dumps([user(), assistant("x" * 9000)])

    found = correlation(tmp_path, snapshot(whole[:8192], properties=REQUEST_MODEL))

    assert found.coverage.cut == 1
    assert checked(found, "request-option-model") == 0
    assert not found.is_broken


def test_a_snapshot_that_fills_its_part_exactly_does_not_count_as_cut(tmp_path: Path) -> None:
    frame = json.dumps([user("")])
    whole = json.dumps([user("x" * (8192 - len(frame)))])
    assert len(whole) == 8192

    found = correlation(tmp_path, snapshot(whole))

    assert (found.coverage.cut, broken(found)) == (0, {"request-option-model": 1})


def test_r19_another_model_in_the_session_is_reported_without_a_violation(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        snapshot([system(), user()], header="turn-1", properties=REQUEST_MODEL),
        snapshot([system(), user()], header="turn-1", properties=REQUEST_MODEL),
        session_response("claude-sonnet-4", "turn-1"),
        session_response("auto", "turn-2"),
        snapshot([system(), user()], header="turn-2", properties=REQUEST_MODEL),
    )

    invariant = invariant_of(found, "session-model")
    assert (invariant.checked, invariant.broken) == (2, 2)
    assert [(breach.spot.line, breach.found) for breach in invariant.first] == [
        (1, "session claude-sonnet-4, engine gpt-4.1")
    ]
    assert not found.is_broken, "extraction marks the conflict; nobody promised that there is none"


def test_only_the_first_bad_records_are_stored_and_all_are_counted(tmp_path: Path) -> None:
    found = correlation(tmp_path, *[snapshot([user()])] * (MOST_PLACES + 5))

    invariant = invariant_of(found, "request-option-model")
    assert (invariant.broken, len(invariant.first)) == (MOST_PLACES + 5, MOST_PLACES)


# --- coverage -------------------------------------------------------------------------------------------------------


def test_modes_are_found_by_request_by_message_or_by_turn(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        snapshot([user()], header="turn-1"),
        snapshot([user()], header="lost", properties={"messageId": "message-1"}),
        snapshot([user()], header="lost"),
        snapshot([user()], header="lost", properties={"subType": "subagent/search"}),
        snapshot([user()], "elsewhere"),
        snapshot([user()], None),
        user_text("ask", 0, header="turn-1", message="message-1"),
    )

    coverage = found.coverage
    assert coverage.snapshots == 6
    assert (coverage.mode_by_request_id, coverage.mode_by_message_id, coverage.mode_by_turn_alone) == (1, 1, 1)
    assert (coverage.without_mode, coverage.without_conversation_id) == (2, 1)
    assert coverage.conversations == 2


def test_session_models_are_found_by_request_or_by_message(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        snapshot([user()], header="turn-1"),
        snapshot([user()], header="lost", properties={"messageId": "turn-1"}),
        snapshot([user()], header="lost"),
        session_response("gpt-4.1", "turn-1"),
    )

    coverage = found.coverage
    assert (coverage.session_model_by_request_id, coverage.session_model_by_message_id) == (1, 1)
    assert coverage.without_session_model == 1


def test_conversations_that_miss_turns_are_named(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        user_text("ask", 0, "whole"),
        user_text(None, 1, "whole", source="model"),
        user_text("ask", 0, "holes"),
        user_text("ask", 3, "holes"),
        user_text("ask", 0, "cut"),
        user_text(None, 3, "cut", source="model"),
        user_text("ask", 10**15, "far"),
    )

    coverage = found.coverage
    assert (coverage.turns, coverage.conversations_with_gaps) == (5, 3)
    assert coverage.first_gaps == [
        Gap("holes", 4, 2, [1, 2]),
        Gap("cut", 3, 2, [1, 2]),
        Gap("far", 10**15 + 1, 10**15, [0, 1, 2, 3, 4]),
    ]


def test_r11_the_mode_from_a_user_text_is_never_replaced() -> None:
    turns = Turns()
    for number, record in enumerate(
        [
            user_text(None, 1, source="model", message="answer", time="2026-04-02T08:00:00Z"),
            user_text("ask", 1, message="question", time="2026-04-02T08:01:00Z"),
            user_text("agent", 1, source="model", message="later", time="2026-04-02T09:00:00Z"),
        ]
    ):
        parsed = event_of(record)
        assert parsed is not None
        assert turns.take(parsed, (0, number))

    turn = turns.conversations["talk"][1]
    assert (turn.source, turn.message_id, turn.timestamp, turn.mode) == (
        "user",
        "question",
        "2026-04-02T08:01:00Z",
        "ask",
    )


def test_r12_the_later_text_counts_but_an_empty_mode_replaces_no_mode() -> None:
    stream = [
        user_text("ask", 0, message="first", time="2026-04-02T08:00:00Z"),
        user_text(None, 0, message="second", time="2026-04-02T08:01:00Z"),
        user_text("edit", 0, message="undated"),
        user_text("agent", 0, message="twin", time="2026-04-02T08:01:00Z"),
        user_text("agent", "no number", message="third", time="2026-04-02T09:00:00Z"),
        user_text("agent", None, message="fourth"),
    ]
    turns = Turns()
    taken = [turns.take(parsed, (0, number)) for number, record in enumerate(stream) if (parsed := event_of(record))]

    [turn] = turns.conversations["talk"].values()
    assert taken == [True, True, True, True, False, False]
    assert (turn.message_id, turn.mode) == ("second", "ask")


# --- books ----------------------------------------------------------------------------------------------------------


def test_every_record_is_used_or_ignored_for_a_reason_or_bad_with_a_position(tmp_path: Path) -> None:
    found = correlation(
        tmp_path,
        snapshot([user()], properties=REQUEST_MODEL),
        "{broken",
        b"\xff\xfe",
        "[1]",
        snapshot("[{", properties=REQUEST_MODEL),
        snapshot([], properties=REQUEST_MODEL),
        event("copilot-chat/engine.messages.length", {"messagesJson": "[]"}),
        event("copilot-chat/participantDetectionContext", {}),
        *model_message("m-1", user()),
        user_text("ask", 0),
        user_text(None, 1, source="model"),
        user_text("ask", None, None),
        session_response("auto", "turn-1"),
    )

    [ledger] = found.files
    assert ledger.balances()
    assert (ledger.seen, ledger.used) == (13, 3)
    assert [(bad.line, bad.code) for bad in ledger.bad] == [
        (2, "malformed-record"),
        (3, "malformed-record"),
        (4, "malformed-record"),
        (5, "bad-messages"),
    ]
    assert ledger.ignored == {
        "no_messages": 1,
        "other_event": 1,
        "context_event": 1,
        "model_event": 1,
        "no_ids": 1,
        "no_model": 1,
    }


def test_only_the_first_bad_records_are_listed(tmp_path: Path) -> None:
    [ledger] = correlation(tmp_path, *["no telemetry"] * 250).files

    assert (len(ledger.bad), ledger.bad_count()) == (100, 250)
    assert ledger.balances()


def test_packed_files_and_arrays_are_read_too(tmp_path: Path) -> None:
    records = [snapshot([user()]), snapshot([user()])]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b"".join(line_of(record) + b"\n" for record in records)))
    (tmp_path / "b.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "c.jsonl.gz").write_bytes(b"no archive")
    heard: list[int] = []

    found = check_model_correlation(list_files([tmp_path]), heard.append)

    invariant = invariant_of(found, "request-option-model")
    assert [(Path(breach.spot.path).name, breach.spot.line) for breach in invariant.first][:3] == [
        ("a.jsonl.gz", 1),
        ("a.jsonl.gz", 2),
        ("b.json", 2),
    ]
    assert [(ledger.seen, len(ledger.notes)) for ledger in found.files] == [(2, 0), (2, 0), (0, 1)]
    assert sum(heard) <= sum(path.stat().st_size for path in tmp_path.iterdir())


# --- event types ----------------------------------------------------------------------------------------------------


def test_each_recognised_event_has_its_use() -> None:
    assert SERVES.keys() == RECOGNISED


def test_events_are_counted_by_full_name_and_by_base_name(tmp_path: Path) -> None:
    first = snapshot([user()], time="2026-04-02T09:00:00Z")
    records = [
        first,
        snapshot([user()], time="2026-04-02T10:00:00+02:00"),
        snapshot([user()], name="GitHub.copilot.chat/engine.messages"),
        event("copilot-chat/engine.messages.length", {"timestamp": "2026-04-01T00:00:00Z"}),
    ]

    found = types(tmp_path, *records)

    path = str(tmp_path / "events.jsonl")
    most = found.names[0]
    assert (most.name, most.base, most.serves) == (
        "copilot-chat/engine.messages",
        "engine.messages",
        SERVES["engine.messages"],
    )
    assert (most.count, most.bytes) == (2, sum(len(line_of(record)) + 1 for record in records[:2]))
    assert (most.earliest, most.latest) == ("2026-04-02T10:00:00+02:00", "2026-04-02T09:00:00Z")
    assert most.first == RecordPosition(path, 0, 1)
    assert [(name.name, name.serves, name.earliest) for name in found.names[1:]] == [
        ("GitHub.copilot.chat/engine.messages", SERVES["engine.messages"], None),
        ("copilot-chat/engine.messages.length", None, "2026-04-01T00:00:00Z"),
    ]
    assert found.bases[0].prefixes == {"copilot-chat/": 2, "GitHub.copilot.chat/": 1}
    assert (found.bases[0].base, found.bases[0].count) == ("engine.messages", 3)


def test_names_are_filtered_in_any_letter_case(tmp_path: Path) -> None:
    found = types(tmp_path, snapshot([user()]), user_text("ask", 0), {"no": "name"}, contains="ENGINE")

    assert [name.name for name in found.names] == ["copilot-chat/engine.messages"]
    assert found.files[0].ignored == {"other_name": 1, "no_name": 1}
    assert found.files[0].balances()


def test_flat_events_and_unrecognised_ones_are_counted_under_the_name_they_have(tmp_path: Path) -> None:
    found = types(
        tmp_path,
        {"name": "engine.messages", "properties": {}, "time": "2026-04-02T08:00:00Z"},
        {"name": "outer", "data": {"baseData": {"name": "engine.messages", "properties": {}}}},
        {"name": "outer", "data": {"baseData": {"name": "copilot-chat/request.sent"}}, "time": 7},
        {"name": "outer", "timestamp": "2026-04-02T08:00:00Z", "customDimensions": "{}"},
    )

    assert {name.name: name.count for name in found.names} == {
        "engine.messages": 2,
        "copilot-chat/request.sent": 1,
        "outer": 1,
    }
    assert found.bases[0].prefixes == {"": 2}
