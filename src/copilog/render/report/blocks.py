"""What a page consists of: sections of blocks. Templates draw each kind of block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from markupsafe import Markup

from copilog.render.report import amounts


@dataclass(frozen=True)
class Column:
    """One column of a table: how a row's value is read and shown."""

    head: str
    value: Callable[[Any], Any]
    words: Callable[[Any], str]
    is_number: bool = True
    is_optional: bool = False  # left out if it is empty in all rows
    figure: str | None = None  # the class of its numbers


@dataclass(frozen=True)
class Cell:
    text: str
    is_number: bool = False
    link: str | None = None


@dataclass
class Table:
    kind: ClassVar[str] = "table"
    caption: str
    heads: list[Cell]
    rows: list[list[Cell]]
    note: str | None = None


@dataclass
class Figure:
    """One main figure."""

    label: str
    value: str
    note: str | None = None
    spark: Markup | None = None
    link: str | None = None


@dataclass
class Figures:
    kind: ClassVar[str] = "figures"
    figures: list[Figure]


@dataclass
class Chart:
    kind: ClassVar[str] = "chart"
    caption: str
    pictures: list[Markup]
    legend: list[tuple[str, str]] = field(default_factory=list)  # class, text
    note: str | None = None
    table: Table | None = None
    is_wide: bool = False  # scrolls sideways if it does not fit


@dataclass
class Paragraph:
    kind: ClassVar[str] = "paragraph"
    text: str


@dataclass
class Names:
    """A list of names."""

    kind: ClassVar[str] = "names"
    caption: str
    names: list[str]


@dataclass
class Facts:
    """Terms and their values."""

    kind: ClassVar[str] = "facts"
    caption: str
    facts: list[tuple[str, str]]


@dataclass
class Row:
    """Blocks beside one another if they fit."""

    kind: ClassVar[str] = "row"
    blocks: list[Any]


Block = Table | Figures | Chart | Paragraph | Names | Facts | Row


@dataclass
class Section:
    key: str
    title: str
    lead: str
    blocks: list[Block]


# --- tables ---------------------------------------------------------------------------------------------------------


def text(head: str, field_name: str) -> Column:
    return Column(head, lambda row: getattr(row, field_name), _text_value, is_number=False)


def number(
    head: str,
    field_name: str,
    words: Callable[[Any], str] = amounts.whole,
    *,
    optional: bool = False,
    figure: str | None = None,
) -> Column:
    return Column(head, lambda row: getattr(row, field_name), words, is_optional=optional, figure=figure)


def worked_out(
    head: str, value: Callable[[Any], Any], words: Callable[[Any], str] = amounts.whole, *, optional: bool = False
) -> Column:
    return Column(head, value, words, is_optional=optional)


def worded(head: str, value: Callable[[Any], str | None], *, optional: bool = False) -> Column:
    return Column(head, value, _text_value, is_number=False, is_optional=optional)


def table_of(caption: str, rows: Sequence[Any], columns: Sequence[Column], note: str | None = None) -> Table:
    """Return rows as a table, without optional columns that are empty."""
    kept = [column for column in columns if not column.is_optional or any(column.value(row) for row in rows)]
    heads = [Cell(column.head, column.is_number) for column in kept]
    cells = [[Cell(column.words(column.value(row)), column.is_number) for column in kept] for row in rows]
    return Table(caption, heads, cells, note)


def _text_value(value: str | None) -> str:
    return amounts.shown(value) if value else amounts.NONE
