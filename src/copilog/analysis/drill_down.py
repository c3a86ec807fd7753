"""List the conversations that a number counts: the rows of its figure, grouped by conversation.

`FIGURES` is the registry of figures. A new one is an amount in one of the tables that it is made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from copilog.analysis import (
    activity,
    agents,
    models,
    references,
    sequences,
    skills,
    token_figures,
    tokens,
    tools,
    totals,
    work_outcomes,
)
from copilog.analysis.facts import Amount, Key, Table, Unit
from copilog.analysis.figures import Figures
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.errors import UsageError
from copilog.model import turn_number

TABLES: tuple[Table, ...] = (
    totals.CONVERSATIONS,
    totals.SOURCES,
    totals.DOCUMENTS,
    totals.TURNS,
    totals.MESSAGES,
    totals.TOOL_CALLS,
    totals.ALL_EDITS,
    *token_figures.TABLES,
    tokens.TOKENS_OF_TOOLS,
    tokens.COMPOSED,
    tokens.SHARES,
    tokens.SUPERSEDED,
    models.MODELS,
    models.UNKNOWN_MODEL,
    models.SWITCHES,
    models.ALL_SWITCHES,
    models.CONFLICTS,
    tools.ALL_CALLS,
    tools.ALL_IN_ORDER,
    tools.TOOLS,
    tools.IN_ORDER,
    tools.SERVERS,
    tools.PROGRAMS,
    sequences.SEQUENCES,
    agents.AGENTS_AT_WORK,
    agents.CONVERSATIONS_OF_AGENTS,
    agents.CALLS_OF_AGENTS,
    agents.HANDOVERS,
    skills.SKILL_TURNS,
    work_outcomes.EDIT_FIGURES,
    work_outcomes.TOP_FILES,
    work_outcomes.IMPORTANT_FILES,
    work_outcomes.LANGUAGES,
    work_outcomes.TURN_FIGURES,
    work_outcomes.VOTE_REASONS,
    work_outcomes.ERRORS,
    references.REFERENCES,
    activity.DAYS,
    *activity.TURNS_BY_CLOCK.values(),
    *activity.CALLS_BY_CLOCK.values(),
    activity.PARALLEL,
)


class Figure(NamedTuple):
    """A number of docs/metrics.md, or a column of its numbers."""

    name: str  # "tools.tools.failed"
    field: str  # "failed"
    table: Table

    @property
    def amount(self) -> Amount:
        return self.table.amounts[self.field]

    def number(self, chosen: Chosen, key: Key = ()) -> Any:
        """Return the total of the rows: the same as the field of the section or of the row."""
        return self.amount.aggregate.of([row.amount for row in self.table.rows(chosen, self.field, key)])


FIGURES = {
    f"{table.name}.{field}": Figure(f"{table.name}.{field}", field, table)
    for table in TABLES
    for field in table.amounts
}


class ConversationRow(Figures, kw_only=True):
    """A conversation, and how much of it counts."""

    id: str
    title: str
    workspace: str | None
    at: str | None  # the time of its last activity
    amount: float
    turn: int | None  # the first that counts, if recorded; from 0, deprecated
    number: int | None = None  # of that turn, from 1

    def __post_init__(self) -> None:
        self.number = turn_number(self.turn)


class DrillDown(Figures, kw_only=True):
    """The conversations that a number counts."""

    heading: str
    unit: Unit
    rows: list[ConversationRow]  # those with the largest amount first


def drill_down(chosen: Chosen, name: str, *values: str) -> DrillDown:
    """Return the conversations that a figure counts. Raise UsageError if there is no such figure or value."""
    figure = figure_of(name)
    amounts: dict[int, list[Any]] = {}
    turns: dict[int, int] = {}
    aggregate = figure.amount.aggregate
    for _, conversation, turn, amount in figure.table.rows(chosen, figure.field, figure.table.key_of(values)):
        if amount or aggregate.counts_zero:
            amounts.setdefault(conversation, []).append(amount)
            if turn is not None and turn != NO_TURN:
                turns[conversation] = min(turns.get(conversation, turn), turn)
    rows = [
        ConversationRow(
            id=id_,
            title=title,
            workspace=workspace,
            at=at,
            amount=aggregate.of(amounts[number]),
            turn=turns.get(number),
        )
        for number, id_, title, workspace, at in chosen.connection.execute(
            "SELECT conversation, id, title, workspace, at FROM temp.billed"
        )
        if number in amounts
    ]
    # By last activity, then by amount: sorting keeps the order of equals.
    rows.sort(key=lambda row: row.at or "", reverse=True)
    rows.sort(key=lambda row: -row.amount)
    return DrillDown(heading=figure.table.heading(figure.field, values), unit=figure.amount.unit, rows=rows)


def figure_of(name: str) -> Figure:
    if name not in FIGURES:
        raise UsageError(f"there is no figure {name!r}; docs/metrics.md lists all of them")
    return FIGURES[name]
