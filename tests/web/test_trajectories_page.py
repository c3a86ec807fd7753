"""Files of trajectories in the viewer: opened, read, compared."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.web.trajectory_files import OpenedFiles


def line(name: str, answer: str, model: str = "gpt-5") -> dict[str, Any]:
    given = '<attachments>\n<attachment id="tides.py">HIGH = 4.2</attachment>\n</attachments>'
    asked = f"{given}\n<userRequest>\nWhen?\n</userRequest>"
    return {
        "conversation_id": name,
        "messages": [
            {"role": "user", "content": asked, "turn": 1, "mode": "agent", "model": model, "model_source": "turn"},
            {
                "role": "assistant",
                "content": answer,
                "turn": 1,
                "mode": "agent",
                "model": model,
                "model_source": "exact",
                "model_conflict": True,
            },
        ],
        "metadata": {},
        "mode_distribution": {"agent": 2},
        "telemetry_type": "vscode",
    }


def jsonl(*lines: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


OLD = jsonl(line("tides", "At noon."), line("ebb", "At six."), line("gone", "Never."))
NEW = jsonl(line("tides", "At noon, or a little later."), line("ebb", "At six."), line("come", "Soon."))


@pytest.fixture
def opened(client: TestClient) -> Callable[[str, bytes], str]:
    """Drop a file and return its key."""

    def drop(name: str, data: bytes) -> str:
        answer = client.post(
            "/trajectories", params={"name": name}, content=data, headers={"Origin": "http://127.0.0.1:8765"}
        )
        assert answer.status_code == 200, answer.text
        address: str = answer.json()["address"]
        return address.partition("key=")[2]

    return drop


def test_a_file_that_was_dropped_is_listed_with_its_conversations(
    client: TestClient, opened: Callable[[str, bytes], str]
) -> None:
    key = opened("old.jsonl", OLD)

    assert "old.jsonl" in client.get("/trajectories").text
    text = client.get("/trajectories/file", params={"key": key}).text
    assert "3 conversations" in text
    for name in ("tides", "ebb", "gone"):
        assert f"conversation={name}" in text
    assert "gpt-5" in text


def test_a_conversation_shows_mode_model_source_and_conflict_of_each_message(
    client: TestClient, opened: Callable[[str, bytes], str]
) -> None:
    key = opened("old.jsonl", OLD)

    text = client.get("/trajectories/show", params={"key": key, "conversation": "tides"}).text

    assert "mode agent" in text
    assert "model gpt-5 (exact)" in text
    assert "conflict: interactiveSession" in text
    assert "At noon." in text
    assert "HIGH = 4.2" in text  # what was injected is there, apart from the user's words


def test_broken_lines_are_reported_and_the_rest_is_read(
    client: TestClient, opened: Callable[[str, bytes], str]
) -> None:
    key = opened("torn.jsonl", OLD + b'{"conversation_id": "torn", "mess\n' + jsonl({"no": "trajectory"}))

    text = client.get("/trajectories/file", params={"key": key}).text

    assert "3 conversations" in text
    assert "2 lines could not be read" in text
    assert "Line 5" in text


def test_two_files_are_compared_as_the_command_does(client: TestClient, opened: Callable[[str, bytes], str]) -> None:
    old, new = opened("old.jsonl", OLD), opened("new.jsonl", NEW)

    text = client.get("/trajectories/compare", params={"old": old, "new": new}).text
    assert "They differ." in text
    assert "Only in old.jsonl" in text
    assert "Only in new.jsonl" in text
    one = client.get("/trajectories/compare", params={"old": old, "new": new, "conversation": "tides"}).text
    assert "At noon, or a little later." in one
    assert "messages[1]" in one
    alone = client.get("/trajectories/compare", params={"old": old, "new": new, "conversation": "gone"}).text
    assert "new.jsonl does not have it" in alone


def test_texts_of_several_lines_stand_side_by_side_where_there_is_room(
    open_page: Callable[..., Page], address: str
) -> None:
    page = open_page(address, "/trajectories")
    keys = []
    for answer in ("At noon.\nOr so.", "At noon.\nOr a little later."):
        sent = page.request.post(f"{address}/trajectories?name=run.jsonl", data=jsonl(line("tides", answer)))
        keys.append(sent.json()["address"].partition("key=")[2])
    page.goto(f"{address}/trajectories/compare?old={keys[0]}&new={keys[1]}&conversation=tides")
    expect(page.locator(".wide-only").first).to_be_visible()
    expect(page.locator(".narrow-only").first).to_be_hidden()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".wide-only").first).to_be_hidden()
    expect(page.locator(".narrow-only").first).to_be_visible()


def test_a_file_that_is_closed_is_gone(client: TestClient, opened: Callable[[str, bytes], str]) -> None:
    key = opened("old.jsonl", OLD)

    closed = client.post("/trajectories/close", params={"key": key}, headers={"Origin": "http://127.0.0.1:8765"})

    assert closed.status_code == 303
    assert client.get("/trajectories/file", params={"key": key}).status_code == 404


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "/etc/passwd", "x" * 500])
def test_addresses_contain_no_file_paths(client: TestClient, key: str) -> None:
    assert client.get("/trajectories/file", params={"key": key}).status_code == 404
    assert client.get("/trajectories/compare", params={"old": key, "new": key}).status_code == 404


def test_a_drop_from_another_site_is_refused(client: TestClient) -> None:
    answer = client.post("/trajectories", content=OLD, headers={"Origin": "http://evil.example"})

    assert answer.status_code == 403


def test_what_was_dropped_is_deleted_with_the_server() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield OLD

    files = OpenedFiles()
    with ThreadPoolExecutor(1) as elsewhere:  # in this thread a browser may be at work
        kept = elsewhere.submit(asyncio.run, files.drop("old.jsonl", chunks())).result()
    assert kept.path.read_bytes() == OLD
    assert kept.path.parent.stat().st_mode & 0o077 == 0
    files.close_all()
    assert not kept.path.parent.exists()


def test_a_file_can_be_chosen_in_the_browser(open_page: Callable[..., Page], address: str, tmp_path: Path) -> None:
    path = tmp_path / "chosen.jsonl"
    path.write_bytes(OLD)
    page = open_page(address, "/trajectories")

    page.set_input_files("#file", str(path))
    page.wait_for_url("**/trajectories/file?key=*")

    assert page.locator("h1").text_content() == "chosen.jsonl"
    page.get_by_role("link", name="tides").click()
    page.get_by_text("At noon.").wait_for()
