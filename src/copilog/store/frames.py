"""Return rows as Arrow tables and data frames. Their libraries are optional."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.errors import CopilogError, UsageError
from copilog.store.schema import VIEWS
from copilog.store.summary import LISTS
from copilog.store.times import timestamp_from

Kind = Literal["text", "integer", "number", "flag", "time", "texts"]


class Column(NamedTuple):
    """A column's values, and their kind if they are not None."""

    kind: Kind
    values: list[Any]


Columns = dict[str, Column]


def columns_of_view(connection: sqlite3.Connection, view: str) -> Columns:
    """Return all rows of a view as Python values: times, flags and lists instead of texts and numbers."""
    if view not in VIEWS:
        raise UsageError(f"{view!r} is not a view of the archive; the views are {', '.join(VIEWS)}")
    described = connection.execute("SELECT name, type FROM pragma_table_info(?)", (view,)).fetchall()
    kinds = {name: _kind_of(view, name, declared) for name, declared in described}
    names = ", ".join(kinds)
    rows = connection.execute(f"SELECT {names} FROM {view}").fetchall()  # noqa: S608 - names of our own
    values = zip(*rows, strict=True) if rows else ([] for _ in kinds)
    return {
        name: Column(kind, _converted(kind, column)) for (name, kind), column in zip(kinds.items(), values, strict=True)
    }


def columns_of_rows(rows: Sequence[Mapping[str, Any] | msgspec.Struct]) -> Columns:
    """Return dictionaries or structs, such as the hits of a search, as columns. The first value defines the kind."""
    maps = [msgspec.structs.asdict(row) if isinstance(row, msgspec.Struct) else row for row in rows]
    names = dict.fromkeys(name for row in maps for name in row)
    return {name: _column([row.get(name) for row in maps]) for name in names}


def arrow(columns: Columns) -> Any:
    """Return a pyarrow.Table."""
    library = _library("pyarrow")
    types = {
        "text": library.string(),
        "integer": library.int64(),
        "number": library.float64(),
        "flag": library.bool_(),
        "time": library.timestamp("ms", tz="UTC"),
        "texts": library.list_(library.string()),
    }
    return library.table({name: library.array(column.values, types[column.kind]) for name, column in columns.items()})


def polars(columns: Columns) -> Any:
    """Return a polars.DataFrame."""
    library = _library("polars")
    types = {
        "text": library.String,
        "integer": library.Int64,
        "number": library.Float64,
        "flag": library.Boolean,
        "time": library.Datetime("ms", "UTC"),
        "texts": library.List(library.String),
    }
    return library.DataFrame(
        {name: column.values for name, column in columns.items()},
        schema={name: types[column.kind] for name, column in columns.items()},
    )


def pandas(columns: Columns) -> Any:
    """Return a pandas.DataFrame, with nullable types."""
    library = _library("pandas")
    types = {"integer": "Int64", "number": "Float64", "flag": "boolean", "time": "datetime64[ms, UTC]"}
    return library.DataFrame(
        {
            name: library.Series(column.values, dtype=types.get(column.kind, "object"))
            for name, column in columns.items()
        }
    )


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise CopilogError(f"{name} is not installed; `pip install {name}` adds it") from None


def _kind_of(view: str, name: str, declared: str) -> Kind:
    if name.startswith("is_"):
        return "flag"
    if name.endswith("_at") or name == "at":
        return "time"
    if (view == "conversations" and name in LISTS) or name == "programs":
        return "texts"
    if name == "number":  # computed by the view, so without a declared type
        return "integer"
    kinds: dict[str, Kind] = {"INTEGER": "integer", "REAL": "number"}
    return kinds.get(declared.upper(), "text")


def _converted(kind: Kind, values: Iterable[Any]) -> list[Any]:
    conversions: dict[Kind, Callable[[Any], Any]] = {"flag": bool, "time": timestamp_from, "texts": _decode_list}
    convert = conversions.get(kind)
    if convert is None:
        return list(values)
    return [None if value is None else convert(value) for value in values]


_decode_list = msgspec.json.Decoder(list[str]).decode


def _column(values: list[Any]) -> Column:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, bool):
        return Column("flag", values)
    if isinstance(first, int) and all(value is None or isinstance(value, int) for value in values):
        return Column("integer", values)
    if isinstance(first, int | float):
        return Column("number", values)
    if isinstance(first, datetime):
        return Column("time", [value and value.astimezone(UTC) for value in values])
    if isinstance(first, list | tuple) and all(isinstance(item, str) for value in values for item in value or ()):
        return Column("texts", [None if value is None else list(value) for value in values])
    return Column("text", [value if value is None or isinstance(value, str) else _as_json(value) for value in values])


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
