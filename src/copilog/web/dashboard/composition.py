"""What prompts were made of: a bar for each category, and of how many turns it is recorded."""

from __future__ import annotations

from collections.abc import Sequence

from copilog.analysis.figures import ShareRow
from copilog.render.report import amounts
from copilog.render.report.blocks import number, table_of, worded, worked_out
from copilog.render.report.spending import COMPOSITION, composed_of, name_of_share
from copilog.web.dashboard.panels import Panel, Series, bars, make_point

SHARES = [Series("of the prompt", "tone-1")]


def composition_panel(rows: Sequence[ShareRow], composed: int, turns: int) -> Panel:
    """Return the panel; `composed` of the turns record their composition."""
    points = [
        make_point(
            name_of_share(row), SHARES, [row.percent / 100], "share", None, aside=amounts.percent(row.percent / 100)
        )
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
    chart = bars("composition", COMPOSITION, "share", "share of a prompt", SHARES, points)
    return Panel(key="composition", title=COMPOSITION, chart=chart, table=table, note=composed_of(composed, turns))
