"""Elapsed times of real sessions, in the folder that COPILOG_CORPUS names, against a count of their raw JSON."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from copilog.ingest import discover, read
from copilog.model import Turn, duration_of

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def turns(corpus: Path) -> list[Turn]:
    found = (conversation for found in discover(sorted((corpus / "homes").iterdir())) for conversation in read(found))
    return [turn for conversation in chain(found, read(corpus / "files")) for turn in conversation.turns]


def raw_times(corpus: Path) -> dict[str, float]:
    """Return `totalElapsed` by request id, from the plain JSON of sessions and exports, without readers of copilog."""
    found: dict[str, float] = {}
    for path in corpus.rglob("*.json"):
        try:
            value: Any = json.loads(path.read_bytes())
        except ValueError:
            continue
        requests = value.get("requests") if isinstance(value, dict) else None
        for request in requests if isinstance(requests, list) else []:
            timings = ((request or {}).get("result") or {}).get("timings") or {}
            if "requestId" in request and "totalElapsed" in timings:
                found[request["requestId"]] = timings["totalElapsed"]
    return found


def test_elapsed_hours_are_those_that_were_recorded(turns: list[Turn], corpus: Path) -> None:
    recorded = [turn for turn in turns if turn.timing.elapsed_ms is not None]
    ours = {turn.request_id: duration_of(turn).elapsed_ms or 0 for turn in turns if turn.request_id}
    raw = raw_times(corpus)

    assert len(recorded) > 500
    total = sum(turn.timing.elapsed_ms or 0 for turn in recorded)
    assert sum(duration_of(turn).elapsed_ms or 0 for turn in recorded) == pytest.approx(total, rel=0.02)
    assert len(raw) > 400
    assert sum(ours[name] for name in raw if name in ours) == pytest.approx(sum(raw.values()), rel=0.02)


def test_turn_that_records_its_time_has_an_elapsed_time_and_no_working_time_of_0(turns: list[Turn]) -> None:
    took = [duration_of(turn) for turn in turns if turn.timing.elapsed_ms]
    impossible = [duration_of(turn) for turn in turns if turn.timing.elapsed_ms == 0]

    assert len(took) > 500
    assert [each for each in took if each.elapsed_ms is None or each.elapsed_ms <= 0] == []
    assert [each for each in impossible if each.elapsed_ms == 0 or not each.problems] == []
    assert [each for each in took if each.working_ms is not None and each.working_ms <= 0] == []
