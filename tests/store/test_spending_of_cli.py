"""What a session of Copilot CLI took: totals in logs old and new, what they leave out, and what the store adds."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog import identity
from copilog.model import Conversation, Usage
from copilog.sources.extension.session_store import SessionStore
from copilog.store.details import turn_rows
from copilog.store.texts import texts_of
from tests.measured import lighthouse_again
from tests.sources.cli_builders import SESSION, Json, Log, read_cleanly, read_path, write_log
from tests.sources.extension_builders import database_from, found_at, read
from tests.store.spent import ESTIMATE, pick, recorded, spent, total

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)

NEWER: Json = {"eventsFileSizeBytes": 182331}


def shutdown(**outputs: int) -> Json:
    """The summary of a program run: ten times as much input as output."""
    return {
        "modelMetrics": {
            model: {"usage": {"inputTokens": output * 10, "outputTokens": output}} for model, output in outputs.items()
        }
    }


# --- totals of a session ---------------------------------------------------------------------------------------------


def test_totals_are_spread_over_turns_by_their_output_and_add_up(tmp_path: Path) -> None:
    log = (
        Log()
        .start(selectedModel="opus")
        .ask()
        .say(outputTokens=10)
        .ask()
        .say(outputTokens=10)
        .ask()
        .say(outputTokens=5)
    )
    metrics = {
        "opus": {"usage": {"inputTokens": 1003, "outputTokens": 25, "cacheReadTokens": 502, "reasoningTokens": 1}}
    }

    spends = spent(read_cleanly(tmp_path, log.shut_down(modelMetrics=metrics)))

    # 1,003 in the proportion 2 : 2 : 1 is 401.2, 401.2 and 200.6: the last has the largest remainder.
    assert pick(spends, "turn", "model", "input", "output", "cache_read", "reasoning", "cache_write") == [
        (0, "opus", 401, 10, 201, 1, None),
        (1, "opus", 401, 10, 201, 0, None),
        (2, "opus", 201, 5, 100, 0, None),
    ]
    assert {(spend.source, spend.method) for spend in spends} == {("session.shutdown", "spread")}


def test_the_total_of_a_session_with_one_turn_is_that_of_the_turn(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=4).shut_down(**shutdown(opus=40))

    assert pick(spent(read_cleanly(tmp_path, log)), "turn", "input", "output", "method") == [(0, 400, 40, "recorded")]


def test_killed_run_keeps_its_output_and_gets_nothing_of_the_totals_of_the_next(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=7)
    log.add("session.resume").ask().say(outputTokens=4).ask().say(outputTokens=1).shut_down(**shutdown(opus=5))

    assert pick(recorded(spent(read_cleanly(tmp_path, log))), "turn", "input", "output", "source", "method") == [
        (0, None, 7, "assistant.message", "recorded"),
        (1, 40, 4, "session.shutdown", "spread"),
        (2, 10, 1, "session.shutdown", "spread"),
    ]


def test_each_model_goes_to_the_turns_that_it_answered(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=30, model="opus").ask().say(outputTokens=20, model="haiku")
    log.say(outputTokens=10, model="opus").shut_down(**shutdown(opus=40, haiku=20))

    assert pick(spent(read_cleanly(tmp_path, log)), "turn", "model", "input", "output", "method") == [
        (0, "opus", 300, 30, "spread"),
        (1, "opus", 100, 10, "spread"),
        (1, "haiku", 200, 20, "recorded"),
    ]


def test_a_model_that_no_turn_names_is_spread_like_the_others(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=30, model="opus").ask().say(outputTokens=10, model="opus")
    log.shut_down(**shutdown(opus=40, **{"opus-large": 8}))

    spends = [spend for spend in spent(read_cleanly(tmp_path, log)) if spend.model == "opus-large"]

    assert pick(spends, "turn", "input", "output") == [(0, 60, 6), (1, 20, 2)]


def test_without_any_output_by_turn_answers_get_the_same_share(tmp_path: Path) -> None:
    log = Log().start().ask().say().ask().say().ask("nobody answers").shut_down(**shutdown(opus=41))

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output", "method") == [(0, 205, 21, "spread"), (1, 205, 20, "spread")]


def test_answers_of_an_older_release_share_what_the_others_leave_over(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say().ask().say().shut_down(**shutdown(opus=70))
    log.add("session.resume").ask().say(outputTokens=30).shut_down(**shutdown(opus=100), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output") == [(0, 350, 35), (1, 350, 35), (2, 300, 30)]


def test_a_session_without_turns_keeps_its_totals() -> None:
    usage = Usage(model="opus", input=10, output=2, scope="session", source="session.shutdown")
    conversation = Conversation(id="cli:x", source="cli-events", updated_at=NOON, usage=[usage])

    assert pick(spent(conversation), "turn", "at", "input", "output", "method") == [
        (None, "2026-05-04T12:00:00.000Z", 10, 2, "recorded")
    ]


def test_sub_agents_have_a_part_of_their_own(tmp_path: Path) -> None:
    started = {"toolCallId": "T", "agentName": "explore", "agentDisplayName": "Explorer"}
    log = Log().start(selectedModel="opus").ask().call("T", "task", outputTokens=10)
    log.add("assistant.message", {"content": "early", "outputTokens": 5}, agentId="a-1")
    log.add("subagent.started", started, agentId="a-1")
    log.add("assistant.message", {"content": "found", "outputTokens": 25}, agentId="a-1")
    log.end("T").say(outputTokens=60).shut_down(**shutdown(opus=100))

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "subagent", "parent_call_id", "input", "output", "method") == [
        (0, None, None, 700, 70, "spread"),
        (0, "explore", "T", 300, 30, "spread"),
    ]


# --- older and newer logs, and what they leave out -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("summaries", "output"),
    [
        ([shutdown(opus=24), shutdown(opus=6), shutdown(opus=174)], 204),
        ([{**shutdown(opus=10), **NEWER}, {**shutdown(opus=25), **NEWER}, {**shutdown(opus=40), **NEWER}], 40),
        ([shutdown(opus=24), shutdown(opus=6), {**shutdown(opus=50), **NEWER}, {**shutdown(opus=70), **NEWER}], 94),
        ([{**shutdown(opus=50), **NEWER}, {**shutdown(opus=20), **NEWER}, {**shutdown(opus=30), **NEWER}], 80),
    ],
    ids=["older", "newer", "mixed", "counted anew"],
)
def test_resumed_sessions_are_counted_once(tmp_path: Path, summaries: list[Json], output: int) -> None:
    log = Log().start()
    for number, summary in enumerate(summaries):
        log.ask().say(outputTokens=number + 1).shut_down(**summary).add("session.resume")

    spends = spent(read_cleanly(tmp_path, log))

    assert (total(spends, "output"), total(spends, "input")) == (output, output * 10)
    assert recorded(spends) == spends


def test_what_is_part_of_a_total_is_not_added_to_it(tmp_path: Path) -> None:
    parts = {"cacheReadTokens": 150_000, "cacheWriteTokens": 22_000, "reasoningTokens": 900}
    metrics = {
        "opus": {"requests": {"count": 9, "cost": 2}, "usage": {"inputTokens": 180_000, "outputTokens": 4_100, **parts}}
    }
    log = Log().start(selectedModel="opus").ask().call("T", "task", outputTokens=100)
    log.add("subagent.started", {"toolCallId": "T", "agentName": "explore"}, agentId="a-1")
    log.add("assistant.message", {"content": "found", "outputTokens": 1_000}, agentId="a-1")
    log.add("subagent.completed", {"toolCallId": "T", "agentName": "explore", "totalTokens": 99_999}, agentId="a-1")
    log.end("T").say(outputTokens=3_000)
    log.shut_down(
        modelMetrics=metrics,
        agentMetrics={"main": {"modelMetrics": metrics}, "a-1": {"agentName": "explore", "modelMetrics": metrics}},
        tokenDetails={"input": {"tokenCount": 8_000}, "output": {"tokenCount": 4_100}},
        totalPremiumRequests=2,
        currentTokens=40_000,
        systemTokens=9_000,
        conversationTokens=30_000,
        toolDefinitionsTokens=1_000,
    )

    spends = spent(read_cleanly(tmp_path, log))

    names = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests")
    assert [total(spends, name) for name in names] == [180_000, 4_100, 150_000, 22_000, 900, 2]
    assert {(spend.subagent, spend.output) for spend in spends if spend.output} == {(None, 3_100), ("explore", 1_000)}


def test_a_summary_that_was_written_twice_counts_once(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=24).shut_down(**shutdown(opus=24))
    log.events.append(log.events[-1])

    assert total(spent(read_path(write_log(tmp_path, log))[0][0]), "output") == 24


def test_premium_requests_of_older_summaries_add_up(tmp_path: Path) -> None:
    log = Log().start()
    for requests in (24, 6, 174):
        log.ask().say(outputTokens=1).shut_down(**shutdown(opus=1), totalPremiumRequests=requests).add("session.resume")

    assert total(spent(read_cleanly(tmp_path, log)), "premium_requests") == 204


def test_after_the_last_end_the_output_is_known_and_the_input_estimated(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).shut_down(**shutdown(opus=40))
    log.add("session.resume").ask("x" * 21).say(outputTokens=7).ask("y" * 4).say(outputTokens=3)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output", "source", "method") == [
        (0, 400, 40, "session.shutdown", "recorded"),
        (1, None, 7, "assistant.message", "recorded"),
        (1, 21_009, None, *ESTIMATE),  # 21,000 of instructions and tools, and 1.15 x 32 / 4 characters
        (2, None, 3, "assistant.message", "recorded"),
        (2, 21_012, None, *ESTIMATE),  # 1.15 x 43 / 4
    ]


def test_a_log_without_an_end_has_the_output_of_each_turn(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask("why?").say(outputTokens=10).say(outputTokens=20).ask("and?").say("so")

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "model", "input", "output", "source", "method") == [
        (0, "opus", None, 30, "assistant.message", "recorded"),
        (0, "opus", 42_004, None, *ESTIMATE),  # two calls: 1.15 x (4 + 11) / 4
        (1, "opus", 21_006, 1, *ESTIMATE),  # in: 1.15 x 22 / 4; out: 1.42 x 2 / 4
    ]


@pytest.mark.parametrize(
    ("used", "paid"),
    [
        ({"input": 5000, "output": 200, "cachedInput": 4000}, None),
        (
            {
                "model": "opus",
                "inputTokens": 5000,
                "outputTokens": 200,
                "cacheReadTokens": 4000,
                "copilotUsage": {"totalNanoAiu": 5e8},
            },
            0.5,
        ),
    ],
    ids=["older", "newer"],
)
def test_a_compaction_comes_on_top_but_its_credits_do_not(tmp_path: Path, used: Json, paid: float | None) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10).ask().say(outputTokens=10)
    log.add("session.compaction_complete", {"success": True, "summaryContent": "so far", "compactionTokensUsed": used})
    log.say(outputTokens=20).shut_down(**shutdown(opus=40), totalNanoAiu=2e9)

    spends = spent(read_cleanly(tmp_path, log))

    assert (total(spends, "input"), total(spends, "output"), total(spends, "credits")) == (5400, 240, 2.0)
    compactions = [spend for spend in spends if spend.source == "session.compaction_complete"]
    assert pick(compactions, "turn", "model", "input", "output", "cache_read", "credits", "method") == [
        (1, "opus", 5000, 200, 4000, paid, "recorded")
    ]


def test_a_fork_is_distinguished_from_what_it_repeats() -> None:
    copied, new = spent(lighthouse_again())

    assert (copied.turn, copied.input, copied.output) == (0, 12_000, 600)
    assert (new.turn, new.input, new.output) == (1, 1_000, 50)


def test_a_captured_stream_has_each_call(tmp_path: Path) -> None:
    stream = Log().pass_by("session.tools_updated", model="opus").ask().call("T", "task", outputTokens=4)
    stream.pass_by("assistant.usage", model="opus", inputTokens=100, outputTokens=4, cost=1)
    stream.pass_by("assistant.usage", model="haiku", inputTokens=50, outputTokens=2, parentToolCallId="T")
    stream.end("T").say(outputTokens=6).pass_by("assistant.usage", model="opus", inputTokens=120, outputTokens=6)
    path = write_log(tmp_path, stream)
    result = {"type": "result", "timestamp": "2026-06-02T08:10:00.000Z", "usage": {"premiumRequests": 3}}
    path.write_text(path.read_text() + json.dumps(result) + "\n")

    spends = spent(read_path(path)[0][0])

    assert pick(spends, "model", "parent_call_id", "input", "output", "premium_requests", "source") == [
        ("opus", None, 220, 10, None, "assistant.usage"),
        ("haiku", "T", 50, 2, None, "assistant.usage"),
        ("opus", None, None, None, 3, "result"),
    ]


# --- a log and the store of all sessions -----------------------------------------------------------------------------


def with_store(tmp_path: Path, log: Log, *calls: Json) -> Conversation:
    """A session as its log and the store have it together."""
    columns = (
        "turn_index, parent_tool_call_id, model, input_tokens, output_tokens, total_nano_aiu, initiator,"
        " time_to_first_token_ms, request_multiplier, created_at"
    )
    names = [name.strip() for name in columns.split(",")]
    script = f"""
        CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT);
        CREATE TABLE turns (id INTEGER, session_id TEXT, turn_index INTEGER, user_message TEXT);
        CREATE TABLE assistant_usage_events (id INTEGER PRIMARY KEY, session_id TEXT, {columns});
        INSERT INTO sessions VALUES ('{SESSION}', '/home/ana');
    """
    for call in calls:
        values = ", ".join("NULL" if call.get(name) is None else repr(call[name]) for name in names)
        script += f"INSERT INTO assistant_usage_events (session_id, {columns}) VALUES ('{SESSION}', {values});"
    path = database_from(script, tmp_path / ".copilot" / "session-store.db")
    source = SessionStore()
    return identity.merge([read_cleanly(tmp_path, log), *read(source, found_at(source, path))[0]])


def call(turn: int | None, output: int, **more: Any) -> Json:
    known = {"turn_index": turn, "model": "opus", "input_tokens": output * 10, "output_tokens": output}
    return {**known, "initiator": "user", **more}


def test_calls_of_the_store_are_taken_instead_of_totals_that_say_the_same(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).ask().say(outputTokens=20).shut_down(**shutdown(opus=30))

    spends = spent(with_store(tmp_path, log, call(0, 10), call(1, 15), call(1, 5, parent_tool_call_id="T")))

    assert pick(spends, "turn", "parent_call_id", "input", "output", "source", "method") == [
        (0, None, 100, 10, "session-store", "recorded"),
        (1, None, 150, 15, "session-store", "recorded"),
        (1, "T", 50, 5, "session-store", "recorded"),
    ]


def test_a_store_that_began_too_late_is_not_taken(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).ask().say(outputTokens=20).shut_down(**shutdown(opus=30))

    spends = spent(with_store(tmp_path, log, call(1, 20)))

    assert pick(spends, "turn", "input", "output", "source") == [
        (0, 100, 10, "session.shutdown"),
        (1, 200, 20, "session.shutdown"),
    ]


def test_turns_that_the_store_leaves_out_are_counted_from_their_own_records(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask("why?").say(outputTokens=10).ask().say(outputTokens=20)

    spends = spent(with_store(tmp_path, log, call(1, 20)))

    assert pick(spends, "turn", "input", "output", "source") == [
        (0, None, 10, "assistant.message"),
        (0, 21_001, None, ESTIMATE[0]),
        (1, 200, 20, "session-store"),
    ]


def test_a_compaction_in_both_log_and_store_is_counted_once(tmp_path: Path) -> None:
    used = {"model": "opus", "inputTokens": 500, "outputTokens": 9}
    log = Log().start().ask().say(outputTokens=10)
    log.add("session.compaction_complete", {"success": True, "compactionTokensUsed": used})
    log.say(outputTokens=20).shut_down(**shutdown(opus=30))

    marked = spent(with_store(tmp_path / "marked", log, call(0, 30), call(0, 9, initiator="compaction")))
    unmarked = spent(
        with_store(
            tmp_path / "unmarked", log, call(0, 30, initiator=None), call(0, 9, initiator=None, input_tokens=500)
        )
    )
    partial = spent(with_store(tmp_path / "partial", log, call(0, 20), call(0, 9, initiator="compaction")))

    assert (total(marked, "input"), total(marked, "output")) == (300 + 90, 30 + 9)
    assert (total(unmarked, "input"), total(unmarked, "output")) == (300 + 500, 30 + 9)
    assert pick(partial, "input", "output", "source") == [
        (300, 30, "session.shutdown"),
        (500, 9, "session.compaction_complete"),
    ]


def test_credits_are_those_of_the_calls_where_these_are_as_complete(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).ask().say(outputTokens=30)
    log.shut_down(**shutdown(opus=40), totalNanoAiu=3e9)
    calls = [call(0, 10, total_nano_aiu=2_000_000_000), call(1, 30, total_nano_aiu=1_000_000_000)]

    by_call = spent(with_store(tmp_path / "all", log, *calls))
    by_output = spent(with_store(tmp_path / "some", log, calls[0]))

    assert pick(by_call, "turn", "credits", "source") == [(0, 2.0, "session-store"), (1, 1.0, "session-store")]
    credited = [spend for spend in by_output if spend.credits]
    assert pick(credited, "turn", "credits", "method") == [(0, 2.0, "recorded"), (1, 1.0, "recorded")]


def test_the_first_token_of_a_turn_is_that_of_its_first_own_call(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).ask().say(outputTokens=20).ask().say(outputTokens=1)
    calls = [
        call(0, 10, time_to_first_token_ms=812.5),
        call(0, 2, time_to_first_token_ms=90),
        call(1, 3, time_to_first_token_ms=700, parent_tool_call_id="T"),
        call(1, 4, time_to_first_token_ms=800, initiator="compaction"),
        call(1, 5, time_to_first_token_ms=900),
        call(2, 6),
    ]
    made = with_store(tmp_path, log, *calls)

    first_progress = [row.first_progress_ms for row in turn_rows(made, texts_of(made))]

    assert first_progress == [812.5, 900, None]


def test_a_killed_session_has_the_multipliers_of_the_users_prompts(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).ask().say(outputTokens=20)
    calls = [
        call(0, 4, request_multiplier=3.0),
        call(0, 6, request_multiplier=3.0, initiator="agent"),  # what follows from an answer costs no request
        call(1, 7, request_multiplier=0.33, model="haiku"),
        call(1, 8, request_multiplier=3.0, initiator="sub-agent", parent_tool_call_id="T"),
        call(1, 3, request_multiplier=3.0, initiator="compaction"),
        call(1, 2, request_multiplier=3.0, initiator=None),  # an earlier release did not tell
    ]

    spends = spent(with_store(tmp_path, log, *calls))

    assert total(spends, "premium_requests") == pytest.approx(3 + 0.33)
    assert [row for row in pick(spends, "turn", "model", "premium_requests", "source", "method") if row[2]] == [
        (0, "opus", 3.0, "session-store", "recorded"),
        (1, "haiku", 0.33, "session-store", "recorded"),
    ]


def test_a_bill_in_the_log_counts_before_the_multipliers_of_the_store(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10).add("session.usage_checkpoint", {"totalPremiumRequests": 1})

    spends = spent(with_store(tmp_path, log, call(0, 10, request_multiplier=3.0)))

    assert total(spends, "premium_requests") == 1


@pytest.mark.parametrize("multiplier", [None, -1, 1e300, "much"])
def test_a_multiplier_that_makes_no_sense_is_none(tmp_path: Path, multiplier: object) -> None:
    log = Log().start().ask().say(outputTokens=10)

    spends = spent(with_store(tmp_path, log, call(0, 10, request_multiplier=multiplier)))

    assert total(spends, "premium_requests") is None
