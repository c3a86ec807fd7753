"""Read the rows of `spend` of billed turns, with the cost of each, and the conversations that they belong to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from copilog.analysis.cells import RECORDED, Cell, Numbers, Row
from copilog.analysis.plans import system_sql
from copilog.analysis.prices import PricedModel, PriceTable
from copilog.analysis.renames import current_name
from copilog.analysis.selection import NO_TURN, Chosen

# Positions in a row: of the first number, of the bits that say which numbers are known, of the ends of estimates.
_USED, _KNOWN, _ENDS_AT = 14, 22, 25
_ENDS = ", ".join(
    f"coalesce(s.{name}, 0)" for name in ("input_at_least", "input_at_most", "output_at_least", "output_at_most")
)
_COUNTED = ", ".join(f"coalesce(s.{name}, 0)" for name in RECORDED)
_IS_KNOWN = " + ".join(f"(s.{name} IS NOT NULL) * {1 << place}" for place, name in enumerate(RECORDED))


class Of(NamedTuple):
    """The conversation that rows belong to."""

    id: str
    title: str
    workspace: str | None
    repository: str | None
    branch: str | None
    source: str


def spent(
    chosen: Chosen, table: PriceTable | None, cells: dict[Row, Cell], every_model: PricedModel | None = None
) -> Iterator[tuple[int, int, Cell, Numbers]]:
    """Yield the billed rows, by conversation: conversation, turn, cell, and the numbers with their cost.

    Cells are stored in `cells`, so that equal ones are the same object; by keys that begin with the day and end with
    the repository.
    """
    chosen.note_bill()
    prompts = "s.prompts" if _has_long_prices(table, every_model) else "NULL"
    rows = chosen.connection.execute(
        f"""
        SELECT c.conversation, t.turn, t.day, s.model, {current_name("s.agent")}, s.subagent, s.source, s.method,
               s.payer, {system_sql(chosen.plan, "s.billing", "t.day")}, s.has_credits, t.outcome, t.is_unanswered,
               coalesce(t.repository, c.repository),
               {_COUNTED}, {_IS_KNOWN}, {prompts}, coalesce(s.credits_within, 0), {_ENDS}
        FROM temp.billed AS c
        CROSS JOIN spend AS s ON s.conversation = c.conversation
        CROSS JOIN temp.billed_turn AS t ON t.conversation = s.conversation AND t.turn = coalesce(s.turn, {NO_TURN})
        ORDER BY c.conversation
        """  # noqa: S608 - numbers and names of our own
    )
    is_asked = table is not None
    for row in rows:
        key = row[2:_USED]
        cell = cells.get(key)
        if cell is None:
            cell = cells[key] = Cell(key, table, chosen.plan.discount, every_model)
        if cell.is_estimated:
            yield row[0], row[1], cell, cell.estimated(row[_USED:_KNOWN], row[_KNOWN], row[_ENDS_AT:])
        else:
            more = row[_KNOWN + 1 : _ENDS_AT]  # prompts, and credits within
            yield row[0], row[1], cell, cell.recorded(row[_USED:_KNOWN], row[_KNOWN], is_asked, *more)


def _has_long_prices(table: PriceTable | None, every_model: PricedModel | None) -> bool:
    """Return whether any model has a price for long prompts, so that prompts of calls have to be read."""
    models = [every_model] if every_model is not None else table.models.values() if table is not None else ()
    return any(price.long is not None for model in models if model is not None for price in model.prices)


def conversations_of(connection: sqlite3.Connection) -> dict[int, Of]:
    """Return the conversations of the bill by number."""
    rows = connection.execute("SELECT conversation, id, title, workspace, repository, branch, source FROM temp.billed")
    return {number: Of(*rest) for number, *rest in rows}


def elsewhere(connection: sqlite3.Connection, known: Mapping[int, Of]) -> dict[int, dict[int, Of]]:
    """Return, by conversation and turn, what turns belong to that were sent in another repository or branch."""
    found: dict[int, dict[int, Of]] = {}
    rows = connection.execute(
        "SELECT t.conversation, t.position, t.git_repository, t.git_branch"
        " FROM turn AS t INDEXED BY turn_elsewhere WHERE t.git_branch IS NOT NULL"
    )
    for number, turn, repository, branch in rows:
        if number in known:
            of = known[number]._replace(repository=repository or None, branch=branch or None)
            found.setdefault(number, {})[turn] = of
    return found


def loaded_skills(connection: sqlite3.Connection) -> dict[int, dict[int, set[str]]]:
    """Return the loaded skills by conversation and turn."""
    loaded: dict[int, dict[int, set[str]]] = {}
    rows = connection.execute(
        "SELECT k.conversation, k.turn, k.name FROM temp.billed AS c"
        " CROSS JOIN skill AS k ON k.conversation = c.conversation WHERE k.is_loaded AND k.turn IS NOT NULL"
    )
    for conversation, turn, name in rows:
        loaded.setdefault(conversation, {}).setdefault(turn, set()).add(name)
    return loaded
