"""What stands behind a number: conversations, with a turn of each and how much of it counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from copilog.analysis.selection import Chosen
from copilog.errors import UsageError

Found = Iterable[tuple[int, int | None, int]]  # conversation, turn, how many

# All turns that were chosen, as `t`.
CHOSEN_TURNS = "temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn"


def turns_where(chosen: Chosen, condition: str, *parameters: Any) -> Found:
    return chosen.connection.execute(
        f"SELECT c.conversation, c.turn, 1 FROM {CHOSEN_TURNS} WHERE {condition}",  # noqa: S608 - of our own
        parameters,
    )


def one_of(value: str, known: Iterable[str]) -> str:
    names = list(known)
    if value not in names:
        raise UsageError(f"{value!r} is none of {', '.join(names)}")
    return value
