"""The dashboard begins with AI credits: by week and model, by repository and model, by month and outcome."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from copilog.analysis.plans import Plan
from copilog.analysis.selection import Selection, choose
from copilog.store.archive import Archive
from copilog.web.dashboard.credits import credits_of
from copilog.web.dashboard.figures import measure
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.page import sections_of
from copilog.web.dashboard.panels import Section
from copilog.web.filters import Filters
from tests.measured import measured_archive

NOW = datetime(2026, 5, 7, 12, 0, tzinfo=UTC)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    measured_archive(tmp_path / "archive.db").close()
    return tmp_path / "archive.db"


def section(path: Path, plan: Plan | None = None, selection: Selection | None = None) -> Section | None:
    with Archive(path) as archive:
        measured = measure(choose(archive, selection, now=NOW, plan=plan), lambda _: None)
        return credits_of(measured, Links(Filters(), NOW))


def test_credits_come_first(archive: Path) -> None:
    with Archive(archive) as opened:
        measured = measure(choose(opened, now=NOW), lambda _: None)

    assert [one.key for one in sections_of(measured, Links(Filters(), NOW))][:2] == ["credits", "overview"]


def test_weeks_are_stacked_by_model_with_the_allowance(archive: Path) -> None:
    found = section(archive, Plan(budget=1_900))

    assert found is not None
    assert [(tile.label, tile.value) for tile in found.tiles] == [("Since 2026-05-01", "7"), ("Forecast", "31")]
    weeks, repositories, outcomes = found.panels
    assert weeks.chart is not None
    # 3 credits of the CLI session, 2.5 of the two turns of claude, 1.5 of gpt-5, all recorded: no part is hatched.
    assert [series.name for series in weeks.chart.series] == ["gpt-5-mini", "claude-sonnet-4.5", "gpt-5"]
    assert [(point.name, [round(value or 0, 6) for value in point.values]) for point in weeks.chart.points] == [
        ("2026-05-04", [3, 2.5, 1.5])
    ]
    assert (round(weeks.chart.mark or 0, 2), weeks.chart.mark_name) == (436.96, "allowance of a week")
    assert repositories.chart is not None
    assert [point.name for point in repositories.chart.points] == ["(no repository)"]
    assert outcomes.chart is not None
    assert [series.name for series in outcomes.chart.series] == ["kept", "failed or cancelled", "unknown"]


def test_nothing_is_shown_without_credits_and_allowance(archive: Path) -> None:
    nothing = Selection(since=datetime(2026, 5, 6, tzinfo=UTC))

    assert section(archive, selection=nothing) is None
    with_budget = section(archive, Plan(budget=100), nothing)
    assert with_budget is not None
    assert with_budget.panels == []
