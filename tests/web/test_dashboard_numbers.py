"""Each number of the dashboard leads to the conversations behind it: exactly those that it counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from copilog.analysis.behind import KINDS, conversations_behind
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.definitions import Definition
from copilog.store.archive import Archive
from copilog.web.dashboard.behind import WORDS
from copilog.web.dashboard.links import BEHIND, Links
from copilog.web.dashboard.measured import measure
from copilog.web.dashboard.page import sections_of
from copilog.web.dashboard.panels import Panel, Section
from copilog.web.filters import Filters
from tests.measured import TIDES, at, harbour, measured_archive
from tests.stored import concluded_entry

HARBOUR, LIGHT, AGAIN, BEACON = "Tide tables", "Lighthouse", "Lighthouse, again", "A pull request"
CLAUDE = "claude-sonnet-4.5"

# Worked out by hand from what tests/measured.py says.
COUNTED: list[tuple[tuple[str, ...], dict[str, int]]] = [
    (("turn",), {HARBOUR: 3, LIGHT: 2, AGAIN: 1, BEACON: 2}),
    (("dated",), {HARBOUR: 3, LIGHT: 2, AGAIN: 1, BEACON: 2}),
    (("vote", "up"), {HARBOUR: 1}),
    (("vote", "down"), {HARBOUR: 1}),
    (("vote-reason", "incorrectCode"), {HARBOUR: 1}),
    (("status", "failed"), {LIGHT: 1, BEACON: 1}),
    (("status", "cancelled"), {HARBOUR: 1}),
    (("status", "unknown"), {}),
    (("retry",), {BEACON: 1}),
    (("weekday", "Tuesday"), {HARBOUR: 1, LIGHT: 2}),
    (("hour", "10"), {HARBOUR: 1, LIGHT: 2}),
    (("error", "rate_limit"), {LIGHT: 1}),
    (("elapsed",), {HARBOUR: 3, LIGHT: 2, AGAIN: 1, BEACON: 1}),
    (("working",), {HARBOUR: 3, LIGHT: 2, AGAIN: 1, BEACON: 1}),
    (("waiting",), {HARBOUR: 1}),
    (("parallel", "2026-05-05T10:00:10+00:00"), {HARBOUR: 1, LIGHT: 1}),
    (("parallel", "2026-05-05T10:00:30+00:00"), {LIGHT: 1}),
    (("model", "gpt-5-mini"), {LIGHT: 1, AGAIN: 1}),
    (("model", CLAUDE), {HARBOUR: 2, LIGHT: 1}),
    (("failed-model", "gpt-4.1"), {BEACON: 1}),
    (("no-model",), {}),
    (("switch",), {HARBOUR: 1, LIGHT: 1}),
    (("switch", "gpt-5", CLAUDE), {HARBOUR: 1}),
    (("switch", "gpt-5-mini", CLAUDE), {LIGHT: 1}),
    (("switch", CLAUDE, "gpt-5"), {}),
    (("conflict", "gpt-5-mini", CLAUDE), {LIGHT: 1}),
    (("conflict", "auto", "gpt-4.1"), {}),
    (("agent", "custom", "Navigator"), {HARBOUR: 2}),
    (("agent", "participant", "agent"), {HARBOUR: 3}),
    (("agent", "subagent", "Keeper"), {LIGHT: 1}),
    (("failed-agent", "custom", "Navigator"), {}),
    (("handover", "switch", "(default)", "Navigator"), {HARBOUR: 1}),
    (("handover", "subagent", "Navigator", "Sounder"), {HARBOUR: 1}),
    (("handover", "subagent", "(default)", "Keeper"), {LIGHT: 1}),
    (("offered-skill", "buoy-care"), {HARBOUR: 1}),
    (("offered-skill", "chart-reading"), {}),
    (("loaded-skill", "chart-reading"), {HARBOUR: 1}),
    (("call",), {HARBOUR: 7, LIGHT: 4}),
    (("call", "read_file"), {HARBOUR: 2}),
    (("failed-call",), {HARBOUR: 1}),
    (("failed-call", "run_in_terminal"), {HARBOUR: 1}),
    (("timed-call", "run_in_terminal"), {HARBOUR: 2}),
    (("retried-call",), {HARBOUR: 1}),
    (("retried-call", "read_file"), {}),
    (("confirmation", "automatic"), {HARBOUR: 2, LIGHT: 1}),
    (("confirmation", "user"), {HARBOUR: 1, LIGHT: 1}),
    (("confirmation", "unknown"), {HARBOUR: 4, LIGHT: 1}),
    (("confirmation", "denied"), {LIGHT: 1}),
    (("confirmation", "denied", "bash"), {LIGHT: 1}),
    (("server", "github"), {LIGHT: 1}),
    (("failed-server", "github"), {}),
    (("program", "pytest"), {HARBOUR: 2}),
    (("failed-program", "pytest"), {HARBOUR: 1}),
    (("command-error",), {HARBOUR: 1}),
    (("command-error", "run_in_terminal"), {HARBOUR: 1}),
    (("command-error-program", "pytest"), {HARBOUR: 1}),
    (("sequence", "read_file", "run_in_terminal"), {HARBOUR: 1}),
    (("sequence", "run_in_terminal", "runSubagent"), {}),  # of two turns
    (("edit",), {HARBOUR: 2}),
    (("fate", "kept"), {HARBOUR: 1}),
    (("fate", "pending"), {}),
    (("file", f"{TIDES}/src/tides.py"), {HARBOUR: 1}),
    (("undone-file", f"{TIDES}/src/tides.py"), {}),
    (("undone-file", f"{TIDES}/web/chart.ts"), {HARBOUR: 1}),
    (("language", "Python"), {HARBOUR: 1}),
    (("spent", "recorded"), {HARBOUR: 2, LIGHT: 4, AGAIN: 1, BEACON: 2}),
    (("spent", "estimated"), {HARBOUR: 1, BEACON: 2}),
    (("spent", "premium-requests"), {HARBOUR: 2, LIGHT: 2}),  # those of the beacon cost nothing
    (("spent", "credits"), {HARBOUR: 3, LIGHT: 3}),
    (("spent-by-model", "(unknown model)"), {HARBOUR: 1}),
    (("origin", "details", "recorded"), {HARBOUR: 2, BEACON: 2}),
]


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
def repeated(measured: Path) -> Path:
    """The same with two more harbours, so that tools follow one another often enough to be told."""
    with Archive(measured, write=True) as archive:
        for name in ("quay", "pier"):
            more = harbour()
            more.id, more.native_id, more.title = f"vscode:{name}", name, name
            for turn in more.turns:
                turn.request_id = f"{name}-{turn.index}"
            archive.put(concluded_entry(more), "made up")
        archive.index_pending()
    return measured


# --- by hand --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "expected"), COUNTED, ids=lambda value: "-".join(value))
def test_who_is_behind_a_number(measured: Path, asked: tuple[str, ...], expected: dict[str, int]) -> None:
    with Archive(measured) as archive:
        rows = conversations_behind(choose(archive), *asked)
    assert {row.title: row.times for row in rows} == expected


def test_each_list_has_a_page_and_words(client_of: Callable[[Path], TestClient], measured: Path) -> None:
    pages = client_of(measured)
    for (what, *values), expected in COUNTED:
        answer = pages.get(BEHIND, params={"what": what, "value": values})
        assert answer.status_code == 200, what
        assert f"{len(expected)} conversation" in answer.text
        assert all(title in answer.text for title in expected)
    assert set(WORDS) == set(KINDS)
    assert {what for (what, *_), _ in COUNTED} == set(KINDS) - {"priced"}, "prices change, and have a test of their own"


def test_what_nobody_counts_is_refused(client_of: Callable[[Path], TestClient], measured: Path) -> None:
    pages = client_of(measured)
    for query in (
        "what=moods&value=good",
        "what=vote&value=sideways",
        "what=hour&value=25",
        "what=vote",
        "what=switch&value=gpt-5",
        "what=conflict&value=gpt-5",
        "what=agent&value=spy&value=Navigator",
        "what=parallel&value=soon",
        "what=sequence&value=bash",
        "",
    ):
        assert pages.get(f"{BEHIND}?{query}").status_code == 400, query


def test_what_has_a_price_was_recorded(measured: Path) -> None:
    pytest.importorskip("genai_prices")
    with Archive(measured) as archive:
        chosen = choose(archive)
        rows = {row.title: row.times for row in conversations_behind(chosen, "priced")}
        recorded = {row.title: row.times for row in conversations_behind(chosen, "spent", "recorded")}
    assert rows == recorded, "all these models have one"


# --- by the page ----------------------------------------------------------------------------------------------------


def sections_for(chosen: Chosen) -> list[Section]:
    nobody = Definition(kind="agent", name="Pilot", path="/home/ana/pilot", scope="user", description="", body="")
    return sections_of(measure(chosen, lambda _: [nobody]), Links(Filters(), at(7, "12:00:00")))


def panels_of(sections: list[Section]) -> list[Panel]:
    return [panel for section in sections for panel in section.panels]


def asked_by(link: str) -> list[str]:
    """What a link to a list asks for."""
    query = parse_qs(urlsplit(link).query)
    return [*query["what"], *query.get("value", [])]


def test_every_number_leads_somewhere(repeated: Path) -> None:
    with Archive(repeated) as archive:
        sections = sections_for(choose(archive))

    for tile in (tile for section in sections for tile in section.tiles):
        assert tile.link is not None or tile.value in ("0", "–"), tile.label
        assert tile.link is None or tile.link.startswith("/"), "and not just to another place of the page"
    keys = {panel.key for panel in panels_of(sections)}
    assert keys >= {"languages", "switches", "conflicts", "handovers", "sequences", "origins", "unused-agents"}
    for panel in panels_of(sections):
        for point in panel.chart.points if panel.chart else []:
            assert point.link is not None or not any(point.values), (panel.key, point.name)
        if panel.key.startswith("unused"):
            continue  # nobody used it: there is nothing to lead to
        is_nothing = [all(cell.text in ("0", "–") for cell in row[1:]) for row in panel.table.rows]
        for row, is_empty in zip(panel.table.rows, is_nothing, strict=True):
            assert is_empty or any(cell.link for cell in row), (panel.key, row)


@pytest.mark.parametrize(
    "selection",
    [
        Selection(),
        Selection(since=at(5, "00:00:00")),
        Selection(until=at(5, "10:00:05")),
        Selection(source="cli-events"),
    ],
    ids=["all", "since", "until", "source"],
)
def test_a_list_has_as_many_as_its_number_says(repeated: Path, selection: Selection) -> None:
    compared = set()
    with Archive(repeated) as archive:
        chosen = choose(archive, selection)
        for panel in panels_of(sections_for(chosen)):
            if panel.key == "origins" or panel.key.startswith("tokens"):
                continue  # amounts; their lists have records
            heads = [head.text for head in panel.table.heads]
            for row in panel.table.rows:
                for head, cell in zip(heads, row, strict=True):
                    if not cell.is_number or not (cell.link or "").startswith(BEHIND):
                        continue
                    rows = conversations_behind(chosen, *asked_by(cell.link))
                    found = len(rows) if head == "Conversations" else sum(row.times for row in rows)
                    assert f"{found:,}" == cell.text, (panel.key, head, row[0].text)
                    compared.add((panel.key, head))
    assert {("models", "Turns"), ("tools", "Calls"), ("agents", "Turns or runs")} <= compared


def test_rows_count_what_is_behind_their_names(repeated: Path) -> None:
    """Where the name of a row is the link: the number that its list must come to."""
    numbers = {
        "sequences": "Times",
        "languages": "Edits",
        "servers": "Calls",
        "programs": "Calls",
        "errors": "Turns",
        "fates": "Edits",
        "ends": "Turns",
        "weekdays": "Turns",
        "hours": "Turns",
    }
    conversations = {"sequences", "servers", "programs", "origins", "tokens-by-model", "weekdays", "hours"}
    with Archive(repeated) as archive:
        chosen = choose(archive)
        panels = {panel.key: panel for panel in panels_of(sections_for(chosen))}
        for key in numbers.keys() | conversations:
            heads = [head.text for head in panels[key].table.heads]
            for row in panels[key].table.rows:
                if row[0].link is None:
                    continue
                rows = conversations_behind(chosen, *asked_by(row[0].link))
                if key in numbers:
                    assert f"{sum(one.times for one in rows):,}" == row[heads.index(numbers[key])].text, (key, row)
                if key in conversations:
                    assert f"{len(rows):,}" == row[heads.index("Conversations")].text, (key, row)


def test_tiles_count_what_is_behind_them(repeated: Path) -> None:
    amounts = {"Tokens", "Cost", "Premium requests", "AI credits", "Elapsed", "Working", "Waiting for a person"}
    by_conversation = {"At the same time", "Switched models"}
    compared = set()
    with Archive(repeated) as archive:
        chosen = choose(archive)
        for section in sections_for(chosen):
            for tile in section.tiles:
                if tile.link is None or not tile.link.startswith(BEHIND):
                    continue
                if tile.label in amounts | {"Active days", "Edits kept"}:
                    continue
                rows = conversations_behind(chosen, *asked_by(tile.link))
                found = len(rows) if tile.label in by_conversation else sum(row.times for row in rows)
                assert f"{found:,}" == tile.value, tile.label
                compared.add(tile.label)
    assert compared >= {"Turns", "Tool calls", "Edits", "Calls", "Retries", "Denied", *by_conversation}


def test_a_list_keeps_the_period_and_the_facets(repeated: Path) -> None:
    links = Links(Filters(since="2026-05-05", workspace=TIDES), at(7, "12:00:00"))
    link = links.behind("handover", "switch", "(default)", "a & b = c")

    assert parse_qs(urlsplit(link).query) == {
        "since": ["2026-05-05"],
        "workspace": [TIDES],
        "what": ["handover"],
        "value": ["switch", "(default)", "a & b = c"],
    }
