"""What belongs to one run of the program stays in the turns of that run: tokens, premium requests, credits.

The figures are worked out by hand. A run is what was answered up to a `session.shutdown`, which counts either from zero
or, with `eventsFileSizeBytes`, from the beginning of the session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.sources.cli_builders import Json, Log, read_cleanly
from tests.store.spent import pick, spent, total
from tests.store.test_spending_of_cli import NEWER, call, shutdown, with_store

DAYS = ("2026-06-02", "2026-06-03", "2026-06-05")


def on_day(log: Log, day: str) -> Log:
    """Move the last event to a day."""
    event = log.events[-1]
    event["timestamp"] = f"{day}T{event['timestamp'].partition('T')[2]}"
    return log


def summary(tokens: int, output: int, requests: float, credits_: float) -> Json:
    usage = {"inputTokens": tokens, "outputTokens": output}
    metrics = {"opus": {"requests": {"count": 1, "cost": requests}, "usage": usage, "totalNanoAiu": credits_ * 1e9}}
    return {"modelMetrics": metrics, "totalPremiumRequests": requests, "totalNanoAiu": credits_ * 1e9}


def resumed(*, cumulative: bool, outputs: tuple[int | None, ...] = (1_000, 100, 100)) -> Log:
    """One turn on each of three days: 100K, 200K, 300K of input; 1, 2, 3 requests; 10, 20, 30 credits."""
    log = Log().start(selectedModel="opus")
    ended = [0, 0, 0, 0]
    for number, (day, output) in enumerate(zip(DAYS, outputs, strict=True), start=1):
        if number > 1:
            on_day(log.add("session.resume"), day)
        on_day(log.ask(), day)
        answer: Json = {} if output is None else {"outputTokens": output}
        on_day(log.say(**answer), day)
        used = [number * 100_000, 1_000, number, number * 10]
        ended = [before + now for before, now in zip(ended, used, strict=True)]
        tokens, answered, requests, paid = ended if cumulative else used
        more = NEWER if cumulative else {}
        on_day(log.shut_down(**summary(tokens, answered, requests, paid), **more), day)
    return log


@pytest.mark.parametrize("cumulative", [False, True])
@pytest.mark.parametrize("outputs", [(1_000, 100, 100), (None, None, None)])
def test_resumed_session_uses_tokens_on_its_own_days(tmp_path: Path, cumulative: bool, outputs: Any) -> None:
    spends = spent(read_cleanly(tmp_path, resumed(cumulative=cumulative, outputs=outputs)))

    used: dict[str, list[float]] = {}
    for spend in spends:
        day = used.setdefault((spend.at or "")[:10], [0, 0, 0])
        numbers = (spend.input, spend.premium_requests, spend.credits)
        day[:] = [known + (number or 0) for known, number in zip(day, numbers, strict=True)]
    assert used == {DAYS[0]: [100_000, 1, 10], DAYS[1]: [200_000, 2, 20], DAYS[2]: [300_000, 3, 30]}
    assert {spend.method for spend in spends} == {"recorded"}


def test_turn_that_goes_on_after_a_resume_belongs_to_both_runs(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).ask().say(outputTokens=10)
    log.shut_down(**shutdown(opus=20)).add("session.resume").say("more", outputTokens=5).shut_down(**shutdown(opus=50))

    spends = spent(read_cleanly(tmp_path, log))

    # The first run: 200 of input, as 10 : 15 of output. The second: 500, all of turn 1.
    assert pick(spends, "turn", "input", "output", "method") == [
        (0, 80, 8, "spread"),
        (1, 120, 12, "spread"),
        (1, 500, 50, "recorded"),
    ]


def test_run_without_an_answer_belongs_to_the_turn_before(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).ask().say(outputTokens=10)
    log.shut_down(**shutdown(opus=20)).add("session.resume").shut_down(**shutdown(opus=7)).add("session.resume")
    log.ask().say(outputTokens=1).shut_down(**shutdown(opus=1))

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output", "method") == [
        (0, 100, 10, "spread"),
        (1, 100, 10, "spread"),
        (1, 70, 7, "recorded"),
        (2, 10, 1, "recorded"),
    ]


def test_bill_after_the_last_end_belongs_to_the_turns_after_it(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90).shut_down(**summary(10, 90, 2, 6), **NEWER)
    log.add("session.resume").ask().say(outputTokens=10)
    log.add("session.usage_checkpoint", {"totalPremiumRequests": 3, "totalNanoAiu": 10e9})

    spends = spent(read_cleanly(tmp_path, log))

    used = [spend for spend in spends if spend.credits or spend.premium_requests]
    assert {(spend.turn, spend.credits) for spend in used if spend.credits} == {(0, 6), (1, 4)}
    assert {(spend.turn, spend.premium_requests) for spend in used if spend.premium_requests} == {(0, 2), (1, 1)}


def test_bill_of_a_killed_run_belongs_to_its_turns(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=50)
    log.add("session.usage_checkpoint", {"totalPremiumRequests": 1, "totalNanoAiu": 8e9}).add("session.resume")
    log.ask().say(outputTokens=50).shut_down(**summary(1_000, 100, 3, 10), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # The checkpoint before the resume says 1 request and 8 credits, of 3 and 10.
    assert {(spend.turn, spend.credits) for spend in spends if spend.credits} == {(0, 8), (1, 2)}
    assert {(spend.turn, spend.premium_requests) for spend in spends if spend.premium_requests} == {(0, 1), (1, 2)}


def test_first_cumulative_summary_of_an_older_log_may_count_from_zero(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=100).shut_down(**summary(10_000, 100, 1, 1))
    log.add("session.resume").ask().say(outputTokens=200).shut_down(**summary(20_000, 200, 1, 2), **NEWER)
    log.add("session.resume").ask().say(outputTokens=300).shut_down(**summary(50_000, 500, 2, 5), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # The second run alone answered with 200 tokens: they are not the 100 that its summary has beyond the first.
    used = [spend for spend in spends if spend.input]
    assert pick(used, "turn", "input", "output") == [(0, 10_000, 100), (1, 20_000, 200), (2, 30_000, 300)]
    assert total(spends, "credits") == 1 + 2 + 3


@pytest.mark.parametrize(("tokens", "output", "used"), [(70_000, 300, 40_000), (40_000, 200, 40_000)])
def test_summary_without_models_may_stand_between_two_that_continue(
    tmp_path: Path, tokens: int, output: int, used: int
) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=100).shut_down(**summary(30_000, 100, 1, 1), **NEWER)
    log.add("session.resume").shut_down(totalPremiumRequests=0, totalNanoAiu=0, **NEWER)
    log.add("session.resume").ask().say(outputTokens=200).shut_down(**summary(tokens, output, 2, 2), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # 200 tokens of output: a total of 300 includes the 100 of the first run, one of 200 does not.
    assert pick([spend for spend in spends if spend.input], "turn", "input") == [(0, 30_000), (1, used)]


def billed(log: Log, requests: float, credits_: float) -> Log:
    """Add a checkpoint: what was billed since the session began."""
    return log.add("session.usage_checkpoint", {"totalPremiumRequests": requests, "totalNanoAiu": credits_ * 1e9})


@pytest.mark.parametrize("has_end", [True, False])
def test_checkpoints_in_a_run_divide_its_bill_among_its_turns(tmp_path: Path, has_end: bool) -> None:
    log = billed(Log().start(selectedModel="opus").ask().say(outputTokens=100), 1, 3)
    log = billed(log.ask().say(outputTokens=300), 4, 10)
    if has_end:
        log.shut_down(**summary(4_000, 400, 4, 10), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # 3 credits and 1 request up to the first checkpoint, 7 and 3 from there to the second, whatever the output.
    paid = [spend for spend in spends if spend.credits]
    assert pick(paid, "turn", "credits", "method") == [(0, 3, "recorded"), (1, 7, "recorded")]
    asked = [spend for spend in spends if spend.premium_requests]
    assert pick(asked, "turn", "premium_requests", "method") == [(0, 1, "recorded"), (1, 3, "recorded")]


def test_turns_between_two_checkpoints_share_what_was_billed_between_them(tmp_path: Path) -> None:
    log = billed(Log().start(selectedModel="opus").ask().say(outputTokens=100), 1, 2)
    log = billed(log.ask().say(outputTokens=100).ask().say(outputTokens=300), 3, 10)
    log.ask().say(outputTokens=100).shut_down(**summary(6_000, 600, 4, 15), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # 8 credits for 100 and 300 tokens of output, and the last 5 up to the end.
    paid = [spend for spend in spends if spend.credits]
    assert pick(paid, "turn", "credits", "method") == [
        (0, 2, "recorded"), (1, 2, "spread"), (2, 6, "spread"), (3, 5, "recorded"),
    ]  # fmt: skip


def test_checkpoints_keep_the_bill_of_each_model(tmp_path: Path) -> None:
    log = billed(Log().start().ask().say(outputTokens=100, model="opus"), 1, 6)
    log = billed(log.ask().say(outputTokens=100, model="haiku"), 2, 7)
    metrics = {
        model: {
            "requests": {"count": 1, "cost": 1},
            "usage": {"inputTokens": 1_000, "outputTokens": 100},
            "totalNanoAiu": nano,
        }
        for model, nano in (("opus", 6e9), ("haiku", 1e9))
    }
    log.shut_down(modelMetrics=metrics, totalPremiumRequests=2, totalNanoAiu=7e9, **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    paid = [spend for spend in spends if spend.credits]
    assert pick(paid, "turn", "model", "credits", "method") == [
        (0, "opus", 6, "recorded"), (1, "haiku", 1, "recorded"),
    ]  # fmt: skip


def test_checkpoint_without_requests_divides_credits_alone(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=100)
    log.add("session.usage_checkpoint", {"totalNanoAiu": 3e9}).ask().say(outputTokens=300)
    log.shut_down(**summary(4_000, 400, 4, 10), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick([spend for spend in spends if spend.credits], "turn", "credits") == [(0, 3), (1, 7)]
    asked = [spend for spend in spends if spend.premium_requests]
    assert pick(asked, "turn", "premium_requests", "method") == [(0, 2, "spread"), (1, 2, "spread")]


def test_checkpoints_that_exceed_the_bill_of_their_run_divide_nothing(tmp_path: Path) -> None:
    log = billed(Log().start(selectedModel="opus").ask().say(outputTokens=100), 1, 30)
    log = billed(log.ask().say(outputTokens=300), 4, 70)
    log.shut_down(**summary(4_000, 400, 4, 8), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    paid = [spend for spend in spends if spend.credits]
    assert pick(paid, "turn", "credits", "method") == [(0, 2, "spread"), (1, 6, "spread")]


def test_compaction_keeps_its_credits_of_the_bill(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=100)
    used = {"model": "opus", "inputTokens": 50_000, "outputTokens": 400, "copilotUsage": {"totalNanoAiu": 2e9}}
    log.add("session.compaction_start").add(
        "session.compaction_complete", {"success": True, "compactionTokensUsed": used}
    )
    log.ask().say(outputTokens=100).shut_down(**summary(20_000, 200, 2, 6), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    # The bill of 6 includes the 2 of the compaction, after turn 0; the rest is shared by the turns.
    paid = sorted((spend.turn, spend.credits, spend.method) for spend in spends if spend.credits)
    assert paid == [(0, 2, "recorded"), (0, 2, "spread"), (1, 2, "spread")]


def test_calls_keep_their_credits_and_the_rest_of_a_bill_is_spread_over_others(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).ask().say(outputTokens=30)
    log.ask().say(outputTokens=10).shut_down(**shutdown(opus=50), totalNanoAiu=6e9)

    spends = spent(with_store(tmp_path, log, call(0, 10, total_nano_aiu=2_000_000_000)))

    credited = [spend for spend in spends if spend.credits]
    assert pick(credited, "turn", "credits", "method") == [(0, 2, "recorded"), (1, 3, "spread"), (2, 1, "spread")]


def test_totals_of_an_older_release_stay_in_their_own_run(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=1).shut_down(**shutdown(opus=8), **NEWER)
    log.add("session.resume").ask().say(outputTokens=9).shut_down(**shutdown(opus=108), **NEWER)
    log.add("session.resume").ask().record(1, 40).say().shut_down(**shutdown(opus=148), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output") == [(0, 80, 8), (1, 1_000, 100), (2, 400, 40)]
    assert total(spends, "input") == 1_480


def test_fork_has_its_own_run_for_itself(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=90).shut_down(**shutdown(opus=100), **NEWER)
    parent, child = "0f1e2d3c-0000-4000-8000-00000000000a", "0f1e2d3c-0000-4000-8000-000000000001"
    told = f'Forked from "Lamps" ({parent}) as "Other lamps" ({child}).'
    log.add("session.info", {"infoType": "fork", "message": told})
    log.ask().say(outputTokens=10).shut_down(**shutdown(opus=400), **NEWER)

    made = read_cleanly(tmp_path, log)

    assert [turn.copied_from for turn in made.turns] == [f"cli:{parent}", None]
    assert pick(spent(made), "turn", "input", "output") == [(0, 1_000, 100), (1, 3_000, 300)]


def test_run_that_read_nothing_from_a_cache_is_recorded_as_0(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus")
    for number, (day, tokens) in enumerate(zip(DAYS[:2], (1_000, 3_000), strict=True)):
        if number:
            on_day(log.add("session.resume"), day)
        on_day(log.ask(), day)
        on_day(log.say(outputTokens=10), day)
        ended = summary(tokens, 10 * (number + 1), number + 1, 0)
        ended["modelMetrics"]["opus"]["usage"]["cacheReadTokens"] = 500  # in all: the second run adds none
        on_day(log.shut_down(**ended, **NEWER), day)

    spends = spent(read_cleanly(tmp_path, log))

    assert [((spend.at or "")[:10], spend.input, spend.cache_read) for spend in spends if spend.input] == [
        (DAYS[0], 1_000, 500),
        (DAYS[1], 2_000, 0),
    ]
