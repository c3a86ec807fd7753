"""Export conversations as a dataset of Parquet files, which polars, DuckDB, pandas and Spark read.

    conversations/month=2026-05/part-0.parquet      and so on for each table of `dataset_schema`
    README.md                                       the card of the dataset

Rows are written as soon as there are enough of them, so that memory does not grow with the number of conversations.
"""

from __future__ import annotations

import importlib
from collections import Counter, OrderedDict
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from copilog.errors import UsageError
from copilog.exports.dataset_card import card
from copilog.exports.dataset_rows import Row, month_of, rows_of
from copilog.exports.dataset_schema import MONTH, TABLES, Table
from copilog.exports.formats import Format, Making, no_single_file
from copilog.exports.uncarried import count_uncarried
from copilog.model import Conversation

GROUP_BYTES = 16 << 20  # of texts, after which a group of rows is written
MOST_BYTES = 64 << 20  # of texts in memory, of all tables and months
MOST_FILES = 24  # that are open at once
CARRIED = frozenset(
    {
        "text",
        "prompt",
        "thinking",
        "tool-call",
        "tool-result",
        "full-text",
        "terminal",
        "file-edit",
        "mention",
        "reference",
    }
    | {"turn.error", "turn.vote", "turn.edited_files", "turn.usage", "conversation.usage", "superseded"}
)

Key = tuple[Table, str]  # a table, and a month of it


class _Files:
    """The files of a dataset: rows are collected, and written in groups."""

    def __init__(self, folder: Path) -> None:
        self.paths: list[Path] = []
        self.counts: Counter[str] = Counter()
        self._folder = folder
        self._arrow, self._parquet = _libraries()
        self._schemas = {table: self._schema_of(table) for table in TABLES}
        self._rows: dict[Key, list[Row]] = {}
        self._sizes: Counter[Key] = Counter()
        self._open: OrderedDict[Key, Any] = OrderedDict()
        self._parts: Counter[Key] = Counter()

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for writer in self._open.values():
            writer.close()

    def add(self, table: Table, month: str, row: Row) -> None:
        key = table, month
        self._rows.setdefault(key, []).append(row)
        self._sizes[key] += 64 + sum(len(value) for value in row.values() if isinstance(value, str))
        self.counts[table.name] += 1
        if self._sizes[key] > GROUP_BYTES:
            self._write(key)
        elif self._sizes.total() > MOST_BYTES:
            self._write(self._sizes.most_common(1)[0][0])

    def finish(self) -> None:
        """Write the rest. A table without rows gets a file, too, so that its columns can be read."""
        if not self.counts:
            return
        month = next(iter(self._rows or self._parts))[1]
        for table in TABLES:
            if not self.counts[table.name]:
                self._rows[table, month] = []
        for key in list(self._rows):
            self._write(key)

    def _write(self, key: Key) -> None:
        rows = self._rows.pop(key)
        del self._sizes[key]
        schema = self._schemas[key[0]]
        self._writer(key, schema).write_table(self._arrow.Table.from_pylist(rows, schema=schema))

    def _writer(self, key: Key, schema: Any) -> Any:
        """Return the open file of a month of a table. A file that was closed for others is followed by another part."""
        if key in self._open:
            self._open.move_to_end(key)
            return self._open[key]
        if len(self._open) >= MOST_FILES:
            self._open.popitem(last=False)[1].close()
        table, month = key
        path = self._folder / table.name / f"{MONTH}={month}" / f"part-{self._parts[key]}.parquet"
        self._parts[key] += 1
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        self.paths.append(path)
        self._open[key] = self._parquet.ParquetWriter(path, schema, compression="zstd")
        return self._open[key]

    def _schema_of(self, table: Table) -> Any:
        arrow = self._arrow
        types = {
            "text": arrow.string(),
            "integer": arrow.int64(),
            "number": arrow.float64(),
            "flag": arrow.bool_(),
            "time": arrow.timestamp("us", tz="UTC"),
            "texts": arrow.list_(arrow.string()),
        }
        fields = [
            arrow.field(column.name, types[column.type], metadata={"description": column.meaning})
            for column in table.columns
        ]
        return arrow.schema(fields, metadata={"description": table.meaning})


def _libraries() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError("to write Parquet: pip install 'copilog[parquet]'") from None


def _write_folder(conversations: Iterable[Conversation], folder: Path, making: Making) -> list[Path]:
    with _Files(folder) as files:
        for conversation in conversations:
            count_uncarried(conversation, making, CARRIED)
            month = month_of(conversation)
            for table, row in rows_of(conversation, making.calibration):
                files.add(table, month, row)
        files.finish()
    if not files.paths:
        return []
    readme = folder / "README.md"
    readme.touch(mode=0o600)
    readme.write_text(card(files.counts, making), encoding="utf-8")
    return [readme, *files.paths]


FORMAT = Format(
    "parquet",
    "Parquet dataset",
    "",
    "application/vnd.apache.parquet",
    no_single_file,
    shape="dataset",
    write_folder=_write_folder,
)
