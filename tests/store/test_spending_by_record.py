"""What a session took where its log has a record of each call of the model, as since Copilot CLI 1.0.102."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from copilog.model import Notice, Relation
from tests.sources.cli_builders import SESSION, Json, Log, parts_like, read_cleanly
from tests.store.spent import pick, spent, total
from tests.store.test_spending_of_cli import NEWER, call, shutdown, with_store

PARENT = "0f1e2d3c-0000-4000-8000-00000000000a"


def stamp(log: Log) -> str:
    """The time of the last event, to a millisecond as the store has it."""
    return str(log.events[-1]["timestamp"]).replace(".000Z", ".001Z")


def test_each_call_belongs_to_its_turn_and_its_sub_agent(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().record(1, 10).call("T", "task")
    log.add("subagent.started", {"toolCallId": "T", "agentName": "explore"}, agentId="a-1")
    log.record(1, 5, of="a-1-session", agent="a-1", initiator="sub-agent", model="haiku")
    log.add("assistant.message", {"content": "found"}, agentId="a-1")
    log.end("T").record(2, 20, initiator="agent", cacheReadTokens=7, reasoningTokens=3).say()
    log.ask().record(3, 40).say().shut_down(**shutdown(opus=70, haiku=5), **NEWER)

    made = read_cleanly(tmp_path, log)

    assert pick(spent(made), "turn", "subagent", "model", "input", "output", "cache_read", "reasoning", "method") == [
        (0, None, "opus", 300, 30, 7, 3, "recorded"),
        (0, "explore", "haiku", 50, 5, None, None, "recorded"),
        (1, None, "opus", 400, 40, None, None, "recorded"),
    ]
    assert [part.topic for part in parts_like(made, Notice)] == ["shutdown"]


def test_a_killed_session_has_its_calls(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().record(1, 10).call("T", "bash").begin("T", "bash")

    made = read_cleanly(tmp_path, log)

    assert pick(spent(made), "turn", "input", "output", "source", "method") == [
        (0, 100, 10, "session.usage_record", "recorded")
    ]
    (whole,) = made.usage
    assert (whole.scope, whole.input, whole.output, whole.source) == ("session", 100, 10, "session.usage_record")


def test_totals_add_nothing_to_records_whenever_the_program_ended(tmp_path: Path) -> None:
    log = Log().start().ask().record(1, 10).say().shut_down(**shutdown(opus=10), **NEWER).add("session.resume")
    log.ask().record(2, 20).say().shut_down(**shutdown(opus=30), **NEWER).add("session.resume")
    log.ask().record(3, 40).say()

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output") == [(0, 100, 10), (1, 200, 20), (2, 400, 40)]


def test_totals_have_the_turns_of_an_older_release(tmp_path: Path) -> None:
    log = Log().start().ask().say().ask().say().shut_down(**shutdown(opus=8), **NEWER).add("session.resume")
    log.ask().record(1, 40).say().shut_down(**shutdown(opus=48), **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output", "source", "method") == [
        (0, 40, 4, "session.shutdown", "spread"),
        (1, 40, 4, "session.shutdown", "spread"),
        (2, 400, 40, "session.usage_record", "recorded"),
    ]


def test_only_what_the_user_asked_for_costs_premium_requests(tmp_path: Path) -> None:
    log = Log().start().ask().record(1, 1, cost=3).record(2, 1, cost=3, initiator="agent").say()

    assert total(spent(read_cleanly(tmp_path, log)), "premium_requests") == 3


def test_what_cost_nothing_is_recorded_and_not_spread(tmp_path: Path) -> None:
    log = Log().start().ask().record(1, 10).say().ask().record(2, 20).say()
    log.shut_down(**shutdown(opus=30), **NEWER, totalPremiumRequests=0, totalNanoAiu=0)

    spends = spent(read_cleanly(tmp_path, log))

    assert {spend.method for spend in spends} == {"recorded"}
    assert (total(spends, "premium_requests"), total(spends, "credits")) == (0, 0)


def test_the_store_adds_the_calls_that_a_rewind_took_out_of_the_log(tmp_path: Path) -> None:
    log = Log().start().ask().record(1, 10)
    kept = [call(0, 10, created_at=stamp(log))]
    for _ in range(9):
        log.add("session.info", {"infoType": "rewind", "message": "Rewound the conversation."})
    log.ask("again").record(3, 10)
    kept.append(call(1, 10, created_at=stamp(log)))
    rewound = [
        call(1, 10, created_at="2026-06-02T08:00:06.000Z"),
        call(1, 2, created_at="2026-06-02T08:00:07.000Z", initiator="compaction"),
    ]

    made = with_store(tmp_path, log.say(), *rewound, *kept)

    assert pick(spent(made), "turn", "input", "output", "source") == [
        (0, 100, 10, "session.usage_record"),
        (0, 120, 12, "session-store"),  # of the turn before: the rewound one is not in the log
        (1, 100, 10, "session.usage_record"),
    ]


# --- forks -----------------------------------------------------------------------------------------------------------


def forked(parent: str, child: str) -> Json:
    return {"infoType": "fork", "message": f'Forked from "Lamps (2)" ({parent}) as "Other lamps" ({child}).'}


def fork(**more: Any) -> Log:
    """A fork: two calls of its parent, which has a third that it rewound, and one of its own."""
    log = Log().start().ask().record(1, 10, of=PARENT).say().ask().record(3, 20, of=PARENT).say()
    log.add("session.info", forked(PARENT, SESSION)).add("session.resume")
    return log.ask("and now?").record(1, 40).say().shut_down(**shutdown(opus=170), **NEWER, **more)


def test_a_fork_has_the_records_of_its_parent_and_nothing_twice(tmp_path: Path) -> None:
    made = read_cleanly(tmp_path, fork(usageAccountingWatermarks={PARENT: 3, SESSION: 1}))

    assert pick(spent(made), "turn", "input", "output") == [(0, 100, 10), (1, 200, 20), (2, 400, 40)]
    assert made.relations == [Relation(kind="fork", other_id=f"cli:{PARENT}", reason="forked with /fork")]
    assert [turn.copied_from for turn in made.turns] == [f"cli:{PARENT}", f"cli:{PARENT}", None]


def test_a_parent_names_its_forks_and_a_later_fork_does_not_claim_them(tmp_path: Path) -> None:
    into = {"infoType": "fork", "message": f'Forked this session into "Other lamps" ({PARENT}).'}
    parent = read_cleanly(tmp_path / "parent", Log().start().ask().say().add("session.info", into))
    log = Log().start().ask().say().add("session.info", into).add("session.info", forked("another", SESSION))
    later = read_cleanly(tmp_path / "later", log.ask().say())

    assert [(relation.kind, relation.other_id) for relation in parent.relations] == [("forked-as", f"cli:{PARENT}")]
    assert [(relation.kind, relation.other_id) for relation in later.relations] == [("fork", "cli:another")]


# --- totals by run, and the store's numbers of turns -----------------------------------------------------------------


def test_totals_of_each_run_are_spread_inside_that_run(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10)
    log.shut_down(modelMetrics={"opus": {"usage": {"inputTokens": 9_000, "outputTokens": 10}}}, **NEWER)
    log.add("session.resume").ask().say(outputTokens=10).ask().say(outputTokens=30)
    log.shut_down(modelMetrics={"opus": {"usage": {"inputTokens": 9_400, "outputTokens": 50}}}, **NEWER)

    spends = spent(read_cleanly(tmp_path, log))

    assert pick(spends, "turn", "input", "output", "method") == [
        (0, 9_000, 10, "recorded"),
        (1, 100, 10, "spread"),
        (2, 300, 30, "spread"),
    ]


def test_a_call_of_the_store_belongs_to_the_turn_in_which_it_ended(tmp_path: Path) -> None:
    log = Log().start().ask().say()
    first = stamp(log)
    log.add("session.resume").ask("after the kill").say()

    spends = spent(with_store(tmp_path, log, call(0, 10, created_at=first), call(0, 20, created_at=stamp(log))))

    assert pick(spends, "turn", "input", "output") == [(0, 100, 10), (1, 200, 20)]


def test_times_of_the_store_without_fractions_are_those_of_the_whole_second(tmp_path: Path) -> None:
    log = Log().start().ask().say()

    spends = spent(with_store(tmp_path, log, call(None, 10, created_at="2026-06-02 08:00:01")))

    assert pick(spends, "turn", "input", "output") == [(0, 100, 10)]


def test_a_compaction_that_was_cancelled_belongs_to_its_turn(tmp_path: Path) -> None:
    used = {"model": "opus", "inputTokens": 500, "outputTokens": 9}
    log = Log().start().ask().record(1, 10).say().ask().record(2, 20).say()
    log.add("session.compaction_complete", {"success": False, "error": "Cancelled", "compactionTokensUsed": used})

    spends = spent(read_cleanly(tmp_path, log.shut_down(**shutdown(opus=30), **NEWER)))

    assert pick(spends, "turn", "input", "output", "source") == [
        (0, 100, 10, "session.usage_record"),
        (1, 200, 20, "session.usage_record"),
        (1, 500, 9, "session.compaction_complete"),
    ]
