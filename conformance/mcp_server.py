"""A tiny MCP server over stdio, for scenarios: one tool that answers, one that fails."""

from __future__ import annotations

import json
import sys
from typing import Any

TOWN = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
TOOLS = [
    {"name": "get_temp", "description": "Return the temperature of a town", "inputSchema": TOWN},
    {"name": "broken", "description": "Fail", "inputSchema": {"type": "object", "properties": {}}},
]


def answer(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a request."""
    if method == "initialize":
        info = {"name": "weather", "version": "1.0.0"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and given["name"] == "get_temp":
        text = f"It is 21 degrees in {given['arguments']['town']}"
        return {"content": [{"type": "text", "text": text}], "structuredContent": {"degrees": 21}, "isError": False}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": "The sensor is broken"}], "isError": True}
    return {}


def main() -> None:
    """Answer requests, one on each line, until the input ends."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request.get("method", ""), request.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
