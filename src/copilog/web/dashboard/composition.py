"""What prompts were made of: a bar for each category, and of how many turns it is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.analysis.figures import ShareRow
from copilog.render.report import amounts
from copilog.render.report.blocks import number, table_of, worded, worked_out
from copilog.render.report.spending import COMPOSITION, composed_of
from copilog.web.dashboard.panels import Link, Panel, Series, bars, make_point, with_links

SHARES = [Series("of the prompt", "tone-1")]


def composition_panel(rows: Sequence[ShareRow], composed: int, turns: int, link: Link = lambda _: None) -> Panel:
    """Return the panel; `composed` of the turns record their composition. `link` leads to the turns of a row."""
    points = [
        make_point(row.name, SHARES, [row.percent / 100], "share", link(row), aside=amounts.percent(row.percent / 100))
        for row in rows
    ]
    table = table_of(
        COMPOSITION,
        rows,
        [
            worded("Category", lambda row: row.category),
            worded("Label", lambda row: row.label, optional=True),
            worked_out("Share", lambda row: row.percent / 100, amounts.percent),
            number("Turns", "turns"),
        ],
    )
    table = with_links(table, rows, {"Category": link, "Turns": link})
    chart = bars("composition", COMPOSITION, "share", "share of a prompt", SHARES, points)
    return Panel(key="composition", title=COMPOSITION, chart=chart, table=table, note=composed_of(composed, turns))
