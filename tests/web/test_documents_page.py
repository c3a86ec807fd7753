"""Documents in the viewer: a hit names its document and leads to it on the conversation's page."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from copilog.derive import conclude
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from tests.made_up_documents import documented_conversation

WORDS = {"plan": "halyard", "memory": "binnacle", "checkpoint": "mizzen", "research": "sextant", "artifact": "bowsprit"}


@pytest.fixture
def documents(client_of: Callable[[Path], TestClient], tmp_path: Path) -> TestClient:
    path = tmp_path / "archive.db"
    conversation = documented_conversation()
    conclude(conversation)
    with Archive(path, write=True) as archive:
        archive.put(entry_of(conversation), "1")
        archive.index_pending()
    return client_of(path)


@pytest.mark.parametrize("kind", WORDS)
def test_a_hit_in_a_document_leads_to_it(kind: str, documents: TestClient) -> None:
    library = documents.get(f"/?q=in:{kind}+{WORDS[kind]}").text
    [place] = re.findall(r'<span class="place">([^<]*)</span>', library)
    [address] = re.findall(r'href="(/conversation\?[^"]*message=\d+#m-\d+)"', library)
    page = documents.get(unescape(address).partition("#")[0]).text
    section = page.partition(f'id="{address.partition("#")[2]}"')[2]

    assert kind in place
    assert WORDS[kind] in section[:600]


def test_the_page_lists_files_and_references_of_the_session_store(documents: TestClient) -> None:
    page = documents.get("/conversation?id=cli:t1").text

    assert "wick.py · edit · turn 1" in page
    assert "commit a1b2c3d4e5 · turn 2" in page
    assert "files/ship.png · 4,096 bytes" in page
