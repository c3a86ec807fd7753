"""Log entries: requests to a model, tool calls, and the rest.

An entry is taken apart field by field; what is not understood stays in its `extra`.
Format notes: docs/formats/chat-replay.md, "Log entries".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from copilog.errors import BadRecord
from copilog.model import Model, Usage
from copilog.sources._replay.names import RequestName, request_name
from copilog.sources._replay.raw import RawMessage, arguments_text, messages_in
from copilog.sources._replay.times import take_moment
from copilog.sources._vscode.rounds import clean_id
from copilog.sources._vscode.take import (
    Json,
    put_back,
    rest,
    take_dict,
    take_int,
    take_list,
    take_number,
    take_str,
)

SERVER_MARK = " [server]"
MARKDOWN = "MarkdownContentRequest"
UNREAD = "unread"  # another: lines of Markdown that belong to no message
ANSWER = "answer"  # a field of ours, for answers that were read from Markdown


@dataclass(slots=True, eq=False)
class Request:
    """One call of a model: what was sent, what came back, and how long it took."""

    id: str | None
    name: RequestName
    pointer: str
    outcome: str | None = None  # success, truncated, failure, canceled
    text: str | None = None  # the answer, without its tool calls
    reason: str | None = None  # of a failure
    messages: list[RawMessage] = field(default_factory=list)
    model: Model | None = None
    usage: Usage | None = None
    answer: RawMessage | None = None  # the answer with its calls, which Markdown shows
    tools: list[str] = field(default_factory=list)
    location: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    elapsed_ms: float | None = None
    first_token_ms: float | None = None
    our_id: str | None = None
    service_id: str | None = None
    server_id: str | None = None
    extra: Json = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Tool:
    """One call of a tool, logged when it came back."""

    id: str
    native_id: str
    name: str
    pointer: str
    arguments: str | None = None
    response: list[Any] = field(default_factory=list)
    has_response: bool = False
    error: str | None = None
    time: datetime | None = None
    thinking: Json | None = None
    edits: list[Any] = field(default_factory=list)
    metadata: Json = field(default_factory=dict)
    is_server: bool = False
    extra: Json | None = None


@dataclass(slots=True, eq=False)
class Remark:
    """An entry that is neither: Markdown of the extension's own, or a kind that nobody has described."""

    kind: str
    pointer: str
    name: str = ""
    text: str | None = None
    time: datetime | None = None
    raw: Json = field(default_factory=dict)


Entry = Request | Tool | Remark


def entry_from(raw: object, pointer: str) -> Entry:
    """Take an entry apart; raise BadRecord when it tells nothing."""
    if not isinstance(raw, dict):
        raise BadRecord(f"a log entry that is {type(raw).__name__}, not an object")
    kind = raw.get("kind")
    if not isinstance(kind, str):
        raise BadRecord("a log entry without a kind")
    if kind == "toolCall":
        return _tool_from(raw, pointer)
    if kind == "request" and raw.get("type") == MARKDOWN:
        name, text, time = take_str(raw, "name"), take_str(raw, "content"), take_moment(raw, "startTime")
        return Remark(MARKDOWN, pointer, name or "", text or "", time, raw)
    if kind == "request":
        return _request_from(raw, pointer)
    return Remark(kind, pointer, raw=raw)


# --- requests ---------------------------------------------------------------------------------------------------


def _request_from(raw: Json, pointer: str) -> Request:
    del raw["kind"]
    metadata = take_dict(raw, "metadata") or {}
    made = Request(take_str(raw, "id"), request_name(take_str(raw, "name") or ""), pointer)
    _read_response(raw, made)
    _read_metadata(metadata, made)
    answer = take_dict(raw, ANSWER)
    if answer is not None:
        made.answer = next(iter(messages_in([answer], f"{pointer}/{ANSWER}")), None)
    sent = raw.get("requestMessages")
    if isinstance(sent, dict):
        messages = sent.get("messages")
        made.messages = messages_in(messages, f"{pointer}/requestMessages/messages")
        if messages == []:
            del sent["messages"]
        if not sent:
            del raw["requestMessages"]
    elif isinstance(sent, list):
        made.messages = messages_in(sent, f"{pointer}/requestMessages")
        if not sent:
            del raw["requestMessages"]
    put_back(raw, "metadata", metadata)
    made.extra = raw
    return made


def _read_response(raw: Json, made: Request) -> None:
    response = take_dict(raw, "response")
    kind = raw.get("type")
    if response is None:
        made.outcome = {"ChatMLFailure": "failure", "ChatMLCancelation": "canceled"}.get(str(kind))
        return
    outcome = take_str(response, "type")
    made.outcome = {"cancelled": "canceled", "failed": "failure"}.get(outcome or "", outcome)
    message = response.get("message")
    if isinstance(message, str):
        message = [message]
    if isinstance(message, list) and all(isinstance(choice, str) for choice in message):
        del response["message"]
        made.text = message[0] if message else ""
        if len(message) > 1:
            raw["choices"] = message[1:]
    made.reason = take_str(response, "reason")
    put_back(raw, "response", response)


def _read_metadata(metadata: Json, made: Request) -> None:
    model, resolved = take_str(metadata, "model"), take_str(metadata, "resolvedModel")
    if model is not None or resolved is not None:
        name = model or resolved or ""
        made.model = Model(id=name, name=name, resolved=resolved if model is not None else None)
    made.started_at = take_moment(metadata, "startTime")
    made.ended_at = take_moment(metadata, "endTime")
    made.elapsed_ms = take_number(metadata, "duration")
    made.first_token_ms = take_number(metadata, "timeToFirstToken")
    made.our_id = take_str(metadata, "ourRequestId")
    made.service_id = take_str(metadata, "requestId")
    made.server_id = take_str(metadata, "serverRequestId")
    location = metadata.get("location")
    made.location = location if isinstance(location, int) and not isinstance(location, bool) else None
    made.usage = _usage_from(take_dict(metadata, "usage"), model, made.id)
    tools = take_list(metadata, "tools")
    if tools is not None:
        put_back(metadata, "tools", _read_tools(tools, made.tools))


def _usage_from(counts: Json | None, model: str | None, request_id: str | None) -> Usage | None:
    if not counts:
        return None
    usage = Usage(
        input=take_int(counts, "prompt_tokens"),
        output=take_int(counts, "completion_tokens"),
        model=model,
        scope="call",
        source="chat-replay",
    )
    details = counts.get("prompt_tokens_details")
    if isinstance(details, dict):
        usage.cache_read = take_int(details, "cached_tokens")
        if not details:
            del counts["prompt_tokens_details"]
    details = counts.get("completion_tokens_details")
    if isinstance(details, dict):
        usage.reasoning = take_int(details, "reasoning_tokens")
        if not details:
            del counts["completion_tokens_details"]
    if request_id is not None:
        counts["round_id"] = request_id
    usage.extra = rest(counts)
    return usage


def _read_tools(tools: list[Any], names: list[str]) -> list[Any]:
    """Add the names of the tools that were offered, in either dialect, and return what has none.

    Their descriptions and schemas are left out: they repeat in every request, and nobody said them.
    """
    unread: list[Any] = []
    for tool in tools:
        inner = tool.get("function") if isinstance(tool, dict) else None
        holder = inner if isinstance(inner, dict) else tool
        name = holder.get("name") if isinstance(holder, dict) else holder
        if isinstance(name, str):
            names.append(name)
        else:
            unread.append(tool)
    return unread


# --- tool calls -------------------------------------------------------------------------------------------------


def _tool_from(raw: Json, pointer: str) -> Tool:
    native_id, name = raw.get("id"), raw.get("tool")
    if not isinstance(native_id, str) or not native_id or not isinstance(name, str):
        raise BadRecord("a tool call without an id or a name")
    for key in ("kind", "id", "tool"):
        del raw[key]
    made = Tool(clean_id(native_id), native_id, name.removesuffix(SERVER_MARK), pointer)
    made.is_server = name.endswith(SERVER_MARK)
    made.arguments = arguments_text(raw.pop("args", None))
    made.time = take_moment(raw, "time")
    response = raw.get("response")
    if isinstance(response, str | list):
        made.response = [response] if isinstance(response, str) else response
        made.has_response = True
        del raw["response"]
    made.error = take_str(raw, "error")
    made.has_response = made.has_response or made.error is not None
    made.thinking = take_dict(raw, "thinking")
    made.edits = take_list(raw, "edits") or []
    made.metadata = take_dict(raw, "toolMetadata") or {}
    made.extra = rest(raw)
    return made
