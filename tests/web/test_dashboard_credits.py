"""The dashboard begins with AI credits: by week and model, by repository and model, by month and outcome."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from copilog.analysis.allowance import month_label
from copilog.analysis.plans import Plan
from copilog.analysis.prices import PriceTable
from copilog.analysis.selection import Selection, choose
from copilog.model import Usage
from copilog.render.report import amounts
from copilog.render.report.blocks import Figures
from copilog.render.report.overview import overview as report_overview
from copilog.store.archive import Archive
from copilog.web.dashboard.credits import credits_of
from copilog.web.dashboard.figures import measure
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.overview import overview
from copilog.web.dashboard.page import sections_of
from copilog.web.dashboard.panels import Section
from copilog.web.filters import Filters
from tests.analysis.billed import GPT, conversations, guessed, with_usage
from tests.measured import measured_archive
from tests.stored import concluded_entry

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
    assert [series.name for series in weeks.chart.series] == [
        "gpt-5-mini",
        "claude-sonnet-4.5",
        "gpt-5",
        "forecast, at the pace of the month",
    ]
    # 7 credits in 7 days: 1 for each of the 24 days left, 3 of them in this week.
    assert [(point.name, [round(value or 0, 6) for value in point.values]) for point in weeks.chart.points] == [
        ("2026-05-04", [3, 2.5, 1.5, 3]),
        ("2026-05-11", [0, 0, 0, 7]),
        ("2026-05-18", [0, 0, 0, 7]),
        ("2026-05-25", [0, 0, 0, 7]),
    ]
    assert [point.range for point in weeks.chart.points] == [None] * 4  # nothing is estimated
    assert (round(weeks.chart.mark or 0, 2), weeks.chart.mark_name) == (436.96, "allowance of a week")
    assert repositories.chart is not None
    assert [point.name for point in repositories.chart.points] == ["(no repository)"]
    assert outcomes.chart is not None
    assert [series.name for series in outcomes.chart.series] == ["kept", "failed or cancelled", "unknown"]


def test_period_without_credits_shows_the_billing_month_alone(archive: Path) -> None:
    nothing = Selection(since=datetime(2026, 5, 6, tzinfo=UTC))

    found = section(archive, selection=nothing)

    assert found is not None
    assert found.panels == []
    assert [(tile.label, tile.value) for tile in found.tiles] == [("Since 2026-05-01", "7"), ("Forecast", "31")]


def test_nothing_is_shown_without_credits_and_allowance(tmp_path: Path) -> None:
    Archive(tmp_path / "empty.db", write=True).close()
    with Archive(tmp_path / "empty.db") as opened:
        measured = measure(choose(opened, now=NOW), lambda _: None)

    assert credits_of(measured, Links(Filters(), NOW)) is None


def test_period_is_compared_with_as_many_days_before_it(archive: Path) -> None:
    """Of 5 May, 3.5 credits; of the day before, 3.5."""
    day = Selection(since=datetime(2026, 5, 5, tzinfo=UTC), until=datetime(2026, 5, 6, tzinfo=UTC), utc=True)

    found = section(archive, Plan(), day)

    assert found is not None
    tile = found.tiles[0]
    assert (tile.label, tile.value) == ("Credits, 2026-05-05", "3.50")
    assert tile.note == "3.50 in the day before (2026-05-04)"
    (repositories,) = [panel for panel in found.panels if panel.key == "credits-repositories"]
    assert [head.text for head in repositories.table.heads][-2:] == ["2026-05-05", "2026-05-04"]


def test_headlines_name_the_time_that_they_are_compared_with(archive: Path) -> None:
    day = Selection(since=datetime(2026, 5, 5, tzinfo=UTC), until=datetime(2026, 5, 6, tzinfo=UTC), utc=True)
    with Archive(archive) as opened:
        measured = measure(choose(opened, day, now=NOW), lambda _: None)
        whole = measure(choose(opened, now=NOW), lambda _: None)

    tiles = {tile.label: tile.note or "" for tile in overview(measured.stats, Links(Filters(), NOW)).tiles}

    # On 4 May: 2 turns, 32,000 + 1,500 tokens, 2 premium requests.
    assert tiles["Turns"].endswith("; 2 in the day before (2026-05-04)")
    assert "; 33.5 k in the day before (2026-05-04)" in tiles["Tokens"]
    assert (
        tiles["Premium requests"]
        == "as recorded, 1 of them spread over several turns; 2 in the day before (2026-05-04)"
    )
    assert not any("before" in (tile.note or "") for tile in overview(whole.stats, Links(Filters(), NOW)).tiles)


def test_headlines_have_their_coverage_and_marks(archive: Path) -> None:
    day = Selection(since=datetime(2026, 5, 5, tzinfo=UTC), until=datetime(2026, 5, 6, tzinfo=UTC), utc=True)
    with Archive(archive) as opened:
        stats = measure(choose(opened, day, now=NOW), lambda _: None).stats

    on_page = {tile.label: tile.note or "" for tile in overview(stats, Links(Filters(), NOW)).tiles}
    (figures,) = report_overview(stats).blocks
    assert isinstance(figures, Figures)
    in_report = {figure.label: figure.note or "" for figure in figures.figures}

    tokens, total = stats.tokens, stats.tokens.total
    known = f"recorded for {tokens.input_turns} of {total.turns} turns, {amounts.short(total.spread)} of them spread"
    assert tokens.input_turns < total.turns
    assert total.spread
    for notes in (on_page, in_report):
        assert notes["Tokens"].startswith(known)
        assert f"{amounts.decimal(total.spread_requests)} of them spread" in notes["Premium requests"]
        assert f"{amounts.decimal(total.spread_credits)} of them spread" in notes["AI credits"]


def test_elapsed_time_says_of_how_many_turns_it_is_known(archive: Path) -> None:
    with Archive(archive) as opened:
        stats = measure(choose(opened, now=NOW), lambda _: None).stats

    (figures,) = report_overview(stats).blocks
    assert isinstance(figures, Figures)
    known = f"time known for {stats.work.timed_turns} of {stats.work.turns} turns"
    assert stats.work.timed_turns < stats.work.turns
    assert [known in (figure.note or "") for figure in figures.figures if figure.label == "Elapsed"] == [True]
    tiles = overview(stats, Links(Filters(), NOW)).tiles
    assert [tile.note for tile in tiles if tile.label == "Elapsed"] == [known]


# --- estimates and forecast -----------------------------------------------------------------------------------------


GUESSED_AT = datetime(2026, 6, 10, 12, tzinfo=UTC)


@pytest.fixture
def prices(monkeypatch: pytest.MonkeyPatch) -> None:
    table = PriceTable(source="made up", models={"gpt-5": GPT, "odd": None})
    monkeypatch.setattr("copilog.analysis.prices._table_of_package", lambda models, folder: table)


def test_weeks_show_estimates_and_forecast_hatched_with_their_range(tmp_path: Path, prices: None) -> None:
    """51 credits are recorded or computed in June, and 0.534 likely, at least 0.1292, at most 1.6454.

    On 10 June that is 5.1534 a day, at least 5.11292, at most 5.26454. 4 days of its week are left.
    """
    with Archive(tmp_path / "archive.db", write=True) as made:
        for conversation in (*conversations(), guessed()):
            made.put(concluded_entry(conversation), "made up")
        measured = measure(choose(made, Selection(utc=True), now=GUESSED_AT, plan=Plan(budget=100)), lambda _: None)

    found = credits_of(measured, Links(Filters(), GUESSED_AT))

    assert found is not None
    weeks = found.panels[0].chart
    assert weeks is not None
    assert [(series.name, series.tone) for series in weeks.series] == [
        ("gpt-5", "tone-1"),
        ("gpt-5, not recorded", "hatched-tone-1"),
        ("forecast, at the pace of the month", "hatched-tone-6"),
    ]
    values = {point.name: [round(value or 0, 4) for value in point.values] for point in weeks.points}
    assert values == {
        "2026-06-01": [3, 48.534, 0],
        "2026-06-08": [0, 0, 20.6136],
        "2026-06-15": [0, 0, 36.0738],
        "2026-06-22": [0, 0, 36.0738],
        "2026-06-29": [0, 0, 10.3068],
    }
    ranges = {point.name: point.range and tuple(round(end, 4) for end in point.range) for point in weeks.points}
    assert ranges["2026-06-01"] == (51.1292, 52.6454)
    assert ranges["2026-06-08"] == (20.4517, 21.0582)
    month = measured.stats.tokens.month
    assert (month.used, month.estimated, month.at_least, month.at_most) == (51, 0.534, 0.1292, 1.6454)
    assert (month.forecast, month.estimated_forecast) == (153, 1.602)
    assert (month.forecast_at_least, month.forecast_at_most) == (153.3876, 157.9362)
    assert month_label(month) == (
        "credits since 2026-06-01: 51 + ~0.5 likely (at least 0.1, at most 1.6) of 100 (52%), 48.0 of them computed;"
        " 20 days left; 5.1 + ~0.1 a day, forecast 153 + ~2 (153 to 158)"
    )


def test_period_that_is_over_has_no_forecast(archive: Path) -> None:
    until = Selection(until=datetime(2026, 5, 6, tzinfo=UTC), utc=True)

    found = section(archive, selection=until)

    assert found is not None
    chart = found.panels[0].chart
    assert chart is not None
    assert [point.name for point in chart.points] == ["2026-05-04"]
    assert not any("forecast" in series.name for series in chart.series)


def test_picture_hatches_what_is_estimated_and_draws_its_range(
    served: Callable[[Path], str], open_page: Callable[..., Page], tmp_path: Path, prices: None
) -> None:
    now = datetime.now(UTC) - timedelta(minutes=5)
    recorded = with_usage(
        "now", Usage(model="gpt-5", input=100, output=10, source="request"), Usage(credits=3, source="request")
    )
    likely = guessed()
    for conversation in (recorded, likely):
        conversation.turns[0].timing.started_at = now
    with Archive(tmp_path / "archive.db", write=True) as made:
        for conversation in (recorded, likely):
            made.put(concluded_entry(conversation), "made up")
        made.index_pending()

    page = open_page(served(tmp_path / "archive.db"), "/dashboard")
    page.wait_for_selector("#dashboard[data-drawn]")

    picture = page.locator("#panel-credits-weeks svg").first
    assert picture.locator("rect[fill='var(--tone-1)'], g[fill='var(--tone-1)'] rect").count() >= 1
    assert picture.locator("pattern#hatched-tone-1").count() == 1
    assert picture.locator("[fill='url(#hatched-tone-1)']").count() >= 1
    assert picture.locator("g.range line, line.range, .range line").count() >= 1
    expect(page.locator("#panel-credits-weeks .legend")).to_contain_text("gpt-5, not recorded")
    page.locator("#panel-credits-weeks .hits rect").first.hover()
    expect(page.locator(".tip")).to_contain_text("at least")
