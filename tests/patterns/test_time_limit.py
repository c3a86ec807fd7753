"""A pattern has a time limit for each text, in every thread: on the command line, in the viewer, and over MCP."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest
from starlette.testclient import TestClient

from copilog import patterns
from copilog.errors import UsageError
from copilog.patterns import SlowPatternError, has_match_within_limit, spans_within_limit
from copilog.patterns.worker import Span
from copilog.store.archive import Archive
from copilog.store.selection import Selection
from tests.stored import entry
from tests.web.serving import PORT, TOKEN, app_for

Result = TypeVar("Result")

ENDLESS = "(a+)+$"
LONG_TEXT = "a" * 40 + "b"


def in_thread(function: Callable[[], Result]) -> Result:
    """Call a function in a thread other than the main one, where no timer interrupts a search."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function).result(timeout=60)


def in_this_thread(function: Callable[[], Result]) -> Result:
    return function()


EVERY_THREAD = pytest.mark.parametrize(
    "call",
    [
        in_thread,
        pytest.param(in_this_thread, marks=pytest.mark.skipif(sys.platform == "win32", reason="has no timer")),
    ],
)


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "PATTERN_SECONDS", 0.3)


@EVERY_THREAD
@pytest.mark.usefixtures("short_limit")
def test_a_pattern_that_takes_too_long_is_stopped(call: Callable[..., bool]) -> None:
    with pytest.raises(SlowPatternError, match=re.escape("takes longer than 0.3 s on a text of 41 characters")):
        call(lambda: has_match_within_limit(re.compile(ENDLESS), LONG_TEXT))

    assert call(lambda: has_match_within_limit(re.compile("(a)+b"), LONG_TEXT))


@EVERY_THREAD
def test_the_first_matches_are_found_with_the_flags_of_the_pattern(call: Callable[..., list[Span]]) -> None:
    pattern = re.compile("^(?:TIDE )+\ud800?", re.IGNORECASE | re.MULTILINE)
    text = "tide one\ntide two\ntide \ud800 three"

    assert call(lambda: spans_within_limit(pattern, text, 2)) == [(0, 5), (9, 14)]
    assert call(lambda: spans_within_limit(pattern, text, 9))[-1] == (18, 24)
    assert call(lambda: spans_within_limit(re.compile("nothing"), text, 9)) == []


@pytest.mark.parametrize(
    ("pattern", "length", "is_fast"),
    [
        ("tide", 1_000_000, True),
        ("tide.*low", 9_000, True),
        ("tide.*low", 90_000, False),
        (r"[*+]\+\(\d", 1_000_000, True),
        ("(?i)tide(?=s)", 1_000_000, True),
        ("a?a?a?a?a?aaaaa", 1_000, False),
        ("(a+)+", 20, False),
        (r"(a)\1", 20, False),
        ("(?x) (a+) +$", 20, False),
    ],
)
def test_only_a_pattern_with_few_repetitions_in_a_short_text_needs_no_limit(
    pattern: str, length: int, is_fast: bool
) -> None:
    assert patterns._is_surely_fast(re.compile(pattern), "a" * length) is is_fast


def test_a_process_that_was_killed_is_started_again() -> None:
    text = "a text of more than sixteen characters"
    assert in_thread(lambda: has_match_within_limit(re.compile("(te)?xt"), text))
    process = patterns._searching._process
    assert process is not None
    process.kill()
    process.wait()

    assert in_thread(lambda: has_match_within_limit(re.compile("(te)?xt"), text))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "archive.db"
    with Archive(path, write=True) as archive:
        archive.put(entry("n1", (LONG_TEXT, "an answer"), title="Tides"), "1")
        archive.index_pending()
    return path


@pytest.mark.usefixtures("short_limit")
def test_the_viewer_reports_a_pattern_that_takes_too_long(archive: Path) -> None:
    address = f"http://127.0.0.1:{PORT}"
    with TestClient(app_for(archive), base_url=address, cookies={"copilog_token": TOKEN}) as client:
        page = client.get("/", params={"q": f"/{ENDLESS}/"})
        part = client.get("/", params={"q": f"/{ENDLESS}/", "from": "50"}, headers={"HX-Request": "true"})
        dashboard = client.get("/dashboard", params={"q": f"/{ENDLESS}/"})
        good = client.get("/", params={"q": "/a+b/"})

    for answer in (page, part, dashboard):
        assert "takes longer than 0.3 s" in answer.text
    assert (part.status_code, dashboard.status_code) == (400, 400)
    assert "Tides" in good.text


@pytest.mark.usefixtures("short_limit")
def test_a_question_over_mcp_reports_a_pattern_that_takes_too_long(archive: Path) -> None:
    questions = pytest.importorskip("copilog.mcp.questions", reason="the SDK is not installed")

    def ask() -> None:
        with Archive(archive) as opened:
            questions.search(opened, f"/{ENDLESS}/", Selection(), 5, 0, 3)

    with pytest.raises(UsageError, match=r"takes longer than 0\.3 s"):
        in_thread(ask)
