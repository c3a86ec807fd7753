"""Filters are written to the address, and read from it unchanged."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.errors import UsageError
from copilog.store.library import SORTS
from copilog.store.query import QueryError
from copilog.store.selection import FLAGS, Selection
from copilog.web.filters import (
    TEXTS,
    Filters,
    filters_from,
    library_link,
    listed_by,
    measured_by,
    query_of,
    with_month_as_period,
)

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).map(str.strip)
VIEWS = st.builds(
    Filters,
    **{name: st.none() | NAMES.filter(bool) for name in TEXTS},
    **dict.fromkeys(FLAGS, st.booleans()),
    sort=st.sampled_from(sorted(SORTS)),
)


@given(VIEWS)
def test_an_address_brings_the_same_view_back(filters: Filters) -> None:
    query = query_of(filters)
    assert not query or query.startswith("?")
    assert filters_from(dict(parse_qsl(query[1:], keep_blank_values=True))) == filters


@given(st.dictionaries(st.sampled_from([*TEXTS, *FLAGS, "sort", "from", "other"]), st.text()))
def test_any_address_gives_a_view(params: dict[str, str]) -> None:
    filters = filters_from(params)
    assert filters_from(dict(parse_qsl(query_of(filters)[1:]))) == filters


def test_the_usual_view_has_a_plain_address() -> None:
    assert query_of(Filters()) == ""
    assert library_link() == "/"
    assert query_of(Filters(q="tide", sort="best")) == "?q=tide"


def test_a_search_shows_the_best_first_unless_told_otherwise() -> None:
    assert filters_from({"q": "tide"}).sort == "best"
    assert filters_from({"q": "tide", "sort": "newest"}).sort == "newest"
    assert filters_from({"sort": "best"}).sort == "newest"
    assert filters_from({"sort": "by magic"}).sort == "newest"


def test_a_link_changes_one_filter_and_keeps_the_others() -> None:
    filters = Filters(model="gpt-5", label="good", starred=True)
    assert library_link(filters, label=None, tool="read_file") == "/?model=gpt-5&tool=read_file&starred=1"


def test_filters_choose_what_is_measured() -> None:
    selection = measured_by(Filters(workspace="tide", skill='say "hello"', edit=True, since="7d", starred=True), NOON)
    since = datetime(2026, 4, 27, 12, 0, tzinfo=UTC)
    assert selection == Selection(workspace="tide", skill='say "hello"', edit=True, starred=True, since=since)
    assert measured_by(Filters()) == Selection()


def test_a_month_is_a_period() -> None:
    selection = measured_by(Filters(month="2026-12"))
    assert selection.since == datetime(2026, 12, 1).astimezone()
    assert selection.until == datetime(2027, 1, 1).astimezone()
    within = measured_by(Filters(month="2026-12", since="2026-12-24", until="2030-01-01"))
    assert within.since == datetime(2026, 12, 24).astimezone()
    assert within.until == datetime(2027, 1, 1).astimezone()


@pytest.mark.parametrize(
    "filters",
    [
        Filters(month="2026-12", model="gpt-5"),
        Filters(month="2026-12", since="2026-12-24", until="2030-01-01"),
        Filters(month="2026-12", since="2026-11-24", until="2026-12-03"),
        Filters(since="2026-11-24"),
    ],
)
def test_the_list_of_what_is_measured_in_a_month_has_the_same_selection(filters: Filters) -> None:
    assert listed_by(with_month_as_period(filters)) == measured_by(filters)


def test_an_invalid_search_is_reported() -> None:
    with pytest.raises(QueryError, match="has no"):
        measured_by(Filters(q="tide) OR (wave", agent="Reviewer"))


@pytest.mark.parametrize("filters", [Filters(since="someday"), Filters(until="2026-13-01"), Filters(month="2026-00")])
def test_an_invalid_date_filter_is_reported(filters: Filters) -> None:
    with pytest.raises(UsageError, match="is not a date"):
        measured_by(filters)


def test_all_filters_reach_the_archive() -> None:
    wanted = listed_by(Filters(q="tide", agent="Reviewer", month="2026-03", error=True, until="2026-05-01"), NOON)
    assert (wanted.query, wanted.agent, wanted.month, wanted.error) == ("tide", "Reviewer", "2026-03", True)
    assert wanted.until == datetime(2026, 5, 2).astimezone()
