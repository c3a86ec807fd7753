"""Decide whether a turn without an end may still be running."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.model import Turn

STILL_RUNNING = timedelta(days=1)  # after that, a turn without an end counts as abandoned
OPEN = ("pending", "needs-input")


def may_still_run(status: str | None, *seen_at: datetime | None) -> bool:
    """Return whether a turn may still run: it has no end, and something of it was written recently."""
    if status not in OPEN:
        return False
    last = max(filter(None, seen_at), default=None)
    return last is not None and datetime.now(UTC) - last < STILL_RUNNING


def status_label(turn: Turn) -> str | None:
    """Return a text for the status of a turn; an abandoned turn is `not finished`, rather than pending."""
    if turn.status in OPEN and not may_still_run(turn.status, turn.timing.started_at, turn.timing.completed_at):
        return "not finished"
    return turn.status
