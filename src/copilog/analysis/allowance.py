"""The billing month so far: usage of an allowance, its pace, and a forecast.

What is recorded or computed is one sum; what is likely besides, where no tokens are recorded, is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import NamedTuple

from copilog.analysis.billing_months import days_before, forecast_of, month_of
from copilog.analysis.cells import CreditsRange
from copilog.analysis.figures import MonthSection, SpendRow
from copilog.analysis.numbers import added
from copilog.analysis.plans import Plan

DIGITS = 6


def month_to_date(
    days: Iterable[SpendRow], today: date, plan: Plan, likely: Mapping[str, CreditsRange] | None = None
) -> MonthSection:
    """Return the usage of the billing month up to today, with its forecast.

    `days` are rows by day, `likely` the estimated credits by day: at least those of the month and of as many days
    before it.
    """
    since, until = month_of(today, plan.billing_day)
    tomorrow = today + timedelta(days=1)
    before = days_before(since, tomorrow)
    rows = list(days)
    recorded, computed = (_used(rows, since, tomorrow, plan, kind) for kind in ("recorded", "computed"))
    used = added(recorded, computed)
    if used is None and not any(since.isoformat() <= row.name < until.isoformat() for row in rows):
        used = 0.0  # no turns
    estimated = _likely(likely or {}, since, tomorrow) if plan.billing != "requests" else None
    ahead = forecast_of(used, today, plan.billing_day)
    ends = [
        forecast_of(added(used, end), today, plan.billing_day).total if estimated is not None else None
        for end in ((estimated.at_least, estimated.at_most) if estimated is not None else (None, None))
    ]
    besides = forecast_of(estimated.likely if estimated is not None else None, today, plan.billing_day)
    return MonthSection(
        unit=plan.billing or "credits",
        since=since.isoformat(),
        until=until.isoformat(),
        recorded=_rounded(recorded),
        computed=_rounded(computed),
        used=_rounded(used),
        spread=_rounded(_used(rows, since, tomorrow, plan, "spread")),
        estimated=_rounded(estimated.likely) if estimated is not None else None,
        at_least=_rounded(estimated.at_least) if estimated is not None else None,
        at_most=_rounded(estimated.at_most) if estimated is not None else None,
        budget=plan.budget,
        left=_rounded(plan.budget - used) if plan.budget is not None and used is not None else None,
        pace=_rounded(ahead.pace),
        estimated_pace=_rounded(besides.pace),
        days_left=ahead.days_left,
        forecast=_rounded(ahead.total),
        estimated_forecast=_rounded(besides.total),
        forecast_at_least=_rounded(ends[0]),
        forecast_at_most=_rounded(ends[1]),
        before=_rounded(added(*(_used(rows, before, since, plan, kind) for kind in ("recorded", "computed")))),
        before_since=before.isoformat(),
        before_until=(since - timedelta(days=1)).isoformat(),
    )


def _used(rows: list[SpendRow], since: date, until: date, plan: Plan, kind: str) -> float | None:
    """Return the sum of a period's days, recorded, computed or spread; None if no day has a number."""
    of_period = [row for row in rows if since.isoformat() <= row.name < until.isoformat()]
    names = {"recorded": "credits", "computed": "computed_credits", "spread": "spread_credits"}
    if plan.billing == "requests":
        names = {"recorded": "premium_requests", "spread": "spread_requests"}
    amounts = [getattr(row, names[kind]) for row in of_period if kind in names]
    found: float | None = added(*amounts)
    return found


def _likely(days: Mapping[str, CreditsRange], since: date, until: date) -> CreditsRange | None:
    found = [credits_ for day, credits_ in days.items() if since.isoformat() <= day < until.isoformat()]
    return CreditsRange(*map(sum, zip(*found, strict=True))) if found else None


def _rounded(number: float | None) -> float | None:
    return round(number, DIGITS) if number is not None else None


class Ahead(NamedTuple):
    """A part of the days to come that a forecast covers: credits at the pace of the month so far."""

    likely: float
    at_least: float
    at_most: float


def weeks_ahead(month: MonthSection) -> dict[str, Ahead]:
    """Return what the rest of the billing month comes to at its pace, by the Monday of each week."""
    if (month.pace is None and month.estimated_pace is None) or month.unit != "credits":
        return {}
    recorded = month.pace or 0
    end = date.fromisoformat(month.until)
    elapsed = (end - date.fromisoformat(month.since)).days - month.days_left
    likely = recorded + (month.estimated_pace or 0)
    least, most = (recorded + (amount or 0) / elapsed for amount in (month.at_least, month.at_most))
    days: dict[str, int] = {}
    for number in range(month.days_left):
        day = end - timedelta(days=number + 1)
        monday = (day - timedelta(days=day.weekday())).isoformat()
        days[monday] = days.get(monday, 0) + 1
    return {
        monday: Ahead(likely * count, least * count, most * count) for monday, count in sorted(days.items()) if likely
    }


def month_label(month: MonthSection) -> str:
    """Return the month as one line: used, allowance, pace, days left and forecast; empty if nothing was used."""
    if not month.used and not month.estimated and month.budget is None:
        return ""
    name = "premium requests" if month.unit == "requests" else "credits"
    used = _amount(month.used, 1) if month.used is not None else "not recorded"
    known = added(month.used, month.estimated)
    share = f" ({known / month.budget:.0%})" if month.budget and known is not None else ""
    of = f" of {month.budget:,.0f}{share}" if month.budget else ""
    computed = f", {month.computed:,.1f} of them computed" if month.computed else ""
    spread = f", {month.spread:,.1f} of them spread" if month.spread else ""
    likely = f" + ~{_amount(month.estimated, 1)} likely" if month.estimated else ""
    if likely and month.at_least is not None and month.at_most is not None:
        likely += f" (at least {_amount(month.at_least, 1)}, at most {_amount(month.at_most, 1)})"
    left = f"; {month.days_left} {'day' if month.days_left == 1 else 'days'} left"
    return f"{name} since {month.since}: {used}{likely}{of}{computed}{spread}{left}{_pace_label(month)}"


def _pace_label(month: MonthSection) -> str:
    if month.pace is None and not month.estimated_pace:
        return ""
    paces = [f"{month.pace:,.1f}"] if month.pace is not None else []
    forecasts = [f"{month.forecast or 0:,.0f}"] if month.pace is not None else []
    ends = ""
    if month.estimated_pace and month.estimated_forecast is not None:
        paces.append(f"~{month.estimated_pace:,.1f}")
        forecasts.append(f"~{month.estimated_forecast:,.0f}")
        if month.forecast_at_least is not None and month.forecast_at_most is not None:
            ends = f" ({month.forecast_at_least:,.0f} to {month.forecast_at_most:,.0f})"
    return f"; {' + '.join(paces)} a day, forecast {' + '.join(forecasts)}{ends}"


def _amount(number: float | None, digits: int) -> str:
    return f"{number or 0:,.{digits}f}".removesuffix(".0")
