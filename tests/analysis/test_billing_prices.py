"""Prices of the config file, of long prompts and of sub-agents, and the discount of a contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.plans import LongPrice, OwnPrice, Plan
from copilog.analysis.prices import price_table
from copilog.model import (
    Conversation,
    Message,
    SubAgent,
    ToolCall,
    Usage,
)
from copilog.store.archive import Archive
from tests.analysis.billed import billed_archive, by_name, measured_by, with_usage
from tests.sources.cli_builders import Log, read_cleanly
from tests.stored import concluded_entry


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with billed_archive(tmp_path / "archive.db") as made:
        yield made


@pytest.fixture
def measured(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Any:
    return measured_by(archive, monkeypatch)


# --- prices ---------------------------------------------------------------------------------------------------------


def test_prices_of_the_config_file_go_first(measured: Any) -> None:
    section = measured(Plan(prices={"odd": OwnPrice(input=100, output=1_000)}))

    row = by_name(section.by_model)["odd"]
    assert (row.dollars, row.unpriced) == ((20 * 100 + 2 * 1_000) / 1e6, 0)
    assert section.prices is not None
    assert (section.prices.own, section.prices.unpriced, section.prices.date) == (["odd"], [], "2026-05-01")


def test_config_file_may_price_cached_tokens_alone() -> None:
    own = price_table(["gpt-5"], plan=Plan(prices={"gpt-5": OwnPrice(cache_read=0.5)}))
    package = price_table(["gpt-5"])

    assert own is not None
    assert package is not None
    mine, theirs = own.price_at("gpt-5", None), package.price_at("gpt-5", None)
    assert mine is not None
    assert theirs is not None
    assert (mine.input, mine.output, mine.cache_read) == (theirs.input, theirs.output, 0.5)
    assert own.own == ["gpt-5"]


def test_config_file_may_price_tokens_without_those_of_the_cache() -> None:
    own = price_table(["gpt-5"], plan=Plan(prices={"gpt-5": OwnPrice(input=1, output=8)}))
    package = price_table(["gpt-5"])

    assert own is not None
    assert package is not None
    mine, theirs = own.price_at("gpt-5", None), package.price_at("gpt-5", None)
    assert mine is not None
    assert theirs is not None
    assert (mine.input, mine.output, mine.cache_read) == (1, 8, theirs.cache_read)  # left out: as in the package
    assert theirs.cache_read < 1


def test_cached_tokens_of_long_prompts_cost_the_same_part_of_the_input(archive: Archive, measured: Any) -> None:
    """300,000 in, of which 100,000 are from the cache; usually 3 and 0.3 dollars, in long prompts 6 and so 0.6."""
    call = Usage(model="mine", input=300_000, output=1_000, cache_read=100_000, scope="call", source="records")
    archive.put(concluded_entry(with_usage("cached", call)), "made up")
    long = LongPrice(above=200_000, input=6, output=22.5)

    section = measured(Plan(prices={"mine": OwnPrice(input=3, output=15, cache_read=0.3, long=long)}))

    row = {row.id: row for row in section.by_turn}["vscode:cached#1"]
    assert row.dollars == pytest.approx(1.2 + 0.06 + 0.0225)


def test_model_may_have_the_prices_of_another(measured: Any) -> None:
    section = measured(Plan(prices={"odd": OwnPrice(same_as="gpt-5")}))

    assert by_name(section.by_model)["odd"].dollars == (20 * 2 + 2 * 10) / 1e6


LONG = Plan(prices={"gpt-5": OwnPrice(long=LongPrice(above=200_000, input=4, output=20, cache_read=0.4))})


def test_long_prompts_have_a_price_of_their_own(archive: Archive, measured: Any) -> None:
    """Two calls of a turn: 300,000 in, 1,000 out at 4 and 20 dollars; 100,000 in, 2,000 out at 2 and 10."""
    calls = [
        Usage(model="gpt-5", input=given, output=answered, scope="call", source="records")
        for given, answered in ((300_000, 1_000), (100_000, 2_000))
    ]
    archive.put(concluded_entry(with_usage("calls", *calls)), "made up")

    row = {row.id: row for row in measured(LONG).by_turn}["vscode:calls#1"]

    assert (row.calls, row.input) == (2, 400_000)
    assert row.dollars == pytest.approx(1.2 + 0.02 + 0.2 + 0.02)
    assert row.averaged_dollars is None


@pytest.mark.parametrize(
    ("rounds", "dollars", "averaged"),
    [
        (2, 1.8, 1.8),  # 225,000 tokens each on average: 450,000 at 4 dollars
        (3, 0.9, 0.9),  # 150,000 each, at 2 dollars
        (1, 1.8, None),  # one call: its own prompt
        (0, 0.9, 0.9),  # nobody knows how many: the usual price
    ],
)
def test_total_of_several_calls_is_priced_by_their_average_prompt(
    archive: Archive, measured: Any, rounds: int, dollars: float, averaged: float | None
) -> None:
    total = Usage(model="gpt-5", input=450_000, output=0, source="modelTotals")
    archive.put(concluded_entry(with_usage("total", total, rounds=rounds)), "made up")

    row = {row.id: row for row in measured(LONG).by_turn}["vscode:total#1"]

    assert (row.dollars, row.averaged_dollars) == (pytest.approx(dollars), averaged and pytest.approx(averaged))


def test_short_prompts_of_a_run_have_the_usual_price(archive: Archive, measured: Any, tmp_path: Path) -> None:
    """1,000,000 tokens in ten calls of the main model, and 30,000 in three of another: no prompt is long."""
    usages = {"gpt-5": (10, 1_000_000, 900), "mini": (3, 30_000, 100)}
    metrics = {
        model: {"requests": {"count": count, "cost": 0}, "usage": {"inputTokens": given, "outputTokens": answered}}
        for model, (count, given, answered) in usages.items()
    }
    log = Log().start(selectedModel="gpt-5").ask().say(model="gpt-5").shut_down(modelMetrics=metrics)
    archive.put(concluded_entry(read_cleanly(tmp_path / "log", log)), "made up")

    (row,) = [row for row in measured(LONG).by_turn if row.id and row.id.startswith("cli:")]

    assert row.calls == 13
    assert row.dollars == pytest.approx(2 + 0.009)  # and not twice as much; mini has no price
    assert row.averaged_dollars == row.dollars


def credits_of_subagent(amount: float, *, own: Usage | None = None) -> Conversation:
    """Return a turn whose totals are 100,000 tokens in: 20 credits. Its sub-agent records credits."""
    made = with_usage("delegated", Usage(model="gpt-5", input=100_000, output=0, source="modelTotals"))
    call = ToolCall(id="T", name="runSubagent", subagent=SubAgent(name="Explore", extra={"credits": amount}))
    made.messages.append(Message(role="assistant", parts=[call], turn=0))
    if own is not None:
        made.turns[0].usage.append(own)
    return made


def test_credits_of_a_subagent_are_not_computed_again_and_the_rest_is(archive: Archive, measured: Any) -> None:
    archive.put(concluded_entry(credits_of_subagent(5)), "made up")

    row = {row.id: row for row in measured().by_turn}["vscode:delegated#1"]

    # 100,000 tokens at 2 dollars a million are 0.2 dollars or 20 credits, of which 5 are recorded.
    assert (row.credits, row.computed_credits) == (5, 15)


def test_subagent_with_tokens_of_its_own_has_no_part_in_those_of_its_turn(archive: Archive, measured: Any) -> None:
    own = Usage(model="gpt-5", input=20_000, output=0, source="modelTotals", parent_call_id="T")
    archive.put(concluded_entry(credits_of_subagent(5, own=own)), "made up")

    row = {row.id: row for row in measured().by_turn}["vscode:delegated#1"]

    assert (row.input, row.credits, row.computed_credits) == (120_000, 5, 20)


def test_subagent_with_more_credits_than_its_turn_costs_leaves_none(archive: Archive, measured: Any) -> None:
    archive.put(concluded_entry(credits_of_subagent(30)), "made up")

    row = {row.id: row for row in measured().by_turn}["vscode:delegated#1"]

    assert (row.credits, row.computed_credits) == (30, 0)


def test_discount_of_a_contract_lowers_dollars_and_not_credits(measured: Any) -> None:
    section = measured(Plan(discount=0.25))

    assert section.by_turn[0].dollars == 0.36
    assert section.by_turn[0].computed_credits == 48
    assert section.prices is not None
    assert section.prices.discount == 0.25


def test_config_file_alone_is_a_price_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: None)

    table = price_table(["mine"], plan=Plan(prices={"mine": OwnPrice(input=1, output=2)}))

    assert table is not None
    price = table.price_at("mine", None)
    assert price is not None
    assert (table.source, price.input, price.cache_read) == ("the config file", 1, 1)
