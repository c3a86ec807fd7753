"""The filters of a page, as they are in its address: a view can be bookmarked, and a number can be a link.

    /?q=tide+table&model=gpt-5&since=30d&sort=tokens

Values have the same meaning everywhere (`store/selection.py`); links from a counted name match exactly that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import msgspec

from copilog.store import dates
from copilog.store.library import SORTS
from copilog.store.query import parse
from copilog.store.selection import FLAGS, Selection, selection_of

NEWEST, BEST = "newest", "best"
LONGEST = 2_000  # characters of a search or a name


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """One view of the archive. Dates are as typed ("7d", "2026-03-01"); None means no filter."""

    q: str | None = None  # in the language of `copilog search`
    workspace: str | None = None  # the folder
    branch: str | None = None
    source: str | None = None
    model: str | None = None
    mode: str | None = None
    agent: str | None = None
    skill: str | None = None
    tool: str | None = None
    label: str | None = None
    starred: bool = False
    error: bool = False  # a turn or a call failed in it
    edit: bool = False  # a file was edited in it
    gone: bool = False  # none of its files exists any more
    month: str | None = None  # "2026-03": the month in which it was last active
    since: str | None = None
    until: str | None = None
    sort: str = NEWEST  # "best" is for searches only


TEXTS = tuple(name for name in Filters.__struct_fields__ if name not in (*FLAGS, "sort"))


def filters_from(params: Mapping[str, str]) -> Filters:
    """Return the filters in an address; its other parameters are ignored."""
    values: dict[str, Any] = {name: _text(params.get(name)) for name in TEXTS}
    values |= {name: params.get(name, "").lower() in ("1", "true", "on", "yes") for name in FLAGS}
    sort = params.get("sort", "")
    is_known = sort in SORTS or (sort == BEST and values["q"] is not None)
    return Filters(**values, sort=sort if is_known else _usual_sort(values["q"]))


def query_of(filters: Filters, **changes: Any) -> str:
    """Return the query of an address with these filters, from the question mark on; empty without filters.

    query_of(filters, model="gpt-5", label=None) is the same view with another model and any label.
    """
    changed = msgspec.structs.replace(filters, **changes)
    pairs = [(name, getattr(changed, name)) for name in (*TEXTS, *FLAGS)]
    said = [(name, "1" if value is True else value) for name, value in pairs if value]
    if changed.sort not in (_usual_sort(changed.q), BEST):
        said.append(("sort", changed.sort))
    query = urlencode(said, errors="replace")
    return f"?{query}" if query else ""


def library_link(filters: Filters | None = None, **changes: Any) -> str:
    """Return the address of the library with these filters: the conversations that a number counts."""
    return f"/{query_of(filters if filters is not None else Filters(), **changes)}"


def measured_by(filters: Filters, now: datetime | None = None) -> Selection:
    """Return the selection to measure: the conversations that the library shows, and their turns in the period.

    Raise UsageError if a date or the search is not valid.
    """
    if filters.q is not None:
        parse(filters.q)
    since, until = period_of(filters, now)
    return msgspec.structs.replace(listed_by(filters, now), since=since, until=until, month=None)


def listed_by(filters: Filters, now: datetime | None = None) -> Selection:
    """Return the selection that the library lists. Raise UsageError if a date is not valid."""
    fields = {name: getattr(filters, name) for name in TEXTS if name != "q"}
    flags = {name: getattr(filters, name) or None for name in FLAGS}
    return selection_of(now=now, query=filters.q, **fields, **flags)


def period_of(filters: Filters, now: datetime | None = None) -> tuple[datetime | None, datetime | None]:
    """Return the first and the last time, with the month included."""
    since, until = dates.since_and_until(filters.since, filters.until, now)
    if filters.month is None:
        return since, until
    month = dates.period_of(filters.month, now)
    return max(month.start, since) if since else month.start, min(month.end, until) if until else month.end


def with_month_as_period(filters: Filters, now: datetime | None = None) -> Filters:
    """Return filters for the conversations that `measured_by` counts: of a month also those active later."""
    if filters.month is None:
        return filters
    month = dates.period_of(filters.month, now)
    since, until = period_of(filters, now)
    return msgspec.structs.replace(
        filters,
        month=None,
        since=filters.month if since == month.start else filters.since,
        until=filters.month if until == month.end else filters.until,
    )


def _usual_sort(q: str | None) -> str:
    """Return the sort order if the address has none: best matches first for a search, else newest first."""
    return BEST if q else NEWEST


def _text(value: str | None) -> str | None:
    """Return the text of a parameter, None if it is empty."""
    value = (value or "")[:LONGEST].replace("\0", " ").strip()
    return value or None
