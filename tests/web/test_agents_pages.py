"""Agents and skills: the lists, and the page of each."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from starlette.testclient import TestClient

from copilog.model import Conversation, CustomAgent, Timing, Turn
from copilog.store.archive import Archive
from tests.measured import at
from tests.stored import concluded_entry
from tests.web.hostile import NAME, PROSE

FIRST = "You are the pilot. Read the tide table before you say anything about a port."
SECOND = f"{FIRST}\nName the table that you have read."


def charts_of(text: str) -> dict[str, Any]:
    found = re.search(r'data-charts="([^"]*)"', text)
    assert found is not None
    return {chart["key"]: chart for chart in json.loads(unescape(found[1]))} if found[1] else {}


def told(name: str, native_id: str, text: str, day: int) -> Conversation:
    agent = CustomAgent(name=name, instructions=text, tools=["edit"], evidence="modeInfo")
    turn = Turn(index=0, status="complete", custom_agent=agent, timing=Timing(started_at=at(day, "09:00:00")))
    return Conversation(id=f"vscode:{native_id}", native_id=native_id, source="vscode-session", turns=[turn])


@pytest.fixture
def piloted(own_archive: Path) -> Path:
    """Return an archive with an agent whose text changed, and whose file was then renamed."""
    with Archive(own_archive, write=True) as archive:
        for name, native_id, text, day in (
            ("Pilot", "p1", FIRST, 4),
            ("Pilot", "p2", SECOND, 5),
            ("Navigator", "p3", SECOND, 6),
        ):
            archive.put(concluded_entry(told(name, native_id, text, day)), "1")
        archive.index_pending()
    return own_archive


@pytest.fixture
def home_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Return a function that defines an agent for the user."""

    def define(name: str, text: str) -> Path:
        folder = tmp_path / "home" / ".copilot" / "agents"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.md"
        path.write_text(text)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "home" / ".copilot"))
        return path

    return define


# --- lists ----------------------------------------------------------------------------------------------------------


def test_all_agents_are_listed_with_their_cost_and_lead_to_their_pages(client: TestClient) -> None:
    text = client.get("/agents").text

    assert '<a href="/agents/one?kind=custom&amp;name=Reviewer">Reviewer</a>' in text
    assert "tokens 1, credits 1 of 1 turn" in text  # of the release helper
    assert "1 failed, 2 unknown" in text
    assert "How agents handed over" in text
    assert "Agents that were used and are nowhere defined" in text


def test_all_skills_are_listed_and_lead_to_their_pages(client: TestClient) -> None:
    text = client.get("/skills").text

    assert '<a href="/skills/one?name=release">release</a>' in text
    assert "Turns offered" in text
    assert "Skills that were loaded and are nowhere defined" in text


def test_filters_narrow_the_lists_and_stay_in_the_links(client: TestClient) -> None:
    text = client.get("/agents", params={"workspace": "/home/ana/code/garden-planner"}).text

    assert "release-helper" in text
    assert "Reviewer" not in text
    assert "name=release-helper&amp;workspace=" in text


@pytest.mark.parametrize("page", ["/agents", "/skills", "/files", "/commands"])
def test_an_invalid_filter_is_reported_on_the_page(client: TestClient, page: str) -> None:
    answer = client.get(page, params={"since": "banana"})

    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize("page", ["/agents", "/skills", "/files", "/commands"])
def test_an_empty_selection_is_reported(client: TestClient, page: str) -> None:
    answer = client.get(page, params={"until": "2001-01-01"})

    assert answer.status_code == 200
    assert re.search(r"No (agents|skills|file|command)", answer.text)


def test_what_is_defined_and_never_used_has_a_page(
    client_of: Callable[[Path], TestClient], own_archive: Path, home_with: Callable[[str, str], Path]
) -> None:
    path = home_with(
        "idle", "---\nname: Idle\ndescription: Waits\ntools: ['edit']\nhandoffs:\n- agent: Other\n---\nWait."
    )
    client = client_of(own_archive)

    assert '<a href="/agents/one?kind=custom&amp;name=Idle">Idle</a>' in client.get("/agents").text
    text = client.get("/agents/one", params={"kind": "custom", "name": "idle"}).text
    assert str(path) in text
    assert "Wait." in text
    assert "Other" in text
    assert "not used yet" in text


# --- one ------------------------------------------------------------------------------------------------------------


def test_the_page_of_an_agent_has_its_text_tools_outcomes_and_conversations(client: TestClient) -> None:
    text = client.get("/agents/one", params={"kind": "custom", "name": "reviewer"}).text

    assert "You review changes before they are merged." in text
    assert "<dd>readFile, runInTerminal</dd>" in text
    assert "vscode_askQuestions" in text
    assert "Review the forecast cache</a>" in text
    assert "recorded in 0 of 3 turns" in text
    outcomes = charts_of(text)["outcomes"]
    assert {point["name"]: point["values"] for point in outcomes["points"]} == {"failed": [1], "unknown": [2]}


def test_what_the_prompts_of_a_skill_were_made_of_is_a_chart_and_a_table(client: TestClient) -> None:
    text = client.get("/skills/one", params={"name": "release"}).text

    chart = charts_of(text)["composition"]
    assert [(point["name"], point["aside"]) for point in chart["points"]] == [
        ("User Context: Messages", "47.0 %"),
        ("System: Tools", "31.0 %"),
        ("System: Instructions", "22.0 %"),
    ]
    assert "On average over the 1 of 1 turn that record it." in text
    assert '<td class="number">47.0 %</td>' in text


def test_the_dashboard_has_it_for_all_turns(client: TestClient) -> None:
    charts = {chart["key"]: chart for chart in client.get("/dashboard/data").json()["charts"]}

    assert charts["composition"]["unit"] == "share"
    assert re.search(r"On average over the [1-9] of \d+ turns that record it\.", client.get("/dashboard").text)


def test_a_renamed_agent_has_one_page_with_both_names_and_all_texts(
    client_of: Callable[[Path], TestClient], piloted: Path
) -> None:
    client = client_of(piloted)

    by_old, by_new = (
        client.get("/agents/one", params={"kind": "custom", "name": name}).text for name in ("Pilot", "Navigator")
    )

    for text in (by_old, by_new):
        assert ">Navigator</h1>" in text
        assert 'also named <span dir="auto">Pilot</span>' in text
        assert "2 turns of 2 conversations" in text
        assert "1 turn of 1 conversation" in text
        assert "What changed from the text before" in text
    assert client.get("/agents").text.count(">Pilot</a>") == 0
    assert "figure=agents.agents.turns&amp;value=custom&amp;value=Navigator" in client.get("/dashboard").text


@pytest.mark.parametrize(
    "address",
    [
        "/agents/one",
        "/agents/one?kind=custom",
        "/agents/one?kind=odd&name=x",
        "/agents/one?kind=custom&name=x",
        "/skills/one?name=x",
    ],
)
def test_an_unknown_name_is_not_found(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_hostile_names_instructions_and_paths_are_text(
    client_of: Callable[[Path], TestClient],
    own_archive: Path,
    home_with: Callable[[str, str], Path],
    served: Callable[[Path], str],
    open_page: Callable[..., Page],
) -> None:
    home_with("a'b&<i>", f"---\nname: {json.dumps(NAME)}\ntools: {json.dumps([NAME])}\n---\n{PROSE} and more")
    with Archive(own_archive, write=True) as archive:
        for native_id, text, day in (("h1", PROSE, 4), ("h2", PROSE.upper(), 5)):
            archive.put(concluded_entry(told(NAME, native_id, text, day)), "1")
    address = served(own_archive)
    page = open_page(address, "/agents")
    page.get_by_role("link", name=NAME.partition("<")[0]).first.click()
    page.wait_for_load_state("networkidle")
    page.evaluate("() => document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")

    assert page.evaluate("window.ran") is None
    assert page.locator("img").count() == 0
    assert page.locator("i").count() == 0
    assert "<script>window.ran=1" in page.locator(".told-text").first.inner_text()


# --- by keyboard, and without scripts -------------------------------------------------------------------------------


def test_texts_fold_out_by_keyboard(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/agents/one?kind=custom&name=Reviewer")
    page.locator("details.told > summary").focus()
    page.keyboard.press("Enter")

    assert page.locator(".told-text").is_visible()


def test_a_chart_is_drawn_and_walked_by_keyboard(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/files")
    page.locator("#dashboard[data-drawn]").wait_for()
    links = page.locator(".picture a")
    links.first.focus()
    page.keyboard.press("ArrowDown")

    assert links.nth(1).evaluate("link => link === document.activeElement")


def test_without_scripts_the_tables_are_there(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/skills/one?name=release", java_script_enabled=False)
    page.locator("#panel-composition summary").click()

    assert page.locator("#panel-composition table").is_visible()
    assert page.locator("noscript").count() == 1
