"""The dashboard of the measured corpus, whose figures can be worked out by hand, and of others that are less kind."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.analysis.selection import choose
from copilog.analysis.token_methods import MethodRow, tokens_by_method
from copilog.definitions import Definition
from copilog.model import Conversation
from copilog.store.archive import Archive
from copilog.web.dashboard.links import Links
from copilog.web.dashboard.time_buckets import MOST_SPANS, spans_between
from copilog.web.filters import Filters
from copilog.web.viewer import Viewer
from tests.measured import at, harbour, measured_archive
from tests.stored import concluded_entry
from tests.web.hostile import make_hostile_archive

Charts = dict[str, dict[str, Any]]


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
def measured(tmp_path: Path) -> Path:
    path = tmp_path / "measured.db"
    measured_archive(path).close()
    return path


@pytest.fixture
def pages(client_of: Callable[[Path], TestClient], measured: Path) -> TestClient:
    return client_of(measured)


def charts_of(pages: TestClient, query: str = "") -> Charts:
    answer = pages.get(f"/dashboard/data{query}")
    assert answer.status_code == 200
    return {chart["key"]: chart for chart in answer.json()["charts"]}


def values_of(chart: dict[str, Any]) -> dict[str, list[float]]:
    return {point["name"]: point["values"] for point in chart["points"]}


def link_of(chart: dict[str, Any], name: str) -> str:
    return next(str(point["link"]) for point in chart["points"] if point["name"] == name)


def asked_by(link: str) -> dict[str, str]:
    """Return the parameters of a link, in any order."""
    return {name: values[0] for name, values in parse_qs(urlsplit(link).query).items() if name != "sort"}


# --- numbers --------------------------------------------------------------------------------------------------------


def test_charts_show_values_computed_by_hand(pages: TestClient) -> None:
    document = pages.get("/dashboard/data").json()
    charts = charts_of(pages)

    assert (document["conversations"], document["turns"]) == (4, 8)
    assert values_of(charts["calendar"]) == {"2026-05-04": [2], "2026-05-05": [3], "2026-05-06": [3]}
    assert values_of(charts["tokens-by-kind"]) == {
        "2026-05-04": [9_000, 23_000, 1_500, 0],
        "2026-05-05": [15_000, 20_000, 1_200, 21_427],
        "2026-05-06": [1_000, 0, 450, 10_200],
    }
    assert values_of(charts["fates"]) == {
        "kept": [1],
        "changed by hand afterwards": [0],
        "undone": [1],
        "pending": [0],
        "unknown": [0],
    }
    assert values_of(charts["tools"])["run_in_terminal"] == [1, 1], "one of two calls failed"
    assert values_of(charts["tool-times"])["run_in_terminal"] == [4_000, 6_000]
    assert values_of(charts["models"])["gpt-4.1"] == [1, 1]
    assert values_of(charts["servers"]) == {"github": [1, 0]}
    assert values_of(charts["errors"])["rate_limit"] == [1]
    assert values_of(charts["sources"]) == {"vscode-session": [2], "cli-events": [2]}


def test_recorded_and_estimated_tokens_are_separate(pages: TestClient, measured: Path) -> None:
    chart = charts_of(pages)["tokens-by-method"]

    assert [series["name"] for series in chart["series"]] == ["recorded", "spread", "estimated"]
    assert values_of(chart) == {
        "2026-05-04": [33_500, 0, 0],
        "2026-05-05": [
            5_200,
            31_000,
            21_427,
        ],  # a compaction, the session of the lighthouse, and a turn without numbers
        "2026-05-06": [400, 1_050, 10_200],
    }
    with Archive(measured) as archive:
        assert tokens_by_method(choose(archive))[0] == MethodRow(day="2026-05-04", recorded=33_500)


def test_hours_and_weekdays_are_all_there(pages: TestClient) -> None:
    charts = charts_of(pages)

    assert [values[0] for values in values_of(charts["weekdays"]).values()] == [2, 3, 3, 0, 0, 0, 0]
    assert len(charts["hours"]["points"]) == 24
    assert values_of(charts["hours"])["10"] == [3]


def test_a_period_and_facets_apply_to_everything(pages: TestClient) -> None:
    charts = charts_of(pages, "?since=2026-05-05&until=2026-05-05")
    assert values_of(charts["calendar"]) == {"2026-05-05": [3]}
    assert set(values_of(charts["tokens-by-kind"])) == {"2026-05-05"}

    in_tides = charts_of(pages, "?workspace=/home/ana/tide-tables")
    assert set(values_of(in_tides["workspaces"])) == {"/home/ana/tide-tables"}
    assert set(values_of(in_tides["sources"])) == {"vscode-session"}

    by_agent = charts_of(pages, "?agent=Navigator")
    assert set(values_of(by_agent["sources"])) == {"vscode-session"}
    assert charts_of(pages, "?q=has:error").keys() == charts_of(pages, "?error=1").keys()


def test_prices_are_shown_with_their_date(pages: TestClient) -> None:
    text = pages.get("/dashboard").text
    assert re.search(r"Dollars are list prices from [^,]* of \d{4}-\d\d-\d\d\.", text)


# --- links ----------------------------------------------------------------------------------------------------------


def test_each_point_leads_to_the_library_with_what_it_counts(pages: TestClient) -> None:
    charts = charts_of(pages, "?workspace=/home/ana/tide-tables")
    kept = {"workspace": "/home/ana/tide-tables"}

    day = link_of(charts["calendar"], "2026-05-04")
    assert urlsplit(day).path == "/"
    assert asked_by(day) == {**kept, "since": "2026-05-04", "until": "2026-05-04"}
    assert asked_by(link_of(charts["models"], "gpt-5")) == {**kept, "model": "=gpt-5"}
    assert asked_by(link_of(charts["tools"], "read_file")) == {**kept, "tool": "=read_file"}
    assert asked_by(link_of(charts["agents"], "Navigator (custom agent)")) == {**kept, "agent": "=Navigator"}
    assert asked_by(link_of(charts["skills"], "chart-reading")) == {**kept, "skill": "=chart-reading"}
    assert asked_by(link_of(charts["files"], "/home/ana/tide-tables/src/tides.py")) == {
        **kept,
        "q": 'file:"/home/ana/tide-tables/src/tides.py"',
    }
    assert link_of(charts["conversations"], "Tide tables") == "/conversation?id=vscode%3Aharbour"


def test_the_library_shows_as_many_as_a_point_says(pages: TestClient) -> None:
    charts = charts_of(pages)
    for chart, name, titles in (
        ("calendar", "2026-05-05", {"Tide tables", "Lighthouse"}),
        ("models", "gpt-5-mini", {"Lighthouse", "Lighthouse, again"}),
        ("tools", "read_file", {"Tide tables"}),
        ("files", "/home/ana/tide-tables/src/tides.py", {"Tide tables"}),
    ):
        text = unescape(pages.get(link_of(charts[chart], name)).text)
        shown = {
            title for title in ("Tide tables", "Lighthouse", "Lighthouse, again", "A pull request") if title in text
        }
        assert titles <= shown, (chart, name)
        assert "A pull request" not in shown, (chart, name)


def test_a_link_never_leaves_the_period_that_is_shown() -> None:
    now = at(7, "12:00:00")
    links = Links(Filters(since="2d", until="2026-05-06T12:00"), now)

    first = asked_by(links.period(date(2026, 5, 5), date(2026, 5, 6)))
    assert first == {"since": "2d", "until": "2026-05-05"}, "the day began before the period did"
    last = asked_by(links.period(date(2026, 5, 6), date(2026, 5, 7)))
    assert last == {"since": "2026-05-06", "until": "2026-05-06T12:00"}


# --- the page -------------------------------------------------------------------------------------------------------


def test_without_scripts_the_page_has_tables_with_links(pages: TestClient) -> None:
    text = pages.get("/dashboard").text

    for chart in charts_of(pages).values():
        assert f'data-chart="{chart["key"]}"' in text
        assert f'aria-label="{chart["title"]}"' in text, "a table of the same name"
    row = re.search(
        r"<tr>\s*<th scope=\"row\" dir=\"auto\"><a href=\"([^\"]*)\">run_in_terminal</a></th>(.*?)</tr>",
        text,
        re.DOTALL,
    )
    assert row is not None
    assert asked_by(unescape(row[1])) == {"tool": "=run_in_terminal"}
    assert "50.0 %" in row[2], "its failure rate"


def test_ranges_and_facets_stand_in_the_address(pages: TestClient) -> None:
    text = pages.get("/dashboard?since=30d&model=gpt-5&tool=read_file").text

    assert re.search(r'href="/dashboard\?[^"]*since=30d[^"]*"[^>]*aria-current="true"', text)
    assert re.search(r'<option value="gpt-5" selected>', text)
    assert '<input type="hidden" name="tool" value="read_file">' in text
    year = datetime.now().astimezone().year
    assert re.search(rf'href="/dashboard\?[^"]*since={year}-01-01', text)


def test_invalid_parameters_are_reported_on_the_page(pages: TestClient) -> None:
    for query in ("?since=someday", "?q=tool:"):
        answer = pages.get(f"/dashboard{query}")
        assert answer.status_code == 400
        assert 'role="alert"' in answer.text
        assert 'id="asked-q"' in answer.text, "to be put right"


def test_an_archive_without_any_conversation_is_no_error(
    client_of: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    Archive(tmp_path / "empty.db", write=True).close()
    pages = client_of(tmp_path / "empty.db")

    assert "No conversation matches" in pages.get("/dashboard").text
    assert pages.get("/dashboard/data").status_code == 200


def test_nothing_is_reported_unused_if_definitions_were_not_read(
    pages: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Viewer, "defined", lambda *_: None)
    text = pages.get("/dashboard").text
    assert "never used" in text
    assert "were not read" in text
    assert "never loaded" not in text

    fog = Definition(
        kind="skill", name="fog-signals", path="/home/ana/skills/fog", scope="user", description="Fog", body=""
    )
    monkeypatch.setattr(Viewer, "defined", lambda *_: [fog])
    text = pages.get("/dashboard").text
    assert "Skills that are defined and were never loaded" in text, "known as soon as somebody looks"
    assert "fog-signals" in text
    assert "were not read" not in text


def test_figures_are_measured_again_when_the_archive_changes(pages: TestClient, measured: Path) -> None:
    assert charts_of(pages)["calendar"]["points"][0]["values"] == [2]
    with Archive(measured, write=True) as archive:
        more = harbour()
        more.id, more.native_id = "vscode:quay", "quay"
        for turn in more.turns:
            turn.request_id = f"quay-{turn.index}"
        archive.put(concluded_entry(more), "made up")

    assert charts_of(pages)["calendar"]["points"][0]["values"] == [4]


def test_hostile_names_stay_text(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    pages = client_of(make_hostile_archive(tmp_path / "hostile.db"))
    text = pages.get("/dashboard").text

    assert "<img src=x" not in text
    assert "<script>window" not in text
    assert "javascript:" not in re.findall(r'href="([^"]*)"', text)
    for chart in charts_of(pages).values():
        for point in chart["points"]:
            assert point["link"] is None or point["link"].startswith(("/?", "/dashboard", "/conversation?")), point


# --- days in a row --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "unit", "count"),
    [
        (date(2026, 5, 4), date(2026, 5, 4), "day", 1),
        (date(2026, 2, 1), date(2026, 5, 4), "day", 93),
        (date(2026, 2, 1), date(2026, 5, 5), "week", 15),
        (date(2024, 1, 31), date(2026, 5, 5), "month", 29),
        (date(2000, 1, 1), date(2026, 5, 5), "year", 27),
        (date.min, date.max, "year", 93),
    ],
)
def test_spans_follow_each_other_without_gaps(first: date, last: date, unit: str, count: int) -> None:
    spans = spans_between(first, last)

    assert (spans.unit, len(spans.spans)) == (unit, count)
    assert all(one.end == next_.first for one, next_ in zip(spans.spans, spans.spans[1:], strict=False))
    assert spans.spans[0].first <= first or count == MOST_SPANS
    assert spans.spans[-1].end > last or spans.spans[-1].end == date.max


# --- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture
def board(served: Callable[[Path], str], open_page: Callable[..., Page], measured: Path) -> Page:
    """Return the dashboard of the measured corpus, with its charts."""
    page = open_page(served(measured), "/dashboard")
    page.wait_for_selector("#dashboard[data-drawn]")
    return page


def test_charts_are_drawn_with_tooltips(board: Page) -> None:
    keys = board.locator("[data-chart]")
    assert board.locator("[data-chart] svg").count() >= keys.count() > 10

    board.locator("#panel-tools .hits a").first.hover()
    expect(board.locator(".tip")).to_contain_text("2 calls")
    expect(board.locator("#panel-fates svg")).to_have_attribute("role", "group")


def test_another_range_is_shown_in_place_and_stands_in_the_address(board: Page) -> None:
    board.fill("#asked-since", "2026-05-06")
    board.press("#asked-since", "Enter")
    expect(board.locator("#dashboard .lead").first).to_contain_text("2 conversations, 3 turns")
    board.wait_for_selector("#dashboard[data-drawn]")
    assert asked_by(board.url) == {"since": "2026-05-06"}, "and nothing that is empty"

    board.locator("#asked-workspace").select_option("/home/ana/lighthouse")
    expect(board.locator("#dashboard .lead").first).to_contain_text("1 conversation, 1 turn")
    board.go_back()
    expect(board.locator("#dashboard .lead").first).to_contain_text("2 conversations, 3 turns")
    board.get_by_role("link", name="All", exact=True).click()
    expect(board.locator("#dashboard .lead").first).to_contain_text("4 conversations, 8 turns")


def test_a_click_leads_to_the_conversations(board: Page) -> None:
    board.locator("#panel-calendar .hits a").nth(1).click()
    board.wait_for_url("**/?since=2026-05-05&until=2026-05-05")
    expect(board.get_by_text("Lighthouse", exact=True).first).to_be_visible()


def test_charts_can_be_used_by_keyboard(board: Page) -> None:
    first = board.locator("#panel-weekdays .hits a").first
    first.focus()
    board.keyboard.press("ArrowRight")
    assert board.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Tuesday: 3 turns")
    expect(board.locator(".tip")).to_contain_text("Tuesday")
    assert board.locator("#panel-weekdays .hits a[tabindex='0']").count() == 1, "Tab leaves the picture"

    board.keyboard.press("Enter")
    board.wait_for_url("**/dashboard/conversations?figure=time.by_weekday.turns&value=Tuesday")
    expect(board.get_by_role("heading", level=1)).to_contain_text("Turns on a Tuesday")


def test_pictures_fit_the_screen_and_follow_the_theme(board: Page) -> None:
    fill = "getComputedStyle(document.querySelector('#panel-weekdays g[fill], #panel-weekdays rect[fill]')).fill"
    light = board.evaluate(fill)
    board.locator("#theme").click()
    assert board.evaluate(fill) != light

    board.set_viewport_size({"width": 390, "height": 800})
    expect(board.locator("#panel-tools svg")).to_have_attribute("width", re.compile(r"^3[0-4]\d$"))
    assert board.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_hostile_archive_draws_its_names_as_text(
    served: Callable[[Path], str], open_page: Callable[..., Page], tmp_path: Path
) -> None:
    page = open_page(served(make_hostile_archive(tmp_path / "hostile.db")), "/dashboard")
    page.wait_for_selector("#dashboard[data-drawn]")

    assert page.evaluate("window.ran") is None
    assert page.locator("#dashboard img, #dashboard script, #dashboard iframe").count() == 0
    assert page.locator(".picture svg").count() > 5


def test_a_conversation_of_years_gets_a_calendar_for_each(
    client_of: Callable[[Path], TestClient],
    served: Callable[[Path], str],
    open_page: Callable[..., Page],
    tmp_path: Path,
) -> None:
    path = tmp_path / "years.db"
    with Archive(path, write=True) as archive:
        for year in (2023, 2024, 2026):
            archive.put(concluded_entry(_in_year(year)), "made up")
    charts = charts_of(client_of(path))
    assert charts["tokens-by-kind"]["title"].startswith("Tokens by month")

    page = open_page(served(path), "/dashboard")
    page.wait_for_selector("#dashboard[data-drawn]")
    assert page.locator("#panel-calendar svg").count() == 3


def _in_year(year: int) -> Conversation:
    made = harbour()
    made.id, made.native_id = f"vscode:{year}", str(year)
    for turn in made.turns:
        turn.request_id = f"{year}-{turn.index}"
        assert turn.timing.started_at is not None
        turn.timing.started_at = turn.timing.started_at.replace(year=year)
    return made
