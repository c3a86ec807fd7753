"""Figures as text. What was not recorded is a dash, never 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime

from copilog.derive.line_counts import line_counts_text
from copilog.view.terminal_text import UNSEEN, clean_line
from copilog.view.wording import counted, elapsed_text, size_text

__all__ = [
    "NONE",
    "counted",
    "decimal",
    "dollars",
    "duration",
    "moment",
    "percent",
    "short",
    "shown",
    "size",
    "whole",
]

NONE = "–"
LONGEST_NAME = 160
SCALES = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def shown(text: str, limit: int = LONGEST_NAME) -> str:
    """Return any text as one line of a page, without invisible characters and those that change the direction."""
    return clean_line(UNSEEN.sub("\ufffd", text), limit)


def whole(number: float | None) -> str:
    if number is None or not math.isfinite(number):
        return NONE
    return f"{number:,.0f}"


def lines(added: int | None, removed: int | None) -> str:
    """Return lines added and removed, as far as they are known."""
    if added is None and removed is None:
        return "lines not known"
    return f"{line_counts_text((added, removed), '−') or 'no'} lines"


def decimal(number: float | None) -> str:
    """Return premium requests and credits: whole numbers as they are, others with two decimals."""
    if number is None or not math.isfinite(number):
        return NONE
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def short(number: float | None) -> str:
    """Return a number in few characters: `950`, `12.4 k`, `3.1 M`."""
    if number is None or not math.isfinite(number):
        return NONE
    for scale, letter in SCALES:
        if abs(number) >= scale * 0.9995:
            value = number / scale
            return f"{value:.1f} {letter}".replace(".0 ", " ") if value < 99.95 else f"{value:,.0f} {letter}"
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def percent(share: float | None) -> str:
    """Return a share from 0 to 1 as a percentage."""
    if share is None or not math.isfinite(share):
        return NONE
    value = share * 100
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value in (0, 100) else f"{value:.1f} %"


def estimate(
    likely: float | None, least: float | None, shown: Callable[[float | None], str], most: float | None = None
) -> str:
    """Return an estimate with its range: `at least 1.2 M, likely 2 M, at most 3 M`."""
    ends = (f"at least {shown(least)}, " if least else "", f", at most {shown(most)}" if most else "")
    return f"{ends[0]}likely {shown(likely)}{ends[1]}"


def dollars(amount: float | None) -> str:
    if amount is None or not math.isfinite(amount):
        return NONE
    if 0 < amount < 0.005:
        return "< $0.01"
    return f"${amount:,.2f}" if amount < 1000 else f"${amount:,.0f}"


def duration(milliseconds: float | None) -> str:
    return NONE if milliseconds is None else elapsed_text(max(0.0, milliseconds))


def size(number: int | None) -> str:
    return NONE if number is None else size_text(number)


def moment(text: str | None) -> str:
    """Return a time of the archive as local time, to the minute; a date stays a date."""
    if not text:
        return NONE
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return shown(text, 40)
    if len(text) <= len("2026-05-04"):
        return shown(text)
    try:
        return (parsed.astimezone() if parsed.tzinfo else parsed).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # the first and the last day of the calendar have no local time
        return parsed.isoformat(" ", "minutes")
