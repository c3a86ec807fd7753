"""Serve over HTTP, for clients that cannot start a process: only on this machine, and only with the token.

Any web page in a browser can send requests to this machine. So a request must use the server's own host name (a page
whose DNS name was pointed here has another), must not come from a page of another origin, and must have the token.
"""

from __future__ import annotations

import hmac
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer

from copilog.errors import CopilogError

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
MOST_SESSIONS = 64

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Guard:
    """Accepts only requests with the server's own host name, without a foreign origin, and with the token."""

    def __init__(self, application: Application, token: str, port: int) -> None:
        self._application = application
        self._token = token.encode()
        self._hosts = {f"{name}:{port}".encode() for name in (LOOPBACK, "localhost", "[::1]")}
        self._origins = {b"http://" + host for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
        elif scope["type"] != "http":
            raise CopilogError(f"a connection of kind {scope['type']} is not served")
        elif (refusal := self._refusal(scope["headers"])) is not None:
            await _answer(send, *refusal)
        else:
            await self._application(scope, receive, send)

    def _refusal(self, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Return the status and the reason if a request must be refused."""
        given: dict[bytes, list[bytes]] = {}
        for name, value in headers:
            given.setdefault(name.lower(), []).append(value.strip())
        hosts, origins = given.get(b"host", []), given.get(b"origin", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "this server answers to its own address only"
        if any(origin.lower() not in self._origins for origin in origins):
            return 403, "this server does not answer web pages"
        tokens = given.get(b"authorization", [])
        kind, _, token = tokens[0].partition(b" ") if len(tokens) == 1 else (b"", b"", b"")
        is_right = hmac.compare_digest(token.strip(), self._token)
        if kind.lower() != b"bearer" or not is_right:
            return 401, "the token is missing or wrong: send it as `Authorization: Bearer TOKEN`"
        return None


async def _answer(send: Send, status: int, reason: str) -> None:
    body = f"{reason}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def guarded(server: MCPServer[Any], token: str, port: int) -> Application:
    """Return the server as an application that requires the token. The SDK checks Host and Origin again."""
    return Guard(server.streamable_http_app(streamable_http_path=PATH, max_sessions=MOST_SESSIONS), token, port)


def listen(port: int) -> socket.socket:
    """Return a socket that only this machine can reach; port 0 takes any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # on Windows it would let another program take over the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()  # from now on clients can connect and wait, so the address may be announced
    except OSError as error:
        listener.close()
        raise CopilogError(f"cannot listen on port {port}: {error.strerror or error}; choose one with --port") from None
    return listener


def serve(server: MCPServer[Any], token: str, listener: socket.socket) -> None:
    """Serve until the process is asked to end."""
    application = guarded(server, token, listener.getsockname()[1])
    # Without a logging configuration uvicorn writes only warnings, to standard error.
    config = uvicorn.Config(application, log_config=None, log_level="warning", access_log=False, server_header=False)
    with listener:
        anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listener]))
