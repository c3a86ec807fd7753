"""The billing month, and the selected period beside the same length of time right before it.

Both need usage outside of the selected period: the same conversations are chosen in another one, and added up.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from copilog.analysis.allowance import month_to_date
from copilog.analysis.billing_months import days_before, month_of
from copilog.analysis.breakdowns import Tallies
from copilog.analysis.cells import Cell
from copilog.analysis.credits import Compared, likely_by_day
from copilog.analysis.figures import MonthSection, PeriodSection, SpendRow
from copilog.analysis.numbers import added
from copilog.analysis.prices import PriceTable
from copilog.analysis.selection import Chosen

MOMENT = timedelta(microseconds=1)
TWO_MONTHS = timedelta(days=62)
EARLIEST = datetime(1, 1, 3, tzinfo=UTC)  # times before it cannot be told in every time zone


class Used(NamedTuple):
    """The usage of a period."""

    turns: int
    total: SpendRow
    days: list[SpendRow]
    cells: Collection[Cell]


def used_in(chosen: Chosen, since: datetime, until: datetime, table: PriceTable | None) -> Used:
    """Return what the chosen conversations used in another period."""
    with chosen.in_period(since, until) as other:
        tallies = Tallies(["total", "day"], None, table)
        tallies.add_all(other)
        return Used(other.turns, _total_of(tallies), tallies.rows("day"), tallies.cells())


def month_section(chosen: Chosen, tallies: Tallies, table: PriceTable | None) -> MonthSection:
    """Return the billing month that today is in, whatever period is selected."""
    days, cells = tallies.rows("day"), tallies.cells()
    if chosen.has_period:
        since, _ = month_of(chosen.today, chosen.plan.billing_day)
        tomorrow = chosen.today + timedelta(days=1)
        begin = chosen.midnight(days_before(since, tomorrow))
        _, _, days, cells = used_in(chosen, begin, chosen.midnight(tomorrow), table)
    return month_to_date(days, chosen.today, chosen.plan, likely_by_day(cells))


def compared(chosen: Chosen, tallies: Tallies, table: PriceTable | None) -> tuple[Compared, PeriodSection]:
    """Return the selected period, else the billing month so far, beside the time right before it."""
    selection = chosen.selection
    if selection.since is not None:
        until = min(selection.until or chosen.now, max(chosen.now, selection.since))  # not what is still to come
        begin = max(selection.since, EARLIEST + timedelta(days=1))
        length = max(min(until - begin, begin - EARLIEST), timedelta())
        this = Used(chosen.turns, _total_of(tallies), [], tallies.cells())
        before = used_in(chosen, begin - length, begin, table)
        ends = (begin, max(until, begin + MOMENT) - MOMENT, begin - length, begin - MOMENT)
        days = [moment.astimezone(selection.zone).date() for moment in ends]
        first = _week_and_month_before(days[0]) if begin - EARLIEST > TWO_MONTHS else days[0]
        earlier = used_in(chosen, chosen.midnight(first), begin, table).cells
        return _made(chosen, days, max(1, round(length / timedelta(days=1))), this, before, earlier)
    since, _ = month_of(chosen.today, chosen.plan.billing_day)
    tomorrow = chosen.today + timedelta(days=1)
    first = days_before(since, tomorrow)
    periods = ((since, tomorrow), (first, since))
    if chosen.has_period:  # it has an end only
        this, before = (used_in(chosen, chosen.midnight(one), chosen.midnight(end), table) for one, end in periods)
    else:
        this, before = (_of_days(chosen, tallies, one, end) for one, end in periods)
    days = [since, chosen.today, first, since - timedelta(days=1)]
    return _made(chosen, days, (tomorrow - since).days, this, before)


def _week_and_month_before(day: date) -> date:
    """Return the first day of the week before that of a day, or of the month before: the earlier one."""
    monday = day - timedelta(days=day.weekday() + 7)
    return min(monday, (day.replace(day=1) - timedelta(days=1)).replace(day=1))


def _of_days(chosen: Chosen, tallies: Tallies, since: date, until: date) -> Used:
    """Return what was used on some of the days that are added up already."""
    first, end = since.isoformat(), until.isoformat()
    rows = [row for row in tallies.rows("day") if first <= row.name < end]
    cells = [cell for cell in tallies.cells() if cell.day and first <= cell.day < end]
    names = ("input", "output", "credits", "computed_credits", "premium_requests", "dollars")
    total = SpendRow(name="total", **{name: added(*(getattr(row, name) for row in rows)) for name in names})
    sql = "SELECT count(*) FROM temp.chosen_turn WHERE is_turn AND day >= ? AND day < ?"
    (turns,) = chosen.connection.execute(sql, (first, end)).fetchone()
    return Used(turns, total, rows, cells)


def _made(
    chosen: Chosen, days: list[date], length: int, this: Used, before: Used, earlier: Collection[Cell] = ()
) -> tuple[Compared, PeriodSection]:
    since, until, before_since, before_until = days
    end = chosen.selection.until
    last = (end - MOMENT).astimezone(chosen.selection.zone).date() if end is not None else chosen.today
    return (
        Compared(
            since,
            until,
            before_since,
            before_until,
            list(this.cells),
            list(before.cells),
            list(earlier),
            first=since if chosen.selection.since is not None else date.min,
            last=min(last, chosen.today),
        ),
        PeriodSection(
            since=since.isoformat(),
            until=until.isoformat(),
            before_since=before_since.isoformat(),
            before_until=before_until.isoformat(),
            days=length,
            goes_on=end is None or end >= chosen.midnight(chosen.today + timedelta(days=1)),
            turns=this.turns,
            turns_before=before.turns,
            tokens=added(this.total.input, this.total.output),
            tokens_before=added(before.total.input, before.total.output),
            credits=added(this.total.credits, this.total.computed_credits),
            credits_before=added(before.total.credits, before.total.computed_credits),
            premium_requests=this.total.premium_requests,
            premium_requests_before=before.total.premium_requests,
            dollars=this.total.dollars,
            dollars_before=before.total.dollars,
        ),
    )


def _total_of(tallies: Tallies) -> SpendRow:
    return next(iter(tallies.rows("total")), SpendRow(name="total"))


def before_label(period: PeriodSection) -> str:
    """Return the name of the period before: its length and its days."""
    days = f"{period.days} days" if period.days != 1 else "day"
    return f"in the {days} before ({days_label(period.before_since, period.before_until)})"


def days_label(since: str, until: str) -> str:
    """Return the first and the last day of a period as one text."""
    return since if since == until else f"{since} to {until}"
