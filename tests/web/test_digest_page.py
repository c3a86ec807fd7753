"""The digest in the viewer: the pages that `copilog digest` writes, with links within the viewer."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

from starlette.testclient import TestClient

from copilog.web.routes.digest import address_of

CALENDAR = "cli:5152790e-278e-4890-b9f8-bfaa354b944e"
FOLDER = "/home/ana/code/tide-tables"


def links_of(text: str) -> set[str]:
    [article] = re.findall(r'<article class="digest">.*?</article>', text, re.DOTALL)
    return {unescape(address) for address in re.findall(r'href="([^"]*)"', article)}


def test_the_first_page_leads_to_workspaces_and_conversations(client: TestClient) -> None:
    shown = client.get("/digest")

    assert shown.status_code == 200
    assert f"/digest/workspace?folder={quote(FOLDER, safe='')}" in links_of(shown.text)
    assert f"/digest/conversation?id={quote(CALENDAR, safe='')}" in links_of(shown.text)
    assert "marked lines" not in shown.text


def test_the_page_of_a_conversation_has_its_sections_and_leads_to_its_turns(client: TestClient) -> None:
    shown = client.get(f"/digest/conversation?id={quote(CALENDAR)}").text

    assert '<h2 id="technical-details">' in shown
    assert "Times in the tables are in UTC." in shown
    assert f"/conversation?id={quote(CALENDAR, safe='')}&turn=1#t-1" in links_of(shown)


def test_the_page_of_a_workspace_brings_its_conversations_together(client: TestClient) -> None:
    shown = client.get(f"/digest/workspace?folder={quote(FOLDER)}").text

    assert "Commands that matter" in shown
    assert "pytest -q tests/test_lookup.py" in shown
    assert f"/digest/conversation?id={quote(CALENDAR, safe='')}#technical-details" in links_of(shown)


def test_every_link_of_every_page_leads_somewhere(client: TestClient) -> None:
    waiting, seen = ["/digest"], {"/digest"}
    while waiting:
        shown = client.get(waiting.pop())
        assert shown.status_code == 200
        if 'class="digest"' in shown.text:
            fresh = {link.partition("#")[0] for link in links_of(shown.text) if link.startswith("/")} - seen
            seen |= fresh
            waiting += fresh
    assert len(seen) > 30


def test_only_pages_of_the_digest_become_links_of_the_viewer() -> None:
    assert address_of("javascript:alert(1)") is None
    assert address_of("/conversation/rm") is None
    assert address_of("//evil.example/x") is None
    assert address_of("https://evil.example/conversations/x") is None
    assert address_of("#turn-2", "vscode:x") == "/conversation?id=vscode%3Ax&turn=1#t-1"
    assert address_of("../conversations/vscode%3Ax#turn-3") == "/conversation?id=vscode%3Ax&turn=2#t-2"
    assert address_of("../workspaces/-") == "/digest/workspace?folder="


def test_what_is_not_there_is_not_found(client: TestClient) -> None:
    assert client.get("/digest/conversation?id=nowhere").status_code == 404
    assert client.get("/digest/workspace?folder=/nowhere").status_code == 404
