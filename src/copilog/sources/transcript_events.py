"""Tell a transcript of Copilot Chat that lacks its first event from a log of Copilot CLI.

A transcript has seven of the log's types of event, with fewer fields. A log always has others among its first events.
"""

from __future__ import annotations

from copilog.fields import Json
from copilog.sources.base import Probe

FIELDS = {
    "user.message": {"content", "attachments"},
    "assistant.turn_start": {"turnId"},
    "assistant.message": {"messageId", "content", "toolRequests", "reasoningText"},
    "tool.execution_start": {"toolCallId", "toolName", "arguments"},
    "tool.execution_complete": {"toolCallId", "success"},
    "assistant.turn_end": {"turnId"},
}


def is_headless_transcript(file: Probe) -> bool:
    """Return whether a file is a transcript whose first event is lost, by its first intact events."""
    if file.suffix != ".jsonl" or not file.may_hold_records:
        return False
    first = (file.first_record or {}).get("type")
    if not isinstance(first, str) or first not in FIELDS:
        return False
    events = file.first_records
    return all(map(_may_be_of_transcript, events)) and any(map(_is_of_transcript, events))


def _may_be_of_transcript(event: Json) -> bool:
    kind, data = event.get("type"), event.get("data")
    if not isinstance(kind, str) or not isinstance(data, dict):
        return False
    return data.keys() <= FIELDS.get(kind, set()) or (kind == "session.start" and "vscodeVersion" in data)


def _is_of_transcript(event: Json) -> bool:
    """Return whether no log of Copilot CLI has such an event: it names the interaction, and what a tool returned."""
    if event["type"] == "assistant.message":
        requests = event["data"].get("toolRequests")
        calls = requests if isinstance(requests, list) else []
        return any(isinstance(call, dict) and isinstance(call.get("arguments"), str) for call in calls)
    return event["type"] in ("assistant.turn_start", "tool.execution_complete")
