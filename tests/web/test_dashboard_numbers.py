"""Each number of the dashboard leads to the conversations behind it: exactly those that it counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from copilog.analysis.drill_down import FIGURES, drill_down
from copilog.analysis.figures import HandoverRow
from copilog.analysis.selection import Chosen, Selection, choose
from copilog.definitions import Definition
from copilog.render.report import amounts
from copilog.render.report.columns import WORDS
from copilog.store.archive import Archive
from copilog.web.dashboard.figures import measure
from copilog.web.dashboard.links import BEHIND, Links
from copilog.web.dashboard.page import sections_of
from copilog.web.dashboard.panels import Panel, Section
from copilog.web.filters import Filters
from tests.measured import TIDES, at, harbour, measured_archive
from tests.stored import concluded_entry

HARBOUR, LIGHT, AGAIN, BEACON = "Tide tables", "Lighthouse", "Lighthouse, again", "A pull request"
CLAUDE = "claude-sonnet-4.5"

# Computed by hand from tests/measured.py.
COUNTED: list[tuple[tuple[str, ...], dict[str, float]]] = [
    (("totals.turns",), {HARBOUR: 3, LIGHT: 2, AGAIN: 1, BEACON: 2}),
    (("time.active_days",), {HARBOUR: 2, LIGHT: 1, AGAIN: 1, BEACON: 1}),
    (("work.votes_up",), {HARBOUR: 1}),
    (("work.votes_down",), {HARBOUR: 1}),
    (("work.vote_reasons.times", "incorrectCode"), {HARBOUR: 1}),
    (("work.failed",), {LIGHT: 1, BEACON: 1}),
    (("work.cancelled",), {HARBOUR: 1}),
    (("work.unknown_ends",), {}),
    (("work.retried",), {BEACON: 1}),
    (("time.by_weekday.turns", "Tuesday"), {HARBOUR: 1, LIGHT: 2}),
    (("time.by_hour.turns", "10"), {HARBOUR: 1, LIGHT: 2}),
    (("work.errors.times", "rate_limit"), {LIGHT: 1}),
    (("work.elapsed_ms",), {HARBOUR: 95_000, LIGHT: 70_000, AGAIN: 5_000, BEACON: 8_000}),
    (("work.working_ms",), {HARBOUR: 90_000, LIGHT: 70_000, AGAIN: 5_000, BEACON: 8_000}),
    (("work.waiting_ms",), {HARBOUR: 5_000}),
    (("time.most_parallel",), {HARBOUR: 1, LIGHT: 1}),
    (("models.models.turns", "gpt-5-mini"), {LIGHT: 1, AGAIN: 1}),
    (("models.models.turns", CLAUDE), {HARBOUR: 2, LIGHT: 1}),
    (("models.models.failed", "gpt-4.1"), {BEACON: 1}),
    (("models.unknown_turns",), {}),
    (("models.switching_conversations",), {HARBOUR: 1, LIGHT: 1}),
    (("models.switches.times", "gpt-5", CLAUDE), {HARBOUR: 1}),
    (("models.switches.times", "gpt-5-mini", CLAUDE), {LIGHT: 1}),
    (("models.switches.times", CLAUDE, "gpt-5"), {}),
    (("models.conflicts.times", "gpt-5-mini", CLAUDE), {LIGHT: 1}),
    (("models.conflicts.times", "auto", "gpt-4.1"), {}),
    (("agents.agents.turns", "custom", "Navigator"), {HARBOUR: 2}),
    (("agents.agents.turns", "participant", "agent"), {HARBOUR: 3}),
    (("agents.agents.turns", "subagent", "Keeper"), {LIGHT: 1}),
    (("agents.agents.failed", "custom", "Navigator"), {}),
    (("agents.handovers.times", "switch", "(default)", "Navigator"), {HARBOUR: 1}),
    (("agents.handovers.times", "subagent", "Navigator", "Sounder"), {HARBOUR: 1}),
    (("agents.handovers.times", "subagent", "(default)", "Keeper"), {LIGHT: 1}),
    (("skills.skills.offered", "buoy-care"), {HARBOUR: 1}),
    (("skills.skills.offered", "chart-reading"), {}),
    (("skills.skills.loaded", "chart-reading"), {HARBOUR: 1}),
    (("tools.calls",), {HARBOUR: 7, LIGHT: 4}),
    (("tools.tools.calls", "read_file"), {HARBOUR: 2}),
    (("tools.failed",), {HARBOUR: 1}),
    (("tools.tools.failed", "run_in_terminal"), {HARBOUR: 1}),
    (("tools.tools.timed", "run_in_terminal"), {HARBOUR: 2}),
    (("tools.retries",), {HARBOUR: 1}),
    (("tools.tools.retries", "read_file"), {}),
    (("tools.automatic",), {HARBOUR: 2, LIGHT: 1}),
    (("tools.by_user",), {HARBOUR: 1, LIGHT: 1}),
    (("tools.unknown_confirmations",), {HARBOUR: 4, LIGHT: 1}),
    (("tools.denied",), {LIGHT: 1}),
    (("tools.tools.denied", "bash"), {LIGHT: 1}),
    (("tools.servers.calls", "github"), {LIGHT: 1}),
    (("tools.servers.failed", "github"), {}),
    (("tools.programs.calls", "pytest"), {HARBOUR: 2}),
    (("tools.programs.failed", "pytest"), {HARBOUR: 1}),
    (("tools.command_errors",), {HARBOUR: 1}),
    (("tools.tools.command_errors", "run_in_terminal"), {HARBOUR: 1}),
    (("tools.programs.command_errors", "pytest"), {HARBOUR: 1}),
    (("tools.sequences.times", "read_file", "run_in_terminal"), {HARBOUR: 1}),
    (("tools.sequences.times", "run_in_terminal", "runSubagent"), {}),  # of two turns
    (("work.edits",), {HARBOUR: 2}),
    (("work.kept",), {HARBOUR: 1}),
    (("work.pending",), {}),
    (("work.top_files.edits", f"{TIDES}/src/tides.py"), {HARBOUR: 1}),
    (("work.top_files.undone", f"{TIDES}/src/tides.py"), {}),
    (("work.top_files.undone", f"{TIDES}/web/chart.ts"), {HARBOUR: 1}),
    (("work.languages.edits", "Python"), {HARBOUR: 1}),
    (("tokens.total.recorded",), {HARBOUR: 33_500, LIGHT: 36_200, AGAIN: 1_050, BEACON: 400}),
    (("tokens.total.estimated",), {HARBOUR: 21_427, BEACON: 10_200}),
    (("tokens.total.premium_requests",), {HARBOUR: 2, LIGHT: 1}),  # those of the beacon cost nothing
    (("tokens.total.unanswered_requests",), {LIGHT: 1}),
    (("tokens.total.credits",), {HARBOUR: 4, LIGHT: 3}),
    (("tokens.by_model.credits", "claude-sonnet-4.5"), {HARBOUR: 2.5}),
    (("tokens.origins.records", "details", "recorded"), {HARBOUR: 2, BEACON: 2}),
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
    """Return the same with two more harbours, so that sequences of tools are frequent enough to be listed."""
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
def test_a_number_leads_to_its_conversations(
    measured: Path, asked: tuple[str, ...], expected: dict[str, float]
) -> None:
    with Archive(measured) as archive:
        rows = drill_down(choose(archive), *asked).rows
    assert {row.title: row.amount for row in rows} == expected


def test_each_list_has_a_page_with_a_heading(client_of: Callable[[Path], TestClient], measured: Path) -> None:
    pages = client_of(measured)
    for (figure, *values), expected in COUNTED:
        answer = pages.get(BEHIND, params={"figure": figure, "value": values})
        assert answer.status_code == 200, figure
        assert f"{len(expected)} conversation" in answer.text
        assert all(title in answer.text for title in expected)


@pytest.mark.parametrize(
    ("asked", "heading", "amount"),
    [
        (("work.elapsed_ms",), "Elapsed time of turns", "1 min 35 s"),
        (("tokens.total.recorded",), "Recorded tokens", "36,200"),
        (("agents.agents.turns", "custom", "Navigator"), "Turns of the custom agent Navigator", "2"),
        (("tools.tools.failed", "run_in_terminal"), "Failed calls of run_in_terminal", "1"),
        (("time.by_hour.turns", "10"), "Turns that began between 10:00 and 10:59", "2"),
    ],
)
def test_a_list_says_what_it_counts(
    client_of: Callable[[Path], TestClient], measured: Path, asked: tuple[str, ...], heading: str, amount: str
) -> None:
    figure, *values = asked
    text = client_of(measured).get(BEHIND, params={"figure": figure, "value": values}).text
    assert f'<h1 dir="auto">{heading}</h1>' in text
    assert f'<td class="number">{amount}</td>' in text


def test_an_unknown_figure_is_refused(client_of: Callable[[Path], TestClient], measured: Path) -> None:
    pages = client_of(measured)
    for query in ("figure=moods&value=good", "figure=time.by_hour.turns&value=25", "figure=work.errors.times", ""):
        assert pages.get(f"{BEHIND}?{query}").status_code == 400, query


# --- by the page ----------------------------------------------------------------------------------------------------


def sections_for(chosen: Chosen) -> list[Section]:
    nobody = Definition(kind="agent", name="Pilot", path="/home/ana/pilot", scope="user", description="", body="")
    return sections_of(measure(chosen, lambda _: [nobody]), Links(Filters(), at(7, "12:00:00")))


def panels_of(sections: list[Section]) -> list[Panel]:
    return [panel for section in sections for panel in section.panels]


def asked_by(link: str) -> list[str]:
    """Return the parameters of a link to a list."""
    query = parse_qs(urlsplit(link).query)
    return [*query["figure"], *query.get("value", [])]


def number_behind(chosen: Chosen, link: str, words: Callable[[float], str] | None = None) -> str:
    """Return the sum of the rows of a link's figure, as the dashboard formats it."""
    name, *values = asked_by(link)
    figure = FIGURES[name]
    return (words or WORDS[figure.amount.unit])(figure.number(chosen, figure.table.key_of(tuple(values))))


def test_every_number_has_a_link(repeated: Path) -> None:
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
            continue  # it was never used: there is no list
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
            heads = [head.text for head in panel.table.heads]
            for row in panel.table.rows:
                for head, cell in zip(heads, row, strict=True):
                    if not cell.is_number or not (cell.link or "").startswith(BEHIND):
                        continue
                    if head == "Conversations":
                        words = f"{len(drill_down(chosen, *asked_by(cell.link)).rows):,}"
                    else:
                        words = number_behind(chosen, cell.link)
                    assert words == cell.text, (panel.key, head, row[0].text)
                    compared.add((panel.key, head))
    assert {("models", "Turns"), ("tools", "Calls"), ("latency", "Median"), ("agents", "Turns or runs")} <= compared


def test_a_row_counts_the_conversations_that_it_links_to(repeated: Path) -> None:
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
                rows = drill_down(chosen, *asked_by(row[0].link)).rows
                if key in numbers:
                    assert f"{sum(one.amount for one in rows):,}" == row[heads.index(numbers[key])].text, (key, row)
                if key in conversations:
                    assert f"{len(rows):,}" == row[heads.index("Conversations")].text, (key, row)


def test_a_tile_counts_the_conversations_that_it_links_to(repeated: Path) -> None:
    compared = set()
    with Archive(repeated) as archive:
        chosen = choose(archive)
        for section in sections_for(chosen):
            for tile in section.tiles:
                if tile.link is None or not tile.link.startswith(BEHIND) or tile.label == "Edits kept":
                    continue
                words = amounts.short if tile.label == "Tokens" else None
                assert number_behind(chosen, tile.link, words) == tile.value, tile.label
                compared.add(tile.label)
    assert compared >= {"Turns", "Tool calls", "Tokens", "Cost", "Elapsed", "Active days", "Denied", "Switched models"}


def test_a_list_keeps_the_period_and_the_facets(repeated: Path) -> None:
    links = Links(Filters(since="2026-05-05", workspace=TIDES), at(7, "12:00:00"))
    link = links.behind(
        "agents.handovers.times", HandoverRow(kind="switch", before="(default)", after="a & b = c", times=1)
    )

    assert parse_qs(urlsplit(link).query) == {
        "since": ["2026-05-05"],
        "workspace": [TIDES],
        "figure": ["agents.handovers.times"],
        "value": ["switch", "(default)", "a & b = c"],
    }
