"""The benchmark of days: its truth is what copilog says of resumed sessions, and a wrong day is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_days import Day, of_copilog, score, tokens_of
from benchmarks.resumed_sessions import write_home


@pytest.mark.parametrize("cumulative", [False, True])
def test_copilog_has_every_day_of_resumed_sessions(tmp_path: Path, cumulative: bool) -> None:
    home, own = tmp_path / "home", tmp_path / "own"
    home.mkdir()
    own.mkdir()
    truth = tokens_of(write_home(home, 8, 3, cumulative=cumulative))

    found = score(of_copilog(home, own), truth)

    assert (found["right_days"], found["wrong_tokens"]) == (len(truth), 0)
    assert found["tokens"] == sum(truth.values())
    assert found["dollars"] > 0


def test_tokens_on_a_wrong_day_are_counted() -> None:
    said = {"2026-06-01": Day(500, 1.0), "2026-06-02": Day(50, 0.1), "2026-06-03": Day(50, 0.1)}

    found = score(said, {"2026-06-01": 100, "2026-06-02": 200, "2026-06-03": 50})

    assert (found["right_days"], found["wrong_tokens"], found["tokens"]) == (1, 550, 600)
