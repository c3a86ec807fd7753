"""`copilog mcp --http` as a client sees it: the protocol, the token, and who is refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from copilog.errors import UsageError

if "CI" not in os.environ:  # there, the SDK must be installed, and these tests must run
    pytest.importorskip("mcp.server.mcpserver", reason="the SDK is not installed: pip install 'copilog[mcp]'")

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from copilog.cli.tokens import token_from
from tests.mcp_answers import LOOKUP, Json, data_of, sample_archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_archive(tmp_path_factory.mktemp("archive") / "archive.db")


class Served(NamedTuple):
    port: int
    token: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@contextmanager
def served(archive: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], Served]]:
    """Run a server in its own process on a free port, and yield its output."""
    line = [sys.executable, "-m", "copilog", "mcp", "--http", "--port", "0", "--no-scan", "--archive", str(archive)]
    with subprocess.Popen([*line, *options], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline() + process.stderr.readline()
            match = re.search(r"127\.0\.0\.1:(\d+)/mcp.*\ntoken: (.*)\n", said)
            assert match is not None, said + process.stderr.read()
            yield process, Served(int(match[1]), match[2])
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def web(archive: Path) -> Iterator[Served]:
    with served(archive) as (_, server):
        yield server


def status(web: Served, headers: dict[str, str], path: str = "/mcp", method: str = "POST") -> int:
    """Return the status of a plain request with these headers."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(HTTPConnection("127.0.0.1", web.port, timeout=30)) as connection:
        connection.request(method, path, body, {**usual, **headers})
        return connection.getresponse().status


def test_a_client_with_the_token_is_served_over_http(web: Served) -> None:
    async def run() -> Json:
        headers = {"Authorization": f"Bearer {web.token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(web.address, http_client=http)) as client,
        ):
            return data_of(await client.call_tool("search", {"query": "bisection"}))

    assert anyio.run(run)["hits"][0]["id"] == LOOKUP


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x", "Bearer é"],
)
@pytest.mark.parametrize("path", ["/mcp", "/", "/anything"])
def test_without_the_right_token_nothing_is_served(web: Served, authorization: str | None, path: str) -> None:
    headers = {"Authorization": authorization.format(token=web.token)} if authorization is not None else {}

    assert status(web, headers, path) == 401
    assert status(web, headers, path, "GET") == 401


def test_a_page_that_made_its_name_point_here_is_refused_even_with_the_token(web: Served) -> None:
    token = {"Authorization": f"Bearer {web.token}"}

    assert status(web, {**token, "Host": "tides.example.com"}) == 421
    assert status(web, {**token, "Host": f"tides.example.com:{web.port}"}) == 421
    assert status(web, {**token, "Host": "127.0.0.1:1"}) == 421
    assert status(web, {**token, "Origin": "https://tides.example.com"}) == 403
    assert status(web, {**token, "Origin": "null"}) == 403
    assert status(web, {**token, "Origin": f"http://localhost:{web.port}", "Host": f"localhost:{web.port}"}) < 401


def test_the_token_is_stored_in_a_file_that_only_the_user_can_read(archive: Path, tmp_path: Path) -> None:
    path = tmp_path / "token"

    with served(archive, "--token-file", str(path)) as (_, server):
        token = path.read_text(encoding="ascii").strip()
        assert server.token == f"in {path}"
        assert status(server, {"Authorization": f"Bearer {token}"}) < 401

    assert len(token) > 40
    assert token_from(path) == token
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_token_that_others_can_read_or_guess_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("short\n", encoding="ascii")
    path.chmod(0o600)
    with pytest.raises(UsageError, match="at least 16 ASCII characters"):
        token_from(path)

    if sys.platform != "win32":
        path.chmod(0o644)
        with pytest.raises(UsageError, match="other users can read this token"):
            token_from(path)


def test_the_token_can_be_in_the_environment(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COPILOG_TOKEN", "a-token-to-use-again")

    with served(archive) as (_, server):
        assert server.token == "in COPILOG_TOKEN"
        assert status(server, {"Authorization": "Bearer a-token-to-use-again"}) < 401
