"""The waterfall of a conversation, as data, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page
from starlette.testclient import TestClient

CLI = "cli:5152790e-278e-4890-b9f8-bfaa354b944e"  # of the sample: three turns, a sub-agent, two models


def test_the_data_is_that_of_the_conversation(client: TestClient) -> None:
    data = client.get("/conversation/timeline.json", params={"id": CLI}).json()

    assert data["tracks"] == ["main", "explore"]
    assert [span["name"] for span in data["spans"] if span["kind"] == "turn"] == [
        "claude-sonnet-4.5",
        "claude-opus-4.5",
        "claude-opus-4.5",
    ]
    assert len(data["breaks"]) == 1
    assert {switch["after"] for switch in data["switches"]} == {"claude-opus-4.5"}


def test_the_page_tells_it_without_a_picture(client: TestClient) -> None:
    text = client.get("/conversation/timeline", params={"id": CLI}).text

    assert "Calendar: tides to subscribe to" in text
    assert "turn, claude-sonnet-4.5" in text
    assert "Turn 2: model claude-sonnet-4.5 to claude-opus-4.5" in text
    assert 'href="/conversation?id=cli%3A5152790e-278e-4890-b9f8-bfaa354b944e&amp;message=' in text


def test_a_conversation_that_is_not_there_is_not_found(client: TestClient) -> None:
    assert client.get("/conversation/timeline", params={"id": "nobody"}).status_code == 404
    assert client.get("/conversation/timeline.json").status_code == 404


def test_the_picture_shows_every_span_and_can_be_zoomed(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, f"/conversation/timeline?id={CLI}")
    bars = page.locator("#waterfall a.bar")
    bars.first.wait_for()

    spans = page.evaluate(
        "async () => (await (await fetch(document.getElementById('waterfall').dataset.source)).json()).spans.length"
    )
    assert bars.count() == spans
    first = bars.filter(has_text="harbour-station_info").locator("rect")
    before = first.bounding_box()
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(400)
    after = first.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] > before["width"]


def test_a_bar_leads_to_its_message(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, f"/conversation/timeline?id={CLI}")
    bar = page.locator("#waterfall a.bar.subagent").first
    bar.wait_for()

    assert "/conversation?id=cli%3A5152790e" in (bar.get_attribute("href") or "")
    assert "explore" in (bar.get_attribute("aria-label") or "")
