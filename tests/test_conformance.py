"""Recorded runs of real programs: what copilog reads is what was scripted."""

from __future__ import annotations

import time

import pytest

from conformance.recording import RECORDED, compare_recorded, recorded

MOST_BYTES = 4 << 20


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The days of the recorded truths are those of UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize("name", recorded())
def test_recorded_run_is_read_as_it_was_scripted(name: str) -> None:
    compared = compare_recorded(name)
    different = {
        f"{one.fact.kind} at {one.fact.where}": (one.fact.expected, one.observed)
        for one in compared
        if one.verdict == "different" and one.reason is None
    }
    assert sum(one.verdict == "equal" for one in compared) >= len(compared) // 2
    assert different == {}


def test_recorded_runs_are_small_and_name_no_scratch_folder() -> None:
    files = [path for path in RECORDED.rglob("*") if path.is_file()]
    assert files
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
    for scratch in (b"/copilog-conf-", b"/copilog-conf-".hex().encode()):
        assert [path for path in files if scratch in path.read_bytes()] == []
