"""Masked copies of what VS Code wrote: only files with conversations, and the vendors' prose shortened."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from conformance.masking import READABLE, WORDS, Mask, within
from conformance.vscode_server import USER_DATA

KEPT = (
    "otel.jsonl",
    "User/globalStorage/github.copilot-chat/*.db*",
    "User/globalStorage/github.copilot-chat/memory-tool/**/*",
    "User/workspaceStorage/*/chatSessions/*",
    "User/workspaceStorage/*/chatEditingSessions/**/*",
    "User/workspaceStorage/*/GitHub.copilot-chat/**/*",
)
NAME = re.compile(r"[\w.-]+")
MASKED = "x" * 40  # what becomes of it, as tools and system prompts would be most of a recording


class VsCodeMask(Mask):
    """Mask what VS Code writes: JSON within texts, and prompts that mix the user's text with the vendor's."""

    def __init__(self, renamed: dict[str, str], own: Iterable[str]) -> None:
        # Names of tools and models are in the vendors' prose too.
        super().__init__(renamed, (text for text in own if not NAME.fullmatch(text)))

    def value(self, value: Any) -> Any:
        """Return a JSON value with all its texts masked; of the tools on offer only the first, without parameters."""
        if isinstance(value, list) and len(value) > 1 and all(map(_is_tool, value)):
            value = value[:1]
        elif _is_tool(value) and "parameters" in value:
            value = {**value, "parameters": {}}
        return super().value(value)

    def text(self, text: str) -> str:
        """Return a text with renamed paths, and without prose that holds nothing of ours."""
        inner = within(text)
        if inner is not None:
            return json.dumps(self.value(inner), ensure_ascii=False, separators=(",", ":"))
        pieces = self.pieces(text)
        return self.rename(
            "".join(piece if is_kept or len(READABLE.findall(piece)) <= WORDS else MASKED for piece, is_kept in pieces)
        )

    def copy(self, source: Path, target: Path) -> None:
        """Copy the files with conversations, masked."""
        with tempfile.TemporaryDirectory() as scratch:
            for pattern in KEPT:
                for path in (source / USER_DATA).glob(pattern):
                    if path.is_file():
                        place = Path(scratch, path.relative_to(source))
                        place.parent.mkdir(parents=True, exist_ok=True)
                        shutil.copyfile(path, place)
            super().copy(Path(scratch), target)
        for path in target.rglob("*.db"):
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA page_size = 512")  # most tables are empty, and take a page each
            connection.execute("VACUUM")
            connection.close()


def _is_tool(value: Any) -> bool:
    if not isinstance(value, dict) or "name" not in value or "arguments" in value:
        return False
    return "parameters" in value or value.get("type") == "function"
