"""Read the entries of a debug export: requests to a model, tool calls, and the MCP servers they name."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.fields import Json, put_back, rest, take_dict, take_int, take_list, take_number, take_str, time_from_ms
from copilog.model import Model, Usage
from copilog.sources.replay.content import RawMessage, arguments_text, messages_in
from copilog.sources.tool_rounds import clean_id

# The purpose of a logged request by its name: the conversation itself, a sub-agent, or help in the background.


Purpose = Literal["main", "subagent", "helper", "other"]

TITLE = "title"
HELPERS = frozenset(
    {
        TITLE,
        "promptCategorization",
        "progressMessages",
        "contextualProgressMessage",
        "healStringReplace",
        "healApplyPatch",
        "notebookPlanning",
        "copilotLanguageModelWrapper",  # calls of other extensions
        "oaiLMServer",
        "Claude Copilot Proxy",
        "modelList",
        "contentExclusion",
        "Model List Request",  # the last two as Markdown names them
        "Content Exclusion Rules",
    }
)
HELPER_LABELS = ("ghost", "NES |")
MAIN_PREFIXES = ("panel/", "inline/")

_SUBAGENT = re.compile(r"tool/\w*subagent(?:-(.+))?", re.IGNORECASE | re.DOTALL)
_SUBAGENT_TOOL = re.compile(r"\w*subagent", re.IGNORECASE)
_RETRY = re.compile(r"(retry(?:-server-error|-error)?)-")


class RequestName(NamedTuple):
    """The components of a name: `retry-server-error-panel/editAgent` is a retry of `panel/editAgent`."""

    full: str
    base: str
    retry: str | None
    purpose: Purpose


def request_name(name: str) -> RequestName:
    """Split a name into its components."""
    found = _RETRY.match(name)
    base = name[found.end() :] if found else name
    return RequestName(name, base, found[1] if found else None, _purpose(base))


def _purpose(base: str) -> Purpose:
    if base.startswith(MAIN_PREFIXES):
        return "main"
    if _SUBAGENT.fullmatch(base):
        return "subagent"
    if base in HELPERS or base.startswith("nes.") or "summarize" in base.lower():
        return "helper"
    return "other"


def subagent_name(base: str) -> str | None:
    """Return the agent that a sub-agent's request names, if any."""
    found = _SUBAGENT.fullmatch(base)
    return found[1] if found else None


def starts_subagent(tool: str) -> bool:
    """Return whether a tool of this name runs a sub-agent."""
    return _SUBAGENT_TOOL.fullmatch(tool) is not None


def is_helper_label(label: str | None) -> bool:
    """Return whether a group's label was not typed by a user. It counts only if no request indicates otherwise."""
    return label is not None and (label == HELPER_LABELS[0] or label.startswith(HELPER_LABELS[1:]))


# Log entries: requests to a model, tool calls, and others. An entry is taken apart field by field; the other fields
# stay in its `extra`. Format notes: docs/formats/chat-replay.md, "Log entries".


SERVER_MARK = " [server]"
MARKDOWN = "MarkdownContentRequest"
UNREAD = "unread"  # our own field: lines of Markdown that belong to no message
ANSWER = "answer"  # our own field, for answers that were read from Markdown


@dataclass(slots=True, eq=False)
class Request:
    """One call of a model: the messages sent, the answer, and the duration."""

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
    """One call of a tool, logged when its result came back."""

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
    """An entry of another kind: Markdown of the extension's own, or an unrecognized kind."""

    kind: str
    pointer: str
    name: str = ""
    text: str | None = None
    time: datetime | None = None
    raw: Json = field(default_factory=dict)


Entry = Request | Tool | Remark


def entry_from(raw: object, pointer: str) -> Entry:
    """Take an entry apart; raise BadRecord if it has no content."""
    if not isinstance(raw, dict):
        raise BadRecord(f"a log entry that is {type(raw).__name__}, not an object")
    kind = raw.get("kind")
    if not isinstance(kind, str):
        raise BadRecord("a log entry without a kind")
    if kind == "toolCall":
        return _tool_from(raw, pointer)
    if kind == "request" and raw.get("type") == MARKDOWN:
        name, text, time = take_str(raw, "name"), take_str(raw, "content"), take_timestamp(raw, "startTime")
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
    made.started_at = take_timestamp(metadata, "startTime")
    made.ended_at = take_timestamp(metadata, "endTime")
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
    """Add the names of the tools that were offered, in either dialect, and return those without a name.

    Their descriptions and schemas are left out: they repeat in every request, and are not messages.
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
    made.time = take_timestamp(raw, "time")
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


# The MCP servers that an export names, and the tools that come from them.


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
        """Return the label of the server of a tool; None for tools of another origin."""
        if not name.startswith("mcp_"):
            return None
        key = _key(name)
        return next((label for prefix, label in self._by_prefix.items() if key.startswith(prefix)), None)


def _key(text: str) -> str:
    return _other_characters.sub("_", text.lower())


# Times as the extension writes them: ISO text, sometimes milliseconds.


def moment(value: object) -> datetime | None:
    """Return a time in UTC; None if the value is not a time."""
    if not isinstance(value, str):
        return time_from_ms(value)
    try:
        found = datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def take_timestamp(obj: Json, key: str) -> datetime | None:
    """Take a time out of an object; any other value stays there."""
    found = moment(obj.get(key))
    if found is not None:
        del obj[key]
    return found


def parsed(arguments: str | None) -> dict[str, Any]:
    """Return the arguments of a call as an object; empty for anything else."""
    try:
        value = jsonio.decode((arguments or "{}").encode("utf-8", "replace"))[0]
    except BadRecord:
        return {}
    return value if isinstance(value, dict) else {}
