"""The measured corpus, in an archive of its own, on a machine whose clock shows UTC."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from copilog.analysis.prices import RULES, PricedModel, PriceTable, UnitPrice
from copilog.analysis.selection import Chosen, choose
from copilog.store.archive import Archive
from tests.measured import measured_archive

NOW = datetime(2026, 5, 7, 12, 0, tzinfo=UTC)  # a Thursday

MODELS = {
    "gpt-5": PricedModel(name="x/gpt-5", prices=[UnitPrice(input=2, output=10, cache_read=0.2, cache_write=2)]),
    "claude-sonnet-4.5": PricedModel(
        name="x/sonnet", prices=[UnitPrice(input=4, output=20, cache_read=0.4, cache_write=5)]
    ),
    "gpt-5-mini": PricedModel(name="x/mini", prices=[UnitPrice(input=1, output=5, cache_read=0.1, cache_write=2)]),
    "changing": PricedModel(
        name="x/changing",
        prices=[
            UnitPrice(input=10, output=10, cache_read=1, cache_write=10),
            UnitPrice(since="2026-05-05", input=1, output=1, cache_read=1, cache_write=1),
        ],
    ),
    "gpt-4.1": None,
    "auto": None,
}


@pytest.fixture(autouse=True)
def clock_in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if not hasattr(time, "tzset"):
        yield
        return
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with measured_archive(tmp_path / "archive.db") as opened:
        yield opened


@pytest.fixture
def chosen(archive: Archive) -> Chosen:
    """Choose all conversations."""
    return choose(archive, now=NOW)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder in which made-up prices are kept as if they had been found."""
    folder = tmp_path / "cache"
    folder.mkdir()
    version = importlib.metadata.version("genai-prices")
    table = PriceTable(source="made up", date="2026-05-01", models=dict(MODELS))
    (folder / f"prices-{version}-{RULES}.json").write_bytes(msgspec.json.encode(table))
    return folder
