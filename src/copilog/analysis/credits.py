"""AI credits over time: by week and model, by repository and model, by month and outcome of the turns.

Each row has the credits of the same key in the period before: the week or month before its own, or the same days of it
if only some of its own are selected, or over; for a repository those of the compared period and of the same length of
time before it. These numbers exclude estimates, which have fields of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from operator import add
from typing import NamedTuple

from copilog.analysis.breakdowns import NO_MODEL, NO_REPOSITORY, OUTCOMES, monday_of, outcome_of
from copilog.analysis.cells import AT, Cell, CreditsRange, is_known
from copilog.analysis.figures import CreditRow, CreditsSection, EstimateEnd
from copilog.analysis.numbers import added
from copilog.derive.model_names import key_of

DIGITS = 6

Key = tuple[str, str]


class _Sum(NamedTuple):
    recorded: float | None = None
    computed: float | None = None
    estimated: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    spread: float | None = None

    def plus(self, cell: Cell) -> _Sum:
        least, likely, most = cell.estimated_credits() or (None, None, None)
        return _Sum(
            _more(self.recorded, cell, "credits"),
            _more(self.computed, cell, "computed_credits"),
            added(self.estimated, likely),
            added(self.at_least, least),
            added(self.at_most, most),
            _more(self.spread, cell, "spread_credits"),
        )

    @property
    def total(self) -> float | None:
        both: float | None = added(self.recorded, self.computed)
        return both


class Compared(NamedTuple):
    """A period by its days, and the usage of it and of the same length of time right before it."""

    since: date
    until: date  # the last day
    before_since: date
    before_until: date
    cells: list[Cell]
    cells_before: list[Cell]
    cells_earlier: list[Cell]  # of the week and the month before the selected period begins
    first: date  # the first selected day
    last: date  # the last one that has begun


def credits_section(cells: Iterable[Cell], shown: Callable[[str], str], compared: Compared) -> CreditsSection:
    """Return the credits by week, repository and outcome, from cells that are summed by day already."""
    credited, of_period, of_before, earlier = (
        [cell for cell in several if _has_credits(cell)]
        for several in (cells, compared.cells, compared.cells_before, compared.cells_earlier)
    )

    def model(key: str) -> str:
        return shown(key) if key else NO_MODEL

    def repository(cell: Cell) -> Key:
        return cell.repository or NO_REPOSITORY, key_of(cell.model or "")

    def week(cell: Cell) -> Key | None:
        return (monday_of(cell.day), key_of(cell.model or "")) if cell.day else None

    def month(cell: Cell) -> Key | None:
        return (cell.day[:7], outcome_of(cell)) if cell.day else None

    def before(key_of_cell: Callable[[Cell], Key | None], own: Callable[[date], date]) -> dict[Key, _Sum]:
        of_same_days = (cell for cell in (*earlier, *credited) if cell.day and is_same_day(cell.day, own))
        return _sums(of_same_days, key_of_cell)

    def is_same_day(day: str, following: Callable[[date], date]) -> bool:
        """Return whether the day that is compared with this one is selected, and not still to come."""
        return compared.first <= following(date.fromisoformat(day)) <= compared.last

    weeks, weeks_before = _sums(credited, week), before(week, _week_after)
    outcomes, outcomes_before = _sums(credited, month), before(month, _month_after)
    repositories = _sums(credited, repository)
    period, period_before = _sums(of_period, repository), _sums(of_before, repository)
    return CreditsSection(
        weeks=[
            _row((monday, model(key)), weeks[monday, key], before=weeks_before.get((_week_before(monday), key)))
            for monday, key in sorted(weeks)
        ],
        repositories=sorted(
            (
                _row((key[0], model(key[1])), found, period=period.get(key), before=period_before.get(key))
                for key, found in repositories.items()
            ),
            key=lambda row: (-((row.recorded or 0) + (row.computed or 0)), -(row.estimated or 0), row.name, row.of),
        ),
        outcomes=[
            _row(key, outcomes[key], before=outcomes_before.get((_month_before(key[0]), key[1])))
            for key in sorted(outcomes, key=lambda key: (key[0], OUTCOMES.index(key[1])))
        ],
    )


def likely_by_day(cells: Iterable[Cell]) -> dict[str, CreditsRange]:
    """Return the estimated credits of each day."""
    days: dict[str, CreditsRange] = {}
    for cell in cells:
        found = cell.estimated_credits() if cell.day else None
        if found is not None:
            days[cell.day] = CreditsRange(*map(add, days.get(cell.day, CreditsRange(0, 0, 0)), found))
    return days


def ends_of(cells: Iterable[Cell]) -> tuple[EstimateEnd, EstimateEnd] | None:
    """Return the lower and the upper end of the estimates; None if nothing is estimated."""
    estimated = [cell for cell in cells if cell.is_estimated]
    if not estimated:
        return None
    ranges = [(cell.range, 1 - cell.discount) for cell in estimated if cell.price is not None]
    low = round(sum(one.dollars * part for one, part in ranges), DIGITS) if ranges else None
    high = round(sum(one.most_dollars * part for one, part in ranges), DIGITS) if ranges else None
    return (
        EstimateEnd(
            input=int(sum(cell.range.input for cell in estimated)),
            output=int(sum(cell.range.output for cell in estimated)),
            dollars=low,
        ),
        EstimateEnd(
            input=int(sum(cell.range.most_input for cell in estimated)),
            output=int(sum(cell.range.most_output for cell in estimated)),
            dollars=high,
        ),
    )


def _sums(cells: Iterable[Cell], key_of_cell: Callable[[Cell], Key | None]) -> dict[Key, _Sum]:
    sums: dict[Key, _Sum] = {}
    for cell in cells:
        key = key_of_cell(cell)
        if key is not None:
            sums[key] = sums.get(key, _Sum()).plus(cell)
    return sums


def _row(key: Key, found: _Sum, *, period: _Sum | None = None, before: _Sum | None = None) -> CreditRow:
    return CreditRow(
        name=key[0],
        of=key[1],
        recorded=_rounded(found.recorded),
        computed=_rounded(found.computed),
        spread=_rounded(found.spread),
        estimated=_rounded(found.estimated),
        at_least=_rounded(found.at_least),
        at_most=_rounded(found.at_most),
        period=_rounded(period.total) if period is not None else None,
        before=_rounded(before.total) if before is not None else None,
    )


def _has_credits(cell: Cell) -> bool:
    numbers = cell.numbers
    is_told = is_known(numbers, "credits") or is_known(numbers, "computed_credits")
    return is_told or cell.estimated_credits() is not None


def _more(known: float | None, cell: Cell, name: str) -> float | None:
    numbers = cell.numbers
    return (known or 0) + numbers[AT[name]] if is_known(numbers, name) else known


def _week_after(day: date) -> date:
    return day + timedelta(days=7)


def _month_after(day: date) -> date:
    """Return the same day of the next month, or its last day if it is shorter."""
    first = (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    return min(first + timedelta(days=day.day - 1), last)


def _week_before(monday: str) -> str:
    return (date.fromisoformat(monday) - timedelta(days=7)).isoformat()


def _month_before(month: str) -> str:
    return (date.fromisoformat(f"{month}-01") - timedelta(days=1)).isoformat()[:7]


def _rounded(number: float | None) -> float | None:
    return round(number, DIGITS) if number is not None else None
