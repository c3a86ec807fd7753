"""The page of problems: by file, by kind, with what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.diagnostics import ADVICE, Ledger
from copilog.store.archive import Archive
from copilog.web.routes.problems import Choice, choice_from
from tests.stored import entry

TORN = "/home/ana/chatSessions/torn.jsonl"
BROKEN = "/home/ana/logs/broken.json"


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    """Return an archive of one conversation, whose file has a torn end, and of a file with only errors."""
    path = tmp_path / "troubled.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("harbour", ("When is high tide?", "At noon."), title="High tide", path=TORN), "1")
        torn = Ledger(path=TORN, source="vscode-session-log")
        torn.note("torn-tail", "the last line has no end", level="info", line=9)
        torn.note("orphan-mutation", "builds on a line that is not there", line=4)
        broken = Ledger(path=BROKEN, source="chat-replay")
        for line in range(1, 31):
            broken.note("bad-json", "no JSON", level="error", line=line, offset=line * 100)
        archive.put_ledgers([torn, broken])
    return path


@pytest.fixture
def pages(client_of: Callable[[Path], TestClient], troubled: Path) -> TestClient:
    return client_of(troubled)


def test_each_file_lists_its_problems_with_position_and_advice(pages: TestClient) -> None:
    text = pages.get("/problems").text

    assert text.index(BROKEN) < text.index(TORN), "errors come first"
    assert text.count(ADVICE["bad-json"]) == 1, "said once for all of a kind"
    assert "line 1 (byte 100)" in text
    assert ADVICE["orphan-mutation"] in text


def test_remarks_are_shown_when_asked_for(pages: TestClient) -> None:
    assert ADVICE["torn-tail"] not in pages.get("/problems").text
    assert ADVICE["torn-tail"] in pages.get("/problems?level=info").text
    assert ADVICE["torn-tail"] in pages.get("/problems?level=all").text


def test_the_page_can_be_filtered_by_code_and_path(pages: TestClient) -> None:
    by_code = pages.get("/problems?code=orphan-mutation").text
    by_path = pages.get("/problems?path=logs").text

    assert TORN in by_code
    assert BROKEN not in by_code
    assert BROKEN in by_path
    assert TORN not in by_path


def test_many_problems_of_a_kind_are_counted_where_they_are_not_listed(pages: TestClient) -> None:
    text = pages.get("/problems?code=bad-json").text

    assert text.count("no JSON") == 1, "one reason for all of them"
    assert text.count("<code>line ") == 8
    assert "and 22 more" in text


def test_many_reasons_are_counted_where_they_are_not_listed(
    client_of: Callable[[Path], TestClient], tmp_path: Path
) -> None:
    path = tmp_path / "reasons.db"
    with Archive(path, write=True) as archive:
        ledger = Ledger(path=BROKEN, source="chat-replay")
        for line in range(60):
            ledger.note("bad-json", f"reason {line // 2}", level="error", line=line)
        archive.put_ledgers([ledger])
    text = client_of(path).get("/problems").text

    assert text.count("reason ") == 20
    assert "and 20 more of this kind, for other reasons" in text


def test_a_file_leads_to_the_conversations_that_were_read_from_it(pages: TestClient) -> None:
    text = pages.get("/problems").text

    assert re.search(r'<a href="/conversation\?id=vscode(:|%3A)harbour">High tide</a>', text)


def test_an_archive_without_problems_says_so(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    path = tmp_path / "fine.db"
    Archive(path, write=True).close()

    assert "No file has such a problem" in client_of(path).get("/problems").text


@pytest.mark.parametrize("asked", ["level=loud", "start=-1", "start=many", "start=99999999999", "code=nothing"])
def test_an_invalid_address_still_gives_a_page(pages: TestClient, asked: str) -> None:
    assert pages.get(f"/problems?{asked}").status_code == 200


def test_filters_are_preserved_in_the_address() -> None:
    choice = Choice(level="all", code="bad-json", path="a b&c", start=50)

    assert choice.address() == "/problems?level=all&code=bad-json&path=a+b%26c"
    assert choice.address(start=100).endswith("&start=100")
    assert choice_from({"level": "all", "code": "bad-json", "path": "a b&c", "start": "50"}) == choice


def test_many_files_are_shown_page_by_page(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    path = tmp_path / "many.db"
    with Archive(path, write=True) as archive:
        ledgers = [Ledger(path=f"/home/ana/{number:03}.json", source="chat-export") for number in range(60)]
        for ledger in ledgers:
            ledger.note("bad-file", "no chat", level="error")
        archive.put_ledgers(ledgers)
    pages = client_of(path)

    first = pages.get("/problems").text
    assert "60 files; 1 to 50 are shown" in " ".join(first.split())
    assert "/home/ana/050.json" not in first
    assert "/problems?start=50" in first
    assert "/home/ana/050.json" in pages.get("/problems?start=50").text


def test_the_list_follows_the_form_in_the_browser(
    open_page: Callable[..., Page], served: Callable[[Path], str], troubled: Path
) -> None:
    page = open_page(served(troubled), "/problems")

    page.get_by_label("Level").select_option("info")
    expect(page.get_by_text(ADVICE["torn-tail"])).to_be_visible()
    page.get_by_label("File path contains").fill("logs")
    expect(page.get_by_text("No file has such a problem")).to_be_visible()
    expect(page).to_have_url(re.compile(r"level=info.*path=logs"))
