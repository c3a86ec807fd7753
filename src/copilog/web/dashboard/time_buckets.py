"""Consecutive periods without gaps: days, or weeks or months if there are too many days for a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple, TypeVar

MOST_SPANS = 93  # a quarter of a year, by day
UNITS = (("day", 1), ("week", 7), ("month", 30))
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Row = TypeVar("Row")


class Span(NamedTuple):
    first: date
    end: date  # the day after the last
    label: str


class Spans(NamedTuple):
    unit: str  # day, week, month, year
    spans: list[Span]

    def sums(self, rows: Iterable[tuple[date, Sequence[float | None]]], width: int) -> list[list[float]]:
        """Return the sums of the rows in each span, by column. Days outside of all spans are skipped."""
        at = {span.first: number for number, span in enumerate(self.spans)}
        totals = [[0.0] * width for _ in self.spans]
        for day, values in rows:
            number = at.get(start_of(day, self.unit))
            if number is not None:
                totals[number] = [total + (value or 0) for total, value in zip(totals[number], values, strict=True)]
        return totals


def spans_between(first: date, last: date) -> Spans:
    """Return the spans from one day to another, both included; of too many years, only the last ones."""
    days = (last - first).days + 1
    unit = next((unit for unit, length in UNITS if days <= MOST_SPANS * length), "year")
    spans: list[Span] = []
    start = start_of(first, unit)
    if unit == "year" and last.year - start.year >= MOST_SPANS:  # such as from a clock that was never set
        start = start.replace(year=last.year - MOST_SPANS + 1)
    while start <= last:
        end = _next(start, unit)
        spans.append(Span(start, end, _label(start, unit)))
        if end == date.max:  # the calendar ends
            break
        start = end
    return Spans(unit, spans)


def dated(rows: Iterable[Row], day: Callable[[Row], str | None]) -> list[tuple[date, Row]]:
    """Return rows with their days, without rows that have no valid day."""
    found = ((day_of(day(row)), row) for row in rows)
    return [(when, row) for when, row in found if when is not None]


def day_of(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def start_of(day: date, unit: str) -> date:
    if unit == "week":
        # The first days of the calendar belong to a week that began before it.
        return day - timedelta(days=day.weekday()) if day.toordinal() > 7 else date.min
    if unit == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if unit == "year" else day


def _next(start: date, unit: str) -> date:
    length = {"day": 1, "week": 7, "month": 31, "year": 366}[unit]
    try:
        return start_of(start + timedelta(days=length), unit)
    except OverflowError:
        return date.max


def _label(start: date, unit: str) -> str:
    if unit == "year":
        return str(start.year)
    month = MONTHS[start.month - 1]
    return f"{month} {start.year}" if unit == "month" else f"{start.day} {month}"
