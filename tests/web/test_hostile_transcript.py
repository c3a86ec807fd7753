"""A conversation may hold anything. Whatever it holds, no page runs it, loads it, or sends anything anywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page
from starlette.testclient import TestClient

from copilog.analysis import choose, measure_chosen
from copilog.render.report import Cover, report_page
from copilog.store.archive import Archive
from tests.web.hostile import ID, NAME, NOON, PROSE, hostile_conversation, hostile_parts, make_hostile_archive
from tests.web.pages import FRAGMENTS, PAGES, address_of, filled, trajectory_addresses

HARMLESS_KINDS = frozenset({"text/plain", "application/json", "image/png", "image/jpeg", "image/gif", "image/webp"})
# What in a document could run or fetch something, wherever it came from; our own scripts and styles are known by path.
SUSPICIOUS = """() => {
  const found = [];
  const own = (address) => new URL(address, location).pathname.startsWith("/static/");
  for (const element of document.querySelectorAll("*")) {
    const tag = element.localName;
    const tell = (what) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
    if (["iframe", "object", "embed", "base", "applet", "frame"].includes(tag)) tell("element");
    if (tag === "script" && !(element.src && own(element.src)) && element.type !== "application/json") tell("script");
    if (tag === "link" && element.href !== "data:," && !own(element.href)) tell("link");
    if (tag === "meta" && element.httpEquiv === "refresh") tell("refresh");
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || /^(data-)?hx-on/i.test(name)) tell("handler");
      if (/^(data-)?hx-(get|post|put|delete|patch)$/i.test(name) && !/^\\/(?!\\/)/.test(value)) tell("htmx");
      const scheme = /^[\\s\\x00-\\x20]*([a-z][a-z0-9+.-]*):/i.exec(value)?.[1].toLowerCase();
      const isAddress = /^(href|xlink:href|action|formaction|src|srcset|poster|ping)$/.test(name);
      if (!scheme || !isAddress || tag === "link") continue;
      if (tag === "a" && ["http", "https", "mailto"].includes(scheme)) continue;
      if (tag === "img" && ["data", "blob"].includes(scheme)) continue;
      tell("address");
    }
  }
  return found;
}"""
# As htmx does it.
TAKE_IN = """async (address) => {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  const place = document.createElement("div");
  document.querySelector("main").append(place);
  place.innerHTML = await answer.text();
  htmx.process(place);
  return answer.status;
}"""
OPEN_ALL = """() => document.querySelectorAll("details").forEach((fold) => { fold.open = true; })"""


@pytest.fixture(scope="module")
def hostile_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hostile_archive(tmp_path_factory.mktemp("hostile") / "archive.db")


@pytest.mark.parametrize("name", PAGES)
def test_hostile_text_runs_nothing_on(
    name: str,
    open_page: Callable[..., Page],
    served: Callable[[Path], str],
    hostile_archive: Path,
    page_faults: list[str],
) -> None:
    page = open_page(served(hostile_archive), address_of(name, ID, NAME, agent=NAME, skill=NAME))
    _look_at_everything(page)

    if name == "missing":
        page_faults[:] = [fault for fault in page_faults if "404" not in fault]
    assert _suspicious(page) == []


def test_hostile_text_is_shown_as_text(
    open_page: Callable[..., Page], served: Callable[[Path], str], hostile_archive: Path
) -> None:
    page = open_page(served(hostile_archive), address_of("conversation", ID))

    assert "<script>window.ran=1" in page.locator("main").inner_text()
    assert "<script>window.ran=1" in page.title()


def test_hostile_text_runs_nothing_in_parts_loaded_later(
    open_page: Callable[..., Page], served: Callable[[Path], str], hostile_archive: Path
) -> None:
    page = open_page(served(hostile_archive), address_of("conversation", ID))
    for fragment in FRAGMENTS:
        assert page.evaluate(TAKE_IN, filled(fragment, ID, NAME)) == 200, fragment
        _look_at_everything(page)
        assert _suspicious(page) == [], fragment


def test_hostile_text_runs_nothing_on_the_pages_of_trajectories(
    open_page: Callable[..., Page], served: Callable[[Path], str], hostile_archive: Path
) -> None:
    address = served(hostile_archive)
    page = open_page(address, "/trajectories")
    for where in trajectory_addresses(page, address, hostile_conversation(native_id=None), NAME).values():
        page.goto(address + where)
        _look_at_everything(page)
        assert _suspicious(page) == [], where


def test_these_tests_detect_a_page_that_trusts_hostile_text(
    show: Callable[[str], Page], page_faults: list[str]
) -> None:
    prose = PROSE.replace('http-equiv="refresh"', "")  # which would leave the page at once
    page = show(f"<!DOCTYPE html><title>{NAME}</title><main>{prose}</main>")
    page.wait_for_load_state("load")
    found = _suspicious(page)
    page.context.close()  # requests that are under way fail now, and not after the list is emptied
    seen = " ".join(page_faults)
    page_faults.clear()

    assert "it ran" in found
    assert {fault.partition(":")[0] for fault in found} >= {"script", "handler", "element", "address", "link"}
    assert "dialog: 1" in seen
    assert "request: https://evil.example.com/run" in seen


# --- what leaves as a file ------------------------------------------------------------------------------------------


def test_hostile_text_runs_nothing_in_the_exported_page(
    client_of: Callable[[Path], TestClient], show: Callable[[str], Page], hostile_archive: Path
) -> None:
    answer = client_of(hostile_archive).get("/export", params={"id": ID, "format": "html"})

    assert answer.status_code == 200
    page = show(answer.text)
    assert "<script>window.ran=1" in page.locator("body").inner_text()
    own, *others = _suspicious(page)
    assert own.startswith("script: <script>// The find box of an exported page")
    assert others == []


def test_hostile_text_runs_nothing_in_the_report(show: Callable[[str], Page], hostile_archive: Path) -> None:
    with Archive(hostile_archive) as archive:
        stats = measure_chosen(choose(archive))
    page = show(report_page(stats, Cover(made_at=NOON, made_by="copilog", title=NAME)))

    assert NAME[:30] in page.locator("h1").inner_text()
    assert _suspicious(page) == []


@pytest.mark.parametrize("wanted", ["/conversation/attachment", "/conversation/raw", "/conversation/text"])
def test_raw_parts_have_types_that_a_browser_does_not_run(
    wanted: str, client_of: Callable[[Path], TestClient], hostile_archive: Path
) -> None:
    """Attachments are scripts, pages and pictures with scripts, and one names a file of this machine."""
    client = client_of(hostile_archive)
    for part in range(len(hostile_parts())):
        for item in range(2):
            answer = client.get(wanted, params={"id": ID, "message": 1, "part": part, "item": item})
            kind = answer.headers["content-type"].partition(";")[0]
            assert "root:" not in answer.text, "nothing is read from a path that a conversation names"
            assert answer.headers["x-content-type-options"] == "nosniff"
            if kind == "text/html":
                assert "<script>window" not in answer.text
            elif answer.status_code == 200:
                is_harmless = kind in HARMLESS_KINDS
                is_saved = answer.headers.get("content-disposition", "").startswith("attachment")
                assert is_harmless or is_saved or "sandbox" in answer.headers["content-security-policy"]


@pytest.fixture
def show(open_page: Callable[..., Page]) -> Callable[[str], Page]:
    """Return a function that opens a text as a page of its own, as a browser opens a downloaded file."""

    def make(text: str) -> Page:
        return open_page("http://127.0.0.1:9", "/page.html", text=text)

    return make


# --- looking --------------------------------------------------------------------------------------------------------


def _look_at_everything(page: Page) -> None:
    """Open what is folded and go down to the end, so that nothing stays unloaded."""
    for _ in range(3):
        page.evaluate(OPEN_ALL)
        page.mouse.wheel(0, 100_000)
        page.wait_for_load_state("networkidle")


def _suspicious(page: Page) -> list[str]:
    ran = page.evaluate("() => window.ran")
    found: list[str] = page.evaluate(SUSPICIOUS)
    return found + (["it ran"] if ran is not None else [])
