"""AI credits: by week and model against an allowance, by repository and model, by month and outcome.

Recorded credits are solid, and those that are not recorded are hatched: computed from recorded tokens, or likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from copilog.analysis.allowance import weeks_ahead
from copilog.analysis.figures import CreditRow, MonthSection, PeriodSection, Stats
from copilog.analysis.numbers import added
from copilog.analysis.periods import before_label, days_label
from copilog.render import charts
from copilog.render.report import amounts
from copilog.render.report.blocks import (
    Block,
    Chart,
    Figure,
    Figures,
    Section,
    Table,
    number,
    table_of,
    text,
    worked_out,
)

MOST_PARTS, MOST_REPOSITORIES, MOST_WEEKS = 4, 12, 26
OTHER = "other"
TONES = (1, 2, 3, 5, 4)
FORECAST, FORECAST_TONE = "forecast", 6
OUTCOME_TONES = {"kept": 3, "undone": 2, "failed or cancelled": 1, "asked again": 5, "unknown": 4}
DAYS_OF_WEEK, DAYS_OF_MONTH = 7, 365.25 / 12
LEAD = (
    "Recorded credits are solid; those that Copilot did not record are hatched: computed from list prices, and where "
    "no tokens were recorded either, likely ones with a line for their range. So is the forecast."
)


class Part(NamedTuple):
    """What a colour of a stack stands for."""

    name: str
    tone: int
    is_hatched: bool

    @property
    def words(self) -> str:
        name = amounts.shown(self.name)
        if self.name == FORECAST:
            return "forecast, at the pace of the month"
        return f"{name}, not recorded" if self.is_hatched else name

    @property
    def style(self) -> str:
        return f"hatched-tone-{self.tone}" if self.is_hatched else f"tone-{self.tone}"


class Stacks(NamedTuple):
    """Credits of several names, each in the same parts."""

    names: list[str]
    parts: list[Part]
    values: list[list[float]]  # by name, then by part
    ranges: list[tuple[float, float] | None] = []  # the ends of all parts together, by name; None: nothing is estimated


def stacks_of(
    rows: Sequence[CreditRow], names: Sequence[str] | None = None, tones: dict[str, int] | None = None
) -> Stacks:
    """Return credits by name, stacked by the largest parts, recorded before the rest; the others together."""
    sums: dict[str, float] = {}
    for row in rows:
        sums[row.of] = sums.get(row.of, 0) + credits_of(row)
    ordered = sorted(sums, key=lambda name: (-sums[name], name))
    shown = list(tones) if tones is not None else ordered[:MOST_PARTS]
    colours = tones or dict(zip([*shown, OTHER], TONES, strict=False))
    groups = [name for name in (*shown, OTHER) if name in colours]
    names = names if names is not None else list(dict.fromkeys(row.name for row in rows))
    found: dict[tuple[str, str, bool], float] = {}
    for row in rows:
        of = row.of if row.of in colours else OTHER
        for is_hatched, amount in ((False, row.recorded), (True, added(row.computed, row.estimated))):
            key = (row.name, of, is_hatched)
            found[key] = found.get(key, 0) + (amount or 0)
    parts = [
        Part(group, colours[group], is_hatched)
        for group in groups
        for is_hatched in (False, True)
        if any(found.get((name, group, is_hatched)) for name in names)
    ]
    values = [[found.get((name, part.name, part.is_hatched), 0) for part in parts] for name in names]
    return Stacks(list(names), parts, values, [_range_of([row for row in rows if row.name == name]) for name in names])


def _range_of(rows: Sequence[CreditRow]) -> tuple[float, float] | None:
    """Return the ends of the credits of some rows; None if none of them is estimated."""
    if not any(row.estimated for row in rows):
        return None
    known = added(*(row.recorded for row in rows), *(row.computed for row in rows)) or 0
    low, high = (added(*(getattr(row, end) for row in rows)) or 0 for end in ("at_least", "at_most"))
    return known + low, known + high


def weeks_of(stats: Stats) -> Stacks:
    """Return the credits of the latest weeks by model, with the forecast for the rest of the billing month.

    A period that is over has no forecast. The range of a forecast is that of the estimates in it.
    """
    rows, month = stats.tokens.credits.weeks, stats.tokens.month
    ahead = weeks_ahead(month) if stats.tokens.period.goes_on else {}
    names = list(dict.fromkeys(row.name for row in rows))
    if not names or not ahead:
        return stacks_of(rows, names[-MOST_WEEKS:])
    names = sorted({*names, *ahead})[-MOST_WEEKS:]
    stacks = stacks_of(rows, names)
    values = [
        [*found, ahead[name].likely if name in ahead else 0] for name, found in zip(names, stacks.values, strict=True)
    ]
    ranges = []
    for name, found, known in zip(names, stacks.ranges, stacks.values, strict=True):
        low, high = found or (sum(known), sum(known))
        if (rest := ahead.get(name)) is not None:
            low, high = low + rest.at_least, high + rest.at_most
        ranges.append((low, high) if low < high else None)
    return Stacks(names, [*stacks.parts, Part(FORECAST, FORECAST_TONE, is_hatched=True)], values, ranges)


def credits_of(row: CreditRow) -> float:
    return added(row.recorded, row.computed, row.estimated) or 0


def of_a_week(month: MonthSection) -> float | None:
    """Return the part of the allowance that a week has."""
    return month.budget * DAYS_OF_WEEK / DAYS_OF_MONTH if month.budget and month.unit == "credits" else None


def chart_note(rows: Iterable[CreditRow], mark: float | None) -> str | None:
    """Return what the line of an allowance is, and the range of what was not recorded; None without both."""
    line = f"The line is the allowance of a week: {amounts.decimal(mark)}." if mark is not None else None
    return " ".join(filter(None, (line, estimate_note(rows)))) or None


def before_head(head: str) -> str:
    """Return the heading of the credits that a week or a month is compared with."""
    return f"{head} before, same days"


def by_credits(rows: Iterable[CreditRow]) -> list[str]:
    """Return the names of rows, those with most credits first."""
    sums: dict[str, float] = {}
    for row in rows:
        sums[row.name] = sums.get(row.name, 0) + credits_of(row)
    return sorted(sums, key=lambda name: (-sums[name], name))


# --- the report -----------------------------------------------------------------------------------------------------


def credits(stats: Stats) -> Section | None:  # noqa: A001 - the name of the section
    """Return the section; None where there is neither a credit nor an allowance."""
    tokens = stats.tokens
    found = tokens.credits
    figures = month_figures(tokens.month, tokens.period)
    if not (found.weeks or figures):
        return None
    blocks: list[Block] = [Figures(figures)] if figures else []
    if found.weeks:
        mark = of_a_week(tokens.month)
        blocks.append(_columns("credits-weeks", WEEKS, weeks_of(stats), found.weeks, "Week", mark))
    if found.repositories:
        blocks.append(_bars("credits-repositories", REPOSITORIES, found.repositories, tokens.period))
    if found.outcomes:
        stacks = stacks_of(found.outcomes, tones=OUTCOME_TONES)
        blocks.append(_columns("credits-outcomes", OUTCOMES, stacks, found.outcomes, "Month", None))
    return Section("credits", "AI credits", LEAD, blocks)


WEEKS = "Credits by week and model"
REPOSITORIES = "Credits by repository and model"
OUTCOMES = "Credits by month and what became of the turns"


def month_figures(month: MonthSection, period: PeriodSection) -> list[Figure]:
    """Return the billing month so far, and the selected period if it is another one, as big numbers.

    None if nothing was used and nothing is allowed.
    """
    figures = []
    if period.credits is not None and period.since != month.since:
        label = f"Credits, {amounts.shown(days_label(period.since, period.until))}"
        figures.append(Figure(label, amounts.decimal(period.credits), before_note(period.credits_before, period)))
    if not (month.used or month.before or month.estimated) and month.budget is None:
        return figures
    name = "premium requests" if month.unit == "requests" else "credits"
    of = f"of {amounts.decimal(month.budget)} {name}" if month.budget is not None else name
    computed = f"; {amounts.decimal(month.computed)} of them computed" if month.computed else ""
    computed += f"; {amounts.decimal(month.spread)} of them spread over several turns" if month.spread else ""
    likely = ""
    if month.estimated:
        likely = f"; besides, {amounts.estimate(month.estimated, month.at_least, amounts.decimal, month.at_most)}"
    days = amounts.shown(days_label(month.before_since, month.before_until))
    before = f"; {amounts.decimal(month.before)} from {days}, as many days" if month.before is not None else ""
    pace = f"at {amounts.decimal(month.pace)} a day" if month.pace is not None else "nothing recorded"
    pace += f", {amounts.counted(month.days_left, 'day')} left"
    if month.estimated_forecast:
        pace += f"; likely {amounts.decimal(month.estimated_forecast)} more of what is estimated"
        pace += f", {amounts.decimal(month.forecast_at_least)} to {amounts.decimal(month.forecast_at_most)} together"
    return [
        *figures,
        Figure(f"Since {amounts.shown(month.since)}", amounts.decimal(month.used), f"{of}{computed}{likely}{before}"),
        Figure("Forecast", amounts.decimal(month.forecast), pace),
    ]


def before_note(
    before: float | None, period: PeriodSection, shown: Callable[[float | None], str] = amounts.decimal
) -> str:
    """Return what was used in the time right before the period, and which days these are."""
    return f"{shown(before)} {amounts.shown(before_label(period))}"


def period_heads(period: PeriodSection) -> tuple[str, str]:
    """Return the headings of the time before a period, and of the period."""
    before = days_label(period.before_since, period.before_until)
    return amounts.shown(before), amounts.shown(days_label(period.since, period.until))


def credits_table(
    caption: str, rows: Sequence[CreditRow], head: str, of: str, before: str, period: str = "This period"
) -> Table:
    """Return the numbers of a picture, with those of the period before."""
    return table_of(
        caption,
        rows,
        [
            text(head, "name"),
            text(of, "of"),
            number("Recorded", "recorded", amounts.decimal, optional=True),
            number("Of them spread", "spread", amounts.decimal, optional=True),
            number("Computed", "computed", amounts.decimal, optional=True),
            worked_out("Together", lambda row: added(row.recorded, row.computed), amounts.decimal),
            number(period, "period", amounts.decimal, optional=True),
            number(before, "before", amounts.decimal, optional=True),
            number("Likely besides", "estimated", amounts.decimal, optional=True),
            number("At least", "at_least", amounts.decimal, optional=True),
            number("At most", "at_most", amounts.decimal, optional=True),
        ],
    )


def estimate_note(rows: Iterable[CreditRow]) -> str | None:
    """Return the estimated part of credits with its range."""
    rows = list(rows)
    likely = added(*(row.estimated for row in rows))
    if not likely:
        return None
    least, most = (added(*(getattr(row, end) for row in rows)) for end in ("at_least", "at_most"))
    estimate = amounts.estimate(likely, least, amounts.decimal, most)
    return f"Where no tokens were recorded: {estimate}."


def legend_of(stacks: Stacks) -> list[tuple[str, str]]:
    return [(part.style, part.words) for part in stacks.parts]


def _columns(key: str, caption: str, stacks: Stacks, rows: Sequence[CreditRow], head: str, mark: float | None) -> Chart:
    of_part: Callable[[int], list[float]] = lambda place: [values[place] for values in stacks.values]  # noqa: E731
    series = [
        charts.Series(part.words, of_part(place), tone=part.tone, is_hatched=part.is_hatched)
        for place, part in enumerate(stacks.parts)
    ]
    line = ("allowance of a week", mark) if mark is not None else None
    labels = [amounts.shown(name) for name in stacks.names]
    picture = charts.columns(key, caption, labels, series, words=amounts.decimal, mark=line, ranges=stacks.ranges)
    note = chart_note((row for row in rows if row.name in stacks.names), mark)
    table = credits_table(caption, rows, head, "Model" if head == "Week" else "Outcome", before_head(head))
    return Chart(caption, [picture], legend=legend_of(stacks), note=note, table=table)


def _bars(key: str, caption: str, rows: Sequence[CreditRow], period: PeriodSection) -> Chart:
    stacks = stacks_of(rows, by_credits(rows)[:MOST_REPOSITORIES])
    picture = charts.bars(
        key,
        caption,
        [charts.Bar(amounts.shown(name), values) for name, values in zip(stacks.names, stacks.values, strict=True)],
        words=amounts.decimal,
        tones=[part.tone for part in stacks.parts],
        hatched=[part.is_hatched for part in stacks.parts],
    )
    table = credits_table(caption, rows, "Repository", "Model", *period_heads(period))
    return Chart(caption, [picture], legend=legend_of(stacks), table=table)
