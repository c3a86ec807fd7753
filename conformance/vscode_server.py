"""A VS Code server on loopback: its user data prepared, started, and ended with all its processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from conformance.vscode_setup import VsCode
from conformance.workspace import MCP_SERVER

USER_DATA = ".local/share/code-server"  # below the home folder, as code-server itself has it
START_SECONDS = 240.0
END_SECONDS = 60.0
POLL_SECONDS = 0.1
SETTINGS: dict[str, Any] = {
    "chat.byokUtilityModelDefault": "mainAgent",  # titles come from the scripted model too
    "chat.editing.confirmEditRequestRemoval": False,
    "chat.editing.confirmEditRequestRetry": False,
    "chat.mcp.autostart": "newAndOutdated",
    "chat.permissions.default": "autoApprove",
    "chat.tips.enabled": False,
    "extensions.autoCheckUpdates": False,
    "github.copilot.chat.agentDebugLog.fileLogging.enabled": True,
    "github.copilot.chat.agentDebugLog.fileLogging.flushIntervalMs": 200,
    "github.copilot.chat.otel.dbSpanExporter.enabled": True,
    "telemetry.telemetryLevel": "off",
    "window.confirmBeforeClose": "never",
    "workbench.startupEditor": "none",
}


def prepare(home: Path, settings: Mapping[str, Any], models: Sequence[str], model_url: str, *, mcp: bool) -> Path:
    """Write settings, models and MCP servers into a new user data folder, and return it."""
    user_data = home / USER_DATA
    (user_data / "User").mkdir(parents=True)
    provider = {
        "name": "Scripted",
        "vendor": "customendpoint",
        "apiType": "chat-completions",
        "models": [
            {
                "id": model,
                "name": model,
                "url": f"{model_url}/chat/completions",
                "toolCalling": True,
                "vision": True,
                "maxInputTokens": 128_000,
                "maxOutputTokens": 16_000,
            }
            for model in models
        ],
    }
    _write(user_data / "User/chatLanguageModels.json", [provider])
    _write(user_data / "User/settings.json", {**SETTINGS, **settings})
    if mcp:
        server = {"type": "stdio", "command": sys.executable, "args": [str(MCP_SERVER)]}
        _write(user_data / "User/mcp.json", {"servers": {"weather": server}})
    return user_data


class Running(msgspec.Struct, frozen=True):
    """A server that runs, and the address that opens the workspace."""

    url: str
    process: subprocess.Popen[bytes]

    def crash(self) -> None:
        """End all its processes at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def serving(vscode: VsCode, home: Path, workspace: Path) -> Iterator[Running]:
    """Run the server while the block runs.

    Whatever it would fetch from elsewhere goes to a proxy on loopback that does not exist.
    """
    port = _free_port()
    user_data = home / USER_DATA
    command = [
        str(vscode.node),
        str(vscode.entry),
        *("--auth", "none"),
        *("--bind-addr", f"127.0.0.1:{port}"),
        *("--user-data-dir", str(user_data)),
        *("--extensions-dir", str(user_data / "extensions")),
        "--disable-telemetry",
        "--disable-update-check",
        "--disable-workspace-trust",
        str(workspace),
    ]
    dead = "http://127.0.0.1:9"
    env = {
        "HOME": str(home),
        "PATH": f"{vscode.node.parent}{os.pathsep}{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "SHELL": "/bin/bash",
        "HTTP_PROXY": dead,
        "HTTPS_PROXY": dead,
        "http_proxy": dead,
        "https_proxy": dead,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
    log = home.parent / "server.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    try:
        _wait_for_start(process, port, log)
        yield Running(f"http://127.0.0.1:{port}/?folder={workspace}", process)
    finally:
        _end(process)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _wait_for_start(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise RuntimeError(f"VS Code did not start: {log.read_text(errors='replace')[-2000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then end what is left of its process group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
