"""Parse the cost in the line under an answer: `GPT-5 • 1x` until May 2026, `GPT-5 mini • 7.5 credits` since."""

from __future__ import annotations

import re

_MULTIPLIER = re.compile(r"[•·]\s*(\d+(?:\.\d+)?)x(?!\w)")  # "GPT-5 • 0.33x"
_CREDITS = re.compile(r"(?:^|[•·])\s*(\d[\d.,]*)\s*credits?(?!\w)", re.IGNORECASE)
_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")  # 1,234.5


def multiplier_in(details: str) -> float | None:
    """Return the premium requests that a prompt of the model costs; None if the line has none."""
    found = _MULTIPLIER.search(details)
    return float(found[1]) if found is not None else None


def credits_in(details: str) -> float | None:
    """Return the AI credits of the turn; None if the line has none."""
    found = _CREDITS.search(details)
    if found is None:
        return None
    number = found[1].replace(",", "" if _GROUPS.fullmatch(found[1]) else ".")
    try:
        return float(number)
    except ValueError:  # "1.2.3"
        return None
