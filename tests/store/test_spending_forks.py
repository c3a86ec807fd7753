"""Forks taken while a run was going on, and runs that were killed: which turns a total of the run covers.

All figures are worked out by hand. Tokens, premium requests and credits follow one rule: a total that is too small for
the output of all answers covers only those after the fork, or after the resume.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.store.rows import SpendRow
from tests.sources.cli_builders import Log, read_cleanly
from tests.store.spent import spent
from tests.store.test_spending_of_cli import NEWER
from tests.store.test_spending_segments import DAYS, on_day, summary

PARENT, CHILD = "0f1e2d3c-0000-4000-8000-00000000000a", "0f1e2d3c-0000-4000-8000-000000000001"


def fork(log: Log) -> Log:
    message = f'Forked from "Lamps" ({PARENT}) as "Other lamps" ({CHILD}).'
    return log.add("session.info", {"infoType": "fork", "message": message})


def checkpoint(log: Log, requests: float, credits_: float) -> Log:
    return log.add("session.usage_checkpoint", {"totalPremiumRequests": requests, "totalNanoAiu": credits_ * 1e9})


def used(spends: list[SpendRow]) -> dict[int | None, tuple[Any, ...]]:
    """Return what is recorded or spread for each turn: input, output, premium requests, credits."""
    found: dict[int | None, list[float]] = {}
    for spend in spends:
        if spend.method != "estimated":
            sums = found.setdefault(spend.turn, [0, 0, 0, 0])
            numbers = (spend.input, spend.output, spend.premium_requests, spend.credits)
            sums[:] = [known + (number or 0) for known, number in zip(sums, numbers, strict=True)]
    return {turn: tuple(sums) for turn, sums in found.items()}


def methods(spends: list[SpendRow], name: str) -> set[str]:
    return {spend.method for spend in spends if getattr(spend, name) and spend.method != "estimated"}


def test_fork_within_a_run_has_all_of_a_total_that_began_anew(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90)
    fork(log).ask().say(outputTokens=10).shut_down(**summary(3_000, 10, 1, 5), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # 10 tokens of output are too few for the 90 that were copied.
    assert used(spends) == {0: (0, 90, 0, 0), 1: (3_000, 10, 1, 5)}
    assert methods(spends, "credits") == methods(spends, "input") == methods(spends, "premium_requests") == {"recorded"}


def test_bill_at_the_fork_is_exactly_what_the_fork_copied(tmp_path: Path) -> None:
    log = checkpoint(Log().start(selectedModel="opus").ask().say(outputTokens=90), 2, 8)
    fork(log).ask().say(outputTokens=10).shut_down(**summary(4_000, 100, 3, 10), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # 3 - 2 requests and 10 - 8 credits are the fork's own; the input has no bill, so it is divided as 90 : 10.
    assert used(spends) == {0: (3_600, 90, 2, 8), 1: (400, 10, 1, 2)}
    assert methods(spends, "credits") == {"recorded"}
    assert methods(spends, "input") == {"spread"}


def test_total_that_includes_the_copied_turns_is_spread_and_says_so(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90)
    fork(log).ask().say(outputTokens=10).shut_down(**summary(4_000, 100, 2, 10), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert used(spends) == {0: (3_600, 90, 1, 9), 1: (400, 10, 1, 1)}
    assert methods(spends, "credits") == methods(spends, "premium_requests") == {"spread"}


def test_bills_of_a_fork_that_was_never_ended_count_from_its_copy(tmp_path: Path) -> None:
    log = checkpoint(Log().start(selectedModel="opus").ask().say(outputTokens=90), 2, 8)
    checkpoint(fork(log).ask().say(outputTokens=10), 3, 10)

    spends = spent(read_cleanly(tmp_path, log))

    assert used(spends) == {0: (0, 90, 2, 8), 1: (0, 10, 1, 2)}


def test_fork_of_a_resumed_session_leaves_out_both_of_its_segments(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=100).shut_down(**summary(1_000, 100, 1, 4), **NEWER)
    log.add("session.resume").ask().say(outputTokens=50)
    fork(log).ask().say(outputTokens=10).shut_down(**summary(1_500, 110, 2, 6), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # The last summary restored the first one, and not the 50 tokens after it.
    assert used(spends) == {0: (1_000, 100, 1, 4), 1: (0, 50, 0, 0), 2: (500, 10, 1, 2)}


def test_notices_that_a_fork_copied_are_no_boundary(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90)
    log.add("session.info", {"infoType": "fork", "message": f'Forked this session into "Third" ({PARENT}).'})
    log.ask().say(outputTokens=10).shut_down(**summary(4_000, 100, 2, 10), **NEWER)
    fork(log).ask().say(outputTokens=30).shut_down(**summary(5_000, 130, 3, 16), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert used(spends) == {0: (3_600, 90, 1, 9), 1: (400, 10, 1, 1), 2: (1_000, 30, 1, 6)}


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ((100, 10, 1, 3), {0: (0, 50, 0, 0), 1: (100, 10, 1, 3)}),  # too small for both answers
        ((600, 60, 2, 6), {0: (500, 50, 1, 5), 1: (100, 10, 1, 1)}),
    ],
)
def test_killed_run_has_credits_on_the_days_of_its_tokens(
    tmp_path: Path, total: tuple[float, ...], expected: dict[int | None, tuple[Any, ...]]
) -> None:
    log = Log().start(selectedModel="opus")
    on_day(log.ask(), DAYS[0])
    on_day(log.say(outputTokens=50), DAYS[0])
    on_day(log.add("session.resume"), DAYS[1])
    on_day(log.ask(), DAYS[1])
    on_day(log.say(outputTokens=10), DAYS[1])
    on_day(log.shut_down(**summary(*total), **NEWER), DAYS[1])  # type: ignore[arg-type]

    assert used(spent(read_cleanly(tmp_path, log))) == expected


def test_bill_after_a_kill_without_any_end_belongs_to_the_run_that_it_follows(tmp_path: Path) -> None:
    log = checkpoint(Log().start(selectedModel="opus").ask().say(outputTokens=50), 1, 8)
    checkpoint(log.add("session.resume").ask().say(outputTokens=50), 3, 10)

    assert used(spent(read_cleanly(tmp_path, log))) == {0: (0, 50, 1, 8), 1: (0, 50, 2, 2)}


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        ((100, 10, 1, 3), {0: (400, 40, 0, 0), 1: (100, 10, 1, 3)}),  # began anew
        ((500, 50, 2, 5), {0: (400, 40, 1, 4), 1: (100, 10, 1, 1)}),  # with what was copied, as 40 : 10
    ],
)
def test_records_of_calls_that_a_fork_copied_stay_in_their_turns(
    tmp_path: Path, total: tuple[float, ...], expected: dict[int | None, tuple[Any, ...]]
) -> None:
    log = Log().start(selectedModel="opus").ask().record(1, 40, of=PARENT).say()
    fork(log).ask().record(2, 10).say().shut_down(**summary(*total), **NEWER)  # type: ignore[arg-type]

    assert used(spent(read_cleanly(tmp_path, log))) == expected
