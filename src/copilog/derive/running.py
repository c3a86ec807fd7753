"""Whether a turn that has not ended may still be at work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.model import Turn

STILL_GOING = timedelta(days=1)  # after that, a turn without an end was left behind
OPEN = ("pending", "needs-input")


def is_going(status: str | None, *seen_at: datetime | None) -> bool:
    """Return whether a turn may still go on: it has no end, and something of it was written not long ago."""
    if status not in OPEN:
        return False
    last = max(filter(None, seen_at), default=None)
    return last is not None and datetime.now(UTC) - last < STILL_GOING


def status_words(turn: Turn) -> str | None:
    """Return how a turn ended; one that has no end and was left behind is not finished, rather than pending."""
    if turn.status in OPEN and not is_going(turn.status, turn.timing.started_at, turn.timing.completed_at):
        return "not finished"
    return turn.status
