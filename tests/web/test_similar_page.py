"""Similar conversations: a page of them, and the short list in the panel beside a conversation."""

from __future__ import annotations

from urllib.parse import quote

from starlette.testclient import TestClient

LOOKUP = "vscode:115d7669-fedf-4b5f-8567-9e11ee66c6cb"
CALENDAR = "cli:5152790e-278e-4890-b9f8-bfaa354b944e"


def test_the_panel_lists_similar_conversations_with_what_they_share(client: TestClient) -> None:
    panel = client.get(f"/conversation/panel?id={quote(LOOKUP)}").text

    assert "Similar conversations" in panel
    assert f"/conversation?id={quote(CALENDAR)}" in panel
    assert f"/conversation/similar?id={quote(LOOKUP)}" in panel


def test_the_panel_of_the_page_without_scripts_has_them_too(client: TestClient) -> None:
    assert "Similar conversations" in client.get(f"/conversation?id={quote(LOOKUP)}&panel=0").text


def test_the_page_lists_them(client: TestClient) -> None:
    shown = client.get(f"/conversation/similar?id={quote(LOOKUP)}")

    assert shown.status_code == 200
    assert "Similar conversations" in shown.text
    assert f"/conversation?id={quote(CALENDAR)}" in shown.text
    assert "pytest" in shown.text


def test_a_conversation_that_is_not_there_is_not_found(client: TestClient) -> None:
    assert client.get("/conversation/similar?id=nowhere").status_code == 404


def test_the_library_finds_a_question_and_what_was_pasted(client: TestClient) -> None:
    question = client.get("/?q=why+is+the+tide+lookup+slow").text
    assert "Speed up the tide lookup" in question
    assert "the search was widened" in question
    pasted = client.get("/?q=" + quote("git commit -qam")).text
    assert "as it was typed" in pasted
