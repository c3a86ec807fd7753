"""Decide whether a turn failed, only from records of the turn itself."""

from __future__ import annotations

from copilog.model import Turn


def turn_status(turn: Turn) -> str | None:
    """Return the status of a turn. A turn that records an error and no status has failed.

    A cancelled or running turn records that as an error too, but has not failed. Neither does
    a turn fail because one of its calls did.
    """
    return "failed" if turn.status is None and turn.error is not None else turn.status


def has_failed(turn: Turn) -> bool:
    """Return whether a turn failed."""
    return turn_status(turn) == "failed"
