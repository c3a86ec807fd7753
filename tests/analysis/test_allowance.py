"""The billing month so far, against an allowance. All figures are worked out by hand."""

from __future__ import annotations

from datetime import date

import pytest

from copilog.analysis.allowance import month_label, month_to_date, weeks_ahead
from copilog.analysis.billing_months import month_of
from copilog.analysis.cells import CreditsRange
from copilog.analysis.figures import SpendRow
from copilog.analysis.plans import Plan

DAYS = [
    SpendRow(name="2026-05-31", credits=100, premium_requests=50),
    SpendRow(name="2026-06-01", credits=10, computed_credits=2, premium_requests=3),
    SpendRow(name="2026-06-10", credits=None, computed_credits=8, premium_requests=1),
    SpendRow(name="2026-06-11", credits=99),  # tomorrow, by another clock
    SpendRow(name="(no date)", credits=7),
]
TODAY = date(2026, 6, 10)


@pytest.mark.parametrize(
    ("day", "first", "since", "until"),
    [
        ("2026-06-10", 1, "2026-06-01", "2026-07-01"),
        ("2026-06-10", 15, "2026-05-15", "2026-06-15"),
        ("2026-06-15", 15, "2026-06-15", "2026-07-15"),
        ("2026-01-03", 28, "2025-12-28", "2026-01-28"),
        ("2026-12-31", 1, "2026-12-01", "2027-01-01"),
    ],
)
def test_billing_month(day: str, first: int, since: str, until: str) -> None:
    found = month_of(date.fromisoformat(day), first)

    assert tuple(map(date.isoformat, found)) == (since, until)


def test_month_to_date_against_an_allowance() -> None:
    month = month_to_date(DAYS, TODAY, Plan(budget=1_900))

    assert (month.since, month.until, month.days_left) == ("2026-06-01", "2026-07-01", 20)
    assert (month.recorded, month.computed, month.used) == (10, 10, 20)
    assert (month.budget, month.left) == (1_900, 1_880)
    assert (month.pace, month.forecast) == (2, 60)  # 20 in 10 days; 30 days
    assert month.before == 100
    assert month_label(month) == (
        "credits since 2026-06-01: 20 of 1,900 (1%), 10.0 of them computed; 20 days left; 2.0 a day, forecast 60"
    )


def test_month_of_premium_requests() -> None:
    month = month_to_date(DAYS, TODAY, Plan(billing="requests"))

    assert (month.unit, month.used, month.computed, month.budget, month.left) == ("requests", 4, None, None, None)
    assert month_label(month) == "premium requests since 2026-06-01: 4; 20 days left; 0.4 a day, forecast 12"


def test_unrecorded_month_is_not_a_used_amount_of_0() -> None:
    unknown = month_to_date([SpendRow(name="2026-06-02", turns=1)], TODAY, Plan(budget=1_900))
    unused = month_to_date([], TODAY, Plan(budget=1_900))

    assert (unknown.used, unknown.left) == (None, None)
    assert month_label(unknown) == "credits since 2026-06-01: not recorded of 1,900; 20 days left"
    assert (unused.used, unused.left) == (0, 1_900)
    assert month_label(unused).startswith("credits since 2026-06-01: 0 of 1,900 (0%); 20 days left")


def test_month_of_estimates_alone_has_no_recorded_pace_of_0() -> None:
    likely = {"2026-06-02": CreditsRange(8, 10, 20)}

    month = month_to_date([SpendRow(name="2026-06-02", turns=1)], TODAY, Plan(budget=100), likely)

    # 10 credits in 10 days are 1 a day, and 30 in June; 20 days are left, the first of them a Thursday.
    assert (month.pace, month.forecast) == (None, None)
    assert month_label(month) == (
        "credits since 2026-06-01: not recorded + ~10 likely (at least 8, at most 20) of 100 (10%);"
        " 20 days left; ~1.0 a day, forecast ~30 (24 to 60)"
    )
    ahead = weeks_ahead(month)
    assert ahead["2026-06-08"] == pytest.approx((4, 4 * 0.8, 4 * 2))
    assert sum(week.likely for week in ahead.values()) == pytest.approx(20)


def test_month_without_any_record_is_empty() -> None:
    month = month_to_date([SpendRow(name="2026-06-02", turns=1)], TODAY, Plan())

    assert (month.used, month.pace, month.forecast, month.before) == (None,) * 4
    assert month_label(month) == ""
