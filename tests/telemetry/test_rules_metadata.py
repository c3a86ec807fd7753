"""What is told about a conversation as a whole, and where it came from: R-21 and R-22 of docs/formats/telemetry.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.trajectory import encode_trajectory
from tests.telemetry.streams import (
    ENGINE,
    Record,
    assistant,
    contents,
    modes,
    only,
    properties_of,
    snapshot,
    system,
    user,
    user_text,
    write_lines,
)

CHAT = [system(), user("one"), assistant("1"), user("two")]
TIME = "2025-08-17T09:12:44.120Z"


# --- metadata -------------------------------------------------------------------------------------------------


def test_r21_metadata_are_properties_of_the_snapshot(tmp_path: Path) -> None:
    told = {"intent": "explain", "detectedIntent": "fix", "turnIndex": "3", "messageId": "m-1"}

    metadata = only(write_lines(tmp_path, snapshot(CHAT, properties=told, time=TIME))).metadata

    assert (metadata.intent, metadata.detected_intent) == ("explain", "fix")
    assert (metadata.turn_index, metadata.message_id, metadata.timestamp) == (3, "m-1", TIME)


def test_r21_metadata_exist_even_without_values(tmp_path: Path) -> None:
    line = json.loads(encode_trajectory(only(write_lines(tmp_path, snapshot(CHAT)))))

    assert list(line["metadata"]) == ["mode", "intent", "detectedIntent", "timestamp", "turnIndex", "messageId"]
    assert set(line["metadata"].values()) == {None}
    assert line["mode_distribution"] == {}


@pytest.mark.parametrize(
    ("given", "turn"),
    [("3", 3), (3, 3), ("03", 3), ("three", None), (1.5, None), (True, None), ("-1", None), ("", None)],
)
def test_r21_the_turn_is_an_integer(tmp_path: Path, given: Any, turn: int | None) -> None:
    assert only(write_lines(tmp_path, snapshot(CHAT, properties={"turnIndex": given}))).metadata.turn_index == turn


@pytest.mark.parametrize(
    ("inner", "outer", "expected"),
    [
        ("2025-08-17T08:00:00Z", TIME, "2025-08-17T08:00:00Z"),
        (None, TIME, TIME),
        ("", TIME, TIME),
        ("last Sunday", TIME, "last Sunday"),
        (None, "2025-08-17 11:12:44.1200000 +02:00", "2025-08-17 11:12:44.1200000 +02:00"),
        (None, None, None),
    ],
)
def test_r21_a_timestamp_is_the_propertys_or_the_envelopes_unchanged(
    tmp_path: Path, inner: str | None, outer: str | None, expected: str | None
) -> None:
    path = write_lines(tmp_path, snapshot(CHAT, properties={"timestamp": inner}, time=outer))

    assert only(path).metadata.timestamp == expected


def test_r21_exports_of_the_portal_have_their_own_timestamp(tmp_path: Path) -> None:
    record = {"name": ENGINE, "timestamp": TIME, "customDimensions": properties_of(snapshot(CHAT))}

    assert only(write_lines(tmp_path, record)).metadata.timestamp == TIME


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2025-08-17T09:00:00Z", "2025-08-17T09:00:00.001Z"),
        ("2025-08-17T10:30:00+02:00", "2025-08-17T09:00:00Z"),
        ("2025-08-17T09:00:00+00:00", "2025-08-17T05:00:00-05:00"),
        ("2025-08-17T09:00:00", "2025-08-17T09:00:01Z"),
        ("2025-08-17T09:30:00+01:00", "2025-08-17T09:00:00"),
        ("2025-08-17T09:00:00.12Z", "2025-08-17T09:00:00.1234567Z"),
        ("2025-08-17T09:00:00.1234567Z", "2025-08-17T09:00:00.123457Z"),
        ("2025-08-17T09:00:00.9999999Z", "2025-08-17T09:00:01Z"),
        ("yesterday", "1999-12-31T00:00:00Z"),
        (None, "1999-12-31T00:00:00Z"),
    ],
)
def test_r21_times_are_compared_as_instants(tmp_path: Path, earlier: str | None, later: str) -> None:
    for first, second in ((earlier, later), (later, earlier)):
        texts = [user_text("late" if time == later else "early", 0, time=time) for time in (first, second)]
        path = write_lines(tmp_path, *texts, snapshot(CHAT))
        assert modes(only(path))[0] == "late"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2025-08-17T09:00:00.1234561Z", "2025-08-17T09:00:00.1234569Z"),
        ("2025-08-17T09:00:00Z", "2025-08-17T11:00:00+02:00"),
        ("2025-08-17T09:00:00", "2025-08-17T09:00:00.000Z"),
        ("yesterday", "today"),
        (None, "today"),
        ("2025-13-41T09:00:00Z", None),
    ],
)
def test_r21_these_times_are_the_same(tmp_path: Path, first: str | None, second: str | None) -> None:
    for one, two in ((first, second), (second, first)):
        path = write_lines(tmp_path, user_text("ask", 0, time=one), user_text("agent", 0, time=two), snapshot(CHAT))
        assert modes(only(path))[0] == "ask"


def test_r21_the_time_of_an_event_is_its_own_timestamp_first(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", 0, time="2025-08-17T12:00:00Z", properties={"timestamp": "2025-08-17T08:00:00Z"}),
        user_text("agent", 0, time="2025-08-17T09:00:00Z"),
        snapshot(CHAT),
    )

    assert modes(only(path))[0] == "agent"


def test_r21_the_mode_is_the_first_one_that_is_present(tmp_path: Path) -> None:
    path = write_lines(tmp_path, user_text("plan", 1), snapshot(CHAT))

    trajectory = only(path)

    assert (modes(trajectory), trajectory.metadata.mode) == ([None, "plan"], "plan")


def test_r21_modes_are_counted_in_the_order_of_their_names(tmp_path: Path) -> None:
    said = ["plan", "ask", "plan", "Edit"]
    path = write_lines(
        tmp_path,
        *(user_text(mode, turn) for turn, mode in enumerate(said)),
        snapshot([system(), *(user(str(turn)) for turn in range(5))]),
    )

    trajectory = only(path)

    assert list(trajectory.mode_distribution.items()) == [("Edit", 1), ("ask", 1), ("plan", 2)]
    assert trajectory.metadata.mode == "plan"


def test_r21_modes_are_counted_after_the_merge(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        user_text("ask", None, header="turn-1"),
        user_text("agent", None, header="turn-2"),
        snapshot(CHAT[:2], header="turn-1"),
        snapshot(CHAT, header="turn-2"),
    )

    trajectory = only(path)

    assert modes(trajectory) == ["ask", "agent"]
    assert (trajectory.metadata.mode, trajectory.mode_distribution) == ("ask", {"agent": 1, "ask": 1})


# --- provenance -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["copilot-chat/engine.messages", "GitHub.copilot.chat/engine.messages", "engine.messages"]
)
def test_r22_the_type_is_the_full_name_of_the_event(tmp_path: Path, name: str) -> None:
    assert only(write_lines(tmp_path, snapshot(CHAT, name=name))).telemetry_type == name


def test_r22_a_path_is_written_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_lines(tmp_path, snapshot(CHAT), name="logs/events.jsonl")
    monkeypatch.chdir(tmp_path)

    assert only(path).file_path == str(path)
    assert only("logs/events.jsonl").file_path == "logs/events.jsonl"
    assert only(["./logs/../logs/events.jsonl"]).file_path == "./logs/../logs/events.jsonl"


def test_r22_in_a_folder_the_relative_path_of_the_file_is_appended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(tmp_path, snapshot(CHAT), name="logs/08/17/events.jsonl")
    monkeypatch.chdir(tmp_path)

    assert only(tmp_path).file_path == f"{tmp_path}/logs/08/17/events.jsonl"
    assert only("logs").file_path == "logs/08/17/events.jsonl"
    assert only("logs/08").file_path == "logs/08/17/events.jsonl"


def test_r22_both_are_those_of_the_winner(tmp_path: Path) -> None:
    records: list[tuple[str, Record]] = [
        ("a.jsonl", snapshot(CHAT[:2], name="one/engine.messages")),
        ("b.jsonl", snapshot(CHAT, name="two/engine.messages")),
        ("c.jsonl", snapshot(CHAT[:3], name="three/engine.messages")),
    ]
    for name, record in records:
        write_lines(tmp_path, record, name=name)

    trajectory = only(tmp_path)

    assert len(contents(trajectory)) == 4
    assert (trajectory.telemetry_type, trajectory.file_path) == ("two/engine.messages", f"{tmp_path}/b.jsonl")
