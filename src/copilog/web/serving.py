"""The server: its socket, its host names, and how it ends."""

from __future__ import annotations

import ipaddress
import logging
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from copilog.errors import CopilogError, UsageError

LOOPBACK = "127.0.0.1"
OWN_NAMES = frozenset({LOOPBACK, "localhost", "[::1]"})
ENDING_SECONDS = 2  # for requests that are running


class ViewerServer(uvicorn.Server):
    """A server that ends without an error on a signal; listening pages are disconnected first."""

    def __init__(self, app: Starlette, *, is_talkative: bool = False) -> None:
        if is_talkative:
            logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(name)s: %(message)s")
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                log_level="info" if is_talkative else "critical",
                access_log=is_talkative,
                ws="none",
                lifespan="on",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=ENDING_SECONDS,
            )
        )
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self.force_exit = self.should_exit  # at once on the second signal
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.viewer.changes.close()
        await super().shutdown(sockets)


def serve(server: ViewerServer, listener: socket.socket, when_ready: Callable[[], None]) -> None:
    """Serve until a signal ends the process; `when_ready` is called in a thread of its own."""
    threading.Thread(target=when_ready, name="copilog browser", daemon=True).start()
    with listener:
        server.run(sockets=[listener])
    if not server.started:
        raise CopilogError("the viewer could not be started; `copilog --debug serve` shows why")


# --- addresses ------------------------------------------------------------------------------------------------------


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listen(host: str, port: int, *, or_any: bool = False) -> socket.socket:
    """Return a listening socket at this address; connections wait until the server is ready.

    Port 0 selects a free one; with `or_any`, so does a port that is in use.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except OSError as error:
        raise UsageError(f"--host {host}: not an address of this machine: {error.strerror or error}") from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # there, it would let another program use the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        if or_any:
            return listen(host, 0)
        reason = error.strerror or str(error)
        raise CopilogError(f"cannot listen on {host} port {port}: {reason}; choose another with --port") from None
    return listener


def names_for(host: str) -> frozenset[str]:
    """Return the host names that requests may use, on any port. No other name can be made to lead here."""
    if is_loopback(host):
        return OWN_NAMES | {_in_address(host)}
    return OWN_NAMES | {_in_address(name) for name in (host, *_names_of_this_machine())}


def address_of(listener: socket.socket, host: str) -> str:
    """Return the address to open: `http://127.0.0.1:8765/`. If the server listens on all, the local one."""
    shown = LOOPBACK if host in ("0.0.0.0", "::", "") else host  # noqa: S104 - it is compared, not opened
    return f"http://{_in_address(shown)}:{listener.getsockname()[1]}/"


def _in_address(host: str) -> str:
    host = host.lower().partition("%")[0]
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _names_of_this_machine() -> set[str]:
    name = socket.gethostname()
    found = {name, f"{name}.local", socket.getfqdn()}
    with suppress(OSError):
        found |= {str(address[0]) for *_, address in socket.getaddrinfo(name, None)}
    return {each for each in found if each} | _outward_addresses()


def _outward_addresses() -> set[str]:
    """Return the addresses that other machines use; nothing is sent to find them."""
    found = set()
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((elsewhere, 9))
                found.add(str(probe.getsockname()[0]))
        except OSError:
            continue
    return found
