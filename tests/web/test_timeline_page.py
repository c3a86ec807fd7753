"""The waterfall of a conversation, as data, as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page
from starlette.testclient import TestClient

from copilog.model import Terminal, ToolCall
from copilog.store.archive import Archive
from tests.stored import concluded_entry, conversation

CLI = "cli:5152790e-278e-4890-b9f8-bfaa354b944e"  # of the sample: three turns, a sub-agent, two models


def test_the_data_is_that_of_the_conversation(client: TestClient) -> None:
    data = client.get("/conversation/timeline.json", params={"id": CLI}).json()

    assert data["tracks"] == ["main", "explore"]
    assert [span["name"] for span in data["spans"] if span["kind"] == "turn"] == [
        "claude-sonnet-4.5",
        "claude-opus-4.5",
        "claude-opus-4.5",
    ]
    assert len(data["breaks"]) == 2  # after each turn
    assert {switch["after"] for switch in data["switches"]} == {"claude-opus-4.5"}


def test_the_timeline_page_has_a_table(client: TestClient) -> None:
    text = client.get("/conversation/timeline", params={"id": CLI}).text

    assert "Calendar: tides to subscribe to" in text
    assert "turn, claude-sonnet-4.5" in text
    assert "Turn 2: model claude-sonnet-4.5 to claude-opus-4.5" in text
    assert 'href="/conversation?id=cli%3A5152790e-278e-4890-b9f8-bfaa354b944e&amp;message=' in text


def test_a_missing_conversation_is_a_404(client: TestClient) -> None:
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


def test_commands_that_ended_with_an_error_are_marked_apart_from_calls_that_failed(
    tmp_path: Path, served: Callable[[Path], str], open_page: Callable[..., Page]
) -> None:
    made = conversation("one", ("Run the tests.", "Done."))
    made.messages[1].parts += [
        ToolCall(id="a", name="run_in_terminal", status="complete"),
        Terminal(call_id="a", command="pytest", exit_code=1),
        ToolCall(id="b", name="read_file", status="failed"),
        ToolCall(id="c", name="run_in_terminal", status="complete"),
        Terminal(call_id="c", command="ls", exit_code=0),
    ]
    with Archive(tmp_path / "archive.db", write=True) as archive:
        archive.put(concluded_entry(made), "made up")

    page = open_page(served(tmp_path / "archive.db"), "/conversation/timeline?id=vscode:one")
    bars = page.locator("#waterfall a.bar.tool")
    bars.first.wait_for()

    classes = [(bar.get_attribute("class") or "").split() for bar in bars.all()]
    assert [("bad" in names, "command-error" in names) for names in classes] == [
        (False, True),
        (True, False),
        (False, False),
    ]
    told = [bar.get_attribute("aria-label") or "" for bar in bars.all()]
    assert ["exit code 1" in words for words in told] == [True, False, False]
    assert page.locator(".legend").get_by_text("command ended with an error").is_visible()
    strokes = [bar.locator("rect").evaluate("rect => getComputedStyle(rect).strokeWidth") for bar in bars.all()]
    assert strokes == ["2px", "1px", "1px"]
