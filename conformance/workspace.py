"""The folders of one run: a home folder, the program's own folder in it, and a workspace with the scenario's files."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from conformance.scenario import Scenario

Value = TypeVar("Value")
COLORS = {"red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200)}
PICTURE_SIZE = 8
MCP_SERVER = Path(__file__).with_name("mcp_server.py")


class Places:
    """The folders of a run."""

    def __init__(self, scratch: Path) -> None:
        self.home = scratch / "home"
        self.workspace = self.home / "work"
        self.copilot = self.home / ".copilot"

    def fill(self, value: Any) -> Any:
        """Replace the placeholders in all texts of a value."""
        if isinstance(value, str):
            return value.replace("{workspace}", str(self.workspace)).replace("{home}", str(self.copilot))
        if isinstance(value, list):
            return [self.fill(one) for one in value]
        if isinstance(value, dict):
            return {self.fill(key): self.fill(one) for key, one in value.items()}
        if isinstance(value, msgspec.Struct):
            return msgspec.convert(self.fill(msgspec.to_builtins(value)), type(value))
        return value


def make(scenario: Scenario, places: Places) -> None:
    """Write the files of a scenario."""
    places.workspace.mkdir(parents=True)
    places.copilot.mkdir()
    for name, text in scenario.files.items():
        _write(places.workspace / name, places.fill(text).encode())
    for name, text in scenario.home_files.items():
        _write(places.copilot / name, places.fill(text).encode())
    for name, color in scenario.images.items():
        _write(places.workspace / name, picture(color))
    if scenario.mcp:
        server = {"type": "local", "command": sys.executable, "args": [str(MCP_SERVER)], "tools": ["*"]}
        _write(places.copilot / "mcp-config.json", json.dumps({"mcpServers": {"weather": server}}).encode())
    if scenario.git:
        _make_repository(places.workspace)


def picture(color: str) -> bytes:
    """Return a small PNG of one color."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + bytes(COLORS[color]) * PICTURE_SIZE
    header = struct.pack(">IIBBBBB", PICTURE_SIZE, PICTURE_SIZE, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(row * PICTURE_SIZE)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _make_repository(folder: Path) -> None:
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        [*who, "commit", "-q", "--allow-empty", "-m", "Begin"],
        ["remote", "add", "origin", "https://github.com/ada/shop.git"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
