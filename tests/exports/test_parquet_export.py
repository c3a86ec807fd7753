"""The Parquet dataset: read by polars, DuckDB, pandas and pyarrow, with figures of the archive, in bounded memory."""

from __future__ import annotations

import importlib
import stat
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pandas
import polars
import pyarrow.parquet
import pytest
import yaml

import copilog
from copilog.errors import UsageError
from copilog.exports import parquet
from copilog.exports.chosen import Chosen
from copilog.exports.dataset_card import schema_text
from copilog.exports.dataset_schema import TABLES, Table
from copilog.exports.formats import Making
from copilog.exports.index import entry_of
from copilog.exports.writing import write
from copilog.model import Conversation, Text, Turn
from copilog.store.archive import Archive
from tests.cli.homes import run
from tests.exports.conversations import (
    a_conversation,
    corpus_conversations,
    exported,
    format_of,
    hostile_conversations,
    sample_conversations,
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset") / "sample"
    exported(sample_conversations(), "parquet", folder)
    return folder


def rows_of(folder: Path, table: str) -> list[dict[str, Any]]:
    return polars.read_parquet(folder / table / "**" / "*.parquet", hive_partitioning=True).to_dicts()


def queried(sql: str) -> list[Any]:
    return duckdb.connect().execute(sql).fetchall()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_polars_duckdb_pandas_and_pyarrow_read_each_table(sample: Path, table: Table) -> None:
    names = [column.name for column in table.columns]
    with_polars = polars.read_parquet(sample / table.name / "**" / "*.parquet", hive_partitioning=True)
    query = f"SELECT * FROM read_parquet('{sample / table.name}/*/*.parquet', hive_partitioning = true)"
    duckdb_names = [row[0] for row in queried(f"DESCRIBE {query}")]
    [duckdb_counts] = queried(f"SELECT count(COLUMNS(*)) FROM ({query})")
    with_pandas = pandas.read_parquet(sample / table.name)
    with_arrow = pyarrow.parquet.read_table(sample / table.name)
    assert with_polars.columns == duckdb_names == list(with_pandas.columns) == [*names, "month"]
    assert with_arrow.column_names == with_polars.columns
    assert len(with_polars) == max(duckdb_counts) == len(with_pandas) == len(with_arrow) > 0
    assert set(with_polars["month"]) == {str(value) for value in with_pandas["month"]} <= {
        "2026-03", "2026-04", "2026-05",
    }  # fmt: skip


def test_types_are_those_of_the_schema(sample: Path) -> None:
    types = {
        "text": polars.String(),
        "integer": polars.Int64(),
        "number": polars.Float64(),
        "flag": polars.Boolean(),
        "time": polars.Datetime("us", "UTC"),
        "texts": polars.List(polars.String()),
    }
    for table in TABLES:
        found = polars.read_parquet_schema(next((sample / table.name).rglob("*.parquet")))
        assert found == {column.name: types[column.type] for column in table.columns}


def test_a_column_has_its_meaning_in_the_file(sample: Path) -> None:
    schema = pyarrow.parquet.read_schema(next((sample / "edits").rglob("*.parquet")))
    assert schema.field("path").metadata == {b"description": b"path of the file"}


def test_rows_join_and_have_the_texts(sample: Path) -> None:
    found = queried(
        f"""
        SELECT m.text, c.name, c.result FROM read_parquet('{sample}/tool_calls/*/*.parquet') AS c
        JOIN read_parquet('{sample}/messages/*/*.parquet') AS m USING (conversation, message)
        WHERE c.result IS NOT NULL AND m.role = 'assistant'
        """
    )
    assert len(found) > 30
    assert "read_file" in {name for _, name, _ in found}


@pytest.fixture(scope="module")
def archive_of_sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    path = tmp_path_factory.mktemp("archive") / "sample.db"
    assert run("list", "--archive", path, "--sample").code == 0
    with Archive(path) as archive:
        yield archive


def test_figures_are_those_of_the_archive(archive_of_sample: Archive, tmp_path: Path) -> None:
    copilog.export(archive_of_sample, "parquet", tmp_path / "data")
    connection = archive_of_sample.connection
    for table, columns in {
        "spending": ("input", "output", "cache_read", "calls", "premium_requests", "credits"),
        "tool_calls": ("exit_code", "elapsed_ms"),
        "turns": ("elapsed_ms", "vote"),
    }.items():
        sums = ", ".join(f"sum({name})" for name in columns)
        condition = "" if table == "tool_calls" else " WHERE superseded IS NULL"
        expected = connection.execute(f"SELECT count(*), {sums} FROM {table}{condition}").fetchone()
        query = f"SELECT count(*), {sums} FROM read_parquet('{tmp_path}/data/{table}/*/*.parquet'){condition}"
        assert queried(query)[0] == pytest.approx(tuple(expected)), table


def test_the_card_has_the_front_matter_that_hugging_face_reads(sample: Path) -> None:
    _, front, text = (sample / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(front)
    assert [each["config_name"] for each in about["configs"]] == [table.name for table in TABLES]
    assert about["size_categories"] == ["n<1K"]
    for each in about["configs"]:
        assert list(sample.glob(each["data_files"]))
    assert schema_text() in text
    assert f"| `conversations` | {len(sample_conversations())} |" in text


def test_only_the_owner_may_read_the_files(sample: Path) -> None:
    paths = [path for path in sample.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


def test_hostile_texts_are_rows(tmp_path: Path) -> None:
    exported(hostile_conversations(), "parquet", tmp_path / "data")
    texts = [row["text"] for row in rows_of(tmp_path / "data", "messages") if row["role"] == "user"]
    assert len(texts) == len(hostile_conversations())
    assert "Look: tide\0table" in texts
    assert "Look: tide \ufffd table \ufffd" in texts
    assert len(rows_of(tmp_path / "data", "turns")) == len(texts)


@pytest.mark.corpus
def test_the_corpus_becomes_a_dataset(tmp_path: Path, corpus: Path) -> None:
    conversations = corpus_conversations(corpus)
    exported(list(conversations), "parquet", tmp_path / "data")
    assert len(rows_of(tmp_path / "data", "conversations")) == len(conversations)
    assert len(rows_of(tmp_path / "data", "messages")) == sum(len(each.messages) for each in conversations)


def test_turns_that_no_longer_count_have_the_reason(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns[0].superseded = "undone"
    exported([whole], "parquet", tmp_path / "data")
    for table in ("turns", "messages", "tool_calls", "spending"):
        assert {row["superseded"] for row in rows_of(tmp_path / "data", table) if row["turn"] is not None} == {"undone"}


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns, whole.messages = [Turn(index=0)], []
    whole.started_at = whole.updated_at = None
    exported([whole], "parquet", tmp_path / "data")
    assert rows_of(tmp_path / "data", "edits") == []
    assert [row["month"] for row in rows_of(tmp_path / "data", "turns")] == ["unknown"]


def many(number: int, size: int) -> Chosen:
    """Conversations of many months, made when they are read."""

    def get(name: str) -> Conversation:
        position = int(name)
        whole = a_conversation()
        whole.messages[4].parts = [Text(text=f"{position} " + "x" * size)]
        started = datetime(2020 + position % 40 // 12, 1 + position % 12, 1, tzinfo=UTC)
        return msgspec.structs.replace(whole, id=name, started_at=started)

    entries = [entry_of(msgspec.structs.replace(a_conversation(), id=str(position))) for position in range(number)]
    return Chosen(entries, get)


def test_many_months_and_groups_of_rows_are_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_BYTES", 3000)
    monkeypatch.setattr(parquet, "MOST_BYTES", 20_000)
    monkeypatch.setattr(parquet, "MOST_FILES", 5)
    done = write(many(150, 500), format_of("parquet"), tmp_path / "data", Making(by="copilog 1"))
    rows = rows_of(tmp_path / "data", "conversations")
    assert sorted(int(row["conversation"]) for row in rows) == list(range(150))
    assert len(rows_of(tmp_path / "data", "messages")) == 5 * 150
    assert any(path.name != "part-0.parquet" for path in done.paths if path.suffix == ".parquet")


def test_memory_does_not_grow_with_the_number_of_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_BYTES", 4 << 20)
    peaks = []
    for number in (40, 160):
        tracemalloc.start()
        write(many(number, 400_000), format_of("parquet"), tmp_path / f"{number}", Making(by="copilog 1"))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < 160 * 400_000 / 2


def test_without_the_library_the_message_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(UsageError, match=r"pip install 'copilog\[parquet\]'"):
        write(many(1, 1), parquet.FORMAT, tmp_path / "data", Making(by="copilog 1"))
    assert list(tmp_path.iterdir()) == []
