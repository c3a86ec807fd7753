"""The benchmark of estimates: that it hides what it tests, and what it says of real sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_estimates
from copilog.analysis.prices import price_table
from copilog.derive.estimating import fixed_part

SIZES = {"systemTokens": 5_000, "toolDefinitionsTokens": 6_000, "conversationTokens": 100}


def write_session(file: Path, tokens: int, **sizes: int) -> None:
    """Write a session of one turn and one call."""
    usage = {"inputTokens": tokens, "outputTokens": 140, "cacheReadTokens": 0, "cacheWriteTokens": 0}
    metrics = {"gpt-5": {"requests": {"count": 1, "cost": 1}, "usage": usage}}
    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"sessionId": file.parent.name, "version": 1, "producer": "copilot-agent"}),
        ("user.message", {"content": "word " * 800}),
        ("assistant.turn_start", {"turnId": "0"}),
        ("assistant.message", {"messageId": "m", "content": "word " * 80, "model": "gpt-5", "outputTokens": 140}),
        ("assistant.turn_end", {"turnId": "0"}),
        ("session.shutdown", {"shutdownType": "routine", "modelMetrics": metrics, **SIZES, **sizes}),
    ]
    file.parent.mkdir(parents=True)
    lines = [
        {
            "type": kind,
            "id": f"{file.parent.name}-{number}",
            "timestamp": f"2026-06-01T10:00:{number:02}.000Z",
            "data": data,
        }
        for number, (kind, data) in enumerate(events)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    for home, session, tokens in (("01", "a", 12_000), ("01", "b", 12_100), ("02", "c", 12_200)):
        write_session(tmp_path / "homes" / home / ".copilot" / "session-state" / session / "events.jsonl", tokens)
    write_session(tmp_path / "files" / "cli-events" / "01-fixture.jsonl", 10)
    return tmp_path


def test_a_session_is_compared_with_what_it_recorded(made_up: Path, tmp_path: Path) -> None:
    sessions = bench_estimates.sessions_of(made_up)
    real = [session for session in sessions if session.is_real]
    assert len(real) == 3

    rows = bench_estimates.compare(real[0], real, price_table({"gpt-5"}, tmp_path), knows_own=True)

    assert [row.measure for row in rows] == ["input", "output", "dollars"]
    assert [row.truth for row in rows[:2]] == [12_000, 140]
    assert rows[0].ratio == pytest.approx(1, abs=0.1)
    assert all(row.is_inside for row in rows)


def test_the_session_under_test_is_not_used_for_parameters(made_up: Path) -> None:
    write_session(
        made_up / "homes" / "03" / ".copilot" / "session-state" / "d" / "events.jsonl", 10**6, systemTokens=10**6
    )
    real = [session for session in bench_estimates.sessions_of(made_up) if session.is_real]
    (odd,) = [session for session in real if session.sample.input == 10**6]

    assert bench_estimates.calibration_without(odd, real)[fixed_part("cli")].high < 100_000
    assert bench_estimates.calibration_without(real[0], real)[fixed_part("cli")].likely == 11_000  # the user's own
    assert bench_estimates.compare(odd, real, None, knows_own=True)[0].ratio < 0.1
    assert odd.conversation.usage == []


def test_fixtures_are_printed_apart(
    made_up: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COPILOG_CORPUS", str(made_up))
    monkeypatch.setattr("sys.argv", ["bench_estimates", "--json"])
    bench_estimates.main()
    printed = json.loads(capsys.readouterr().out)

    assert {row["truth"] for row in printed["apart"] if row["measure"] == "input"} == {10}
    assert len(printed["counted"]) == 9


@pytest.mark.corpus
def test_estimates_of_real_sessions_are_near_what_they_recorded(corpus: Path, tmp_path: Path) -> None:
    real = [session for session in bench_estimates.sessions_of(corpus) if session.is_real]
    prices = price_table({usage.model for one in real for usage in one.conversation.usage if usage.model}, tmp_path)
    rows = [row for session in real for row in bench_estimates.compare(session, real, prices, knows_own=True)]

    assert sum(row.is_inside for row in rows) >= 0.9 * len(rows)
    for measure in ("input", "output", "dollars", "prompts"):
        of_measure = [row for row in rows if row.measure == measure]
        assert all(0.5 <= row.ratio <= 2 for row in of_measure)
        assert 0.7 <= sum(row.estimated.likely for row in of_measure) / sum(row.truth for row in of_measure) <= 1.4
