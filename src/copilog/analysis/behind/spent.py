"""Tokens, credits and premium requests: the records behind a number."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.analysis.behind.found import Found, one_of
from copilog.analysis.prices import price_table
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.tallies import NO_MODEL
from copilog.derive.model_names import key_of

_HAS_TOKENS = "coalesce(s.input, 0) + coalesce(s.output, 0) > 0"
AMOUNTS = {
    "recorded": f"s.method <> 'estimated' AND {_HAS_TOKENS}",
    "estimated": f"s.method = 'estimated' AND {_HAS_TOKENS}",
    "premium-requests": "s.premium_requests <> 0",
    "credits": "s.credits <> 0",
}


def spent(chosen: Chosen, what: str) -> Found:
    for conversation, turn, *_ in _records(chosen, AMOUNTS[one_of(what, AMOUNTS)]):
        yield conversation, turn, 1


def priced(chosen: Chosen) -> Found:
    """Recorded tokens of models that have a price."""
    records = list(_records(chosen, AMOUNTS["recorded"]))
    table = price_table({model for *_, model in records if model})
    if table is None:
        return
    for conversation, turn, day, model in records:
        if table.price_at(model, day) is not None:
            yield conversation, turn, 1


def by_model(chosen: Chosen, name: str) -> Found:
    wanted = NO_MODEL if name == NO_MODEL else key_of(name)
    for conversation, turn, _, model in _records(chosen, "1"):
        if (key_of(model or "") or NO_MODEL) == wanted:
            yield conversation, turn, 1


def from_origin(chosen: Chosen, source: str, method: str) -> Found:
    for conversation, turn, *_ in _records(chosen, "s.source = ? AND s.method = ?", source, method):
        yield conversation, turn, 1


def _records(chosen: Chosen, condition: str, *parameters: str) -> Iterator[tuple[int, int, str | None, str | None]]:
    """Conversation, turn, day and model of what was written down or estimated."""
    return chosen.connection.execute(
        f"""
        SELECT s.conversation, t.turn, t.day, s.model
        FROM temp.chosen AS c
        CROSS JOIN spend AS s ON s.conversation = c.conversation
        CROSS JOIN temp.chosen_turn AS t ON t.conversation = s.conversation AND t.turn = coalesce(s.turn, {NO_TURN})
        WHERE {condition}
        """,  # noqa: S608 - of our own; values are parameters
        parameters,
    )
