"""Messages of users for tests of the context scan, and what it finds in them."""

from __future__ import annotations

from typing import Any

from copilog.tags import Catalogue, load_catalogue
from copilog.telemetry.scan import message_context
from copilog.trajectory import TrajectoryMessage


def scan(text: str, catalogue: Catalogue | None = None) -> dict[str, Any]:
    """Return what a message holds, without its number and its mode."""
    context = message_context(text, 0, None, catalogue or load_catalogue())
    assert (context.pop("message_index"), context.pop("mode")) == (0, None)
    return context


def user(text: str, mode: str | None = None) -> TrajectoryMessage:
    return TrajectoryMessage("user", text, mode=mode)
