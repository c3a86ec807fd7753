"""Rows as Arrow tables and data frames, where their libraries are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from copilog.errors import CopilogError, UsageError
from copilog.store import frames
from copilog.store.archive import Archive
from copilog.store.schema import VIEWS
from tests.stored import NOON, entry

HARBOUR = ("When is high water?", "At noon, harbour time.")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(entry("a1", HARBOUR, tool="read_file"), "files-1")
        archive.put(entry("b2", HARBOUR, model=None), "files-1")
        archive.index_pending()
        archive.label("a1", "tides")
        yield archive


def test_a_view_becomes_an_arrow_table_with_times_flags_and_lists(archive: Archive) -> None:
    arrow = pytest.importorskip("pyarrow")

    table = archive.arrow("conversations")

    assert table.column("id").to_pylist() == ["vscode:a1", "vscode:b2"]
    assert table.column("updated_at").to_pylist() == [NOON, NOON]
    assert table.column("models").to_pylist() == [["gpt-5"], []]
    assert table.column("labels").to_pylist() == [["tides"], []]
    assert table.column("is_starred").to_pylist() == [False, False]
    assert table.schema.field("turns").type == arrow.int64()
    assert table.schema.field("gone_at").type == arrow.timestamp("ms", tz="UTC")


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_the_same_types_with_and_without_rows(archive: Archive, view: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with Archive(tmp_path / "empty.db", write=True) as empty:
        assert empty.arrow(view).schema == archive.arrow(view).schema


def test_only_views_become_tables(archive: Archive) -> None:
    with pytest.raises(
        UsageError, match="'document' is not a view of the archive; the views are conversations, messages"
    ):
        archive.arrow("document")


def test_rows_of_a_search_become_a_table() -> None:
    pytest.importorskip("pyarrow")
    rows: list[dict[str, Any]] = [
        {"id": "vscode:a1", "turn": None, "score": 1, "is_title": True, "at": NOON, "marks": ["x"], "spans": [(0, 4)]},
        {"id": "vscode:b2", "turn": 3, "score": 0.5, "is_title": None, "at": None, "marks": [], "more": {"a": 1}},
    ]

    table = frames.arrow(frames.columns_of_rows(rows))

    assert table.to_pylist() == [
        {**rows[0], "score": 1.0, "spans": "[[0,4]]", "more": None},
        {**rows[1], "spans": None, "more": '{"a":1}'},
    ]
    assert frames.arrow(frames.columns_of_rows([])).num_rows == 0


def test_a_view_becomes_a_polars_frame(archive: Archive) -> None:
    polars = pytest.importorskip("polars")

    frame = archive.polars("conversations")

    assert frame["models"].to_list() == [["gpt-5"], []]
    assert frame["updated_at"].to_list() == [datetime(2026, 5, 4, 12, tzinfo=UTC)] * 2
    assert frame.schema["gone_at"] == polars.Datetime("ms", "UTC")


def test_a_view_becomes_a_pandas_frame(archive: Archive) -> None:
    pytest.importorskip("pandas")

    frame = archive.pandas("conversations")

    assert frame["models"].tolist() == [["gpt-5"], []]
    assert frame["updated_at"].tolist() == [NOON, NOON]
    assert str(frame["turns"].dtype) == "Int64"
    assert frame["gone_at"].isna().all()


@pytest.mark.parametrize("name", ["pyarrow", "polars", "pandas"])
def test_a_library_that_is_missing_is_named(archive: Archive, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    make = {"pyarrow": archive.arrow, "polars": archive.polars, "pandas": archive.pandas}[name]

    with pytest.raises(CopilogError, match=f"{name} is not installed; `pip install {name}` adds it"):
        make("conversations")


def test_hits_become_a_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with Archive(tmp_path / "archive.db", write=True) as archive:
        result = archive.search("beans")
        assert result.arrow().num_rows == len(result.hits) == 0
