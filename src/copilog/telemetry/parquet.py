"""Rows of a Parquet table as lines of JSON. The library is an extra, and imported only when there is such a file."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterator
from typing import Any

import msgspec

from copilog.errors import BadFile

ENVELOPE = ("name", "time", "properties", "measurements")
EVENT = "event"
NO_RECORD = b"null\n"  # a row without readable values; R-4 counts it

_ROWS_AT_ONCE = 64  # a row may hold megabytes
_READ_BYTES = 1 << 20
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def lines(path: str, damage: list[str]) -> Iterator[bytes]:
    """Yield one line per row. Raise BadFile if no known column exists; a later error is added to `damage`."""
    try:
        arrow = importlib.import_module("pyarrow")
        tables = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise BadFile("is a Parquet table; to read it: pip install 'copilog[parquet]'", "missing-library") from None
    broken = (arrow.ArrowException, OSError)
    try:
        with tables.ParquetFile(path, buffer_size=_READ_BYTES, pre_buffer=False) as table:
            columns = _columns(table.schema_arrow.names)
            batches = table.iter_batches(_ROWS_AT_ONCE, columns=list(columns.values()), use_threads=False)
            for batch in batches:
                yield from _lines_of(batch, columns, arrow)
    except broken as error:
        reason = str(error).partition("\n")[0]
        damage.append(f"cannot be read as Parquet: {reason}")


def _columns(names: list[str]) -> dict[str, str]:
    """Return the columns to read: the meaning and the spelling of each. The exact spelling comes first."""
    spelled = {name.lower(): name for name in reversed(names)} | {name: name for name in names}
    if "name" in spelled and "properties" in spelled:
        return {meaning: spelled[meaning] for meaning in ENVELOPE if meaning in spelled}
    if EVENT in spelled:
        return {EVENT: spelled[EVENT]}
    raise BadFile("has neither a column `event` nor the columns `name` and `properties`")


def _lines_of(batch: Any, columns: dict[str, str], arrow: Any) -> Iterator[bytes]:
    found = {
        meaning: _column_values(batch.column(batch.schema.names.index(name)), arrow)
        for meaning, name in columns.items()
    }
    if EVENT in found:
        yield from map(_event_line, found[EVENT])
        return
    for row in zip(*found.values(), strict=True):
        if _UNREADABLE in row:
            yield NO_RECORD
        else:
            yield _encoded({meaning: value for meaning, value in zip(found, row, strict=True) if value is not None})


def _event_line(value: Any) -> bytes:
    """Return one event on one line. A line feed becomes other whitespace, which is just as invalid inside a text."""
    if isinstance(value, str):
        return value.replace("\n", "\r").encode("utf-8") + b"\n" if value.strip() else NO_RECORD
    return NO_RECORD if value is None or value is _UNREADABLE else _encoded(value)


class _Unreadable:
    """The value of a cell whose bytes are not text."""


_UNREADABLE = _Unreadable()


def _column_values(column: Any, arrow: Any) -> Iterator[Any]:
    if arrow.types.is_timestamp(column.type):
        unit = column.type.unit
        return (None if count is None else _time(count, unit) for count in column.cast(arrow.int64()).to_pylist())
    return map(_plain_value, column)


def _plain_value(scalar: Any) -> Any:
    try:
        return _plain(scalar.as_py())
    except UnicodeDecodeError:
        return _UNREADABLE


def _plain(value: Any) -> Any:
    """Return a value as JSON: pairs of a map become an object, nulls in it are absent, bytes are text."""
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = dict(value)
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, enc_hook=str) + b"\n"


def _time(count: int, unit: str) -> str | None:
    """Return a timestamp as ISO-8601 in UTC, with as many digits as its unit has."""
    digits = _DIGITS[unit]
    seconds, fraction = divmod(count, 10**digits)
    try:
        moment = _EPOCH + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return None
    text = moment.isoformat()[:19]
    return f"{text}.{fraction:0{digits}}Z" if digits else f"{text}Z"
