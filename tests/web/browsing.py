"""Headless Chromium, and a watch over what pages do in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Error, sync_playwright

from tests.web.serving import TOKEN

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AT_HOME = frozenset({"127.0.0.1", "localhost"})
HARMLESS_SCHEMES = frozenset({"about", "blob", "data"})


def chromium_path() -> str | None:
    """Return the system's Chromium: what COPILOG_CHROMIUM names, or what is on the path."""
    named = os.environ.get("COPILOG_CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless browser. Without one, the test is skipped; on CI it fails."""
    with sync_playwright() as playwright:
        path = chromium_path()
        try:
            browser = playwright.chromium.launch(executable_path=path, args=["--disable-dev-shm-usage"])
        except Error as error:
            reason = f"no Chromium to test with; install it, or name it with COPILOG_CHROMIUM ({error.message[:200]})"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
        try:
            yield browser
        finally:
            browser.close()


def visitor(browser: Browser, address: str, **more: Any) -> BrowserContext:
    """Return a browser profile that has the cookie of this address."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **more})
    context.add_cookies([{"name": "copilog_token", "value": TOKEN, "url": address}])
    return context


def watch_over(context: BrowserContext, faults: list[str]) -> None:
    """Write down what no page of ours may ever do, and let no request out."""

    def on_dialog(dialog: Dialog) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    context.route(is_foreign, lambda route: route.abort())
    context.on("dialog", on_dialog)
    context.on("weberror", lambda error: faults.append(f"page error: {error.error}"))
    context.on("console", lambda told: faults.append(f"console: {told.text}") if told.type == "error" else None)
    context.on("request", lambda request: faults.append(f"request: {request.url}") if is_foreign(request.url) else None)


def is_foreign(url: str) -> bool:
    """Return whether a request goes to any host but the viewer."""
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"}:
        return parts.hostname not in AT_HOME
    return parts.scheme not in HARMLESS_SCHEMES
