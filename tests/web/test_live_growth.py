"""A conversation that is being written grows on its page: from the disk, through a scan, to the browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.web.serving import TOKEN

PATIENCE_MS = 30_000  # a slow machine scans slowly; two seconds are usual
NATIVE_ID = "7e0c1d52-0000-4000-8000-00000000000a"


def event(number: int, kind: str, **data: Any) -> str:
    parent = None if number == 0 else f"e{number - 1}"
    at = f"2026-05-04T09:00:{number:02d}.000Z"
    return json.dumps({"type": kind, "id": f"e{number}", "parentId": parent, "timestamp": at, "data": data}) + "\n"


def begin(home: Path) -> Path:
    """Return a log of Copilot CLI with one question, and its answer."""
    log = home / ".copilot" / "session-state" / NATIVE_ID / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(
        event(0, "session.start", sessionId=NATIVE_ID, version=1, producer="copilot-agent", copilotVersion="1.0.70")
        + event(1, "user.message", content="When is high tide?")
        + event(2, "assistant.message", messageId="m1", content="At noon.", model="gpt-5")
    )
    return log


@contextmanager
def viewer_of(home: Path, archive: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "copilog", "--archive", str(archive), "serve", "--no-browser", "--port", "0"]
    environment = {**os.environ, "HOME": str(home), "COPILOG_TOKEN": TOKEN}
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "COPILOT_HOME"):
        environment.pop(name, None)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            address = process.stdout.readline().strip().partition("/?token=")[0]
            assert address, process.stderr.read()
            yield address
        finally:
            process.terminate()


def test_what_is_written_appears_on_the_open_page_and_in_the_library(
    tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    log = begin(tmp_path / "home")
    with viewer_of(tmp_path / "home", tmp_path / "archive.db") as address:
        page = open_page(address, f"/conversation?id=cli:{NATIVE_ID}")
        expect(page.get_by_text("At noon.")).to_be_visible()
        page.evaluate("document.body.dataset.same = 'yes'")

        with log.open("a") as file:
            file.write(event(3, "user.message", content="And low tide?"))
            file.write(
                event(4, "assistant.message", messageId="m2", content="At **six** in the evening.", model="gpt-5")
            )

        expect(page.get_by_text("in the evening.")).to_be_visible(timeout=PATIENCE_MS)
        assert page.evaluate("document.body.dataset.same") == "yes"  # it grew, and was not loaded anew
        expect(page.locator("#stream").get_by_text("And low tide?")).to_be_visible()
        page.goto(f"{address}/")
        expect(page.get_by_role("link", name="When is high tide?")).to_be_visible()
