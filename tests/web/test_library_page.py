"""The library: listed, filtered, searched and sorted as the address says; in the browser with keys and live search."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from starlette.testclient import TestClient

from copilog.store.archive import Archive
from tests.stored import entry

PART = {"HX-Request": "true"}
TITLE = re.compile(r'<a class="title" href="([^"]*)">([^<]*)</a>')


def titles(client: TestClient, address: str, headers: dict[str, str] | None = None) -> list[str]:
    answer = client.get(address, headers=headers)
    assert answer.status_code == 200, answer.text
    return [unescape(title) for _, title in TITLE.findall(answer.text)]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Return an archive of more conversations than a page has."""
    path = tmp_path / "many.db"
    with Archive(path, write=True) as archive:
        for number in range(250):
            made = entry(f"n{number:03}", (f"tide {number}", "high"), title=f"Tide {number:03}", days=-number)
            archive.put(made, str(number))
        archive.index_pending()
    return path


# --- the page -------------------------------------------------------------------------------------------------------


def test_all_conversations_are_listed_with_the_newest_first(client: TestClient) -> None:
    found = titles(client, "/")
    assert len(found) == 18
    assert found[0] == "Mail me when the water is high"


def test_a_row_shows_the_main_facts(client: TestClient) -> None:
    text = client.get("/?q=title:calendar&sort=title").text
    for told in ("tide-tables", "claude-sonnet-4.5", "explore", "cli-events", "321 k", "1 min 17 s", "complete"):
        assert told in text
    assert 'href="/conversation?id=cli%3A' in text


def test_unrecorded_tokens_are_marked(client: TestClient) -> None:
    assert re.search(r'title="[\d,]+ tokens, [\d,]+ of them estimated">~', client.get("/").text)


def test_filters_in_the_address_narrow_the_list(client: TestClient) -> None:
    assert len(titles(client, "/?workspace=/home/ana/code/tide-tables")) == 7
    assert len(titles(client, "/?workspace=/home/ana/code/tide-tables&error=1")) < 7
    assert titles(client, "/?sort=oldest") == titles(client, "/")[::-1]


def test_facets_are_links_that_keep_the_other_filters(client: TestClient) -> None:
    text = unescape(client.get("/?model=gpt-4.1&sort=title").text)
    assert 'href="/?source=vscode-session&model=gpt-4.1&sort=title"' in text
    assert re.search(r'href="/\?sort=title" data-view title="gpt-4.1" class="chosen"', text)
    assert "5 of 18 conversations" in text


def test_the_form_shows_the_current_filters(client: TestClient) -> None:
    text = client.get("/?model=gpt-4.1&starred=1&since=2026-01-01").text
    assert '<input type="hidden" name="model" value="gpt-4.1" form="find">' in text
    assert '<input type="hidden" name="starred" value="1" form="find">' in text
    assert 'name="since" form="find" value="2026-01-01"' in text


def test_a_search_shows_where_it_was_found(client: TestClient) -> None:
    text = client.get("/?q=gauge").text
    assert "<mark>gauge</mark>" in text
    assert re.search(r'href="/conversation\?id=[^"]+&amp;message=\d+#m-\d+"', text)


def test_a_search_can_be_filtered(client: TestClient) -> None:
    everywhere = titles(client, "/?q=tide")
    within = titles(client, "/?q=tide&workspace=/home/ana/tide-sensor")
    assert within
    assert set(within) < set(everywhere)
    assert sorted(titles(client, "/?q=tide&sort=title")) == sorted(everywhere)


def test_a_word_that_is_not_finished_finds_those_that_begin_so(client: TestClient) -> None:
    answer = client.get("/?q=calen").text
    assert "Calendar: tides to subscribe to" in answer
    assert "words that begin with it" in answer
    assert "Nothing matches" in client.get("/?q=xyzzyx").text


def test_an_invalid_search_shows_the_error_and_a_suggestion(client: TestClient) -> None:
    text = unescape(client.get("/?q=tide AND&model=gpt-4.1").text)
    assert "AND has nothing after it" in text
    assert 'href="/?q=tide&model=gpt-4.1"' in text
    assert 'value="tide AND"' in text


def test_an_invalid_date_is_reported(client: TestClient) -> None:
    assert "is not a date; write 2026" in client.get("/?since=someday").text
    assert "is not a date; write 2026" in client.get("/?month=2026-77").text


def test_without_matches_the_page_suggests_filters_to_remove(client: TestClient) -> None:
    text = unescape(client.get("/?workspace=/home/ana/notes&tool=run_in_terminal").text)
    assert "Nothing matches" in text
    assert 'href="/?workspace=/home/ana/notes"' in text.replace("%2F", "/")
    assert "without workspace: notes" in text


def test_an_empty_archive_shows_how_to_fill_it(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    Archive(tmp_path / "archive.db", write=True).close()
    assert "no conversations yet" in client_of(tmp_path / "archive.db").get("/").text


def test_stars_labels_and_what_is_gone_are_shown(client_of: Callable[[Path], TestClient], own_archive: Path) -> None:
    with Archive(own_archive, write=True) as archive:
        (first, second, *_) = archive.list()
        archive.star(first.id)
        archive.label(first.id, "to <read>")
        archive.mark_gone([second.id])
    client = client_of(own_archive)
    assert titles(client, "/?starred=1") == [first.title]
    assert titles(client, "/?label=to <read>") == [first.title]
    text = client.get("/").text
    assert 'aria-pressed="true"' in text
    assert "to &lt;read&gt;" in text
    assert "files gone" in text


def test_the_list_comes_in_pages(client_of: Callable[[Path], TestClient], many: Path) -> None:
    client = client_of(many)
    first = titles(client, "/")
    assert (first[0], first[-1]) == ("Tide 000", "Tide 099")
    assert 'href="/?from=100"' in client.get("/").text
    assert titles(client, "/?from=100", PART)[0] == "Tide 100"
    assert titles(client, "/?from=200") == [f"Tide {number}" for number in range(200, 250)]
    assert len(titles(client, "/?from=100&rows=150", PART)) == 150
    assert "from=" not in client.get("/?from=200", headers=PART).text
    assert "The list ends before this page" in client.get("/?from=900").text
    assert titles(client, "/?from=many") == first


def test_a_long_search_comes_in_pages_too(client_of: Callable[[Path], TestClient], many: Path) -> None:
    client = client_of(many)
    seen: list[str] = []
    address: str | None = "/?q=tide&sort=newest"
    while address is not None:
        seen += titles(client, address, PART if seen else None)
        more = re.search(r'hx-get="([^"]*)"[^>]*>Show more', client.get(address).text)
        address = unescape(more[1]) if more else None
    assert set(seen) == {f"Tide {number:03}" for number in range(250)}


def test_one_conversation_with_many_hits_does_not_hide_the_others(
    client_of: Callable[[Path], TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copilog.store.plans.MOST_RANKED", 20)
    with Archive(tmp_path / "archive.db", write=True) as archive:
        for number in range(5):
            archive.put(entry(f"n{number}", ("the tide", "yes"), title=f"Short {number}"), str(number))
        archive.put(entry("long", *[("the tide", "the tide")] * 150, title="Long"), "long")
        archive.index_pending()
    client = client_of(tmp_path / "archive.db")
    assert sorted(titles(client, "/?q=tide")) == ["Long", *(f"Short {number}" for number in range(5))]
    assert "Any other order lists all" in client.get("/?q=tide").text


def test_the_tools_facet_is_loaded_on_demand(client: TestClient) -> None:
    page = client.get("/?model=claude-sonnet-4.5").text
    assert 'hx-get="/library/tools?model=claude-sonnet-4.5"' in page
    assert "copilot_readFile" not in page
    tools = unescape(client.get("/library/tools?model=claude-sonnet-4.5", headers=PART).text)
    assert 'href="/?model=claude-sonnet-4.5&tool=%3DrunSubagent"' in tools
    assert "<html" not in tools
    assert "runSubagent" in client.get("/?tools=1").text


def test_htmx_gets_only_what_changes(client: TestClient) -> None:
    text = client.get("/?model=gpt-4.1", headers=PART).text
    assert "<html" not in text
    assert 'id="facets"' in text
    assert 'id="q"' not in text


def test_titles_are_only_text(client_of: Callable[[Path], TestClient], tmp_path: Path) -> None:
    with Archive(tmp_path / "archive.db", write=True) as archive:
        title = "<script>alert(1)</script> & \u202eflow"
        made = entry('x"><b>', ("hello <b>there</b>", "yes"), title=title, folder="/home/ana/<i>")
        archive.put(made, "1")
        archive.index_pending()
    client = client_of(tmp_path / "archive.db")
    for address in ("/", "/?q=hello", "/?workspace=<i>", '/?q="><script>alert(2)</script>', "/?tools=1"):
        text = client.get(address).text
        assert "<script>alert" not in text
        assert "<b>" not in text
        assert "\u202e" not in text


# --- in the browser -------------------------------------------------------------------------------------------------


def chosen(page: Page) -> dict[str, list[str]]:
    """Return the query of the address."""
    return parse_qs(urlsplit(page.url).query)


def test_keys_move_through_the_list(browser_page: Page) -> None:
    page = browser_page
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator(".title").nth(1)).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator(".title").first).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).not_to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".title").first).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_contain_text("Next conversation")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expected = page.locator(".title").nth(1).get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{expected}**")
    page.wait_for_load_state("networkidle")


def test_escape_leaves_the_search_as_it_is(browser_page: Page) -> None:
    page = browser_page
    page.keyboard.press("/")
    page.keyboard.type("tide")
    expect(page.locator(".found mark").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#q")).not_to_be_focused()
    expect(page.locator("#q")).to_have_value("tide")
    page.keyboard.press("j")
    expect(page.locator(".title").first).to_be_focused()


def test_the_list_is_searched_while_typing_and_back_restores_it(browser_page: Page) -> None:
    page = browser_page
    expect(page.locator(".conversation")).to_have_count(18)
    page.locator("#q").press_sequentially("gauge", delay=40)
    expect(page.locator("mark").first).to_be_visible()
    page.wait_for_function("location.search === '?q=gauge'")
    expect(page.locator("#q")).to_be_focused()
    found = page.locator(".conversation").count()
    assert 0 < found < 18
    page.locator(".facet[data-facet=model] a", has_text="claude-sonnet-4.5").click()
    page.wait_for_function("location.search.includes('model=')")
    assert chosen(page) == {"q": ["gauge"], "model": ["=claude-sonnet-4.5"]}
    page.go_back()
    page.wait_for_function("location.search === '?q=gauge'")
    expect(page.locator(".conversation")).to_have_count(found)
    page.go_back()
    page.wait_for_function("location.search === ''")
    expect(page.locator(".conversation")).to_have_count(18)
    expect(page.locator("#q")).to_have_value("")


def test_a_view_can_be_bookmarked(browser_page: Page, address: str) -> None:
    page = browser_page
    page.locator(".facet[data-facet=workspace] a", has_text="garden-planner").click()
    page.locator("select[name=sort]").select_option("title")
    page.wait_for_function("location.search.includes('sort=title')")
    expect(page.locator(".chip.set")).to_have_count(1)
    expect(page.locator(".conversation")).to_have_count(5)
    shown = sorted(page.locator(".title").all_text_contents(), key=str.casefold)
    expect(page.locator(".title")).to_have_text(shown)  # the address changes before the rows do
    page.goto(page.url)
    assert page.locator(".title").all_text_contents() == shown
    assert page.locator("select[name=sort]").input_value() == "title"


def test_an_invalid_search_offers_a_valid_one(browser_page: Page) -> None:
    page = browser_page
    page.locator("#q").fill('"gauge')
    page.locator("#trouble a").click()
    expect(page.locator("#q")).to_have_value('"gauge"')
    expect(page.locator("mark").first).to_be_visible()


def test_more_rows_come_as_one_scrolls_and_are_there_on_the_way_back(
    open_page: Callable[..., Page], served: Callable[[Path], str], many: Path
) -> None:
    page = open_page(served(many))
    expect(page.locator(".conversation")).to_have_count(100)
    while page.locator(".more").count():
        page.mouse.wheel(0, 20_000)
        page.wait_for_timeout(50)
    expect(page.locator(".conversation")).to_have_count(250)
    link = page.locator(".title").nth(230)
    link.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversation?**")
    page.go_back()
    expect(page.locator(".conversation")).to_have_count(250)
    expect(page.locator(".title").nth(230)).to_be_focused()


def test_a_key_stars_a_conversation(
    open_page: Callable[..., Page], served: Callable[[Path], str], own_archive: Path
) -> None:
    page = open_page(served(own_archive))
    page.keyboard.press("j")
    page.keyboard.press("s")
    expect(page.locator(".star").first).to_have_attribute("aria-pressed", "true")
    with Archive(own_archive) as archive:
        assert archive.list()[0].is_starred


def test_several_conversations_can_be_selected_for_export(browser_page: Page) -> None:
    page = browser_page
    expect(page.locator("#export")).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.locator("input[name=id]").nth(2).check()
    expect(page.locator("#selected")).to_have_text("2 conversations selected")
    ids = [page.locator(".conversation").nth(place).get_attribute("data-id") for place in (0, 2)]
    wanted = page.evaluate("[...new FormData(document.getElementById('export'))].map(pair => pair.join('='))")
    assert sorted(wanted) == sorted([f"id={ids[0]}", f"id={ids[1]}", "format=html"])
    page.locator("#unselect").click()
    expect(page.locator("#export")).to_be_hidden()


def test_changes_show_at_once_at_the_top_and_by_a_button_further_down(
    open_page: Callable[..., Page], served: Callable[[Path], str], many: Path
) -> None:
    page = open_page(served(many))
    tell = "id => document.dispatchEvent(new CustomEvent('copilog:changed', {detail: {ids: [id], new: 1}}))"

    def come(name: str, days: int) -> None:
        with Archive(many, write=True) as archive:
            archive.put(entry(name, ("more", "so"), title=name, days=days), name)
        page.evaluate(tell, f"vscode:{name}")

    come("First news", 1)
    expect(page.locator(".title").first).to_have_text("First news")
    page.keyboard.press("j")
    come("Second news", 2)
    expect(page.locator("#fresh")).to_have_text("1 new or changed: show")
    expect(page.locator(".title").first).to_have_text("First news")
    page.locator("#fresh").click()
    expect(page.locator(".title").first).to_have_text("Second news")
    expect(page.locator("#fresh")).to_be_hidden()


def test_tools_are_counted_when_their_facet_is_opened_and_it_stays_open(browser_page: Page) -> None:
    page = browser_page
    page.locator(".facet[data-facet=tool] > summary").click()
    tool = page.locator(".facet[data-facet=tool] a", has_text="run_in_terminal")
    expect(tool).to_contain_text("5")
    tool.click()
    expect(page.locator(".conversation")).to_have_count(5)
    expect(page.locator(".facet[data-facet=tool] .chosen")).to_contain_text("run_in_terminal")
    expect(page.locator(".facet[data-facet=tool] a", has_text="read_file").first).to_be_visible()


def test_without_scripts_the_form_searches(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address, "/?model=gpt-4.1", java_script_enabled=False)
    page.locator("#q").fill("seeds")
    page.locator("#find .go").click()
    assert chosen(page)["q"] == ["seeds"]
    assert chosen(page)["model"] == ["gpt-4.1"]
    expect(page.locator(".conversation")).to_have_count(1)


@pytest.mark.parametrize("width", [1280, 1000, 390])
def test_pages_do_not_scroll_sideways(open_page: Callable[..., Page], address: str, width: int) -> None:
    page = open_page(address, "/?q=tide", viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
