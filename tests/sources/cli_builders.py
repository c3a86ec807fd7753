"""Small made-up sessions of Copilot CLI, and how to read them back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from copilog.diagnostics import Ledger
from copilog.model import AnyPart, Conversation, Notice, parts_of
from copilog.sources.base import Found
from copilog.sources.cli.events import CliEvents

SOURCE = CliEvents()
SESSION = "0f1e2d3c-0000-4000-8000-000000000001"
Json = dict[str, Any]
Part = TypeVar("Part", bound=AnyPart)


class Log:
    """Writes events, one second after the other."""

    def __init__(self) -> None:
        self.events: list[Json] = []

    def add(self, event_type: str, data: Any = None, **envelope: Any) -> Log:
        number = len(self.events)
        event: Json = {
            "type": event_type,
            "data": {} if data is None else data,
            "id": f"e{number}",
            "timestamp": f"2026-06-02T08:{number // 60:02}:{number % 60:02}.000Z",
            "parentId": f"e{number - 1}" if number else None,
            **envelope,
        }
        self.events.append(event)
        return self

    def pass_by(self, event_type: str, **data: Any) -> Log:
        """Add an event that is never written to disk, but to the program's output."""
        return self.add(event_type, data, ephemeral=True)

    def start(self, **data: Any) -> Log:
        known = {"sessionId": SESSION, "version": 1, "producer": "copilot-agent", "copilotVersion": "1.0.60"}
        return self.add("session.start", {**known, "startTime": "2026-06-02T07:59:59.000Z", **data})

    def ask(self, text: str = "why?", **data: Any) -> Log:
        return self.add("user.message", {"content": text, "attachments": [], **data})

    def say(self, text: str = "because", **data: Any) -> Log:
        return self.add("assistant.message", {"messageId": f"m{len(self.events)}", "content": text, **data})

    def call(self, call_id: str, name: str, arguments: Any = None, **data: Any) -> Log:
        """Add a message that only requests a tool."""
        request = {"toolCallId": call_id, "name": name, "arguments": arguments or {}, "type": "function"}
        return self.say("", toolRequests=[request], **data)

    def begin(self, call_id: str, name: str, arguments: Any = None, **data: Any) -> Log:
        known = {"toolCallId": call_id, "toolName": name, "arguments": arguments or {}}
        return self.add("tool.execution_start", {**known, **data})

    def end(self, call_id: str, content: str = "done", **data: Any) -> Log:
        known = {"toolCallId": call_id, "success": True, "result": {"content": content}}
        return self.add("tool.execution_complete", {**known, **data})

    def run(self, call_id: str, name: str, arguments: Any = None, **end: Any) -> Log:
        """Add a tool call from the request to the end."""
        return self.call(call_id, name, arguments).begin(call_id, name, arguments).end(call_id, **end)

    def record(self, sequence: int, output: int, *, of: str = SESSION, agent: str | None = None, **usage: Any) -> Log:
        """Add the usage of a model call, as written since 1.0.102: ten times as much input as output."""
        accounting = {"sourceSessionId": of, "sequence": sequence, "usageId": f"call-{of}-{sequence}"}
        known: Json = {"model": "opus", "inputTokens": output * 10, "outputTokens": output, "initiator": "user"}
        envelope = {"agentId": agent} if agent is not None else {}
        return self.add("session.usage_record", {"usage": {**known, "accounting": accounting, **usage}}, **envelope)

    def shut_down(self, **data: Any) -> Log:
        return self.add("session.shutdown", {"shutdownType": "routine", "modelMetrics": {}, **data})

    def lines(self) -> list[str]:
        return [json.dumps(event) for event in self.events]


def log_path(folder: Path) -> Path:
    """Return the path of the session's log below a made-up home."""
    path = folder / ".copilot" / "session-state" / SESSION / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_log(folder: Path, log: Log | str | bytes) -> Path:
    path = log_path(folder)
    text = "\n".join(log.lines()) + "\n" if isinstance(log, Log) else log
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read_path(path: Path, native_id: str | None = SESSION) -> tuple[list[Conversation], Ledger]:
    """Read a file by itself; the books must balance."""
    ledger = Ledger(path=str(path), source=SOURCE.name)
    conversations = list(SOURCE.read(Found(path, SOURCE.name, native_id), ledger))
    assert ledger.balances()
    return conversations, ledger


def read_log(folder: Path, log: Log | str | bytes) -> tuple[Conversation, Ledger]:
    (conversation,), ledger = read_path(write_log(folder, log))
    return conversation, ledger


def read_cleanly(folder: Path, log: Log) -> Conversation:
    """Read a log in which nothing is unknown, bad or worth a note."""
    conversation, ledger = read_log(folder, log)
    assert (ledger.bad, ledger.notes, ledger.unknown, ledger.parts.bad, ledger.parts.unknown) == ([], [], {}, [], {})
    return conversation


def parts_like(conversation: Conversation, kind: type[Part]) -> list[Part]:
    return [part for part in parts_of(conversation) if isinstance(part, kind)]


def only(conversation: Conversation, kind: type[Part]) -> Part:
    (part,) = parts_like(conversation, kind)
    return part


def notice(conversation: Conversation, topic: str) -> Notice:
    (found,) = [part for part in parts_like(conversation, Notice) if part.topic == topic]
    return found


def roles(conversation: Conversation) -> list[str]:
    return [message.role for message in conversation.messages]
