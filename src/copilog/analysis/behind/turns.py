"""Turns behind a number: how they ended, what people said of them, when they were and how long they took."""

from __future__ import annotations

from datetime import datetime

from copilog.analysis.activity import HOURS, WEEKDAYS
from copilog.analysis.behind.found import CHOSEN_TURNS, Found, one_of, turns_where
from copilog.analysis.selection import Chosen
from copilog.errors import UsageError

STATUSES = {"completed": "complete", "cancelled": "cancelled", "failed": "failed"}
UNKNOWN = "unknown"  # an end that is none of these


def all_turns(chosen: Chosen) -> Found:
    return turns_where(chosen, "c.is_turn")


def dated(chosen: Chosen) -> Found:
    """Turns of which the day is known."""
    return turns_where(chosen, "c.day IS NOT NULL")


def votes(chosen: Chosen, value: str) -> Found:
    sign = "> 0" if one_of(value, ("up", "down")) == "up" else "< 0"
    return turns_where(chosen, f"t.vote {sign}")


def vote_reasons(chosen: Chosen, value: str) -> Found:
    return _with_text(chosen, "t.vote_reason", "t.vote IS NOT NULL", value)


def statuses(chosen: Chosen, value: str) -> Found:
    if one_of(value, (*STATUSES, UNKNOWN)) == UNKNOWN:
        known = ", ".join(f"'{status}'" for status in STATUSES.values())
        return turns_where(chosen, f"coalesce(t.status, '') NOT IN ({known})")
    return turns_where(chosen, "t.status = ?", STATUSES[value])


def retries(chosen: Chosen) -> Found:
    return turns_where(chosen, "t.is_retry")


def weekdays(chosen: Chosen, value: str) -> Found:
    return turns_where(chosen, "c.weekday = ?", WEEKDAYS.index(one_of(value, WEEKDAYS)))


def hours(chosen: Chosen, value: str) -> Found:
    return turns_where(chosen, "c.hour = ?", HOURS.index(one_of(value, HOURS)))


def elapsed(chosen: Chosen) -> Found:
    """Turns whose elapsed time is known."""
    return turns_where(chosen, "t.elapsed_ms IS NOT NULL")


def working(chosen: Chosen) -> Found:
    """Turns whose working time is known."""
    return turns_where(chosen, "t.working_ms IS NOT NULL")


def waiting(chosen: Chosen) -> Found:
    """Turns that waited for a person."""
    return turns_where(chosen, "t.waited_ms > 0")


def parallel(chosen: Chosen, value: str) -> Found:
    """Turns that were running at a moment. What ends just then is over."""
    try:
        wanted = _milliseconds(value)
    except (ValueError, OverflowError):
        raise UsageError(f"{value!r} is no moment") from None
    rows = chosen.connection.execute(
        f"SELECT c.conversation, c.turn, t.started_at, t.elapsed_ms FROM {CHOSEN_TURNS}"  # noqa: S608
        " WHERE t.started_at IS NOT NULL AND t.elapsed_ms > 0"
    )
    for conversation, turn, started_at, elapsed_ms in rows:
        if 0 <= wanted - _milliseconds(started_at) < elapsed_ms:
            yield conversation, turn, 1


def _milliseconds(text: str) -> int:
    """Since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def errors(chosen: Chosen, value: str) -> Found:
    return _with_text(chosen, "coalesce(nullif(t.error_code, ''), t.error)", "t.status IS NOT 'cancelled'", value)


def _with_text(chosen: Chosen, what: str, where: str, value: str) -> Found:
    """Turns whose text has this as its first line; a long one was cut, and ends with dots."""
    rows = chosen.connection.execute(
        f"SELECT c.conversation, c.turn, {what} FROM {CHOSEN_TURNS} WHERE {where} AND {what} <> ''"  # noqa: S608
    )
    for conversation, turn, text in rows:
        line = " ".join(text.strip().partition("\n")[0].split())
        if line == value or (value.endswith("…") and line.startswith(value[:-1])):
            yield conversation, turn, 1
