"""Export a list of conversations as CSV: a row for each, with its counts and with recorded tokens and cost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from copilog import jsonio
from copilog.exports.dataset_rows import rows_of
from copilog.exports.dataset_schema import CONVERSATIONS, SPENDING
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry
from copilog.model import Conversation
from copilog.view.csv_text import csv_cell

AMOUNTS = ("input", "output", "cache_read", "cache_write", "reasoning", "premium_requests", "credits")
COLUMNS = (*(column.name for column in CONVERSATIONS.columns), *AMOUNTS)


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[str]:  # noqa: ARG001
    for number, conversation in enumerate(conversations):
        if number == 0:
            yield _line(COLUMNS)
        yield _line(_cells(conversation))


def _cells(conversation: Conversation) -> Iterator[str]:
    row: dict[str, Any] = {}
    for table, values in rows_of(conversation):
        if table is CONVERSATIONS:
            row |= values
        elif table is SPENDING and values["method"] != "estimated":
            for name in AMOUNTS:
                if values[name] is not None:
                    row[name] = (row.get(name) or 0) + values[name]
    return (_cell(row.get(name)) for name in COLUMNS)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return jsonio.encode(value) if value else ""
    if isinstance(value, int | float):
        return str(value)
    return csv_cell(value if isinstance(value, str) else value.isoformat())


def _line(cells: Iterable[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


FORMAT = Format("csv", "CSV list", ".csv", "text/csv; charset=utf-8", _pieces, shape="lines")
