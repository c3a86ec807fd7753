"""Whose the calls of a session store are, whose numbers of turns cannot be trusted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from copilog.derive.calls import TurnsOfCalls
from copilog.model import Timing, Turn, Usage

START = datetime(2026, 11, 16, 12, tzinfo=UTC)
KEPT, REWOUND, NEXT = range(3)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def turns(rewound: Timing) -> list[Turn]:
    """Return a turn, one that was rewound, and the next one, which began after 60 seconds."""
    times = (Timing(started_at=after(0)), rewound, Timing(started_at=after(60)))
    made = [Turn(index=index, request_id=f"e{index}", timing=timing) for index, timing in enumerate(times)]
    made[REWOUND].superseded = "rewound"
    return made


def call(seconds: float, number: int) -> Usage:
    return Usage(extra={"created_at": after(seconds).isoformat(timespec="milliseconds"), "turn_index": number})


@pytest.mark.parametrize("written", [60, 60.023])
def test_row_written_with_the_next_prompt_gets_no_calls_of_that_prompt(written: float) -> None:
    owners = TurnsOfCalls(turns(Timing(started_at=after(written))))

    assert owners.of(call(5, KEPT)) == KEPT
    assert owners.of(call(30, REWOUND)) == REWOUND
    assert owners.of(call(60.1, NEXT)) == NEXT
    assert owners.of(call(60.1, REWOUND)) == NEXT  # the number was used again


def test_row_that_was_written_when_the_program_ended_comes_after_the_calls_of_its_turn() -> None:
    owners = TurnsOfCalls(turns(Timing(started_at=after(40))))

    assert owners.of(call(5, KEPT)) == KEPT
    assert owners.of(call(30, REWOUND)) == REWOUND
    assert owners.of(call(41, REWOUND)) == REWOUND
    assert owners.of(call(61, NEXT)) == NEXT


def test_rewound_turn_with_a_recorded_start_has_only_calls_after_its_start() -> None:
    owners = TurnsOfCalls(turns(Timing(started_at=after(20), completed_at=after(40))))

    assert owners.of(call(5, REWOUND)) == KEPT  # the first run was killed, and its number used again
    assert owners.of(call(30, REWOUND)) == REWOUND
    assert owners.of(call(30, KEPT)) == REWOUND
    assert owners.of(call(61, NEXT)) == NEXT
