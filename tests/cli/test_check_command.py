"""`copilog check`: tables as text, JSON, and an exit code that reports whether the data is consistent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.homes import run
from tests.telemetry.streams import (
    assistant,
    event,
    session_response,
    snapshot,
    system,
    user,
    user_text,
    write_lines,
)

REQUEST_MODEL = {"request.option.model": '"gpt-4.1"'}


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path,
        user_text("ask", 0, header="turn-1", time="2026-04-02T08:00:00Z"),
        snapshot([system(), user()], header="turn-1", properties=REQUEST_MODEL),
        snapshot([assistant()], header="turn-1", properties={"baseModel": "gpt-4.1"}),
        session_response("gpt-4.1", "turn-1"),
        event("copilot-chat/engine.messages.length", {}),
    )


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path,
        *[snapshot([user()], header=f"turn-{number}") for number in range(5)],
        user_text("ask", 2),
        "{cut",
        name="broken.jsonl",
    )


# --- model-correlation ----------------------------------------------------------------------------------------------


def test_valid_telemetry_exits_with_0(good: Path) -> None:
    outcome = run("check", "model-correlation", good)

    assert outcome.code == 0
    assert "      2       0  baseModel and request.option.model" in outcome.out
    assert outcome.err == "5 records seen in 1 file: 4 used, 1 ignored (other_event 1), 0 bad\n"


def test_a_violated_invariant_exits_with_1_and_names_positions(broken: Path) -> None:
    outcome = run("check", "model-correlation", broken)

    assert outcome.code == 1
    assert f"{broken}:1 (byte 0)  last role user, no request.option.model" in outcome.out
    assert outcome.out.count(str(broken)) == 3
    assert "and 2 more" in outcome.out
    assert "talk  no text of the user for turns 0, 1 of 3" in outcome.out
    assert f"{broken}:7 (byte" in outcome.err
    assert "1 bad" in outcome.err.splitlines()[-1]


def test_verbose_names_more_positions(broken: Path) -> None:
    assert run("check", "model-correlation", "-v", broken).out.count(str(broken)) == 5


def test_json_has_invariants_coverage_and_ledgers(broken: Path) -> None:
    outcome = run("check", "model-correlation", "--json", broken)

    assert outcome.code == 1
    document = outcome.json
    assert document["is_broken"] is True
    [invariant] = [each for each in document["invariants"] if each["broken"]]
    assert (invariant["code"], invariant["checked"], invariant["broken"]) == ("request-option-model", 5, 5)
    assert invariant["first"][0] == {
        "path": str(broken),
        "line": 1,
        "offset": 0,
        "found": "last role user, no request.option.model",
    }
    assert document["coverage"]["first_gaps"] == [
        {"conversation_id": "talk", "expected": 3, "missing": 2, "first_missing": [0, 1]}
    ]
    [books] = document["files"]
    assert books["seen"] == books["used"] + sum(books["ignored"].values()) + books["bad"]
    assert [(bad["line"], bad["code"]) for bad in books["first_bad"]] == [(7, "malformed-record")]


def test_a_different_session_model_is_reported_but_not_a_failure(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([system(), user()], header="turn-1", properties=REQUEST_MODEL),
        session_response("claude-sonnet-4\x1b[31m", "turn-1"),
    )

    outcome = run("check", "model-correlation", path)

    assert outcome.code == 0
    assert "reported, but not a failure: the session names" in outcome.out
    assert "session claude-sonnet-4␛[31m, engine gpt-4.1" in outcome.out
    assert "\x1b" not in outcome.out


# --- telemetry-types ------------------------------------------------------------------------------------------------


def test_events_are_listed_by_name(good: Path) -> None:
    outcome = run("check", "telemetry-types", good)

    assert outcome.code == 0
    [snapshots] = [line for line in outcome.out.splitlines() if "engine.messages " in line]
    assert snapshots.split()[0] == "2"
    assert "messages and models" in snapshots
    assert snapshots.endswith(f"{good}:2 (byte {good.read_bytes().index(10) + 1})")
    assert "not used" in outcome.out
    assert outcome.err == "5 records seen in 1 file: 5 used, 0 ignored, 0 bad\n"


@pytest.mark.parametrize("spelling", ["telemetry-types", "telemetry-type-search"])
def test_both_spellings_filter_by_text(good: Path, spelling: str) -> None:
    outcome = run("check", spelling, good, "--contains", "Engine", "--json")

    assert outcome.code == 0
    assert [name["name"] for name in outcome.json["names"]] == [
        "copilot-chat/engine.messages",
        "copilot-chat/engine.messages.length",
    ]
    assert outcome.json["names"][0]["first"]["line"] == 2
    assert outcome.json["bases"][0]["prefixes"] == {"copilot-chat/": 2}


def test_no_matching_event_exits_with_1_as_with_grep(good: Path) -> None:
    outcome = run("check", "telemetry-types", good, "--contains", "hologram")

    assert (outcome.code, outcome.out) == (1, "")
    assert "5 ignored (other_name 5)" in outcome.err


def test_names_under_several_prefixes_are_listed(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path,
        snapshot([user()]),
        snapshot([user()], name="evil\x1b[31m/engine.messages"),
        {"name": "engine.messages"},
    )

    outcome = run("check", "telemetry-types", path)

    assert "engine.messages  3: copilot-chat/ 1, none 1, evil␛[31m/ 1" in outcome.out
    assert "\x1b" not in outcome.out


# --- both -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", ["model-correlation", "telemetry-types"])
def test_a_wrong_path_is_a_usage_error(tmp_path: Path, check: str) -> None:
    outcome = run("check", check, tmp_path / "nowhere")

    assert (outcome.code, outcome.out) == (2, "")
    assert "nowhere" in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("check", ["model-correlation", "telemetry-types"])
def test_an_unusable_file_is_reported(tmp_path: Path, check: str) -> None:
    (tmp_path / "broken.jsonl.gz").write_bytes(b"\x1f\x8b no archive")

    outcome = run("check", check, tmp_path)

    assert outcome.code == 0
    assert "broken.jsonl.gz" in outcome.err
    assert outcome.err.splitlines()[-1].startswith("0 records seen in 1 file")


@pytest.mark.parametrize("check", ["model-correlation", "telemetry-types"])
def test_each_check_has_help_with_examples(check: str) -> None:
    outcome = run("check", check, "--help")

    assert outcome.code == 0
    assert f"copilog check {check}" in outcome.out.split("Examples:")[1]


def test_the_help_of_the_group_names_its_checks() -> None:
    outcome = run("check", "--help")

    assert "model-correlation" in outcome.out
    assert "telemetry-types" in outcome.out
