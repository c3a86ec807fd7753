"""Tokens and cost: over time, by model and conversation, and by source of the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import NamedTuple

from copilog.analysis.figures import SpendRow
from copilog.analysis.numbers import added
from copilog.render.report import amounts
from copilog.render.report.spending import (
    estimates_words,
    folder_names,
    origins_table,
    parts_of,
    prices_words,
    spend_table,
)
from copilog.web.dashboard.composition import composition_panel
from copilog.web.dashboard.figures import Measured
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.panels import (
    Chart,
    Link,
    Panel,
    Section,
    Series,
    Unit,
    bars,
    columns,
    make_point,
    table_of_points,
    with_links,
)
from copilog.web.dashboard.time_buckets import Span, Spans, dated, spans_between
from copilog.web.viewer import conversation_url

BY_METHOD = [Series("recorded", "tone-1"), Series("spread", "tone-5"), Series("estimated", "tone-4")]
BY_KIND = [
    Series("new input", "tone-1"),
    Series("from a cache", "tone-5"),
    Series("output", "tone-3"),
    Series("estimated", "tone-4"),
]
BY_COST = [Series("of recorded tokens", "tone-1"), Series("of estimated tokens", "tone-4")]
METHODS_NOTE = (
    "Recorded: as Copilot wrote it down for a turn. Spread: recorded for a whole session, and divided among its turns. "
    "Estimated: what calls of a model likely took where nothing was recorded."
)


def spending(measured: Measured, links: Links) -> Section:
    tokens = measured.stats.tokens
    panels = _over_time(measured, links)
    panels += spend_bars(
        "tokens-by-model", "Tokens by model", tokens.by_model, partial(links.behind, "tokens.by_model.tokens")
    )
    if tokens.composition:
        link = partial(links.behind, "tokens.composition.turns")
        turns = measured.stats.totals.turns
        panels.append(composition_panel(tokens.composition, tokens.composition_turns, turns, link))
    if tokens.by_conversation:
        panels.append(_conversations(tokens.by_conversation))
    if tokens.origins:
        title = "Where the numbers come from"
        table = with_links(
            origins_table(tokens.origins),
            tokens.origins,
            {"Source": partial(links.behind, "tokens.origins.records")},
        )
        panels.append(Panel(key="origins", title=title, table=table, is_wide=True))
    return Section(
        key="tokens",
        title="Tokens and cost",
        lead="Recorded counts and estimates are told apart everywhere, and never added up.",
        panels=panels,
        remarks=[*([estimates_words(tokens)] if tokens.calibration else []), prices_words(tokens.prices)],
    )


# --- over time ------------------------------------------------------------------------------------------------------


class Measure(NamedTuple):
    """The description of a chart over time."""

    key: str
    title: str
    unit: Unit
    series: list[Series]
    note: str | None = None


def _over_time(measured: Measured, links: Links) -> list[Panel]:
    days = dated(measured.stats.tokens.by_day, lambda row: row.name)
    if not days:
        return []
    spans = spans_between(*_period(measured, [day for day, _ in days]))
    known = dated(measured.methods, lambda row: row.day)
    methods = spans.sums(((day, (row.recorded, row.spread, row.estimated)) for day, row in known), len(BY_METHOD))
    kinds = spans.sums(((day, parts_of(row)) for day, row in days), len(BY_KIND))
    costs = spans.sums(((day, (row.dollars, row.estimated_dollars)) for day, row in days), len(BY_COST))
    title = f"Tokens by {spans.unit}"
    made = [
        (Measure("tokens-by-method", f"{title}: how they are known", "tokens", BY_METHOD, METHODS_NOTE), methods),
        (Measure("tokens-by-kind", f"{title}: what they were", "tokens", BY_KIND), kinds),
        (Measure("cost", f"Cost by {spans.unit}", "dollars", BY_COST), costs),
    ]
    return [_in_spans(measure, spans, sums, links) for measure, sums in made if any(map(any, sums))]


def _period(measured: Measured, days: Sequence[date]) -> tuple[date, date]:
    """Return the first and last day to show: those with figures, extended to the beginning of the selected period.

    If the period has a beginning and no end, they are extended to today.
    """
    since, until = measured.selection.since, measured.selection.until
    wanted = list(days)
    if since is not None:
        wanted.append(since.astimezone().date())
        if until is None:
            wanted.append(measured.now.astimezone().date())
    return min(wanted), max(wanted)


def _in_spans(measure: Measure, spans: Spans, sums: list[list[float]], links: Links) -> Panel:
    points = [
        make_point(
            _name_of(span, spans.unit),
            measure.series,
            values,
            measure.unit,
            links.period(span.first, span.end) if any(values) else None,
            label=span.label,
        )
        for span, values in zip(spans.spans, sums, strict=True)
    ]
    up = "dollars" if measure.unit == "dollars" else "tokens"
    chart = columns(measure.key, measure.title, measure.unit, spans.unit, up, measure.series, points)
    table = table_of_points(chart, spans.unit.capitalize())
    return Panel(key=measure.key, title=measure.title, chart=chart, table=table, note=measure.note, is_wide=True)


def _name_of(span: Span, unit: str) -> str:
    day = span.first.isoformat()
    return {"week": f"week of {day}", "month": day[:7], "year": day[:4]}.get(unit, day)


# --- by model, workspace and conversation ----------------------------------------------------------------------------


def spend_bars(key: str, title: str, rows: Sequence[SpendRow], link: Link, *, are_folders: bool = False) -> list[Panel]:
    """Return a panel with a bar for each row that has tokens; an empty list if none has."""
    shown = [row for row in rows if sum(parts_of(row))]
    if not shown:
        return []
    labels = folder_names([row.name for row in shown]) if are_folders else [row.name for row in shown]
    points = [
        make_point(row.name, BY_KIND, parts_of(row), "tokens", link(row), label=label, aside=_bar_note(row))
        for row, label in zip(shown, labels, strict=True)
    ]
    chart: Chart = bars(key, title, "tokens", "tokens", BY_KIND, points)
    table = with_links(spend_table(title, rows), rows, {"Name": link})
    return [Panel(key=key, title=title, chart=chart, table=table)]


def _bar_note(row: SpendRow) -> str:
    """Return the text beside a bar: recorded tokens, estimated ones marked with ~, and the cost of the recorded."""
    recorded, estimated = added(row.input, row.output), added(row.estimated_input, row.estimated_output)
    words = [amounts.short(recorded)] if recorded or not estimated else []
    if estimated:
        words.append(f"~{amounts.short(estimated)}")
    return " + ".join(words) + (f", {amounts.dollars(row.dollars)}" if row.dollars else "")


def _conversations(rows: Sequence[SpendRow]) -> Panel:
    title = "Most expensive conversations"
    points = [
        make_point(row.name, BY_KIND, parts_of(row), "tokens", _conversation(row), aside=_bar_note(row))
        for row in rows
        if sum(parts_of(row))
    ]
    table = with_links(spend_table(title, rows, counts=("turns",)), rows, {"Name": _conversation})
    chart = bars("conversations", title, "tokens", "tokens", BY_KIND, points) if points else None
    return Panel(key="conversations", title=title, chart=chart, table=table)


def _conversation(row: SpendRow) -> str | None:
    return conversation_url(row.id) if row.id else None
