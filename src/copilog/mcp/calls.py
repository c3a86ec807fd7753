"""Check calls of tools, and say in each error which call may help. Definitions list no more than a model needs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from inspect import signature
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.types import Tool, ToolAnnotations
from pydantic import ValidationError

from copilog.writers.mcp_text import one_line

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# What to call after an error of a tool.
NEXT = {
    "search": "Call search again with this corrected, or without a query for a list of conversations.",
    "read": 'Call search for an id and a message, then read(id="...", around=message).',
    "why": 'Call files(path="...") for the history of a file, or search for the text of the line.',
    "commands": 'Call commands again with this corrected, or search(query="...") for the text.',
    "files": 'Call files again with this corrected, or search(query="file:...").',
    "memories": 'Call memories again with this corrected, or search(query="...").',
    "usage": "Call usage again with this corrected, or search without a query for ids.",
}
# Tools of earlier versions, for agents that were configured with these names.
RENAMED = {
    "list_conversations": "search, without a query",
    "read_conversation": "read, with turn, around or cursor",
    "get_usage": "usage",
    "work_on_file": "files, with path",
}
LONGEST_REASON = 1_500
MOST_FAULTS = 3


class CheckedServer(MCPServer[Any]):
    """A server of read-only tools with short definitions, whose errors name the next call."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._arguments: dict[str, list[str]] = {}  # of each tool
        self._unlisted: dict[str, Collection[str]] = {}

    def add(self, tool: Callable[..., Any], unlisted: Collection[str] = ()) -> None:
        """Add a tool; its docstring is the description that models see. Unlisted arguments are accepted, too."""
        name = tool.__name__
        self._arguments[name] = list(signature(tool).parameters)
        self._unlisted[name] = unlisted
        description = " ".join((tool.__doc__ or "").split())
        self.add_tool(tool, description=description, annotations=READ_ONLY, structured_output=False)

    async def list_tools(self) -> list[Tool]:
        """Return the tools; their schemas are without titles, nulls, limits and unlisted arguments."""
        tools = await super().list_tools()
        for tool in tools:
            tool.input_schema = _listed(tool.input_schema, self._unlisted[tool.name])
        return tools

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        known = self._arguments.get(name)
        if known is None:
            instead = RENAMED.get(name)
            hint = f"Call {instead}." if instead else f"Call one of {', '.join(NEXT)}."
            raise ToolError(f"there is no tool {one_line(name, 60)!r}. {hint}")
        if unknown := [each for each in arguments if each not in known]:
            listed = ", ".join(each for each in known if each not in self._unlisted[name])
            named = ", ".join(one_line(each, 40) for each in unknown[:MOST_FAULTS])
            raise ToolError(f"{name} has no argument {named}. Call {name} with some of: {listed}.")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            raise ToolError(f"{_reason(error, name)} {NEXT[name]}") from error


def _reason(error: ToolError, name: str) -> str:
    if isinstance(error.__cause__, ValidationError):
        faults = error.__cause__.errors()[:MOST_FAULTS]
        texts = (f"{'.'.join(str(part) for part in fault['loc'][:1])}: {fault['msg']}" for fault in faults)
        return "; ".join(dict.fromkeys(texts)) + "."
    reason = str(error).removeprefix(f"Error executing tool {name}: ")[:LONGEST_REASON].rstrip()
    return reason if reason.endswith((".", "?")) else f"{reason}."


def _listed(schema: dict[str, Any], unlisted: Collection[str]) -> dict[str, Any]:
    listed = {name: _short(field) for name, field in schema["properties"].items() if name not in unlisted}
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": listed, **required}


def _short(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument with its type, values, default and description."""
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    made = {key: kinds[0][key] for key in ("type", "enum") if key in kinds[0]}
    made |= {key: field[key] for key in ("default", "description") if field.get(key)}
    return made
