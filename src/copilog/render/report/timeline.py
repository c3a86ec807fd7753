"""Days without gaps, as days, weeks, months or years, so that they fit a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Generic, Protocol, TypeVar

from copilog.render.charts import MONTHS

MOST_COLUMNS = 62


class Named(Protocol):
    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


@dataclass
class Bucket(Generic[Row]):
    """A period, and the days in it that have figures."""

    label: str
    rows: list[Row] = field(default_factory=list)

    def sum(self, value: Callable[[Row], float | None]) -> float:
        return sum(value(row) or 0 for row in self.rows)


@dataclass
class Timeline(Generic[Row]):
    """Buckets of equal length."""

    unit: str  # day, week, month, year
    buckets: list[Bucket[Row]]

    @property
    def labels(self) -> list[str]:
        return [bucket.label for bucket in self.buckets]

    def values(self, value: Callable[[Row], float | None]) -> list[float]:
        return [bucket.sum(value) for bucket in self.buckets]


def day_of(row: Named) -> date | None:
    """Return the day of a row; rows without a time have another name."""
    try:
        return date.fromisoformat(row.name)
    except ValueError:
        return None


def timeline_of(rows: Sequence[Row]) -> Timeline[Row]:
    """Return the rows by day, or by a longer period if there are too many days for the chart."""
    dated = sorted(((day, row) for row in rows if (day := day_of(row)) is not None), key=lambda pair: pair[0])
    if not dated:
        return Timeline("day", [])
    first, last = dated[0][0], dated[-1][0]
    unit = _unit_for((last - first).days + 1)
    buckets: dict[date, Bucket[Row]] = {start: Bucket(_label(start, unit)) for start in _starts(first, last, unit)}
    for day, row in dated:
        buckets[_start(day, unit)].rows.append(row)
    return Timeline(unit, list(buckets.values()))


def by_year(rows: Sequence[Row], value: Callable[[Row], float]) -> dict[int, dict[date, float]]:
    """Return values by year and day."""
    years: dict[int, dict[date, float]] = {}
    for row in rows:
        day = day_of(row)
        if day is not None:
            years.setdefault(day.year, {})[day] = value(row)
    return dict(sorted(years.items()))


def _unit_for(days: int) -> str:
    for unit, length in (("day", 1), ("week", 7), ("month", 30)):
        if days <= MOST_COLUMNS * length:
            return unit
    return "year"


def _start(day: date, unit: str) -> date:
    if unit == "week":
        # The first days of the calendar belong to a week that began before it.
        return day - timedelta(days=day.weekday()) if day.toordinal() > 7 else date.min
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _starts(first: date, last: date, unit: str) -> Iterator[date]:
    start, end = _start(first, unit), _start(last, unit)
    while start < end:
        yield start
        step = {"day": 1, "week": 7, "month": 31, "year": 366}[unit]
        start = _start(start + timedelta(days=step), unit)
    yield end


def _label(start: date, unit: str) -> str:
    if unit == "year":
        return str(start.year)
    month = MONTHS[start.month - 1]
    return f"{month} {start.year}" if unit == "month" else f"{start.day} {month}"
