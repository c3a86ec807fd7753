"""Agents, tools and skills as a graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page
from starlette.testclient import TestClient

from tests.cli.test_last_traces import PILOT, remember_agent


def test_the_data_has_nodes_and_edges_and_where_nodes_lead(client: TestClient) -> None:
    data = client.get("/graph/data").json()

    nodes = {node["id"]: node for node in data["nodes"]}
    assert nodes["agent:reviewer"]["link"] == "/?agent=%3DReviewer"
    assert nodes["tool:run_in_terminal"]["link"] == "/?tool=%3Drun_in_terminal"
    assert nodes["agent:(default)"]["link"] is None
    assert {edge["source"] for edge in data["edges"]} <= nodes.keys()
    assert {edge["target"] for edge in data["edges"]} <= nodes.keys()


def test_the_graph_page_has_a_table(client: TestClient) -> None:
    text = client.get("/graph").text

    assert "run_in_terminal</a>" in text
    assert "hands over to" in text


def test_filters_narrow_the_graph_and_stay_in_its_links(client: TestClient) -> None:
    data = client.get("/graph/data", params={"workspace": "/home/ana/code/garden-planner"}).json()

    names = {node["name"] for node in data["nodes"]}
    assert "release-helper" in names
    assert "Reviewer" not in names
    assert all("workspace=" in node["link"] for node in data["nodes"] if node["link"])


def test_an_empty_selection_is_reported(client: TestClient) -> None:
    assert "No agent, tool or skill was used" in client.get("/graph", params={"until": "2001"}).text
    assert "no conversation has" in client.get("/graph", params={"workspace": "nowhere at all"}).text


def test_a_definition_is_shown_by_its_node_alone(
    client_of: Callable[[Path], TestClient], own_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    agents = home / ".copilot" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.md").write_text("---\nname: Reviewer\ndescription: Reads diffs\n---\nBe **kind**.<script>")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COPILOT_HOME", str(home / ".copilot"))
    client = client_of(own_archive)

    shown = client.get("/graph/definition", params={"node": "agent:reviewer"})
    other = client.get("/graph/definition", params={"node": str(agents / "reviewer.md")})

    assert shown.status_code == 200
    assert "<strong>kind</strong>" in shown.text
    assert "Reads diffs" in shown.text
    assert 'href="/agents/one?kind=custom&amp;name=Reviewer"' in shown.text
    assert "<script>" not in shown.text.partition('class="prose"')[2]
    assert other.status_code == 404


def test_instructions_that_only_vscode_remembers_are_shown(
    client_of: Callable[[Path], TestClient], own_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / ".config" / "Code" / "User" / "workspaceStorage" / "2c1743a391305fbf367df8e4f069f9f9"
    workspace.mkdir(parents=True)
    remember_agent(workspace, "/gone/pilot.agent.md")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))

    shown = client_of(own_archive).get("/graph/definition", params={"node": "agent:pilot"})

    assert shown.status_code == 200
    assert PILOT in shown.text


def test_the_graph_can_be_used_by_keyboard(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/graph")
    node = page.locator("#graph .node.agent").filter(has_text="Reviewer")
    node.wait_for()
    node.focus()

    about = page.locator("#about")
    assert about.locator("h2").text_content() == "Reviewer"
    assert about.get_by_role("link", name="Conversations that use it").get_attribute("href") == "/?agent=%3DReviewer"
    assert page.locator("#graph .dimmed").count() > 0


def test_the_picture_zooms(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/graph")
    page.locator("#graph .node").first.wait_for()
    before = page.locator("#graph svg > g").get_attribute("transform")
    page.locator("#graph svg").hover()
    page.mouse.wheel(0, -400)
    page.wait_for_timeout(200)

    assert page.locator("#graph svg > g").get_attribute("transform") != before
