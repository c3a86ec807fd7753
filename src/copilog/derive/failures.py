"""Whether a turn failed: only by what happened inside it."""

from __future__ import annotations

from copilog.model import Turn


def turn_status(turn: Turn) -> str | None:
    """Return how a turn ended. One that records an error and no state has failed.

    A turn that was cancelled, or that still goes on, records that as an error too: nothing failed there. Neither does
    a turn fail because a call of it did; the answer that follows may be all the better.
    """
    return "failed" if turn.status is None and turn.error is not None else turn.status


def has_failed(turn: Turn) -> bool:
    """Return whether a turn failed."""
    return turn_status(turn) == "failed"
