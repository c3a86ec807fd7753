"""Columns of tables of figures, from the definitions of the figures: reports and the dashboard show the same ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from copilog.analysis.drill_down import FIGURES
from copilog.analysis.facts import Unit
from copilog.render.report import amounts
from copilog.render.report.blocks import Column, number

WORDS: dict[Unit, Callable[[Any], str]] = {
    "count": amounts.whole,
    "tokens": amounts.whole,
    "amount": amounts.decimal,
    "dollars": amounts.dollars,
    "ms": amounts.duration,
    "bytes": amounts.size,
    "share": amounts.percent,
}
HEADS: dict[Unit, str] = {
    "count": "Times",
    "tokens": "Tokens",
    "amount": "Amount",
    "dollars": "Cost",
    "ms": "Time",
    "bytes": "Size",
    "share": "Share",
}


def columns_of(table: str, rows: Sequence[Any], without: Collection[str] = ()) -> list[Column]:
    """Return a column for each figure of a table, in the order of the fields of its rows."""
    columns = []
    for field in rows[0].__struct_fields__ if rows else ():
        figure = FIGURES.get(f"{table}.{field}")
        if figure is not None and field not in without:
            amount = figure.amount
            head = amount.head or field.replace("_", " ").capitalize()
            columns.append(number(head, field, WORDS[amount.unit], optional=amount.is_optional, figure=figure.name))
    return columns
