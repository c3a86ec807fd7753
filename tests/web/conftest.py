"""The viewer on the sample: for HTTP clients, and in a browser whose requests are checked."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from starlette.testclient import TestClient

from tests.web.browsing import chromium, visitor, watch_over
from tests.web.serving import PORT, TOKEN, app_for, make_sample_archive, serving, stay_at


@pytest.fixture(autouse=True, scope="module")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a home folder without agents and skills instead of the user's."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        stay_at(home, patch.setenv)
        yield home


@pytest.fixture(scope="session")
def viewer_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an archive of the bundled sample. All tests share it: a test that changes it takes `own_archive`."""
    return make_sample_archive(tmp_path_factory.mktemp("viewer") / "archive.db")


@pytest.fixture
def own_archive(viewer_archive: Path, tmp_path: Path) -> Path:
    """Return a copy of the sample's archive that a test may change."""
    copied = tmp_path / "archive.db"
    shutil.copy(viewer_archive, copied)
    return copied


@pytest.fixture
def client_of() -> Iterator[Callable[[Path], TestClient]]:
    """Yield a function that makes clients, with the token, of a viewer of any archive."""
    with ExitStack() as open_clients:

        def make(archive: Path) -> TestClient:
            cookies = {"copilog_token": TOKEN}
            address = f"http://127.0.0.1:{PORT}"
            made = TestClient(app_for(archive), base_url=address, cookies=cookies, follow_redirects=False)
            return open_clients.enter_context(made)

        yield make


@pytest.fixture
def client(client_of: Callable[[Path], TestClient], viewer_archive: Path) -> TestClient:
    """Return a client of a viewer of the sample."""
    return client_of(viewer_archive)


@pytest.fixture
def served() -> Iterator[Callable[[Path], str]]:
    """Yield a function that runs a viewer of any archive on a free port and returns its address."""
    with ExitStack() as running:
        yield lambda archive: running.enter_context(serving(archive))


@pytest.fixture
def address(served: Callable[[Path], str], viewer_archive: Path) -> str:
    """Return the address of a running viewer of the sample."""
    return served(viewer_archive)


# For each module anew: while Playwright runs, its thread can run no other event loop, and other tests need one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield headless Chromium; tests take `browser_page`."""
    with chromium() as launched:
        yield launched


@pytest.fixture
def page_faults() -> list[str]:
    """Return the list of what the page must not do; a test that expects an item removes it."""
    return []


@pytest.fixture
def open_page(browser: Browser, page_faults: list[str]) -> Iterator[Callable[..., Page]]:
    """Yield a function that opens pages with the token: `open_page(address, "/dashboard", color_scheme="dark")`.

    In the end the test fails if a page wrote an error to the console, raised one, opened a dialog, or asked another
    host for anything.
    """
    with ExitStack() as contexts:

        def make(address: str, path: str = "/", text: str | None = None, **profile: object) -> Page:
            context = visitor(browser, address, **profile)
            contexts.callback(context.close)
            watch_over(context, page_faults)
            page = context.new_page()
            if text is not None:  # a page that no server answers
                page.route(address + path, lambda route: route.fulfill(body=text, content_type="text/html"))
            page.goto(address + path)
            return page

        yield make
    assert not page_faults


@pytest.fixture
def browser_page(open_page: Callable[..., Page], address: str) -> Page:
    """Return the library of the sample in a checked browser. Other pages: `browser_page.goto(f"{address}/graph")`."""
    return open_page(address)
