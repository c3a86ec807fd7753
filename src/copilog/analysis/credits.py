"""AI credits over time: by week and model, by repository and model, by month and outcome of the turns.

Each row has the credits of the same key in the period before: the week or month before its own; for a repository the
billing month before the current one. These numbers exclude estimates, which have fields of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import NamedTuple

from copilog.analysis.billing_months import month_of
from copilog.analysis.breakdowns import NO_MODEL, NO_REPOSITORY, OUTCOMES, monday_of
from copilog.analysis.figures import AtLeast, CreditRow, CreditsSection
from copilog.analysis.numbers import added
from copilog.analysis.spend_cells import AT, Cell, is_known
from copilog.derive.model_names import key_of

DIGITS = 6
# Outcomes of turns that are grouped under another label.
OUTCOME_GROUPS = {"failed": "failed or cancelled", "cancelled": "failed or cancelled", "asked again": "unknown"}

Key = tuple[str, str]


class _Sum(NamedTuple):
    recorded: float | None = None
    computed: float | None = None
    estimated: float | None = None
    at_least: float | None = None

    def plus(self, cell: Cell) -> _Sum:
        likely, least = cell.estimated_credits() or (None, None)
        return _Sum(
            _more(self.recorded, cell, "credits"),
            _more(self.computed, cell, "computed_credits"),
            added(self.estimated, likely),
            added(self.at_least, least),
        )

    @property
    def total(self) -> float | None:
        both: float | None = added(self.recorded, self.computed)
        return both


def credits_section(cells: Iterable[Cell], shown: Callable[[str], str], today: date, first_day: int) -> CreditsSection:
    """Return the credits by week, repository and outcome, from cells that are summed by day already."""
    credited = [cell for cell in cells if _has_credits(cell)]
    since, until = month_of(today, first_day)
    before, _ = month_of(since - timedelta(days=1), first_day)

    def model(cell: Cell) -> str:
        key = key_of(cell.model or "")
        return shown(key) if key else NO_MODEL

    weeks = _sums(credited, lambda cell: (monday_of(cell.day), model(cell)) if cell.day else None)
    outcomes = _sums(credited, lambda cell: (cell.day[:7], _outcome(cell)) if cell.day else None)
    repositories = _sums(credited, lambda cell: (cell.repository or NO_REPOSITORY, model(cell)))
    of_month, of_month_before = (
        _sums(
            [cell for cell in credited if cell.day and first.isoformat() <= cell.day < end.isoformat()],
            lambda cell: (cell.repository or NO_REPOSITORY, model(cell)),
        )
        for first, end in ((since, until), (before, since))
    )
    return CreditsSection(
        weeks=[_row(key, weeks[key], before=weeks.get((_week_before(key[0]), key[1]))) for key in sorted(weeks)],
        repositories=sorted(
            (
                _row(key, found, month=of_month.get(key), before=of_month_before.get(key))
                for key, found in repositories.items()
            ),
            key=lambda row: (-((row.recorded or 0) + (row.computed or 0)), -(row.estimated or 0), row.name, row.of),
        ),
        outcomes=[
            _row(key, outcomes[key], before=outcomes.get((_month_before(key[0]), key[1])))
            for key in sorted(outcomes, key=lambda key: (key[0], _place(key[1])))
        ],
    )


def at_least(cells: Iterable[Cell]) -> AtLeast | None:
    """Return the lower end of the estimates; None if nothing is estimated."""
    estimated = [(cell, cell.range) for cell in cells if cell.is_estimated]
    if not estimated:
        return None
    dollars = [found.dollars * (1 - cell.discount) for cell, found in estimated if cell.price is not None]
    return AtLeast(
        input=int(sum(found.input for _, found in estimated)),
        output=int(sum(found.output for _, found in estimated)),
        dollars=round(sum(dollars), DIGITS) if dollars else None,
    )


def _sums(cells: Iterable[Cell], key_of_cell: Callable[[Cell], Key | None]) -> dict[Key, _Sum]:
    sums: dict[Key, _Sum] = {}
    for cell in cells:
        key = key_of_cell(cell)
        if key is not None:
            sums[key] = sums.get(key, _Sum()).plus(cell)
    return sums


def _row(key: Key, found: _Sum, *, month: _Sum | None = None, before: _Sum | None = None) -> CreditRow:
    return CreditRow(
        name=key[0],
        of=key[1],
        recorded=_rounded(found.recorded),
        computed=_rounded(found.computed),
        estimated=_rounded(found.estimated),
        at_least=_rounded(found.at_least),
        month=_rounded(month.total) if month is not None else None,
        before=_rounded(before.total) if before is not None else None,
    )


def _outcome(cell: Cell) -> str:
    outcome = cell.outcome or "unknown"
    return OUTCOME_GROUPS.get(outcome, outcome)


def _place(outcome: str) -> int:
    return OUTCOMES.index(outcome) if outcome in OUTCOMES else len(OUTCOMES)


def _has_credits(cell: Cell) -> bool:
    numbers = cell.numbers
    is_told = is_known(numbers, "credits") or is_known(numbers, "computed_credits")
    return is_told or cell.estimated_credits() is not None


def _more(known: float | None, cell: Cell, name: str) -> float | None:
    numbers = cell.numbers
    return (known or 0) + numbers[AT[name]] if is_known(numbers, name) else known


def _week_before(monday: str) -> str:
    return (date.fromisoformat(monday) - timedelta(days=7)).isoformat()


def _month_before(month: str) -> str:
    return (date.fromisoformat(f"{month}-01") - timedelta(days=1)).isoformat()[:7]


def _rounded(number: float | None) -> float | None:
    return round(number, DIGITS) if number is not None else None
