"""Exported files as the viewer hands them out, and what they do in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page
from starlette.testclient import TestClient

from copilog.exports.html import html_page
from copilog.exports.markdown import markdown_page
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
    assert page.evaluate("document.scripts.length") == 0
    assert page.evaluate("document.querySelectorAll('[style], iframe, object, form, base, svg').length") == 0
    colours = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_hostile_conversation_cannot_break_out_of_markdown() -> None:
    text = markdown_page(hostile_conversation())
    assert text.rstrip().endswith("`copilog show ID --json` has all of them")
    assert "\x1b" not in text
    assert "\u202e" not in text
