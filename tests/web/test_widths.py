"""Nothing sticks out of a page, however wide or narrow the window is."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from tests.soaking import SEED, counted

NARROWEST, WIDEST = 320, 2560
WIDTHS = 4  # of each page
CONVERSATION = "/conversation?id=vscode%3A115d7669-fedf-4b5f-8567-9e11ee66c6cb"
PLACES = [
    "/",
    "/?q=tide",
    "/dashboard",
    "/agents",
    "/agents/one?kind=custom&name=Reviewer",
    "/skills/one?name=release",
    "/files",
    "/commands",
    "/graph",
    "/trajectories",
    "/problems",
    CONVERSATION,
    CONVERSATION.replace("/conversation", "/conversation/timeline"),
]


@pytest.mark.soak(kind="widths")
@pytest.mark.parametrize("place", PLACES)
def test_nothing_sticks_out_at_any_width(
    place: str, open_page: Callable[..., Page], address: str, record_property: Callable[[str, object], None]
) -> None:
    page = open_page(address, place)
    page.wait_for_load_state("networkidle")
    chance = random.Random(f"{SEED} {place}")
    widths = [NARROWEST, *(chance.randint(NARROWEST, WIDEST) for _ in range(counted(WIDTHS) - 1))]

    too_wide = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        excess = page.evaluate("() => document.documentElement.scrollWidth - window.innerWidth")
        if excess > 0:
            too_wide[width] = excess

    record_property("cases", len(widths))
    assert not too_wide, f"seed {SEED}: by width, pixels too many: {too_wide}"
