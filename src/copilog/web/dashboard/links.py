"""Links from a number to the conversations that it counts.

If the library has a filter for it, the link opens the library with the facets and the period of the dashboard. All
other numbers have a list of their own, `/dashboard/conversations`.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from copilog.analysis.drill_down import FIGURES
from copilog.store.schema import UNNAMED
from copilog.store.selection import exactly
from copilog.web.filters import Filters, library_link, period_of, query_of, with_month_as_period

BEHIND = "/dashboard/conversations"


class Links:
    """Links that keep the filters of the dashboard."""

    def __init__(self, filters: Filters, now: datetime) -> None:
        self.filters = filters
        self.since, self.until = period_of(filters, now)
        self._listed = with_month_as_period(filters, now)
        query = query_of(filters, sort="newest")
        self._behind = f"{BEHIND}{query}{'&' if query else '?'}"

    def library(self, **changes: Any) -> str:
        return library_link(self._listed, sort="newest", **changes)

    def named(self, facet: str, name: str) -> str | None:
        """Return the link to conversations with this model, tool, agent or other facet; None if it has no name."""
        return None if name == UNNAMED else self.library(**{facet: exactly(facet, name)})

    def file(self, path: str) -> str:
        """Return the link to conversations that edited or named a file."""
        doubled = path.replace('"', '""')
        wanted = f'file:"{doubled}"'
        return self.library(q=f"({self.filters.q}) {wanted}" if self.filters.q else wanted)

    def period(self, first: date, end: date) -> str:
        """Return the link to conversations of these days, limited to the period of the dashboard."""
        changes: dict[str, str] = {}
        if self.since is None or _midnight(first) > self.since:
            changes["since"] = first.isoformat()
        if self.until is None or _midnight(end) < self.until:
            changes["until"] = (end - timedelta(days=1)).isoformat()  # inclusive
        return self.library(**changes)

    def behind(self, figure: str, row: Any = None) -> str:
        """Return the link to the drill-down of a figure; for a figure of a table, of one of its rows."""
        values = FIGURES[figure].table.values_of(row)
        pairs = [("figure", figure), *(("value", value) for value in values)]
        return self._behind + urlencode(pairs, errors="replace", quote_via=quote)

    def link_unless_zero(self, count: float | None, figure: str) -> str | None:
        """Return the link to the drill-down of a figure; None if the number is 0 or unknown."""
        return self.behind(figure) if count else None

    def dashboard(self, **changes: Any) -> str:
        return f"/dashboard{query_of(self.filters, **changes)}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time()).astimezone()
