"""A figure is one set of rows (conversation, turn, amount), defined once.

Summed, the rows are the number; grouped by a key, they are a table; grouped by conversation, they are the drill-down,
the list of conversations that the number counts. A `Table` has the figures that are computed from the same rows:
`tools.tools` has `calls` and `failed`, by the tool's name. Rows come from a query (`SqlTable`) or from a function
(`WalkedTable`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.analysis.numbers import percentile
from copilog.analysis.selection import NO_TURN, Chosen
from copilog.errors import UsageError

Unit = Literal["count", "tokens", "amount", "dollars", "ms", "bytes", "share"]
Key = tuple[Any, ...]

# All chosen turns, as `t`.
CHOSEN_TURNS = "temp.chosen_turn AS c JOIN turn AS t ON t.conversation = c.conversation AND t.position = c.turn"
# All chosen calls, as `f`: by conversation, and within it in the order in which they were made.
CHOSEN_CALLS = f"""
    temp.chosen AS k CROSS JOIN tool_call AS f ON f.conversation = k.conversation
    CROSS JOIN temp.chosen_turn AS c ON c.conversation = f.conversation AND c.turn = coalesce(f.turn, {NO_TURN})
"""


class Aggregate(NamedTuple):
    """Computes one number from the amounts of rows, in SQL and in Python; both skip rows without an amount."""

    sql: str | None  # None: computed only in Python
    of: Callable[[list[Any]], Any]
    counts_zero: bool = False  # rows with an amount of 0 count, too


DIGITS = 9  # of amounts: a token may cost less than a millionth of a dollar

SUM = Aggregate("coalesce(sum({}), 0)", sum)
REAL_SUM = Aggregate("total({})", lambda amounts: float(sum(amounts)))
KNOWN_SUM = Aggregate("sum({})", lambda amounts: sum(amounts) if amounts else None)
ROUNDED_SUM = Aggregate(None, lambda amounts: round(sum(amounts), DIGITS) if amounts else None)
DISTINCT = Aggregate("count(DISTINCT {})", lambda amounts: len(set(amounts)), counts_zero=True)
MEAN = Aggregate("avg({})", lambda amounts: sum(amounts) / len(amounts) if amounts else None, counts_zero=True)
MEDIAN = Aggregate(None, lambda amounts: percentile(sorted(amounts), 0.5), counts_zero=True)
P95 = Aggregate(None, lambda amounts: percentile(sorted(amounts), 0.95), counts_zero=True)


class Amount(NamedTuple):
    """The amount that each row of a figure adds to it."""

    of: Any  # SQL over the table's source, or a function of the rows of a `WalkedTable`
    heading: str  # of the drill-down: "Failed calls", to which the table adds " of {}"
    aggregate: Aggregate = SUM
    unit: Unit = "count"
    head: str = ""  # of a column of numbers; empty: derived from the field's name
    is_optional: bool = False  # the column is left out if it is empty


class Counted(NamedTuple):
    """One row of a figure."""

    key: Key
    conversation: int
    turn: int | None
    amount: Any


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the same rows, by a key; without one, single figures of a section."""

    name: str  # as in docs/metrics.md
    amounts: Mapping[str, Amount]  # by the names of the fields that hold the numbers
    keys: tuple[str, ...] = ()  # the fields of a row that are its key
    of: str = ""  # ends the heading of a drill-down; {} is replaced by each value of the key
    words: Mapping[str, str] = {}  # labels of values of the key
    fold: Callable[[str], str] | None = None  # returns what all spellings of a value have in common

    def rows(self, chosen: Chosen, name: str, key: Key | None = None) -> Iterator[Counted]:
        """Yield the rows of a figure, for one key or for all."""
        raise NotImplementedError

    def key_of(self, values: tuple[str, ...]) -> Key:
        """Return the key for the values of a request. Raise UsageError if they are not valid."""
        if len(values) != len(self.keys):
            raise UsageError(f"{self.name} takes {len(self.keys)} values, not {len(values)}")
        return self.folded(values)

    def heading(self, name: str, values: tuple[str, ...]) -> str:
        """Return the heading of a figure's drill-down."""
        return self.amounts[name].heading + self.of.format(*(self.words.get(value, value) for value in values))

    def values_of(self, row: Any) -> list[str]:
        """Return the values from which `key_of` makes the key of a row of the section."""
        found = (getattr(row, name) for name in self.keys)
        return [value for one in found for value in (one if isinstance(one, list) else [one])]

    def folded(self, values: Iterable[Any]) -> Key:
        return tuple(values) if self.fold is None else tuple(map(self.fold, values))


class SqlTable(Table, frozen=True, kw_only=True):
    """Figures whose rows a query returns. `by` has an expression for each of `keys`."""

    source: str  # the text after FROM
    by: tuple[str, ...] = ()
    where: str = "1"
    before: str = ""  # WITH and its tables
    conversation: str = "c.conversation"
    turn: str = "c.turn"
    prepare: Callable[[Chosen], None] | None = None  # creates the temporary tables of the source

    def rows(self, chosen: Chosen, name: str, key: Key | None = None) -> Iterator[Counted]:
        if self.prepare is not None:
            self.prepare(chosen)
        where, parameters = self.where, ()
        if key is not None and self.fold is None:
            where, parameters = " AND ".join([f"({where})", *(f"{one} = ?" for one in self.by)]), key
        columns = ", ".join((self.conversation, self.turn, str(self.amounts[name].of), *self.by))
        sql = f"{self.before} SELECT {columns} FROM {self.source} WHERE {where}"  # noqa: S608 - of our own
        for conversation, turn, amount, *values in chosen.connection.execute(sql, parameters):
            found = self.folded(values)
            if amount is not None and (key is None or found == key):
                yield Counted(found, conversation, turn, amount)

    def grouped(
        self, chosen: Chosen, *columns: str, source: str | None = None, order: str = "", limit: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Return rows of these columns, with the number of each figure that SQL can compute, as in `amounts`."""
        sums = [
            f"{amount.aggregate.sql.format(amount.of)} AS {name}"
            for name, amount in self.amounts.items()
            if amount.aggregate.sql
        ]
        by = ", ".join(str(number + 1) for number in range(len(columns)))
        return chosen.connection.execute(
            f"{self.before} SELECT {', '.join((*columns, *sums))} FROM {source or self.source} WHERE {self.where}"  # noqa: S608
            + (f" GROUP BY {by}" if by else "")
            + (f" ORDER BY {order} LIMIT {-1 if limit is None else limit}" if order else "")
        )

    def sums(
        self, chosen: Chosen, *, source: str | None = None, order: str = "", limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the numbers by the names of their fields, with the fields of the key; a row for each key."""
        names = [*self.keys, *(name for name, amount in self.amounts.items() if amount.aggregate.sql)]
        rows = self.grouped(chosen, *self.by, source=source, order=order, limit=limit)
        return [dict(zip(names, row, strict=True)) for row in rows]


class WalkedTable(Table, frozen=True, kw_only=True):
    """Figures whose rows a function returns: objects with a conversation and a turn."""

    walk: Callable[[Chosen], Iterable[Any]]
    key: Callable[[Any], Key | None] = lambda _: ()  # of a row, folded; None: the row is not counted

    def rows(self, chosen: Chosen, name: str, key: Key | None = None) -> Iterator[Counted]:
        amount_of = self.amounts[name].of
        for row in self.walk(chosen):
            found = self.key(row)
            if found is not None and key in (None, found):
                amount = amount_of(row)
                if amount is not None:
                    yield Counted(found, row.conversation, row.turn, amount)

    def sums(self, rows: Iterable[Any]) -> dict[Key, dict[str, Any]]:
        """Return the numbers by the names of their fields, by key."""
        grouped: dict[Key, list[Any]] = {}
        for row in rows:
            key = self.key(row)
            if key is not None:
                grouped.setdefault(key, []).append(row)
        return {key: self.numbers(some) for key, some in grouped.items()}

    def numbers(self, rows: list[Any]) -> dict[str, Any]:
        """Return the numbers of some rows, by the names of their fields."""
        return {
            name: aggregate.of([value for value in map(of, rows) if value is not None])
            for name, (of, _, aggregate, *_) in self.amounts.items()
        }


class TableByKind(Table, frozen=True, kw_only=True):
    """Several tables as one: the first value of the key names one of them."""

    tables: Mapping[str, Table]
    amounts: Mapping[str, Amount] = {}  # those of the tables

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "amounts", next(iter(self.tables.values())).amounts)

    def rows(self, chosen: Chosen, name: str, key: Key | None = None) -> Iterator[Counted]:
        for kind, table in self.tables.items():
            if key is None or key[0] == kind:
                for row in table.rows(chosen, name, None if key is None else key[1:]):
                    yield row._replace(key=(kind, *row.key))

    def key_of(self, values: tuple[str, ...]) -> Key:
        kind, *rest = super().key_of(values)
        return one_of(kind, self.tables), *self.tables[kind].key_of(tuple(rest))


def one_of(value: str, known: Iterable[str]) -> str:
    """Return the value if it is one of the known ones; raise UsageError otherwise."""
    names = list(known)
    if value not in names:
        raise UsageError(f"{value!r} is not one of {', '.join(names)}")
    return value
