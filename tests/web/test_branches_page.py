"""Superseded turns and branches in a browser: by keyboard, without scripts, found by words, on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.store.archive import Archive
from tests.branched import ANSWERS, PROMPTS, branched_conversation
from tests.stored import concluded_entry
from tests.web.test_accessibility import RULES, SERIOUS

WHERE = "/conversation?id=vscode%3A1c"


@pytest.fixture
def branched(tmp_path: Path) -> Path:
    path = tmp_path / "branched.db"
    with Archive(path, write=True) as archive:
        archive.put(concluded_entry(branched_conversation()), "made up")
        archive.index_pending()
    return path


@pytest.fixture
def open_branched(branched: Path, served: Callable[[Path], str], open_page: Callable[..., Page]) -> Callable[..., Page]:
    address = served(branched)
    return lambda where=WHERE, **more: open_page(address, where, **more)


def test_a_folded_block_is_opened_by_keyboard(open_branched: Callable[..., Page]) -> None:
    page = open_branched()
    fold = page.locator("details.superseded").first
    expect(page.get_by_text(PROMPTS[1]).locator("visible=true")).to_have_count(0)

    fold.locator("> summary").focus()
    page.keyboard.press("Enter")

    expect(fold.get_by_text(PROMPTS[1])).to_be_visible()


def test_pages_are_complete_without_scripts(open_branched: Callable[..., Page]) -> None:
    page = open_branched(java_script_enabled=False)
    expect(page.locator("section.branch section.branch").get_by_text(ANSWERS[6])).to_be_visible()

    page.locator("details.superseded > summary").first.click()

    expect(page.locator("details.superseded").first.get_by_text(PROMPTS[1])).to_be_visible()


def test_a_link_to_a_superseded_turn_opens_its_block(open_branched: Callable[..., Page]) -> None:
    for more in ({}, {"java_script_enabled": False}):
        page = open_branched(f"{WHERE}&turn=1#t-1", **more)
        expect(page.locator("details.superseded[open]").get_by_text(PROMPTS[1])).to_be_visible()


def test_a_search_hit_in_a_superseded_turn_unfolds_it(open_branched: Callable[..., Page]) -> None:
    page = open_branched()

    page.locator("#find-words").fill("ghost of the harbour")
    page.locator("#find-words").press("Enter")

    expect(page.locator("details.superseded").first.get_by_text(PROMPTS[1])).to_be_visible()


def test_keys_pass_over_superseded_turns_and_lead_through_branches(open_branched: Callable[..., Page]) -> None:
    page = open_branched(viewport={"width": 1280, "height": 400})
    marked = page.locator("#outline a[aria-current]")

    turns = []
    for _ in range(4):
        page.keyboard.press("j")
        page.wait_for_timeout(150)
        turns.append(marked.get_attribute("data-turn"))

    assert turns == ["2", "4", "6", "3"]
    assert page.locator("details.superseded[open]").count() == 0


def test_the_number_of_turns_is_that_of_those_that_count(
    branched: Path, client_of: Callable[[Path], TestClient]
) -> None:
    text = client_of(branched).get(WHERE).text

    assert '<summary>Turns <span class="fact">5</span></summary>' in text
    assert "5 turns" in text


def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(open_branched: Callable[..., Page]) -> None:
    page = open_branched(reduced_motion="reduce")
    page.locator("details.superseded > summary").first.click()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, options=RULES).response["violations"]
        assert [each["id"] for each in found if each["impact"] in SERIOUS] == [], scheme
    phone = open_branched(viewport={"width": 390, "height": 844}, is_mobile=True)
    assert phone.evaluate("() => document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_the_timeline_draws_branches_on_tracks_of_their_own(open_branched: Callable[..., Page]) -> None:
    page = open_branched("/conversation/timeline?id=vscode%3A1c")
    page.wait_for_selector("#waterfall svg a.turn")

    rows = page.locator("#waterfall a.turn rect").evaluate_all("(all) => all.map((one) => one.getAttribute('y'))")

    assert len(rows) == 5
    assert len(set(rows)) == 3
