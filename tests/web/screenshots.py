"""Takes the pictures of docs/images: every page on the sample, light and dark. `make screenshots` runs it.

The sample is shown as if its home were /home/ana, at the same hour of the same day, so that pictures differ only where
pages do.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

import msgspec
from playwright.sync_api import Browser, Page

from copilog.diagnostics import Report
from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive
from copilog.store.entries import entry_of
from tests.web.browsing import chromium, visitor
from tests.web.pages import PAGES, address_of, richest, trajectory_addresses
from tests.web.pictures import with_palette
from tests.web.serving import serving, stay_at

TESTS = Path(__file__).parent.parent
IMAGES = TESTS.parent / "docs" / "images"
DAMAGED = TESTS / "data" / "damaged"
NAMES = (
    "library",
    "search",
    "conversation",
    "timeline",
    "dashboard",
    "graph",
    "trajectory",
    "compared-conversation",
    "problems",
)
WIDTH, HEIGHT = 1280, 860
HEIGHTS = {"conversation": 1500, "dashboard": 1500}
DIFFS_AND_LISTS = "Drag beds around the plan"  # and a picture, a sub-agent, a hook that blocks
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
HOME = "/home/ana"

Struct = TypeVar("Struct", bound=msgspec.Struct)


def main(*names: str) -> int:
    """Take the pictures of these pages, or of all."""
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    IMAGES.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        stay_at(Path(folder), os.environ.__setitem__)
        archive = moved_sample(Path(folder))
        with serving(archive) as address, chromium() as browser:
            for name, where in addresses(browser, address, archive).items():
                if name in (names or NAMES):
                    take(browser, address, name, where)
    return 0


def addresses(browser: Browser, address: str, archive: Path) -> dict[str, str]:
    """Return the addresses of all pages, after opening two files of trajectories."""
    shown = richest(archive)
    with Archive(archive) as opened:
        conversation = opened.get(shown)
        [colourful] = [summary.id for summary in opened.list() if summary.title == DIFFS_AND_LISTS]
    context = visitor(browser, address)
    trajectories = trajectory_addresses(context.new_page(), address, conversation)
    context.close()
    pages = {name: address_of(name, colourful if name == "conversation" else shown) for name in PAGES}
    return pages | trajectories


def take(browser: Browser, address: str, name: str, where: str) -> None:
    """Both pictures of a page."""
    for scheme in SCHEMES:
        viewport = {"width": WIDTH, "height": HEIGHTS.get(name, HEIGHT)}
        context = visitor(browser, address, color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
        page = context.new_page()
        page.goto(address + where)
        settle(page)
        target = IMAGES / f"{name}-{scheme}.png"
        target.write_bytes(with_palette(page.screenshot(animations="disabled", caret="hide")))
        context.close()
        sys.stdout.write(f"{target.relative_to(IMAGES.parent.parent)}: {target.stat().st_size // 1000} kB\n")


def settle(page: Page) -> None:
    """Wait until the page has all it asked for, and has drawn it."""
    page.wait_for_load_state("networkidle")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def moved_sample(folder: Path) -> Path:
    """Write an archive of the sample with the paths of Ana's machine instead of this one's."""
    report = Report()
    with Archive(folder / "here.db", write=True) as here, Archive(folder / "archive.db", write=True) as there:
        scan(here, roots=roots_from(home(), "bundled sample"), report=report)
        for summary in here.list(include_empty=True):
            there.put(entry_of(moved(here.get(summary.id))), "1")
        there.index_pending()
        # The sample has one torn line. The page of problems shows the damaged files of the tests.
        with Archive(folder / "damaged.db", write=True) as damaged:
            scan(damaged, paths=[DAMAGED / "chatSessions"], report=report)
        there.put_ledgers(moved(ledger) for ledger in report.files.values())
        return there.path


def moved(value: Struct) -> Struct:
    text = msgspec.json.encode(value).decode()
    text = text.replace(str(home()), HOME).replace(str(DAMAGED), f"{HOME}/Downloads")
    return msgspec.json.decode(text, type=type(value))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
