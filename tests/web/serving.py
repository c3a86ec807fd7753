"""The viewer as tests and screenshots run it: on the sample, on a free port of this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from copilog.ingest.scanning import scan
from copilog.sample import home
from copilog.sources.roots import roots_from
from copilog.store.archive import Archive
from copilog.web.app import create_app
from copilog.web.viewer import ViewerSettings

TOKEN = "let-me-in-if-you-please"
PORT = 8765  # where clients without a server think they are
PATIENCE_SECONDS = 30.0  # how long a slow machine may take to start


def stay_at(home: Path, set_variable: Callable[[str, str], object]) -> None:
    """Have everything that looks for things of this user look below a folder."""
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        set_variable(name, str(home))
    for name in ("VSCODE_PORTABLE", "VSCODE_APPDATA", "COPILOT_HOME", "VSCODE_AGENT_FOLDER"):
        set_variable(name, str(home / "nothing"))


def make_sample_archive(path: Path) -> Path:
    """Return an archive of the bundled sample."""
    with Archive(path, write=True) as archive:
        scan(archive, roots=roots_from(home(), "bundled sample"))
    return path


def app_for(archive: Path, port: int = PORT) -> Starlette:
    """Return a viewer of this archive that scans nothing."""
    hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
    return create_app(ViewerSettings(archive=archive, token=TOKEN, hosts=hosts, is_live=False))


@contextmanager
def serving(archive: Path) -> Iterator[str]:
    """Run a viewer while the block runs. Yields its address, without a slash at the end and without token."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        app = app_for(archive, port)
        config = uvicorn.Config(app, log_level="critical", access_log=False, ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="viewer", daemon=True)
        thread.start()
        try:
            _wait_for(server, thread)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_SECONDS)


def _wait_for(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RuntimeError("the viewer did not start")
        time.sleep(0.01)
