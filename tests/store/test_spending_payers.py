"""Who is charged for what a turn used, under which of Copilot's two systems, and how many calls it made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from copilog.model import Conversation, Round
from tests.sources.cli_builders import Log, read_cleanly
from tests.sources.vscode_builders import read_session, request, session
from tests.store.spent import pick, spent, total
from tests.store.test_spending_of_cli import shutdown

Json = dict[str, Any]


def reads(folder: Path, **more: Any) -> Conversation:
    return read_session(session(request(requestId="r0", response=[{"value": "because"}], **more)), folder)[0]


def payers_of(conversation: Conversation) -> dict[str | None, str]:
    return {spend.model: spend.payer for spend in spent(conversation)}


@pytest.mark.parametrize(
    ("more", "payer"),
    [
        ({"modelId": "copilot/gpt-5"}, "copilot"),
        ({"modelId": "github.copilot-chat/gpt-5"}, "copilot"),
        ({"modelId": "gpt-5"}, "copilot"),
        ({"modelId": "copilot/gpt-4.1", "result": {"details": "GPT-4.1 • 0x"}}, "copilot"),
        ({}, "copilot"),
        ({"modelId": "openrouter/gpt-5"}, "own key"),
        ({"modelId": "customendpoint/mine/gpt-5"}, "own key"),
        ({"modelId": "ollama/llama", "result": {"details": "llama • 0x"}}, "own key"),
        ({"modelId": "openrouter/gpt-5", "result": {"details": "GPT-5 • 1x"}}, "unknown"),  # Copilot charged, too
        ({"modelId": "openrouter/gpt-5", "copilotCredits": 2}, "unknown"),
    ],
)
def test_model_is_on_own_key_only_by_positive_evidence(tmp_path: Path, more: Json, payer: str) -> None:
    assert {spend.payer for spend in spent(reads(tmp_path, **more))} == {payer}


def test_another_model_in_a_turn_on_own_key_has_an_unknown_payer(tmp_path: Path) -> None:
    totals = [
        {"model": "gpt-5", "inputTokens": 5000, "outputTokens": 70},
        {"model": "gpt-4.1-mini", "inputTokens": 300, "outputTokens": 8},
    ]

    assert payers_of(reads(tmp_path, modelId="openrouter/gpt-5", modelTotals=totals)) == {
        "gpt-5": "own key",
        "gpt-4.1-mini": "unknown",
    }


@pytest.mark.parametrize(
    ("asked", "answered", "payer"),
    [
        ("openai/gpt-5", "gpt-4.1-mini", "unknown"),  # nothing shows whose key it was on
        ("openai/gpt-5", "gpt-5-2025-08-07", "own key"),
        ("openrouter/anthropic/claude-sonnet-4.5", "claude-sonnet-4-5", "own key"),
        ("openrouter/auto", "gpt-4.1-mini", "own key"),  # the vendor chose it
        ("copilot/gpt-5", "gpt-4.1-mini", "copilot"),
    ],
)
def test_vendor_of_the_requested_model_is_evidence_for_that_model_alone(
    tmp_path: Path, asked: str, answered: str, payer: str
) -> None:
    totals = [{"model": answered, "inputTokens": 5000, "outputTokens": 70}]

    assert payers_of(reads(tmp_path, modelId=asked, modelTotals=totals)) == {answered: payer}


def test_record_of_a_call_says_whose_key_it_was(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().record(1, 10, isByok=True, model="mine").say()
    log.ask().record(2, 10, isByok=False, modelProvider="anthropic").say()

    assert pick(spent(read_cleanly(tmp_path, log)), "turn", "payer") == [(0, "own key"), (1, "copilot")]


def test_total_of_a_run_says_who_provided_a_model(tmp_path: Path) -> None:
    log = Log().start().ask().say(outputTokens=10, model="mine").say(outputTokens=10, model="opus")
    providers = [{"modelId": "mine", "provider": "ollama"}, {"modelId": "opus", "provider": None}]
    log.shut_down(**shutdown(mine=10, opus=10), providerModelMetrics=providers)

    assert payers_of(read_cleanly(tmp_path, log)) == {"mine": "own key", "opus": "copilot"}


@pytest.mark.parametrize(
    ("more", "billing", "has_credits"),
    [
        ({"result": {"details": "GPT-5 • 1x"}}, "requests", 0),
        ({"result": {"details": "GPT-5 • 0x"}}, "requests", 0),
        ({"result": {"details": "GPT-5 • 2 credits"}}, "credits", 1),
        ({"copilotCredits": 2}, "credits", 1),
        ({"copilotCredits": 2, "result": {"details": "GPT-5 • 1x"}}, None, 1),
        ({}, None, 0),
    ],
)
def test_turn_belongs_to_the_system_that_its_record_names(
    tmp_path: Path, more: Json, billing: str | None, has_credits: int
) -> None:
    spends = spent(reads(tmp_path, modelId="copilot/gpt-5", **more))

    assert {(spend.billing, spend.has_credits) for spend in spends} == {(billing, has_credits)}


def test_bill_of_both_systems_names_the_one_that_is_not_zero(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10)
    log.shut_down(**shutdown(opus=10), totalPremiumRequests=0, totalNanoAiu=2e9)

    assert {spend.billing for spend in spent(read_cleanly(tmp_path, log))} == {"credits"}


def test_totals_of_nothing_name_no_system(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10)
    log.shut_down(**shutdown(opus=10), totalPremiumRequests=0)

    assert {spend.billing for spend in spent(read_cleanly(tmp_path, log))} == {None}


def test_calls_are_counted_by_their_records(tmp_path: Path) -> None:
    log = Log().start(selectedModel="opus").ask().record(1, 10).record(2, 10).say().ask().record(3, 10).say()

    assert pick(spent(read_cleanly(tmp_path, log)), "turn", "calls") == [(0, 2), (1, 1)]


def test_calls_of_an_older_run_are_those_of_its_total(tmp_path: Path) -> None:
    metrics = {"opus": {"requests": {"count": 9, "cost": 2}, "usage": {"inputTokens": 400, "outputTokens": 40}}}
    log = Log().start(selectedModel="opus").ask().say().ask().say().shut_down(modelMetrics=metrics)
    log.add("session.resume").ask().say(outputTokens=1).say(outputTokens=2).shut_down(**shutdown(opus=3))

    spends = spent(read_cleanly(tmp_path, log))

    assert [(turn, calls) for turn, calls in pick(spends, "turn", "calls") if calls] == [(0, 5), (1, 4), (2, 2)]


def test_rounds_are_calls(tmp_path: Path) -> None:
    conversation = reads(tmp_path, modelId="copilot/gpt-5", promptTokens=9, completionTokens=20)
    conversation.turns[0].rounds = [Round(), Round(), Round()]

    assert total(spent(conversation), "calls") == 3


@pytest.mark.parametrize(("credits_", "billing"), [(0, "requests"), (8, "credits")])
def test_turns_that_nobody_asked_are_billed_as_their_run(tmp_path: Path, credits_: float, billing: str) -> None:
    log = Log().start(selectedModel="opus").ask().say(outputTokens=10)
    log.ask("go on", source="autopilot", isAutopilotContinuation=True).say(outputTokens=10)
    log.shut_down(**shutdown(opus=20), totalPremiumRequests=1, totalNanoAiu=credits_ * 1e9)

    spends = spent(read_cleanly(tmp_path, log))

    # One request for the prompt of turn 0; turn 1 cost none, and belongs to the same system.
    asked = [spend for spend in spends if spend.premium_requests]
    assert pick(asked, "turn", "premium_requests") == [(0, 1)]
    assert {spend.billing for spend in spends if spend.turn == 1} == {billing}
