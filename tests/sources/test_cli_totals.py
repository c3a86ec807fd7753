"""What a session took: summaries that add up, summaries that hold each other, and what none of them covers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Usage
from copilog.sources.cli.usage import session_totals
from tests.sources.cli_builders import Json, Log, read_cleanly

NEWER: Json = {"eventsFileSizeBytes": 182331}


def summary(output: int, *, requests: float = 1, lines: int = 0, model: str = "sonnet", **more: Any) -> Json:
    usage = {"inputTokens": output * 10, "outputTokens": output, "cacheReadTokens": output * 7, "cacheWriteTokens": 1}
    return {
        "totalPremiumRequests": requests,
        "codeChanges": {"linesAdded": lines, "linesRemoved": 0, "filesModified": [f"/home/ana/{lines}.py"]},
        "modelMetrics": {model: {"requests": {"count": 2, "cost": requests}, "usage": usage}},
        **more,
    }


def outputs(*summaries: Json) -> dict[str, int | None]:
    return {model: usage.output for model, usage in session_totals(summaries).models.items()}


def test_the_numbers_of_a_single_summary_are_used_unchanged() -> None:
    usage = {
        "inputTokens": 180000,
        "outputTokens": 4100,
        "cacheReadTokens": 150000,
        "cacheWriteTokens": 22000,
        "reasoningTokens": 900,
    }
    metrics = {"claude-sonnet-4.6": {"requests": {"count": 9, "cost": 2}, "usage": usage, "totalNanoAiu": 5e8}}
    totals = session_totals([{"modelMetrics": metrics, "totalPremiumRequests": 2, "totalNanoAiu": 3236385000}])

    # Input holds what came from the cache and output holds the reasoning: nothing is to be added on top.
    assert totals.models == {
        "claude-sonnet-4.6": Usage(
            input=180000,
            output=4100,
            cache_read=150000,
            cache_write=22000,
            reasoning=900,
            model="claude-sonnet-4.6",
            scope="session",
            source="session.shutdown",
            extra={"requests": 9, "premium_requests": 2, "credits": 0.5},
        )
    }
    assert (totals.premium_requests, totals.credits) == (2, 3.236385)


def test_older_summaries_count_from_zero_and_add_up() -> None:
    totals = session_totals([summary(24, requests=24), summary(6, requests=6), summary(174, requests=174)])

    assert totals.models["sonnet"].output == 204
    assert totals.premium_requests == 204


def test_newer_summaries_hold_all_that_came_before() -> None:
    totals = session_totals(
        [
            summary(10, requests=1, lines=5, **NEWER),
            summary(25, requests=2.5, lines=9, **NEWER),
            summary(40, requests=4, lines=9, **NEWER),
        ]
    )

    assert totals.models["sonnet"].output == 40
    assert (totals.premium_requests, totals.lines_added) == (4, 9)
    assert totals.files_modified == ["/home/ana/5.py", "/home/ana/9.py"]


def test_in_a_mixed_log_the_first_newer_summary_includes_only_the_one_before_it() -> None:
    assert outputs(summary(24), summary(6), summary(50, **NEWER), summary(70, **NEWER)) == {"sonnet": 24 + 70}


def test_counters_that_went_down_have_restarted_in_any_kind_of_summary() -> None:
    assert outputs(summary(50, **NEWER), summary(20, **NEWER), summary(30, **NEWER)) == {"sonnet": 50 + 30}


def test_a_model_missing_from_a_summary_means_that_the_counters_restarted() -> None:
    assert outputs(summary(50, model="opus", **NEWER), summary(60, model="haiku", **NEWER)) == {
        "opus": 50,
        "haiku": 60,
    }


def test_an_older_summary_is_never_taken_for_a_newer_one() -> None:
    assert outputs(summary(10), summary(20)) == {"sonnet": 30}


def test_a_summary_without_models_changes_no_total() -> None:
    empty: Json = {"modelMetrics": {}, "totalPremiumRequests": 0}

    assert outputs(empty) == {}
    assert outputs(summary(10), empty, summary(5)) == {"sonnet": 15}
    assert outputs(summary(10, **NEWER), {**empty, **NEWER}, summary(15, **NEWER)) == {"sonnet": 25}


def test_a_total_that_a_later_summary_omits_stays_unchanged() -> None:
    later = summary(30, requests=4, **NEWER)
    del later["totalPremiumRequests"]

    totals = session_totals([summary(10, requests=3, **NEWER), later, summary(40, requests=5, **NEWER)])

    assert totals.premium_requests == 5


def test_usage_without_a_count_is_unknown_and_not_zero() -> None:
    totals = session_totals([{"modelMetrics": {"mini": {"requests": 2}}}])

    assert (totals.models["mini"].output, totals.models["mini"].reasoning) == (None, None)
    assert totals.models["mini"].extra == {"requests": 2}
    assert (totals.premium_requests, totals.credits, totals.lines_added) == (None, None, None)


def test_a_bill_after_the_last_summary_counts_from_the_beginning() -> None:
    before = summary(10, requests=2, totalNanoAiu=2_000_000_000, **NEWER)

    totals = session_totals([before], {"totalNanoAiu": 5_000_000_000, "totalPremiumRequests": 3})

    assert (totals.credits, totals.premium_requests) == (5, 3)


def test_a_bill_after_older_summaries_replaces_only_the_last() -> None:
    summaries = [summary(10, requests=24), summary(20, requests=6)]

    assert session_totals(summaries, {"totalPremiumRequests": 8}).premium_requests == 24 + 8


@pytest.mark.parametrize(
    "shutdown",
    [
        {},
        {"modelMetrics": None, "codeChanges": 7},
        {"modelMetrics": []},
        {"modelMetrics": {"m": 3}},
        {"modelMetrics": {"m": {"usage": [], "requests": "two"}}},
        {"modelMetrics": {"m": {"usage": {"inputTokens": "many", "outputTokens": True, "cacheReadTokens": -4}}}},
        {"totalPremiumRequests": math.inf, "codeChanges": {"filesModified": [1, None], "linesAdded": "x"}},
    ],
)
def test_invalid_summaries_have_no_usage(shutdown: Json) -> None:
    totals = session_totals([shutdown, shutdown])

    assert (totals.models, totals.premium_requests, totals.files_modified) == ({}, None, [])


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_growing_summaries_of_the_newer_kind_are_worth_their_last(steps: list[int]) -> None:
    running = [sum(steps[: index + 1]) for index in range(len(steps))]

    assert outputs(*(summary(value, **NEWER) for value in running)) == {"sonnet": running[-1]}
    assert outputs(*(summary(value) for value in steps)) == {"sonnet": sum(steps)}


# --- in a log -----------------------------------------------------------------------------------------------------


def session_usage(tmp_path: Path, log: Log) -> list[Usage]:
    return [usage for usage in read_cleanly(tmp_path, log).usage if usage.scope == "session"]


def test_each_answer_has_its_output_tokens_and_the_session_its_totals(tmp_path: Path) -> None:
    log = Log().start().ask().say(model="sonnet", outputTokens=81).say(model="sonnet", outputTokens=23)
    log.shut_down(**summary(104, requests=1, lines=12, totalNanoAiu=250_000_000))

    conversation = read_cleanly(tmp_path, log)

    assert [(usage.output, usage.model, usage.scope, usage.source) for usage in conversation.turns[0].usage] == [
        (81, "sonnet", "call", "assistant.message"),
        (23, "sonnet", "call", "assistant.message"),
    ]
    by_model, bill = conversation.usage
    assert (by_model.model, by_model.output, by_model.premium_requests) == ("sonnet", 104, None)
    assert (bill.model, bill.output, bill.premium_requests, bill.credits) == (None, None, 1, 0.25)
    assert (conversation.extra or {})["code_changes"] == {"added": 12, "removed": 0, "files": ["/home/ana/12.py"]}


def test_usage_after_the_last_summary_has_unknown_input(tmp_path: Path) -> None:
    log = Log().start().ask().say(model="sonnet", outputTokens=10).shut_down(**summary(10))
    log.add("session.resume").ask().say(model="haiku", outputTokens=7).say(model="haiku", outputTokens=5)

    whole, tail, bill = session_usage(tmp_path, log)

    assert (whole.model, whole.output) == ("sonnet", 10)
    assert (tail.model, tail.output, tail.input, tail.source) == ("haiku", 12, None, "assistant.message")
    assert tail.extra == {"is_tail": True, "covers": "after the last shutdown", "input": "unknown"}
    assert bill.premium_requests == 1


def test_a_session_that_was_killed_has_only_a_tail(tmp_path: Path) -> None:
    (tail,) = session_usage(tmp_path, Log().start().ask().say(model="haiku", outputTokens=7))

    assert (tail.output, (tail.extra or {})["covers"]) == (7, "the whole log")


@pytest.mark.parametrize(
    ("later", "killed"),
    [(summary(5), 7), (summary(5, **NEWER), 7), (summary(12, **NEWER), 0)],
    ids=["counts from zero", "restored nothing", "holds the killed run"],
)
def test_run_that_was_killed_before_a_resume_counts_once(tmp_path: Path, later: Json, killed: int) -> None:
    log = Log().start().ask().say(model="sonnet", outputTokens=7)
    log.add("session.resume").ask().say(model="sonnet", outputTokens=5).shut_down(**later)

    usages = [usage for usage in session_usage(tmp_path, log) if usage.model]

    assert sum(usage.output or 0 for usage in usages) == 12
    assert [(usage.output, usage.source, usage.extra) for usage in usages[1:]] == [
        (killed, "assistant.message", {"is_tail": True, "covers": "runs that were killed", "input": "unknown"})
    ][: bool(killed)]


def reported(status: str) -> Json:
    """Return the fields for credits in a summary of 1.0.102."""
    return {"accountingSnapshot": {"aiCreditsStatus": status, "modelMetrics": {"sonnet": {"aiCreditsStatus": status}}}}


@pytest.mark.parametrize(("status", "reported_credits"), [("unavailable", None), ("complete", 0), ("partial", 0)])
def test_zero_credits_count_only_if_they_were_reported(status: str, reported_credits: float | None) -> None:
    made = summary(10, totalNanoAiu=0, **reported(status))
    made["modelMetrics"]["sonnet"]["totalNanoAiu"] = 0

    totals = session_totals([made])

    extra = totals.models["sonnet"].extra or {}
    assert (totals.credits, extra.get("credits")) == (reported_credits, reported_credits)
    assert totals.premium_requests == 1
    assert session_totals([], made).credits == reported_credits


def test_zero_credits_of_an_older_release_are_unknown_once_a_newer_one_marks_them() -> None:
    first, second = summary(10, totalNanoAiu=0), summary(20, totalNanoAiu=0, **NEWER, **reported("unavailable"))

    assert session_totals([first, second]).credits is None
    assert session_totals([{**first, "totalNanoAiu": 5e8}, {**second, "totalNanoAiu": 5e8}]).credits == 0.5


def test_credits_of_a_call_count_only_if_they_were_reported(tmp_path: Path) -> None:
    bill: Json = {"copilotUsage": {"totalNanoAiu": 0}}
    log = Log().start().ask().record(1, 10, **bill).record(2, 20, **bill, aiCreditsStatus="unavailable").say()
    used = {"inputTokens": 1, "outputTokens": 1, **bill, "aiCreditsStatus": "unavailable"}
    log.add("session.compaction_complete", {"success": True, "compactionTokensUsed": used})

    made = read_cleanly(tmp_path, log)

    assert [usage.credits for usage in made.turns[0].usage] == [0, None]
    (compaction,) = [usage for usage in made.usage if usage.source == "session.compaction_complete"]
    assert (compaction.credits, (compaction.extra or {})["aiCreditsStatus"]) == (None, "unavailable")


def test_an_answer_in_several_messages_is_counted_once(tmp_path: Path) -> None:
    spread = Log().start().ask()
    for index, tokens in enumerate((0, 0, 90)):
        spread.say(apiCallId="a1", chunkIndex=index, chunkCount=3, outputTokens=tokens)
    repeated = Log().start().ask()
    for index in range(3):
        repeated.say(apiCallId="a1", chunkIndex=index, chunkCount=3, outputTokens=90)

    for log in (spread, repeated):
        (usage,) = read_cleanly(tmp_path, log).turns[0].usage
        assert usage.output == 90


def test_compactions_are_billed_apart_in_either_shape(tmp_path: Path) -> None:
    older = {"input": 176397, "output": 1807, "cachedInput": 5}
    newer = {"model": "haiku", "inputTokens": 10, "outputTokens": 2, "cacheReadTokens": 3, "cacheWriteTokens": 4}
    log = Log().start().ask()
    for used in (older, {**newer, "duration": 9, "copilotUsage": {"totalNanoAiu": 2_000_000_000}}):
        log.add("session.compaction_complete", {"success": True, "compactionTokensUsed": used})

    first, second = read_cleanly(tmp_path, log).usage

    assert (first.input, first.output, first.cache_read, first.scope) == (176397, 1807, 5, "call")
    assert (second.model, second.input, second.output, second.cache_write) == ("haiku", 10, 2, 4)
    assert (second.credits, second.source) == (2, "session.compaction_complete")


def test_the_last_bill_replaces_a_missing_summary(tmp_path: Path) -> None:
    log = Log().start().ask().add("session.usage_checkpoint", {"totalNanoAiu": 1e9, "totalPremiumRequests": 1})
    log.say().add("session.usage_checkpoint", {"totalNanoAiu": 3e9, "totalPremiumRequests": 2, "modelCacheState": {}})

    (bill,) = session_usage(tmp_path, log)

    assert (bill.credits, bill.premium_requests, bill.source) == (3, 2, "session.usage_checkpoint")
