"""Pages of an installation that lacks the browser libraries: all works but the charts, and pages say so."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from copilog.web import assets


@pytest.fixture
def bare_address(
    served: Callable[[Path], str], viewer_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Return the address of a viewer whose libraries could not be fetched."""
    shutil.copytree(assets.STATIC, tmp_path / "static", ignore=shutil.ignore_patterns("vendor"))
    monkeypatch.setattr(assets, "STATIC", tmp_path / "static")
    return served(viewer_archive)


@pytest.mark.parametrize(
    "path", ["/dashboard", "/graph", "/conversation/timeline?id=vscode%3A115d7669-fedf-4b5f-8567-9e11ee66c6cb"]
)
def test_pages_with_charts_say_that_none_are_drawn_and_show_their_tables(
    open_page: Callable[..., Page], bare_address: str, path: str
) -> None:
    page = open_page(bare_address, path)

    expect(page.get_by_text("No charts are drawn here")).to_be_visible()
    expect(page.locator("table").first).to_be_attached()


def test_the_library_is_searched_and_conversations_open(open_page: Callable[..., Page], bare_address: str) -> None:
    page = open_page(bare_address)
    page.get_by_role("searchbox").first.fill("norrvik")

    expect(page.locator(".conversation .found").first).to_be_visible()
    page.locator("a.title").first.click()
    expect(page.locator("h1").first).to_be_visible()
    assert "/conversation" in page.url


def test_filters_lead_to_their_pages(open_page: Callable[..., Page], bare_address: str) -> None:
    page = open_page(bare_address, "/problems")
    expect(page.locator("h1").first).to_be_visible()
    page.goto(f"{bare_address}/dashboard")
    page.locator("#asked a").first.click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
