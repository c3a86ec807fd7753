"""The measured corpus, in an archive of its own, on a machine whose clock shows UTC."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from copilog.analysis.selection import Chosen, choose
from copilog.store.archive import Archive
from tests.measured import measured_archive

NOW = datetime(2026, 5, 7, 12, 0, tzinfo=UTC)  # a Thursday


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
