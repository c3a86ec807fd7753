"""The elements of sections. A panel is a chart with its table; without scripts, only the table is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import msgspec

from copilog.render.report import amounts
from copilog.render.report.blocks import Cell, Column, Figure, Table, table_of
from copilog.render.report.columns import columns_of
from copilog.web.dashboard.links import Links

Kind = Literal["calendar", "columns", "bars", "ranges"]
Unit = Literal["count", "tokens", "amount", "dollars", "ms", "share"]
Link = Callable[[Any], str | None]

MOST_BARS = 12
WORDS: dict[Unit, Callable[[float | None], str]] = {
    "count": amounts.whole,
    "tokens": amounts.short,
    "amount": amounts.decimal,
    "dollars": amounts.dollars,
    "ms": amounts.duration,
    "share": amounts.percent,
}


class Series(msgspec.Struct, frozen=True):
    """The meaning of a colour."""

    name: str
    tone: str  # the name of a custom property: "tone-1", "good"


class Point(msgspec.Struct, kw_only=True):
    """A bar, a column or a day."""

    label: str  # the label on an axis, if there is room
    name: str  # in full
    values: list[float | None]  # one for each series
    words: str  # the tooltip
    link: str | None = None
    aside: str | None = None  # beside a bar, instead of its value
    tone: str | None = None  # a colour of its own
    range: tuple[float, float] | None = None  # the ends of all values together, if some are estimated


class Chart(msgspec.Struct, kw_only=True):
    """The data of one chart."""

    key: str
    kind: Kind
    title: str
    unit: Unit
    across: str  # the label of the horizontal axis
    up: str  # the label of the vertical axis
    series: list[Series]
    points: list[Point]
    mark: float | None = None  # a line at a value, such as an allowance
    mark_name: str = ""


class Panel(msgspec.Struct, kw_only=True):
    key: str
    title: str
    chart: Chart | None = None
    table: Any = None  # a Table
    note: str | None = None
    is_wide: bool = False

    @property
    def rows(self) -> int:
        """Return the number of rows of a chart of bars or ranges; 0 for other charts and without a chart."""
        return len(self.chart.points) if self.chart is not None and self.chart.kind in ("bars", "ranges") else 0


class Section(msgspec.Struct, kw_only=True):
    key: str
    title: str
    lead: str = ""
    tiles: list[Figure] = []
    panels: list[Panel] = []
    remarks: list[str] = []


# --- charts ---------------------------------------------------------------------------------------------------------


def make_point(
    name: str,
    series: Sequence[Series],
    values: Sequence[float | None],
    unit: Unit,
    link: str | None,
    *,
    label: str | None = None,
    words: str | None = None,
    aside: str | None = None,
    tone: str | None = None,
) -> Point:
    return Point(
        label=amounts.shown(label if label is not None else name),
        name=amounts.shown(name),
        values=list(values),
        words=words or _tooltip(name, series, values, unit),
        link=link,
        aside=aside,
        tone=tone,
    )


def columns(key: str, title: str, unit: Unit, across: str, up: str, series: list[Series], points: list[Point]) -> Chart:
    """Return a chart of consecutive columns, stacked if there are several series."""
    return Chart(key=key, kind="columns", title=title, unit=unit, across=across, up=up, series=series, points=points)


def bars(key: str, title: str, unit: Unit, across: str, series: list[Series], points: list[Point]) -> Chart:
    """Return a chart of horizontal bars with their names, of the first MOST_BARS points."""
    return Chart(
        key=key, kind="bars", title=title, unit=unit, across=across, up="", series=series, points=points[:MOST_BARS]
    )


def ranges(key: str, title: str, series: list[Series], points: list[Point]) -> Chart:
    """Return a chart of ranges from one duration to a longer one, of the first MOST_BARS points."""
    return Chart(
        key=key, kind="ranges", title=title, unit="ms", across="time", up="", series=series, points=points[:MOST_BARS]
    )


def _tooltip(name: str, series: Sequence[Series], values: Sequence[float | None], unit: Unit) -> str:
    """Return the tooltip of a point: its name, and each of its values that is not 0."""
    words = WORDS[unit]
    parts = [f"{words(value)} {one.name}" for one, value in zip(series, values, strict=True) if value]
    return f"{amounts.shown(name)}: {', '.join(parts) or 'nothing'}"


# --- tables ---------------------------------------------------------------------------------------------------------


def linked_table(
    caption: str, rows: Sequence[Any], columns: Sequence[Column], links: Mapping[str, Link], note: str | None = None
) -> Table:
    """Return rows as a table in which some columns, named by their headings, have links."""
    return with_links(table_of(caption, rows, columns, note), rows, links)


def figure_table(
    caption: str,
    name: str,
    rows: Sequence[Any],
    first: Sequence[Column],
    links: Links,
    named: Mapping[str, Link] | None = None,
    *,
    last: Sequence[Column] = (),
    without: Collection[str] = (),
) -> Table:
    """Return the figures of a table as columns, each number with a link to the conversations that it counts.

    A number of conversations has the same link as the first column. `named` has other links.
    """
    numbers = columns_of(name, rows, without)
    made: dict[str, Link] = {column.head: partial(links.behind, column.figure) for column in numbers if column.figure}
    if "Conversations" in made:
        made["Conversations"] = made[numbers[0].head]
    return linked_table(caption, rows, [*first, *numbers, *last], {**made, **(named or {})})


def with_links(table: Table, rows: Sequence[Any], links: Mapping[str, Link]) -> Table:
    """Add links to the cells of some columns, named by their headings, except for 0 and no value; return the table."""
    for at, head in enumerate(table.heads):
        link = links.get(head.text)
        if link is not None:
            for cells, row in zip(table.rows, rows, strict=True):
                if cells[at].text not in (amounts.NONE, "0"):
                    cells[at] = replace(cells[at], link=link(row))
    return table


def table_of_points(chart: Chart, head: str, note: str | None = None) -> Table:
    """Return the points of a chart as a table, without those whose values are all 0 or unknown."""
    words = WORDS[chart.unit]
    heads = [Cell(head), *(Cell(series.name.capitalize(), is_number=True) for series in chart.series)]
    rows = [
        [Cell(point.name, link=point.link), *(Cell(words(value), is_number=True) for value in point.values)]
        for point in chart.points
        if any(point.values)
    ]
    return Table(chart.title, heads, rows, note)
