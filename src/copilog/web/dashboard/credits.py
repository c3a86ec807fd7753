"""AI credits, the first section of the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

from copilog.analysis.figures import CreditRow, PeriodSection
from copilog.render.report import amounts
from copilog.render.report.credits import (
    FORECAST,
    LEAD,
    MOST_REPOSITORIES,
    OUTCOME_TONES,
    OUTCOMES,
    REPOSITORIES,
    WEEKS,
    Stacks,
    before_head,
    by_credits,
    chart_note,
    credits_table,
    month_figures,
    of_a_week,
    period_heads,
    stacks_of,
    weeks_of,
)
from copilog.web.dashboard.figures import Measured
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import Panel, Point, Section, Series, bars, columns, make_point, with_links


def credits_of(measured: Measured, links: Links) -> Section | None:
    """Return the section; None if there are neither credits nor figures of the billing month."""
    tokens = measured.stats.tokens
    found, tiles = tokens.credits, month_figures(tokens.month, tokens.period)
    if not (found.weeks or tiles):
        return None
    panels = []
    if found.weeks:
        mark = of_a_week(tokens.month)
        panels.append(_over_time("credits-weeks", WEEKS, "week", weeks_of(measured.stats), found.weeks, links, mark))
        if mark is not None and panels[0].chart is not None:
            panels[0].chart.mark, panels[0].chart.mark_name = mark, "allowance of a week"
    if found.repositories:
        panels.append(_by_repository(found.repositories, tokens.period, links))
    if found.outcomes:
        stacks = stacks_of(found.outcomes, tones=OUTCOME_TONES)
        panels.append(_over_time("credits-outcomes", OUTCOMES, "month", stacks, found.outcomes, links))
    return Section(key="credits", title="AI credits", lead=LEAD, tiles=tiles, panels=panels)


def _series_of(stacks: Stacks) -> list[Series]:
    return [Series(part.words, part.style) for part in stacks.parts]


def _points(stacks: Stacks, names: Sequence[str | None]) -> list[Point]:
    series = _series_of(stacks)
    points = [
        make_point(name, series, values, "amount", link)
        for name, values, link in zip(stacks.names, stacks.values, names, strict=True)
    ]
    for point, ends in zip(points, stacks.ranges, strict=True):
        if ends is not None:
            point.range = ends
            point.words += f" (at least {amounts.decimal(ends[0])}, at most {amounts.decimal(ends[1])})"
    return points


def _over_time(
    key: str, title: str, unit: str, stacks: Stacks, rows: Sequence[CreditRow], links: Links, mark: float | None = None
) -> Panel:
    recorded = [at for at, part in enumerate(stacks.parts) if part.name != FORECAST]
    addresses = [
        links.period(*_days_of(name, unit)) if any(values[at] for at in recorded) else None
        for name, values in zip(stacks.names, stacks.values, strict=True)
    ]
    chart = columns(key, title, "amount", unit, "credits", _series_of(stacks), _points(stacks, addresses))
    of, head = ("Model", "Week") if unit == "week" else ("Outcome", "Month")
    table = credits_table(title, rows, head, of, before_head(head))
    table = with_links(table, rows, {head: lambda row: links.period(*_days_of(row.name, unit))})
    note = chart_note((row for row in rows if row.name in stacks.names), mark)
    return Panel(key=key, title=title, chart=chart, table=table, note=note, is_wide=unit == "week")


def _days_of(name: str, unit: str) -> tuple[date, date]:
    """Return the first day of a week or a month, and the day after its last."""
    if unit == "week":
        first = date.fromisoformat(name)
        return first, first + timedelta(days=7)
    first = date.fromisoformat(f"{name}-01")
    return first, (first + timedelta(days=32)).replace(day=1)


def _by_repository(rows: Sequence[CreditRow], period: PeriodSection, links: Links) -> Panel:
    def link(row: CreditRow) -> str:
        return links.behind("tokens.by_repository.tokens", row)

    stacks = stacks_of(rows, by_credits(rows)[:MOST_REPOSITORIES])
    addresses = {row.name: link(row) for row in rows}
    points = _points(stacks, [addresses[name] for name in stacks.names])
    chart = bars("credits-repositories", REPOSITORIES, "amount", "credits", _series_of(stacks), points)
    table = credits_table(REPOSITORIES, rows, "Repository", "Model", *period_heads(period))
    table = with_links(table, rows, {"Repository": link})
    return Panel(key="credits-repositories", title=REPOSITORIES, chart=chart, table=table)
