"""Every page can be read by everybody: axe-core finds nothing serious, light or dark, and a phone is wide enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from copilog.store.archive import Archive
from tests.web.pages import PAGES, address_of, richest, trajectory_addresses

SERIOUS = frozenset({"serious", "critical"})
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_serious_problem_on(
    name: str, open_page: Callable[..., Page], address: str, viewer_archive: Path, page_faults: list[str]
) -> None:
    page = open_page(address, address_of(name, richest(viewer_archive)), reduced_motion="reduce")
    page.wait_for_load_state("networkidle")

    _check(page)
    if name == "missing":
        page_faults.clear()


def test_axe_finds_nothing_serious_on_the_pages_of_trajectories(
    open_page: Callable[..., Page], address: str, viewer_archive: Path
) -> None:
    page = open_page(address, "/trajectories")
    with Archive(viewer_archive) as archive:
        conversation = archive.get(richest(viewer_archive))
    for where in trajectory_addresses(page, address, conversation).values():
        page.goto(address + where)
        _check(page)
        assert _overflow(page) <= 0


def _check(page: Page) -> None:
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=RULES).response["violations"]
        assert [_told(violation) for violation in found if violation["impact"] in SERIOUS] == [], scheme


def _told(violation: dict[str, Any]) -> str:
    nodes = [f"{' '.join(map(str, node['target']))}: {node['failureSummary']}" for node in violation["nodes"][:5]]
    return "\n".join([f"{violation['id']}: {violation['help']}", *nodes])


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_does_not_scroll_sideways_on(
    name: str, open_page: Callable[..., Page], address: str, viewer_archive: Path, page_faults: list[str]
) -> None:
    where = address_of(name, richest(viewer_archive))
    page = open_page(address, where, viewport={"width": 390, "height": 844}, is_mobile=True)
    page.wait_for_load_state("networkidle")

    if name == "missing":
        page_faults.clear()
    assert _overflow(page) <= 0


def _overflow(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth"))
