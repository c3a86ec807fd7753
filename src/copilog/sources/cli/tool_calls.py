"""Make one tool call of its request, its start and its end, of which any may be missing."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.fields import (
    Json,
    json_text,
    rest,
    take_str,
)
from copilog.model import Message, Terminal, ToolCall
from copilog.sources.cli.event import Event, ms_between, with_more
from copilog.sources.cli.turns import correct_by_tool

# Tool calls: one part from a request, a start and an end, any of which may be missing.


INTENT = "report_intent"  # a tool that only announces what the assistant is about to do
NOT_STARTED = ("prepared", "cancelled")
CallStatus = Literal["complete", "failed", "denied", "skipped", "cancelled", "prepared", "unknown"]


class Call(msgspec.Struct, gc=False):
    """A running call: its part, the message of the part, and the data that its end needs."""

    part: ToolCall
    message: Message
    arguments: Any
    started_at: datetime | None = None
    terminal: Terminal | None = None

    def argument(self, name: str) -> str | None:
        """Return an argument if it is text."""
        value = self.arguments.get(name) if isinstance(self.arguments, dict) else None
        return value if isinstance(value, str) else None

    def end(self, status: CallStatus, at: datetime | None = None) -> None:
        part = self.part
        if part.status != "denied":
            part.status = status
        elapsed_ms = ms_between(self.started_at, at)
        if elapsed_ms is not None:
            part.elapsed_ms = elapsed_ms
            if self.terminal is not None:
                self.terminal.elapsed_ms = elapsed_ms


class Calls:
    """The calls that have not ended, and those of the current turn that have."""

    def __init__(self) -> None:
        self.open: dict[str, Call] = {}
        self._ended: dict[str, Call] = {}
        self._externals: dict[str, str] = {}  # requests to the host, and the calls that they are about

    def get(self, call_id: str | None) -> Call | None:
        if call_id is None:
            return None
        call = self.open.get(call_id)
        return self._ended.get(call_id) if call is None else call

    def add(self, part: ToolCall, message: Message, arguments: Any) -> Call:
        made = self.open[part.id] = Call(part, message, arguments)
        return made

    def close(self, call: Call) -> None:
        call_id = call.part.id
        if self.open.pop(call_id, None) is not None:
            self._ended[call_id] = call

    def interrupt(self) -> None:
        """Close the running calls as cut off. A late end still counts."""
        for call in self.open.values():
            if call.part.status in ("unknown", "prepared"):
                call.part.status = "cancelled"

    def has_running(self) -> bool:
        """Return whether an end is still to come."""
        return bool(self.open) and any(call.part.status != "cancelled" for call in self.open.values())

    def drop_ended(self) -> None:
        self._ended.clear()

    def await_host(self, request_id: str | None, call_id: str) -> None:
        if request_id:
            self._externals[request_id] = call_id

    def answered_by_host(self, request_id: str | None) -> Call | None:
        return self.get(self._externals.pop(request_id, None)) if request_id else None


def requested_call(request: Json, position: int) -> tuple[ToolCall, Any]:
    """Return the call that a message requests, with its decoded arguments."""
    raw = request.pop("arguments", None)
    arguments = _decoded(raw) if isinstance(raw, str) else raw
    call = ToolCall(
        id=take_str(request, "toolCallId") or "",
        name=take_str(request, "name") or "",
        arguments=arguments_text(raw),
        status="prepared",
        position=position,
    )
    if request.get("type") == "function":
        del request["type"]
    if request:
        call.title = take_str(request, "toolTitle")
        call.message = take_str(request, "intentionSummary")
        _read_server(request, call)
        call.extra = rest(request)
    if call.name == INTENT:
        _read_intent(call, arguments)
    return call, arguments


def started_call(event: Event, origin: str | None = None) -> tuple[ToolCall, Any]:
    """Return the call of an event that starts one without a request in any message."""
    data = event.data
    raw = data.pop("arguments", None)
    arguments = _decoded(raw) if isinstance(raw, str) else raw
    call = ToolCall(
        id=take_str(data, "toolCallId") or "",
        name=take_str(data, "toolName") or "",
        arguments=arguments_text(raw),
        origin=origin,
        native=event.native,
    )
    _read_server(data, call)
    if call.name == INTENT:
        _read_intent(call, arguments)
    return call, arguments


def read_start(event: Event, call: Call) -> None:
    """Read the start of a requested call: with the same arguments, or with arguments that were replaced."""
    data, part = event.data, call.part
    arguments = data.pop("arguments", None)
    if isinstance(arguments, str):
        arguments = _decoded(arguments)
    name = take_str(data, "toolName")
    if not part.name:
        part.name = name or ""
    elif name is not None and name != part.name:
        data["toolName"] = name
    if call.arguments is None and arguments is not None:
        call.arguments, part.arguments = arguments, arguments_text(arguments)
        if part.name == INTENT:
            _read_intent(part, arguments)
    elif arguments is not None and arguments != call.arguments:
        data["arguments"] = arguments
        part.notes = {**part.notes, "arguments it ran with": arguments_text(arguments) or ""}
    if data:
        _read_server(data, part)


def mark_started(event: Event, call: Call) -> None:
    """Note when a call started, and all other data of its start."""
    part, data = call.part, event.data
    shell = data.get("shellToolInfo")
    shown = shell.get("displayCommand") if isinstance(shell, dict) else None
    if isinstance(shown, str) and shown not in (part.arguments or ""):
        part.notes = {**part.notes, "command as displayed": shown}
    call.started_at = part.started_at = event.at
    if part.status in NOT_STARTED:
        part.status = "unknown"
    if data:
        part.round_id = take_str(data, "turnId") or part.round_id
        if part.title is None:
            part.title = take_str(data, "toolTitle")
        correct_by_tool(call.message, take_str(data, "model"))
    if data or event.rest:
        part.extra = with_more(part.extra, event.extra() or {})


def _read_server(data: Json, call: ToolCall) -> None:
    server = take_str(data, "mcpServerName")
    if server:
        call.server, call.origin = server, "mcp"
    call.tool_id = take_str(data, "mcpToolName") or call.tool_id


def _read_intent(call: ToolCall, arguments: Any) -> None:
    if isinstance(arguments, dict) and isinstance(arguments.get("intent"), str):
        call.title = arguments["intent"]


def _decoded(arguments: str) -> Any:
    """Return arguments as an object, decoded where a writer put them into text. Free text stays text."""
    if arguments.startswith("{"):
        try:
            value, _ = jsonio.decode(arguments.encode("utf-8", "replace"))
        except BadRecord:
            return arguments
        return value
    return arguments


def arguments_text(arguments: Any) -> str | None:
    """Return arguments as text: an object as JSON, the free text of a custom tool unchanged."""
    if arguments is None or isinstance(arguments, str):
        return arguments
    return json_text(arguments)
