"""What the turns of a conversation were charged, as figures of spending have it."""

from __future__ import annotations

from typing import NamedTuple

from copilog.model import Usage


class Charge(NamedTuple):
    """Recorded tokens and cost of a turn; without a turn, those that belong to none."""

    turn: int | None
    usage: Usage
    is_unanswered: bool = False  # the turn failed or was cancelled: its premium requests are apart
    is_superseded: bool = False
    is_spread: bool = False  # a part of the cost was recorded for several turns together, and is divided among them
