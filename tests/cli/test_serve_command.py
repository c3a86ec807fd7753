"""`copilog serve` as people start and end it: a process of its own, on a free port."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from copilog.cli import serve
from tests.cli.homes import Home, move_in, run, session

PATIENCE_SECONDS = 60.0
TITLE = "Parse the tide file"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a machine with one conversation."""
    home = Home(tmp_path / "home")
    home.add(home.workspace(1, "/home/ana/tide-tables"), session("11111111-aaaa", TITLE, customTitle=TITLE))
    move_in(monkeypatch, tmp_path, home)
    return home


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the archive path of a machine without Copilot data."""
    return move_in(monkeypatch, tmp_path)


class Server:
    """A running `copilog serve`."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address

    def get(self, path: str = "") -> httpx.Response:
        """Return what a browser gets that opens the address, and then a page."""
        with httpx.Client(follow_redirects=True, timeout=PATIENCE_SECONDS) as client:
            answer = client.get(self.address)
            return client.get(httpx.URL(self.address).join(path)) if path else answer

    def end(self, number: int) -> tuple[int, str]:
        """End it by a signal; return its exit code and its output."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, said


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[Server]:
    line = [sys.executable, "-m", "copilog", "serve", *options]
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    with subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment, "BROWSER": "", **variables},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            address = process.stdout.readline().strip()
            assert address, process.stderr.read()
            yield Server(process, address)
        finally:
            process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_scans_serves_and_ends_with_0(home: Home, number: int) -> None:
    with serving("--port", "0", "--no-browser") as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{40,}", server.address)
        answer = server.get()
        assert answer.status_code == 200
        assert TITLE in answer.text
        assert "token" not in str(answer.url)

        code, said = server.end(number)

    assert code == 0, said
    assert "Ctrl-C" in said
    assert "the viewer has ended" in said
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_serve_ends_at_once_while_pages_are_listening(home: Home) -> None:
    with serving("--port", "0") as server, httpx.Client(timeout=PATIENCE_SECONDS) as client:
        client.get(server.address)
        with client.stream("GET", httpx.URL(server.address).join("/events")) as events:
            lines = events.iter_lines()
            next(line for line in lines if line.startswith("data:"))
            code, said = server.end(signal.SIGINT)
            list(lines)  # and the page hears the end of it

    assert code == 0, said


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_without_data_serve_shows_the_sample_and_says_so(nothing: Path, tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    with serving("--port", "0", TMPDIR=str(spool)) as server:
        for page in ("/", "/problems"):
            assert "sample that comes with copilog" in server.get(page).text
        assert list(spool.iterdir())
        code, said = server.end(signal.SIGTERM)

    assert code == 0, said
    assert "No Copilot data was found on this machine." in said
    assert "sample that comes with copilog" in said
    assert not list(spool.iterdir())


def test_serve_can_show_the_sample(home: Home) -> None:
    with serving("--sample", "--port", "0") as server:
        answer = server.get()

    assert "sample that comes with copilog" in answer.text
    assert "No Copilot data" not in answer.text
    assert TITLE not in answer.text


def test_named_roots_are_served_with_a_notice_that_annotations_are_lost(home: Home) -> None:
    with serving("--root", str(home.root), "--port", "0") as server:
        answer = server.get()

    assert TITLE in answer.text
    assert "notes are lost when the viewer ends" in answer.text


def test_a_port_in_use_is_reported_or_replaced_by_a_free_one(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        told = run("serve", "--port", taken, "--no-browser")

    assert told.code == 1
    assert f"port {taken}" in told.err
    assert "--port" in told.err

    with serving() as first, serving() as second:  # both want the usual one
        assert first.address.partition("?")[0] != second.address.partition("?")[0]
        assert first.get().status_code == second.get().status_code == 200


def test_a_custom_token_is_accepted_and_a_short_one_refused(home: Home) -> None:
    with serving("--port", "0", COPILOG_TOKEN="a-token-to-use-again") as server:
        assert server.address.endswith("?token=a-token-to-use-again")
        assert server.get().status_code == 200

    assert run("serve", "--token", "short", "--no-browser").code == 2


def test_a_request_without_token_is_answered_with_what_to_do(home: Home) -> None:
    with serving("--port", "0") as server:
        answer = httpx.get(server.address.partition("?")[0], timeout=PATIENCE_SECONDS)

    assert answer.status_code == 403
    assert "copilog serve" in answer.text


def test_listening_to_other_machines_prints_a_warning(home: Home) -> None:
    with serving("--port", "0", "--host", "0.0.0.0") as server:
        assert server.get().status_code == 200
        port = httpx.URL(server.address).port
        strange = httpx.get(f"http://127.0.0.1:{port}/", headers={"Host": f"evil.example.com:{port}"})
        assert strange.status_code == 400
        _, said = server.end(signal.SIGTERM)

    assert "warning" in said
    assert "not encrypted" in said


def test_an_address_that_is_not_ours_is_a_usage_error(home: Home) -> None:
    told = run("serve", "--host", "no such host", "--no-browser")

    assert told.code == 2
    assert "--host" in told.err


def test_a_browser_is_opened_only_if_there_is_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert not serve.has_display()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert serve.has_display()

    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert serve.has_display()
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    assert not serve.has_display()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the browser")
def test_the_browser_is_given_an_address_that_works_once(home: Home, tmp_path: Path) -> None:
    opened, browser = tmp_path / "opened", tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}.new" && mv "{opened}.new" "{opened}"\n')
    browser.chmod(0o755)
    with serving("--port", "0", BROWSER=str(browser)) as server:
        while not opened.exists():
            assert server.process.poll() is None
        address = opened.read_text()
        assert address != server.address

        entrance = httpx.get(address, timeout=PATIENCE_SECONDS)
        again = httpx.get(address, timeout=PATIENCE_SECONDS)

    assert entrance.status_code == 303
    assert again.status_code == 403


def test_help_needs_no_server() -> None:
    code = (
        "import sys; from copilog.cli import main; main(['--help']); main(['serve', '--help']); "
        "sys.exit([name for name in ('starlette', 'uvicorn', 'jinja2') if name in sys.modules] or 0)"
    )

    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0, outcome.stderr
    assert "--no-browser" in outcome.stdout


def test_the_token_can_be_in_a_file_which_is_made_for_this_user_alone(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "token"
    with serving("--port", "0", "--token-file", str(path)) as server:
        token = path.read_text(encoding="ascii").strip()
        assert server.address.endswith(f"?token={token}")
        assert server.get().status_code == 200
    with serving("--port", "0", "--token-file", str(path), COPILOG_TOKEN="another-token-than-that") as server:
        assert server.address.endswith(f"?token={token}")

    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("options", [["--no-scan"], []])
def test_pages_say_that_changes_are_not_read_with_no_scan(home: Home, options: list[str]) -> None:
    run("scan")
    with serving("--port", "0", *options) as server:
        page = server.get().text

    assert ('data-words="not scanning"' in page) == bool(options)
