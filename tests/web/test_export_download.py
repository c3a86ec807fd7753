"""Exported files as the viewer hands them out, and what they do in a browser."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
from copilog.model import Conversation, Message, Text, Thinking, Turn
from copilog.store.archive import Archive
from tests.web.hostile import hostile_conversation


@pytest.fixture
def ids(viewer_archive: Path) -> list[str]:
    with Archive(viewer_archive) as archive:
        return [summary.id for summary in archive.list(limit=3)]


def test_a_conversation_comes_as_a_file_with_a_name(client: TestClient, ids: list[str]) -> None:
    for kind, ending, beginning in (("html", "html", "<!DOCTYPE html>"), ("markdown", "md", "---\ntitle: ")):
        answer = client.get(f"/export?{urlencode({'id': ids[0], 'format': kind})}")
        assert answer.status_code == 200
        assert answer.text.startswith(beginning)
        assert answer.headers["content-type"].startswith(f"text/{kind}")
        disposition = answer.headers["content-disposition"]
        assert disposition.startswith('attachment; filename="')
        assert f".{ending}\"; filename*=UTF-8''" in disposition
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
        assert "content-length" not in answer.headers  # it is sent while it is made


def test_a_conversation_is_saved_in_a_chosen_format_from_its_page(
    browser_page: Page, address: str, ids: list[str]
) -> None:
    browser_page.goto(f"{address}/conversation?{urlencode({'id': ids[0]})}")
    browser_page.get_by_label("Save as").select_option("markdown")
    with browser_page.expect_download() as download:
        browser_page.get_by_role("button", name="Save").click()
    assert download.value.suggested_filename.endswith(".md")
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("---\ntitle: ")


def test_a_download_is_redacted_where_that_is_chosen(client: TestClient, ids: list[str]) -> None:
    query = {"id": ids, "format": "markdown"}
    assert "/home/ana" in client.get(f"/export?{urlencode(query, doseq=True)}").text
    redacted = client.get(f"/export?{urlencode(query | {'redact': '1'}, doseq=True)}").text
    assert "/home/ana" not in redacted
    assert "/home/redacted-user-" in redacted
    assert "no program recognises" in redacted


def test_the_page_says_what_a_saved_file_does_not_contain(browser_page: Page, address: str, ids: list[str]) -> None:
    browser_page.goto(f"{address}/conversation?{urlencode({'id': ids[0]})}")
    browser_page.get_by_label("Save as").select_option("copilot-cli")
    with browser_page.expect_download():
        browser_page.get_by_role("button", name="Save").click()
    expect(browser_page.get_by_text("Not in the file: ")).to_be_visible()


def test_what_is_left_out_can_be_asked_for(client: TestClient, ids: list[str]) -> None:
    query = urlencode({"id": ids, "format": "copilot-cli"}, doseq=True)
    lines = client.get(f"/export/left-out?{query}").json()["left_out"]
    assert any("attachments" in line for line in lines)
    of_page = client.get(f"/export/left-out?{urlencode({'id': ids[0], 'format': 'html'})}").json()["left_out"]
    assert any("details of turns: " in line for line in of_page)
    assert client.get(f"/export/left-out?{urlencode({'id': ids[0], 'format': 'json'})}").json() == {"left_out": []}


@pytest.mark.parametrize("number", [1, 2])
def test_formats_of_one_conversation_per_file_come_as_a_file_or_packed(
    client: TestClient, ids: list[str], number: int
) -> None:
    query = urlencode({"id": ids[:number], "format": "copilot-cli"}, doseq=True)
    answer = client.get(f"/export?{query}")
    if number == 1:
        assert answer.text.startswith('{"type": "session"')
        return
    assert "2-conversations-copilot-cli.zip" in answer.headers["content-disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        names = [Path(name).name for name in packed.namelist()]
    assert len([name for name in names if name.endswith(".jsonl")]) == 2
    assert "copilog-export.json" in names


def test_several_come_as_one_file(client: TestClient, ids: list[str]) -> None:
    answer = client.get(f"/export?{urlencode({'id': ids, 'format': 'markdown'}, doseq=True)}")
    assert answer.text.startswith("# 3 conversations\n")
    assert '"3-conversations.md"' in answer.headers["content-disposition"]
    page = client.get(f"/export?{urlencode({'id': ids}, doseq=True)}")
    assert 'id="c3"' in page.text


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("?id=", 400), ("?id=nobody", 404), ("?id=nobody&id=noone", 404), ("?id=nobody&format=docx", 400)],
)
def test_invalid_exports_are_answered_with_a_message(client: TestClient, query: str, status: int) -> None:
    assert client.get(f"/export{query}").status_code == status


def test_nothing_is_exported_without_the_token(client: TestClient, ids: list[str]) -> None:
    client.cookies.clear()
    assert client.get(f"/export?{urlencode({'id': ids[0]})}").status_code == 403


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_exported_hostile_conversation_runs_nothing(
    open_page: Callable[..., Page], address: str, scheme: str
) -> None:
    html = html_page(hostile_conversation(), made_by="copilog 1.2.3")
    page = open_page(address, "/exported.html", text=html, color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.evaluate("window.ran") is None
    assert page.evaluate("document.scripts.length") == 1  # ours, which the policy names by its hash
    assert page.evaluate("document.querySelectorAll('[style], iframe, object, form, base, svg').length") == 0
    colours = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_find_box_of_an_exported_page_finds_words_without_a_server(
    open_page: Callable[..., Page], address: str
) -> None:
    html = html_page(searched_conversation(), made_by="copilog 1.2.3")
    page = open_page(address, "/exported.html", text=html)
    page.keyboard.press("/")
    page.keyboard.type("the LOW tide")
    output = page.locator(".find-box output")
    expect(output).to_have_text("1 of 3")
    page.keyboard.press("Enter")
    expect(output).to_have_text("2 of 3")
    assert page.evaluate("document.querySelector('.part.thought, details.part').open")  # the fold with the hit
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    expect(output).to_have_text("3 of 3")
    expect(page.get_by_text("and that is all")).to_be_in_viewport()
    page.locator(".find-box input").fill("no such words")
    expect(output).to_have_text("no hit")
    page.keyboard.press("Escape")
    expect(output).to_have_text("")


def test_the_outline_of_an_exported_page_leads_to_turns_and_marks_the_one_in_view(
    open_page: Callable[..., Page], address: str
) -> None:
    html = html_page(searched_conversation(), made_by="copilog 1.2.3")
    page = open_page(address, "/exported.html", text=html, viewport={"width": 1200, "height": 400})
    page.locator(".outline a").last.click()
    expect(page.get_by_text("and that is all")).to_be_in_viewport()
    expect(page.locator(".outline a").last).to_have_attribute("aria-current", "true")
    assert page.locator(".outline a[aria-current]").count() == 1


def test_without_scripts_an_exported_page_has_no_find_box(open_page: Callable[..., Page], address: str) -> None:
    html = html_page(searched_conversation(), made_by="copilog 1.2.3")
    page = open_page(address, "/exported.html", text=html, java_script_enabled=False)
    expect(page.locator(".find-box")).to_be_hidden()
    expect(page.get_by_role("article").get_by_text("When is")).to_be_visible()


def searched_conversation() -> Conversation:
    lines = "\n\n".join(f"Line {number}" for number in range(60))
    return Conversation(
        id="vscode:1",
        source="vscode-session",
        title="Tides",
        turns=[Turn(index=0), Turn(index=1)],
        messages=[
            Message(role="user", turn=0, parts=[Text(text="When is the low tide?")]),
            Message(
                role="assistant",
                turn=0,
                parts=[Thinking(text="Where is the low tide recorded?"), Text(text=f"At noon.\n\n{lines}")],
            ),
            Message(role="user", turn=1, parts=[Text(text="And tomorrow?")]),
            Message(
                role="assistant", turn=1, parts=[Text(text=f"The **low** tide is later, and that is all.\n\n{lines}")]
            ),
        ],
    )


def test_a_hostile_conversation_cannot_break_out_of_markdown() -> None:
    text = markdown_page(hostile_conversation())
    assert text.rstrip().endswith("`copilog show ID --json` has all of them")
    assert "\x1b" not in text
    assert "\u202e" not in text
