"""Premium requests, AI credits and dollars: which system bills a turn, who pays, and at which prices.

The corpus is made up, and every figure is worked out by hand:

before    VS Code, 2026-05-30: gpt-5, 1,000 in, 100 out, nothing recorded of its cost
after     VS Code, 2026-06-02, in ana/harbour on main
  turn 0  gpt-5, 1,000,000 in (900,000 from a cache), 10,000 out, nothing recorded of its cost
  turn 1  gpt-5, 2,000 in (none from a cache), 100 out, 3 credits recorded; failed
  turn 2  gpt-5, 500 in, 20 out, "GPT-5 • 2x": a turn of the old system, whatever its date; cancelled
  turn 3  openrouter/gpt-5, 4,000 in, 200 out: on a key of the user's own
  turn 4  openrouter/gpt-5, 40 in, 2 out, "GPT-5 • 1x": the payer is unknown
  turn 5  copilot/odd, 10 in, 1 out: a model without a price; the next turn has the same prompt
  turn 6  the same, of 2026-06-02 23:30 UTC

gpt-5 costs 2 dollars for a million tokens in, 0.2 from a cache, and 10 out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.figures import SpendRow, TokensSection
from copilog.analysis.periods import before_label
from copilog.analysis.plans import LongPrice, OwnPrice, Plan
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice, price_table
from copilog.analysis.selection import Selection, choose
from copilog.analysis.tokens import as_if, tokens
from copilog.errors import UsageError
from copilog.model import (
    Conversation,
    Message,
    Model,
    Round,
    SubAgent,
    Text,
    Timing,
    ToolCall,
    Turn,
    TurnError,
    Usage,
    Workspace,
)
from copilog.store.archive import Archive
from tests.sources.cli_builders import Log, read_cleanly
from tests.stored import concluded_entry

GPT = PricedModel(name="x/gpt-5", prices=[UnitPrice(input=2, output=10, cache_read=0.2, cache_write=2)])


def turn(index: int, at: datetime, used: Usage, *, model: str = "copilot/gpt-5", **more: Any) -> Turn:
    vendor, _, name = model.partition("/")
    known: dict[str, Any] = {"request_id": f"{at:%d}-{index}", "status": "complete", **more}
    usage = [used, *known.pop("usage", [])]
    timing = Timing(started_at=at)
    return Turn(index=index, model=Model(id=model, name=name, vendor=vendor), timing=timing, usage=usage, **known)


def used(given: int, answered: int, cached: int | None = None, model: str = "gpt-5") -> Usage:
    return Usage(model=model, input=given, output=answered, cache_read=cached, source="modelTotals")


def said(turns: list[Turn], prompts: list[str] | None = None) -> list[Message]:
    made = []
    for one in turns:
        text = prompts[one.index] if prompts else f"prompt {one.index}"
        made.append(Message(role="user", parts=[Text(text=text)], turn=one.index))
        made.append(Message(role="assistant", parts=[Text(text="because")], turn=one.index))
    return made


def conversations() -> list[Conversation]:
    day = datetime(2026, 6, 2, 9, tzinfo=UTC)
    first = turn(0, datetime(2026, 5, 30, 9, tzinfo=UTC), used(1_000, 100))
    failed, error = {"status": "failed"}, TurnError(message="no")
    turns = [
        turn(0, day, used(1_000_000, 10_000, 900_000)),
        turn(1, day, used(2_000, 100, 0), usage=[Usage(credits=3, source="request")], error=error, **failed),
        turn(2, day, used(500, 20), details="GPT-5 • 2x", status="cancelled"),
        turn(3, day, used(4_000, 200), model="openrouter/gpt-5"),
        turn(4, day, used(40, 2), model="openrouter/gpt-5", details="GPT-5 • 1x"),
        turn(5, day, used(10, 1, model="odd"), model="copilot/odd"),
        turn(6, day.replace(hour=23, minute=30), used(10, 1, model="odd"), model="copilot/odd"),
    ]
    prompts = ["a", "b", "c", "d", "e", "again", "again"]
    made: dict[str, Any] = {"source": "vscode-session", "application": "code"}
    return [
        Conversation(
            id="vscode:before", turns=[first], messages=said([first]), started_at=first.timing.started_at, **made
        ),
        Conversation(
            id="vscode:after",
            turns=turns,
            messages=said(turns, prompts),
            started_at=day,
            workspace=Workspace(folder="/home/ana", repository="ana/harbour", branch="main"),
            **made,
        ),
    ]


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as made:
        for conversation in conversations():
            made.put(concluded_entry(conversation), "made up")
        yield made


@pytest.fixture
def measured(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Any:
    table = PriceTable(source="made up", date="2026-05-01", models={"gpt-5": GPT, "odd": None})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)

    def measure(plan: Plan | None = None, **wanted: Any) -> TokensSection:
        return tokens(choose(archive, Selection(**wanted), plan=plan))

    return measure


def by_name(rows: list[SpendRow]) -> dict[str, SpendRow]:
    return {row.name: row for row in rows}


def guessed() -> Conversation:
    """Return a conversation of June of which nothing is recorded: 400 characters asked, 40 answered."""
    asked = Turn(
        index=0, model=Model(id="copilot/gpt-5", name="gpt-5", vendor="copilot"), request_id="guess",
        timing=Timing(started_at=datetime(2026, 6, 3, 12, tzinfo=UTC)), status="complete",
    )  # fmt: skip
    texts = [
        Message(role="user", parts=[Text(text="u" * 400)], turn=0),
        Message(role="assistant", parts=[Text(text="a" * 40)], turn=0),
    ]
    return Conversation(id="vscode:guess", source="vscode-session", turns=[asked], messages=texts)


def test_estimated_credits_are_apart_with_the_lower_end_of_their_range(archive: Archive, measured: Any) -> None:
    """Likely: 2,500 + 1.15 x 100 in, 1.1 x 10 out. At least 2,000, 30 and 131 less (by squares); 0.7 x 10 out."""
    before = measured()
    archive.put(concluded_entry(guessed()), "made up")
    section = measured()

    assert (section.total.estimated_input, section.total.estimated_output) == (2_615, 11)
    assert section.at_least is not None
    assert (section.at_least.input, section.at_least.output) == (611, 7)  # 2,615 - 2,004.5
    assert section.at_least.dollars == pytest.approx((611 * 2 + 7 * 10) / 1e6)
    (row,) = [row for row in section.credits.repositories if row.name == "(no repository)" and row.estimated]
    assert (row.estimated, row.at_least) == (pytest.approx(0.534), pytest.approx(0.1292))  # a cent each
    (week,) = [row for row in section.credits.weeks if row.estimated]
    assert (week.name, week.of, week.estimated) == ("2026-06-01", "gpt-5", row.estimated)
    # No recorded or computed sum has any of it.
    assert (section.total.credits, section.total.computed_credits) == (
        before.total.credits, before.total.computed_credits,
    )  # fmt: skip
    assert sum(one.computed or 0 for one in section.credits.weeks) == sum(
        one.computed or 0 for one in before.credits.weeks
    )
    cheaper = measured(Plan(discount=0.5))
    assert cheaper.at_least.dollars == pytest.approx(section.at_least.dollars / 2)
    (row,) = [row for row in cheaper.credits.weeks if row.estimated]
    assert row.estimated == pytest.approx(0.534)  # a discount is on dollars


# --- two systems ----------------------------------------------------------------------------------------------------


def test_requests_and_credits_are_two_sums(measured: Any) -> None:
    rows = by_name(measured().by_system)

    # Of turn 0: 100,000 * 2 + 900,000 * 0.2 + 10,000 * 10 dollars for a million are 0.48 dollars, or 48 credits.
    credits_, requests = rows["AI credits"], rows["premium requests"]
    assert (credits_.turns, credits_.credits, credits_.computed_credits) == (4, 3, 48)
    assert credits_.premium_requests is None
    assert (requests.turns, requests.credits, requests.computed_credits) == (2, None, None)
    assert (requests.premium_requests, requests.unanswered_requests) == (None, 2)


def test_failed_and_cancelled_requests_are_apart(measured: Any) -> None:
    total = measured().total

    assert (total.premium_requests, total.unanswered_requests) == (1, 2)


def test_turns_before_june_have_no_computed_credits(measured: Any) -> None:
    before = by_name(measured().by_day)["2026-05-30"]

    assert (before.dollars, before.credits, before.computed_credits, before.premium_requests) == (
        0.003, None, None, None,
    )  # fmt: skip


def test_plan_of_the_old_system_has_no_computed_credits(measured: Any) -> None:
    section = measured(Plan(billing="requests"))

    assert section.total.computed_credits is None
    assert section.total.credits == 3  # which are recorded


# --- who pays -------------------------------------------------------------------------------------------------------


def test_each_payer_has_a_sum_of_its_own(measured: Any) -> None:
    rows = by_name(measured().by_payer)

    assert {name: (row.turns, row.input) for name, row in rows.items()} == {
        "Copilot": (6, 1_003_520),
        "own key": (1, 4_000),
        "unknown payer": (1, 40),
    }
    assert rows["own key"].computed_credits is None
    assert rows["unknown payer"].premium_requests == 1


# --- what became of it ----------------------------------------------------------------------------------------------


def test_outcomes_of_turns(measured: Any) -> None:
    rows = by_name(measured().by_outcome)

    assert {name: row.turns for name, row in rows.items()} == {
        "failed or cancelled": 2,
        "asked again": 1,
        "unknown": 5,
    }
    assert rows["failed or cancelled"].credits == 3


def test_credits_of_turns_that_were_asked_again_are_apart_in_each_month(measured: Any) -> None:
    section = measured(Plan(prices={"odd": OwnPrice(input=100, output=1_000)}))

    # Turns 5 and 6: 10 in at 100 dollars and 1 out at 1,000 are 0.002 dollars or 0.2 credits each. Turn 5 was repeated.
    june = {row.of: (row.recorded, row.computed) for row in section.credits.outcomes if row.name == "2026-06"}
    assert june == {
        "failed or cancelled": (3, None),
        "asked again": (None, pytest.approx(0.2)),
        "unknown": (None, pytest.approx(48.2)),
    }


def test_first_week_and_month_of_a_period_have_those_before_them(tmp_path: Path) -> None:
    """17 credits on 4 May, 5 on 28 May and 11 on 2 June, which is in the week after that of 28 May."""
    days = {datetime(2026, 5, 4, 12, tzinfo=UTC): 17, datetime(2026, 5, 28, 12, tzinfo=UTC): 5}
    days[datetime(2026, 6, 2, 12, tzinfo=UTC)] = 11
    turns = [turn(n, at, Usage(credits=days[at], model="gpt-5", source="a record")) for n, at in enumerate(days)]
    one = Conversation(id="vscode:one", source="vscode-session", turns=turns, messages=said(turns))
    with Archive(tmp_path / "before.db", write=True) as kept:
        kept.put(concluded_entry(one), "made up")
        june = Selection(since=datetime(2026, 6, 1, tzinfo=UTC), until=datetime(2026, 7, 1, tzinfo=UTC), utc=True)
        section = tokens(choose(kept, june)).credits

    assert [(row.name, row.recorded, row.before) for row in section.weeks] == [("2026-06-01", 11, 5)]
    assert [(row.name, row.recorded, row.before) for row in section.outcomes] == [("2026-06", 11, 22)]


def test_repositories_and_branches(measured: Any) -> None:
    section = measured()

    assert {row.name: row.turns for row in section.by_repository} == {"ana/harbour": 7, "(no repository)": 1}
    assert [row.name for row in section.by_branch] == ["ana/harbour main"]


def test_turns_that_missed_the_cache(measured: Any) -> None:
    section = measured()

    # Turn 0 is the first, which has no cache to hit; of turn 1 nothing came from it; others do not tell.
    assert (section.cache_turns, section.missed_cache_turns) == (1, 1)
    assert by_name(section.by_model)["gpt-5"].cache_share == round(900_000 / 1_002_000, 4)


def test_unknown_is_empty(measured: Any) -> None:
    row = by_name(measured().by_model)["odd"]

    assert (row.input, row.output, row.unpriced) == (20, 2, 22)
    assert (row.cache_read, row.reasoning, row.calls, row.premium_requests, row.credits, row.dollars) == (None,) * 6
    assert (row.estimated_input, row.spread, row.computed_credits) == (None,) * 3


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


def with_usage(name: str, *usages: Usage, rounds: int = 0) -> Conversation:
    one = turn(0, datetime(2026, 6, 2, 12, tzinfo=UTC), usages[0], usage=[*usages[1:]])
    one.request_id, one.rounds = name, [Round() for _ in range(rounds)]
    return Conversation(id=f"vscode:{name}", source="vscode-session", turns=[one], messages=said([one]))


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


# --- days -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the clock cannot be set here")
def test_days_are_the_users_unless_utc_is_asked_for(measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()

    assert [row.name for row in measured().by_day] == ["2026-05-30", "2026-06-02", "2026-06-03"]
    assert [row.name for row in measured(utc=True).by_day] == ["2026-05-30", "2026-06-02"]


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of the clock cannot be set here")
def test_credits_began_on_the_first_of_june_of_the_user(
    archive: Archive, measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn at 23:00 UTC on 31 May: 1 June in Berlin. 1,000,000 tokens in at 2 dollars are 200 credits."""
    late = with_usage("late", Usage(model="gpt-5", input=1_000_000, output=0, source="modelTotals"))
    late.turns[0].timing.started_at = datetime(2026, 5, 31, 23, tzinfo=UTC)
    archive.put(concluded_entry(late), "made up")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()

    local, utc = by_name(measured().by_day), by_name(measured(utc=True).by_day)

    assert local["2026-06-01"].computed_credits == 200
    assert (utc["2026-05-31"].computed_credits, utc["2026-05-31"].dollars) == (None, 2)


# --- periods --------------------------------------------------------------------------------------------------------


def in_june(archive: Archive, **selected: Any) -> TokensSection:
    now = datetime(2026, 6, 4, 12, tzinfo=UTC)
    return tokens(choose(archive, Selection(utc=True, **selected), now=now))


def test_month_to_date_does_not_follow_the_selected_period(archive: Archive, measured: Any) -> None:
    """In June, turn 0 has 48 computed credits and turn 1 has 3 recorded; nothing is of 3 June."""
    assert measured().total.turns == 8
    whole = in_june(archive)
    part = in_june(archive, since=datetime(2026, 6, 3, tzinfo=UTC))
    past = in_june(archive, until=datetime(2026, 6, 1, tzinfo=UTC))

    assert part.total.turns == 0
    assert part.month == whole.month == past.month
    assert (whole.month.recorded, whole.month.computed, whole.month.pace) == (3, 48, 51 / 4)
    assert (whole.month.before, whole.month.before_since, whole.month.before_until) == (
        None,
        "2026-05-28",
        "2026-05-31",
    )


def test_selected_period_is_compared_with_as_much_time_before(archive: Archive, measured: Any) -> None:
    """3 and 4 June against 1 and 2 June, which have all seven turns: 51 credits, and 2 turns with premium requests."""
    assert measured().total.turns == 8
    period = in_june(archive, since=datetime(2026, 6, 3, tzinfo=UTC), until=datetime(2026, 6, 5, tzinfo=UTC)).period

    assert (period.since, period.until, period.days) == ("2026-06-03", "2026-06-04", 2)
    assert (period.before_since, period.before_until) == ("2026-06-01", "2026-06-02")
    assert (period.turns, period.turns_before) == (0, 7)
    assert (period.credits, period.credits_before) == (None, 51)
    assert (period.premium_requests, period.premium_requests_before) == (None, 1)
    assert period.tokens_before == 1_000_000 + 2_000 + 500 + 4_000 + 40 + 20 + 10_000 + 100 + 20 + 200 + 2 + 2
    assert before_label(period) == "in the 2 days before (2026-06-01 to 2026-06-02)"


def test_figures_after_a_comparison_are_those_of_the_period(archive: Archive, measured: Any) -> None:
    assert measured().total.turns == 8
    chosen = choose(archive, Selection(since=datetime(2026, 6, 2, 20, tzinfo=UTC), utc=True))

    assert [tokens(chosen).total.turns for _ in range(2)] == [1, 1]


def test_earliest_period_has_no_time_before(archive: Archive) -> None:
    section = tokens(choose(archive, Selection(since=datetime.min.replace(tzinfo=UTC), utc=True)))

    assert section.period.turns_before == 0


def test_premium_requests_of_a_total_are_marked_as_spread(archive: Archive, measured: Any, tmp_path: Path) -> None:
    """A run of two prompts was billed 3 requests: 1.5 for each, if nobody recorded which."""
    log = Log().start(selectedModel="gpt-5").ask().say(outputTokens=5).ask().say(outputTokens=5)
    log.shut_down(totalPremiumRequests=3)
    archive.put(concluded_entry(read_cleanly(tmp_path / "log", log)), "made up")

    rows = [row for row in measured().by_turn if row.id and row.id.startswith("cli:")]

    assert [(row.premium_requests, row.spread_requests) for row in rows] == [(1.5, 1.5), (1.5, 1.5)]
    assert (measured().total.premium_requests, measured().total.spread_requests) == (1 + 3, 3)


# --- another model --------------------------------------------------------------------------------------------------


def test_same_tokens_with_another_model(archive: Archive, measured: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = PricedModel(name="x/mini", prices=[UnitPrice(input=1, output=1, cache_read=0.1, cache_write=1)])
    table = PriceTable(source="made up", models={"gpt-5": GPT, "odd": None, "mini": cheap})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)
    assert measured().total.turns == 8

    row = as_if(choose(archive), "mini")

    # 107,560 tokens in that came from no cache, 900,000 that did, and 10,424 out.
    assert row.dollars == (107_560 + 90_000 + 10_424) / 1e6
    assert row.computed_credits == pytest.approx(20.7984)
    assert row.unpriced == 0
    assert (row.selected_turns, row.turns_without_tokens) == (8, 0)


def test_turns_without_tokens_are_left_out_of_the_same_with_another_model(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = PriceTable(source="made up", models={"gpt-5": GPT, "odd": None})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)
    archive.put(concluded_entry(guessed()), "made up")

    row = as_if(choose(archive), "gpt-5")

    assert (row.turns, row.selected_turns, row.turns_without_tokens) == (9, 9, 1)
    assert row.estimated_dollars is not None  # apart from what the others cost


def test_model_without_a_price_cannot_be_compared(archive: Archive, measured: Any) -> None:
    assert measured().total.turns == 8

    with pytest.raises(UsageError, match="no price is known of 'odd'"):
        as_if(choose(archive), "odd")
