"""What is left of lost conversations, in the viewer."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from copilog.ingest.scanning import scan
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive
from tests.cli.homes import Home, session

TEXT = "def ebb(): return 'kelp & <shoal>'\n"


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """Return an archive of a home with one conversation, two typed prompts, and a text without a state."""
    home = Home(tmp_path / "home")
    tides = home.workspace(1, "/home/ana/tide-tables")
    home.add(tides, session("11111111-aaaa", "Parse the tide file"))
    typed = {"history": {"copilot": [{"text": "Parse the tide file"}, {"text": "Where is Heligoland?"}]}}
    with closing(sqlite3.connect(tides / "state.vscdb", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        connection.execute("INSERT INTO ItemTable VALUES ('memento/interactive-session', ?)", (json.dumps(typed),))
    contents = tides / "chatEditingSessions" / "22222222-bbbb" / "contents"
    contents.mkdir(parents=True)
    (contents / hashlib.sha1(TEXT.encode()).hexdigest()[:7]).write_text(TEXT)
    path = tmp_path / "lost.db"
    with Archive(path, write=True) as archive:
        scan(archive, roots=roots_from(home.root))
    return path


def test_prompts_without_a_session_are_marked_and_linked(lost: Path, client_of: Callable[[Path], TestClient]) -> None:
    client = client_of(lost)
    with Archive(lost) as archive:
        [history] = [row.id for row in archive.list() if "prompts-only" in row.marks]

    assert "prompts only</span>" in client.get("/").text
    page = client.get("/conversation", params={"id": history}).text
    assert "prompts-only" in page
    assert "Where is Heligoland?" in page
    assert "Parse the tide file" not in client.get("/conversation/messages", params={"id": history, "from": 0}).text
    assert "prompts-of" in client.get("/conversation/panel", params={"id": history}).text
    assert "prompts-in" in client.get("/conversation/panel", params={"id": "vscode:11111111-aaaa"}).text


def test_a_text_without_a_state_is_shown(lost: Path, client_of: Callable[[Path], TestClient]) -> None:
    page = client_of(lost).get("/conversation", params={"id": "vscode:22222222-bbbb"}).text

    assert "Text of a file whose name was not recorded" in page
    assert "kelp &amp; &lt;shoal&gt;" in page
