"""The MCP servers that an export names, and the tools that come from them."""

from __future__ import annotations

import re
from typing import Any

PREFIX_LENGTH = 13  # of a server's label, at the beginning of its tools' names

_other_characters = re.compile(r"[^a-z0-9]+")


class Servers:
    """Finds the server of a tool. Names of tools begin with `mcp_` and the beginning of the server's label."""

    def __init__(self, servers: Any) -> None:
        labels = [
            server["label"]
            for server in (servers if isinstance(servers, list) else [])
            if isinstance(server, dict) and isinstance(server.get("label"), str)
        ]
        self._by_prefix = {_key(f"mcp_{label[:PREFIX_LENGTH]}_"): label for label in reversed(labels) if label}

    def of_tool(self, name: str) -> str | None:
        """The label of the server behind a tool; None for tools of other origin."""
        if not name.startswith("mcp_"):
            return None
        key = _key(name)
        return next((label for prefix, label in self._by_prefix.items() if key.startswith(prefix)), None)


def _key(text: str) -> str:
    return _other_characters.sub("_", text.lower())
