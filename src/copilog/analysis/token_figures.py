"""Tokens and cost as tables of figures: the rows that `tokens` adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from copilog.analysis.breakdowns import BY_CELL, BY_CONVERSATION, NO_MODEL
from copilog.analysis.cells import AMOUNTS, AT, COUNTS, Cell, Numbers, Row, is_known
from copilog.analysis.facts import DISTINCT, KNOWN_SUM, ROUNDED_SUM, SUM, Amount, Table, Unit, WalkedTable
from copilog.analysis.numbers import added
from copilog.analysis.prices import price_table
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.analysis.spent_rows import Of, conversations_of, elsewhere, loaded_skills, spent
from copilog.analysis.tokens import models_of
from copilog.derive.model_names import key_of
from copilog.model import turn_number


class Spent(NamedTuple):
    """A part of a turn's usage: a row of `spend`."""

    conversation: int
    turn: int
    of: Of
    cell: Cell
    numbers: Numbers
    skill: str = ""


def _spent(chosen: Chosen) -> Iterator[Spent]:
    conversations, cells = conversations_of(chosen.connection), dict[Row, Cell]()
    others = elsewhere(chosen.connection, conversations)
    for number, turn, cell, numbers in spent(chosen, price_table(models_of(chosen), plan=chosen.plan), cells):
        yield Spent(number, turn, others.get(number, {}).get(turn, conversations[number]), cell, numbers)


def _with_skills(chosen: Chosen) -> Iterator[Spent]:
    """Yield the usage of turns that loaded a skill, once for each skill."""
    loaded = loaded_skills(chosen.connection)
    for row in _spent(chosen):
        for skill in {name.casefold() for name in loaded.get(row.conversation, {}).get(row.turn, ())}:
            yield row._replace(skill=skill)


# --- amounts --------------------------------------------------------------------------------------------------------

_HEADINGS: dict[str, tuple[str, Unit]] = {
    "input": ("Recorded input tokens", "tokens"),
    "output": ("Recorded output tokens", "tokens"),
    "cache_read": ("Input tokens read from a cache", "tokens"),
    "cache_write": ("Input tokens written to a cache", "tokens"),
    "reasoning": ("Reasoning tokens", "tokens"),
    "calls": ("Calls of a model", "count"),
    "estimated_input": ("Estimated input tokens", "tokens"),
    "estimated_output": ("Estimated output tokens", "tokens"),
    "spread": ("Recorded tokens of a total of several turns", "tokens"),
    "unpriced": ("Recorded tokens without a price", "tokens"),
    "premium_requests": ("Premium requests of answered turns", "amount"),
    "unanswered_requests": ("Premium requests of failed and cancelled turns", "amount"),
    "spread_requests": ("Premium requests of a total of several turns", "amount"),
    "credits": ("Recorded AI credits", "amount"),
    "spread_credits": ("AI credits of a total of several turns", "amount"),
    "computed_credits": ("AI credits computed from list prices", "amount"),
    "dollars": ("Cost of recorded tokens", "dollars"),
    "averaged_dollars": ("Cost of recorded tokens priced by an average prompt", "dollars"),
    "estimated_dollars": ("Cost of estimated tokens", "dollars"),
}


def _known(name: str, row: Spent) -> float | None:
    """Return a number of a row; None if the row does not have it."""
    return row.numbers[AT[name]] if is_known(row.numbers, name) else None


def _sum_of(*names: str) -> Callable[[Spent], float | None]:
    return lambda row: added(*(_known(name, row) for name in names))


def _tokens(row: Spent) -> float:
    return sum(row.numbers[AT[name]] for name in _TOKENS)


def _numbered(row: Spent) -> tuple[int, int] | None:
    return (row.conversation, row.turn) if row.turn != NO_TURN else None


_TOKENS = ("input", "output", "estimated_input", "estimated_output")
SPENT = {
    "conversations": Amount(attrgetter("conversation"), "Conversations that used tokens", DISTINCT),
    "turns": Amount(_numbered, "Turns that used tokens", DISTINCT),
    **{name: Amount(partial(_known, name), _HEADINGS[name][0], KNOWN_SUM, _HEADINGS[name][1]) for name in COUNTS},
    **{name: Amount(partial(_known, name), _HEADINGS[name][0], ROUNDED_SUM, _HEADINGS[name][1]) for name in AMOUNTS},
    "tokens": Amount(_tokens, "Tokens, recorded or estimated", SUM._replace(counts_zero=True), "tokens"),
    "recorded": Amount(_sum_of("input", "output"), "Recorded tokens", KNOWN_SUM, "tokens"),
    "estimated": Amount(_sum_of("estimated_input", "estimated_output"), "Estimated tokens", KNOWN_SUM, "tokens"),
}
OF_ORIGIN = {
    "records": Amount(lambda _: 1, "Numbers"),
    "conversations": SPENT["conversations"],
    "input": Amount(_sum_of("input", "estimated_input"), "Input tokens", KNOWN_SUM, "tokens"),
    "output": Amount(_sum_of("output", "estimated_output"), "Output tokens", KNOWN_SUM, "tokens"),
    "premium_requests": Amount(
        _sum_of("premium_requests", "unanswered_requests"), "Premium requests", ROUNDED_SUM, "amount"
    ),
    "credits": SPENT["credits"],
}

# --- tables ---------------------------------------------------------------------------------------------------------


def _model_key(name: str) -> str:
    return name if name == NO_MODEL else key_of(name)


def _table(
    by: str,
    of: str,
    name_of: Callable[[Spent], Any],
    *,
    field: str = "name",
    fold: Callable[[str], str] | None = None,
    walk: Callable[[Chosen], Iterator[Spent]] = _spent,
) -> WalkedTable:
    def key(row: Spent) -> tuple[str, ...] | None:
        name = name_of(row)
        return None if name is None else (name,)

    return WalkedTable(name=f"tokens.by_{by}", amounts=SPENT, keys=(field,), of=of, walk=walk, key=key, fold=fold)


def _of_conversation(by: str) -> Callable[[Spent], Any]:
    return lambda row: BY_CONVERSATION[by](row.of)


def _of_cell(by: str) -> Callable[[Spent], Any]:
    return lambda row: BY_CELL[by](row.cell)


def _id_of_turn(row: Spent) -> str | None:
    return f"{row.of.id}#{turn_number(row.turn)}" if row.turn != NO_TURN else None


TABLES: list[Table] = [
    WalkedTable(name="tokens.total", amounts=SPENT, walk=_spent),
    *(_table(by, " on {}", _of_cell(by)) for by in ("day", "week", "month")),
    _table("workspace", " in {}", _of_conversation("workspace")),
    *(_table(by, f" of {by} {{}}", _of_conversation(by)) for by in ("repository", "branch")),
    *(_table(by, f" of {by} {{}}", _of_cell(by)) for by in ("payer", "system", "outcome")),
    _table("source", " in conversations from {}", _of_conversation("source")),
    _table("model", " of {}", _of_cell("model"), fold=_model_key),
    _table("agent", " of {}", _of_cell("agent"), fold=str.casefold),
    _table("subagent", " of the sub-agent {}", _of_cell("subagent"), fold=str.casefold),
    _table(
        "skill",
        " of turns that loaded the skill {}",
        attrgetter("skill"),
        walk=_with_skills,
        fold=str.casefold,
    ),
    _table("conversation", " of {}", attrgetter("of.id"), field="id"),
    _table("turn", " of {}", _id_of_turn, field="id"),
    WalkedTable(
        name="tokens.origins",
        amounts=OF_ORIGIN,
        keys=("source", "method"),
        of=" from {}, {}",
        walk=_spent,
        key=lambda row: BY_CELL["origin"](row.cell),
    ),
]
