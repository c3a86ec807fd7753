"""The parameters of the dashboard: a time range, and facets with their names."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from copilog.store.archive import Archive
from copilog.store.facets import Value, facets_of
from copilog.store.selection import NAME_FIELDS, Selected
from copilog.web.dashboard.links import Links
from copilog.web.filters import Filters, measured_by

DAYS = (7, 30, 90)
FACETS = {"workspace": "Workspace", "model": "Model", "source": "Source", "agent": "Agent"}
MOST_NAMES = 200  # of a facet


class Range(msgspec.Struct, frozen=True):
    """A time range that can be selected."""

    words: str
    link: str
    is_chosen: bool


class Choice(msgspec.Struct, frozen=True):
    """A facet with its values."""

    name: str  # of the filter
    words: str
    values: list[Value]


def this_minute() -> datetime:
    """Return the current time to the minute, so that requests within a minute share one measurement."""
    return datetime.now(UTC).replace(second=0, microsecond=0)


def ranges_of(filters: Filters, links: Links, now: datetime) -> list[Range]:
    year = f"{now.astimezone().year}-01-01"
    wanted = [(f"{days} days", f"{days}d") for days in DAYS]
    choices: list[tuple[str, str | None]] = [*wanted, ("This year", year), ("All", None)]
    return [
        Range(
            words,
            links.dashboard(since=since, until=None, month=None),
            filters.since == since and filters.until is None and filters.month is None,
        )
        for words, since in choices
    ]


def choices_of(archive: Archive, filters: Filters, now: datetime) -> list[Choice]:
    """Return the values of each facet, with the number of conversations that each would select."""
    selected = Selected(archive.connection, measured_by(filters, now))
    found = {facet.name: facet.values for facet in facets_of(selected).facets}
    return [_choice(name, words, found[name]) for name, words in FACETS.items()]


def _choice(name: str, words: str, values: list[Value]) -> Choice:
    """Return a facet with its first MOST_NAMES values, without the nameless one unless it is selected."""
    shown = [value for value in values if value.is_chosen or value.name != NAME_FIELDS[name].nameless]
    return Choice(name, words, shown[:MOST_NAMES])
