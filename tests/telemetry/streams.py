"""Builders for small streams of telemetry: every test writes the few events it is about, and reads what comes out.

A record is one event in the nested envelope, as a dictionary; `properties=` adds or overrides single properties of an
event (None takes one away), so that a test shows only what matters to it. All ids default to the same conversation
(`talk`), so that events of one test belong together unless it says otherwise.

    path = write_lines(tmp_path, user_text("ask", 0), snapshot([system(), user("Hello"), assistant("Hi")]))
    trajectory = only(path)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import copilog
from copilog import Report
from copilog.trajectory import ConversationTrajectory

Record = dict[str, Any]
Paths = Path | str | Sequence[Path | str]

ENGINE = "copilot-chat/engine.messages"
USER_TEXT = "copilot-chat/conversation.messageText"
SESSION = "GitHub.copilot-chat/interactiveSession"
MODEL = "GitHub.copilot-chat/model."


# --- messages -------------------------------------------------------------------------------------------------------


def system(content: Any = "You help with gardens.", **fields: Any) -> Record:
    """Return a message of role system; `fields` are further keys of the message."""
    return {"role": "system", "content": content, **fields}


def user(content: Any = "When do I sow beans?", **fields: Any) -> Record:
    """Return a message of role user."""
    return {"role": "user", "content": content, **fields}


def assistant(content: Any = "In May.", **fields: Any) -> Record:
    """Return a message of role assistant; `tool_calls=[call("id")]` makes it call tools."""
    return {"role": "assistant", "content": content, **fields}


def tool(content: Any = "12 degrees", tool_call_id: str | None = "call-1", **fields: Any) -> Record:
    """Return a message of role tool, the answer to a call; without an id when that is None."""
    answered = {} if tool_call_id is None else {"tool_call_id": tool_call_id}
    return {"role": "tool", "content": content, **answered, **fields}


def call(call_id: str = "call-1", name: str = "read_soil", arguments: str = '{"bed":3}') -> Record:
    """Return one entry of `tool_calls`."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


# --- events ---------------------------------------------------------------------------------------------------------


def event(name: str, properties: Record | None = None, *, time: str | None = None) -> Record:
    """Return any event in the nested envelope, by its full name; properties that are None are left out."""
    present = {key: value for key, value in (properties or {}).items() if value is not None}
    envelope: Record = {"name": "Microsoft.ApplicationInsights.Event"}
    if time is not None:
        envelope["time"] = time
    envelope["data"] = {"baseType": "EventData", "baseData": {"ver": 2, "name": name, "properties": present}}
    return envelope


def properties_of(record: Record) -> Record:
    """Return the properties of a built event."""
    properties: Record = record["data"]["baseData"]["properties"]
    return properties


def snapshot(
    messages: Any,
    conversation: str | None = "talk",
    *,
    header: str | None = None,
    time: str | None = None,
    name: str = ENGINE,
    properties: Record | None = None,
) -> Record:
    """Return an `engine.messages` event. A list of messages is encoded as JSON text; a text is used unchanged."""
    text = messages if isinstance(messages, str) else json.dumps(messages, ensure_ascii=False)
    basis = {"conversationId": conversation, "headerRequestId": header, "messagesJson": text}
    return event(name, {**basis, **(properties or {})}, time=time)


def user_text(
    mode: str | None,
    turn: int | str | None,
    conversation: str | None = "talk",
    *,
    source: str = "user",
    header: str | None = None,
    message: str | None = None,
    time: str | None = None,
    name: str = USER_TEXT,
    properties: Record | None = None,
) -> Record:
    """Return a `messageText` event: a text of the user (or `source`) in this mode and this turn."""
    basis = {
        "conversationId": conversation,
        "source": source,
        "mode": mode,
        "turnIndex": str(turn) if isinstance(turn, int) else turn,
        "headerRequestId": header,
        "messageId": message,
        "messageText": "When do I sow beans?",
    }
    return event(name, {**basis, **(properties or {})}, time=time)


def session_response(
    model: str | None,
    request: str | None,
    session: str | None = "talk",
    *,
    kind: str = "Response",
    time: str | None = None,
    properties: Record | None = None,
) -> Record:
    """Return an `interactiveSessionResponse` event (or Message, by kind): the model that answered a request."""
    basis = {"sessionId": session, "requestId": request, "baseModel": model}
    return event(SESSION + kind, {**basis, **(properties or {})}, time=time)


# --- the model.* family ---------------------------------------------------------------------------------------------


def model_event(
    base: str,
    properties: Record,
    *,
    conversation: str | None = "talk",
    header: str | None = "turn-1",
    time: str | None = None,
) -> Record:
    """Return an event of the delta family by its name after `model.`: `message.added`, `modelCall.input`, ..."""
    return event(MODEL + base, {"conversationId": conversation, "headerRequestId": header, **properties}, time=time)


def chunked(key: str, text: str, parts: int = 1) -> list[Record]:
    """Return a long text as properties of chunk events: `key`, `chunkIndex`, `totalChunks`, all as text."""
    size = -(-len(text) // parts)
    return [
        {key: text[index * size : (index + 1) * size], "chunkIndex": str(index), "totalChunks": str(parts)}
        for index in range(parts)
    ]


def model_message(uuid: str, message: Any, *, parts: int = 1, direction: str = "input", **where: Any) -> list[Record]:
    """Return one message of the delta family in some chunk events. `where`: conversation, header, time."""
    fixed = {"messageUuid": uuid, "messageDirection": direction}
    return [
        model_event("message.added", {**fixed, **chunk}, **where)
        for chunk in chunked("messageJson", json.dumps(message, ensure_ascii=False), parts)
    ]


def model_call(
    call_id: str,
    uuids: Sequence[str],
    *,
    direction: str = "input",
    parts: int = 1,
    properties: Record | None = None,
    **where: Any,
) -> list[Record]:
    """Return the messages of one model call, by uuid, in some chunk events; direction "output": its answer."""
    fixed = {"modelCallId": call_id, "messageDirection": direction, "messageCount": str(len(uuids))}
    return [
        model_event(f"modelCall.{direction}", {**fixed, **(properties or {}), **chunk}, **where)
        for chunk in chunked("messageUuids", json.dumps(list(uuids)), parts)
    ]


def model_options(options_id: str, options: Record, *, parts: int = 1, **where: Any) -> list[Record]:
    """Return the request options that calls name in `requestOptionsId`, in some chunk events."""
    return [
        model_event("request.options.added", {"requestOptionsId": options_id, **chunk}, **where)
        for chunk in chunked("requestOptionsJson", json.dumps(options), parts)
    ]


# --- files ----------------------------------------------------------------------------------------------------------


def line_of(record: Record | str | bytes) -> bytes:
    """Return a record as one line without its end; texts and bytes are used unchanged."""
    if isinstance(record, bytes):
        return record
    return (record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)).encode("utf-8")


def write_lines(folder: Path, *records: Record | str | bytes, name: str = "events.jsonl") -> Path:
    """Write a JSONL file below a folder (made when missing), one record per line; texts and bytes are raw lines."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line_of(record) + b"\n" for record in records))
    return path


# --- what comes out -------------------------------------------------------------------------------------------------


def trajectories(paths: Paths, **options: Any) -> list[ConversationTrajectory]:
    """Return the trajectories that `copilog.extract` makes of the paths, in its order."""
    return list(copilog.extract(paths, **options))


def only(paths: Paths, **options: Any) -> ConversationTrajectory:
    """Return the one trajectory of an extraction; any other number fails the test."""
    (trajectory,) = trajectories(paths, **options)
    return trajectory


def reported(paths: Paths, **options: Any) -> tuple[list[ConversationTrajectory], Report]:
    """Return the trajectories and the ledgers of the run."""
    report = Report()
    return trajectories(paths, report=report, **options), report


def ignored(report: Report, reason: str) -> int:
    """Return how many records of all files were ignored."""
    return sum(ledger.ignored.get(reason, 0) for ledger in report.files.values())


def bad_codes(report: Report) -> list[str]:
    """Return the codes of all records that could not be used, file by file."""
    return [diagnostic.code for ledger in report.files.values() for diagnostic in ledger.bad]


def roles(trajectory: ConversationTrajectory) -> list[str]:
    """Return the roles of the messages in their order."""
    return [message.role for message in trajectory.messages]


def contents(trajectory: ConversationTrajectory) -> list[str]:
    """Return the texts of the messages in their order."""
    return [message.content for message in trajectory.messages]


def modes(trajectory: ConversationTrajectory) -> list[str | None]:
    """Return the modes of the user messages in their order."""
    return [message.mode for message in trajectory.messages if message.role == "user"]
