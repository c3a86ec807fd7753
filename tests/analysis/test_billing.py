"""Premium requests, AI credits and dollars: which system bills a turn, who pays, and at which prices.

The corpus, and what is known of it, is in billed.py: every figure is worked out by hand.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.analysis.figures import TokensSection
from copilog.analysis.periods import before_label
from copilog.analysis.plans import OwnPrice, Plan
from copilog.analysis.prices import PricedModel, PriceTable, UnitPrice
from copilog.analysis.selection import Selection, choose
from copilog.analysis.tokens import as_if, tokens
from copilog.errors import UsageError
from copilog.model import (
    Conversation,
    Usage,
)
from copilog.store.archive import Archive
from tests.analysis.billed import GPT, billed_archive, by_name, guessed, measured_by, said, turn, with_usage
from tests.sources.cli_builders import Log, read_cleanly
from tests.stored import concluded_entry


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with billed_archive(tmp_path / "archive.db") as made:
        yield made


@pytest.fixture
def measured(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> Any:
    return measured_by(archive, monkeypatch)


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
