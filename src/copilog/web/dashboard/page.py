"""The sections in order, and the JSON from which the browser draws the charts."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from copilog.web.dashboard.agents_and_skills import agents_and_skills, workspaces
from copilog.web.dashboard.credits import credits_of
from copilog.web.dashboard.figures import Measured
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.models_and_tools import models, tools
from copilog.web.dashboard.overview import activity, overview
from copilog.web.dashboard.panels import Chart, Section
from copilog.web.dashboard.spending import spending
from copilog.web.dashboard.work import work


class Drawing(msgspec.Struct, kw_only=True):
    """The data of the charts. Names in it are untrusted text."""

    conversations: int
    turns: int
    since: str | None
    until: str | None
    charts: list[Chart]


def sections_of(measured: Measured, links: Links) -> list[Section]:
    stats = measured.stats
    first = credits_of(measured, links)
    return [
        *([first] if first is not None else []),
        overview(stats, links),
        activity(stats, links),
        spending(measured, links),
        models(stats.models, links),
        tools(stats.tools, links),
        agents_and_skills(measured, links),
        workspaces(stats, links),
        work(stats.work, links),
    ]


def drawing_of(measured: Measured, sections: Iterable[Section]) -> Drawing:
    stats = measured.stats
    panels = [panel for section in sections for panel in section.panels]
    return Drawing(
        conversations=stats.totals.conversations,
        turns=stats.totals.turns,
        since=stats.since,
        until=stats.until,
        charts=[panel.chart for panel in panels if panel.chart is not None],
    )
