"""A date names a period, in the time zone of the user, also where clocks are changed in it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.errors import UsageError
from copilog.store.dates import MONTHS, period_of, since_and_until

NOW = datetime(2026, 5, 14, 10, 30, 20, 123456, tzinfo=UTC)  # a Thursday
# Clocks change at night, at midnight, by half an hour, never; one country once left out a day.
ZONES = ("Europe/Berlin", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe", "Asia/Kolkata", "Pacific/Apia")
DAYS = st.dates(date(2005, 1, 1), date(2025, 12, 31)) | st.sampled_from(
    [date(2018, 2, 17), date(2018, 11, 4), date(2011, 12, 30), date(2025, 3, 30), date(2025, 10, 26), date(2024, 2, 29)]
)


def days(first: str, end: str) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(first).replace(tzinfo=UTC), datetime.fromisoformat(end).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "first", "end"),
    [
        ("2026", "2026-01-01", "2027-01-01"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("2026-12", "2026-12-01", "2027-01-01"),
        ("2026-05-04", "2026-05-04", "2026-05-05"),
        ("2026/05/04", "2026-05-04", "2026-05-05"),
        ("2026/5/4 9:15", "2026-05-04T09:15", "2026-05-04T09:16"),
        ("2026-05-04T14", "2026-05-04T14:00", "2026-05-04T15:00"),
        ("2026-05-04 14:30:05", "2026-05-04T14:30:05", "2026-05-04T14:30:06"),
        ("2026-05-04T14:30:05.5", "2026-05-04T14:30:05.500", "2026-05-04T14:30:05.501"),
        ("2026-05-04T14:30Z", "2026-05-04T14:30", "2026-05-04T14:31"),
        ("2026-05-04t14:30+02:00", "2026-05-04T12:30", "2026-05-04T12:31"),
        ("2026-05-04T14:30-0530", "2026-05-04T20:00", "2026-05-04T20:01"),
        (" Today ", "2026-05-14", "2026-05-15"),
        ("yesterday", "2026-05-13", "2026-05-14"),
        ("last week", "2026-05-04", "2026-05-11"),
        ("last-week", "2026-05-04", "2026-05-11"),
        ("last  Month", "2026-04-01", "2026-05-01"),
        ("may", "2026-05-01", "2026-06-01"),
        ("June", "2025-06-01", "2025-07-01"),
        ("sept", "2025-09-01", "2025-10-01"),
        ("dec", "2025-12-01", "2026-01-01"),
    ],
)
def test_a_date_names_a_period(text: str, first: str, end: str) -> None:
    assert period_of(text, NOW, UTC) == days(first, end)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("30min", "2026-05-14T10:00:20.123456"),
        ("12h", "2026-05-13T22:30:20.123456"),
        ("7d", "2026-05-07T10:30:20.123456"),
        ("2 w", "2026-04-30T10:30:20.123456"),
        ("3mo", "2026-02-14T10:30:20.123456"),
        ("1y", "2025-05-14T10:30:20.123456"),
    ],
)
def test_an_age_names_a_point_in_time(text: str, at: str) -> None:
    assert period_of(text, NOW, UTC) == days(at, at)


def test_a_month_before_the_end_of_a_longer_one_is_its_last_day() -> None:
    assert period_of("3mo", datetime(2026, 5, 31, tzinfo=UTC), UTC).start == datetime(2026, 2, 28, tzinfo=UTC)
    assert period_of("1y", datetime(2024, 2, 29, tzinfo=UTC), UTC).start == datetime(2023, 2, 28, tzinfo=UTC)


def test_an_ambiguous_unit_of_minutes_or_months_is_refused_with_both_spellings() -> None:
    with pytest.raises(UsageError, match="1min for minutes, or 1mo for months"):
        period_of("1m", NOW)


@pytest.mark.parametrize(
    "text",
    [
        "", "someday", "m", "ma", "mayo", "7", "7x", "2026-13", "2026-02-30", "2026-05/04", "2026-05-04T25", "99999y",
        "0000", "9999-12-32", "2026-05-04T10:61", "last year of all",
    ],
)  # fmt: skip
def test_an_invalid_date_is_refused_with_valid_forms(text: str) -> None:
    with pytest.raises(UsageError, match="is not a date; write 2026, "):
        period_of(text, NOW)


def test_since_begins_at_the_start_of_its_period_and_until_ends_at_the_end_of_its_own() -> None:
    assert since_and_until("2026-05", "2026-05", NOW, UTC) == days("2026-05-01", "2026-06-01")
    assert since_and_until(None, None) == (None, None)


# --- properties -----------------------------------------------------------------------------------------------------


@given(DAYS, st.sampled_from(ZONES))
def test_days_follow_one_another_without_a_gap(day: date, zone: str) -> None:
    here = ZoneInfo(zone)
    period, following = (period_of(each.isoformat(), NOW, here) for each in (day, day + timedelta(days=1)))
    assert period.start <= period.end == following.start


@given(
    st.datetimes(datetime(2005, 1, 1), datetime(2025, 12, 31), timezones=st.just(UTC)),
    st.sampled_from(ZONES),
    st.sampled_from([4, 7, 10, 13, 16, 19]),
)
def test_every_time_is_within_the_periods_that_its_text_begins_with(at: datetime, zone: str, length: int) -> None:
    here = ZoneInfo(zone)
    text = at.astimezone(here).isoformat()[:length]
    period = period_of(text, NOW, here)
    assert period.start <= at < period.end


@given(DAYS, st.sampled_from(ZONES))
def test_a_day_contains_no_time_of_another_day(day: date, zone: str) -> None:
    here = ZoneInfo(zone)
    start, end = period_of(day.isoformat(), NOW, here)
    if start != end:  # a country may leave out a day
        first, last = (at.astimezone(here).date() for at in (start, end - timedelta(microseconds=1)))
        assert first == last == day


@given(
    st.datetimes(datetime(2005, 1, 1), datetime(2025, 12, 31), timezones=st.just(UTC)),
    st.sampled_from(ZONES),
    st.sampled_from(MONTHS),
)
def test_a_months_name_is_the_latest_that_has_begun(now: datetime, zone: str, month: str) -> None:
    here = ZoneInfo(zone)
    period = period_of(month, now, here)
    first = period.start.astimezone(here)
    assert first.month == MONTHS.index(month) + 1
    assert period.start <= now < period_of(f"{first.year + 1}-{first.month}", now, here).start


@given(st.datetimes(datetime(2005, 1, 1), datetime(2025, 12, 31), timezones=st.just(UTC)), st.sampled_from(ZONES))
def test_last_week_is_monday_to_sunday_before_this_one(now: datetime, zone: str) -> None:
    here = ZoneInfo(zone)
    period = period_of("last week", now, here)
    first, last = (at.astimezone(here).date() for at in (period.start, period.end - timedelta(microseconds=1)))
    today = now.astimezone(here).date()
    assert (first.weekday(), last - first) == (0, timedelta(days=6))
    assert timedelta(days=1) <= today - last <= timedelta(days=7)


@given(st.integers(0, 4000), st.sampled_from(ZONES))
def test_days_ago_are_at_the_same_time_of_day(number: int, zone: str) -> None:
    here = ZoneInfo(zone)
    (at, _), noon = period_of(f"{number}d", NOW, here), NOW.astimezone(here)
    assert at.astimezone(here).date() == noon.date() - timedelta(days=number)
    assert at.astimezone(here).time() == noon.time()


@given(st.text())
def test_any_text_is_a_period_or_refused(text: str) -> None:
    try:
        period = period_of(text, NOW)
    except UsageError:
        return
    assert period.start <= period.end


@pytest.fixture
def berlin() -> Iterator[None]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = "Europe/Berlin"
    time.tzset()
    yield
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    "text", ["2025-03-30", "2025-10-26", "2025-10-26T02", "2025-10-26T02:30", "2025-03", "2025-03-30T02:30"]
)
def test_without_a_zone_it_is_that_of_the_system(text: str) -> None:
    assert period_of(text, NOW) == period_of(text, NOW, ZoneInfo("Europe/Berlin"))
