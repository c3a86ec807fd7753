"""The billing month so far: usage of an allowance, its pace, and a forecast."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

from copilog.analysis.billing_months import forecast_of, month_of
from copilog.analysis.figures import MonthSection, SpendRow
from copilog.analysis.numbers import added
from copilog.analysis.plans import Plan

DIGITS = 6


def month_to_date(days: Iterable[SpendRow], today: date, plan: Plan) -> MonthSection:
    """Return the usage of the billing month up to today, with its forecast, from the rows of `tokens.by_day`."""
    since, until = month_of(today, plan.billing_day)
    before, _ = month_of(since - timedelta(days=1), plan.billing_day)
    rows = list(days)
    recorded = _used(rows, since, today + timedelta(days=1), plan, "recorded")
    computed = _used(rows, since, today + timedelta(days=1), plan, "computed")
    used = added(recorded, computed)
    if used is None and not any(since.isoformat() <= row.name < until.isoformat() for row in rows):
        used = 0.0  # no turns
    ahead = forecast_of(used, today, plan.billing_day)
    return MonthSection(
        unit=plan.billing or "credits",
        since=since.isoformat(),
        until=until.isoformat(),
        recorded=_rounded(recorded),
        computed=_rounded(computed),
        used=_rounded(used),
        budget=plan.budget,
        left=_rounded(plan.budget - used) if plan.budget is not None and used is not None else None,
        pace=_rounded(ahead.pace),
        days_left=ahead.days_left,
        forecast=_rounded(ahead.total),
        before=_rounded(added(*(_used(rows, before, since, plan, kind) for kind in ("recorded", "computed")))),
    )


def _used(rows: list[SpendRow], since: date, until: date, plan: Plan, kind: str) -> float | None:
    """Return the sum of a period's days, recorded or computed; None if no day has a number."""
    of_period = [row for row in rows if since.isoformat() <= row.name < until.isoformat()]
    if plan.billing == "requests":
        amounts = [row.premium_requests if kind == "recorded" else None for row in of_period]
    else:
        amounts = [row.credits if kind == "recorded" else row.computed_credits for row in of_period]
    found: float | None = added(*amounts)
    return found


def _rounded(number: float | None) -> float | None:
    return round(number, DIGITS) if number is not None else None


def month_label(month: MonthSection) -> str:
    """Return the month as one line: used, allowance, pace, days left and forecast; empty if nothing was used."""
    if not month.used and month.budget is None:
        return ""
    name = "premium requests" if month.unit == "requests" else "credits"
    used = f"{month.used:,.1f}".removesuffix(".0") if month.used is not None else "not recorded"
    share = f" ({month.used / month.budget:.0%})" if month.budget and month.used is not None else ""
    of = f" of {month.budget:,.0f}{share}" if month.budget else ""
    computed = f", {month.computed:,.1f} of them computed" if month.computed else ""
    left = f"; {month.days_left} {'day' if month.days_left == 1 else 'days'} left"
    pace = f"; {month.pace:,.1f} a day, forecast {month.forecast:,.0f}" if month.pace is not None else ""
    return f"{name} since {month.since}: {used}{of}{computed}{left}{pace}"
