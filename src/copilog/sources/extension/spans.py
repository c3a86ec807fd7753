"""Read spans, the common form of traces, span files, exports and debug logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from copilog.errors import BadRecord
from copilog.fields import (
    Json,
    ms_between,
    take_dict,
    take_int,
    take_list,
    take_str,
    text_from,
    timestamp_from,
    timestamp_from_nanoseconds,
    timestamp_from_pair,
)
from copilog.model import SkillDocument, Usage
from copilog.uris import uri_to_path

# Spans, the common form of traces, span files, exports and debug logs: operations with their time, parent and
# attributes.


OPERATION = "gen_ai.operation.name"
CHAT, AGENT, TOOL, HOOK = "chat", "invoke_agent", "execute_tool", "execute_hook"
EMBEDDINGS, CONTENT, CORE = "embeddings", "content_event", "core_event"
PERMISSION = "permission"  # of the CLI before 1.0.46, recognizable only by its name
ERROR, OK = 2, 1

INPUT, OUTPUT, SYSTEM = "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"
INPUT_IS_NEW = "copilog.input_is_new"  # in exports of copilog, whose prompts do not repeat the conversation so far
TOOL_DEFINITIONS = "gen_ai.tool.definitions"
USER_REQUEST = "copilot_chat.user_request"
SESSION_KEYS = ("copilot_chat.chat_session_id", "gen_ai.conversation.id", "copilot_chat.session_id")
PARENT_SESSION = "copilot_chat.parent_chat_session_id"
LABEL = "copilot_chat.debug_log_label"
PROMPT_EVENT = "user_message"


@dataclass(slots=True)
class SpanEvent:
    """An event within a span."""

    name: str
    at: datetime | None = None
    attributes: Json = field(default_factory=dict)


@dataclass(slots=True)
class Span:
    """One operation. Readers take the fields that they understand out of `attributes`; the rest goes to `extra`."""

    id: str
    name: str = ""
    trace_id: str | None = None
    parent_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    status: int = 0  # 0 not set, 1 ok, 2 failed
    status_message: str | None = None
    attributes: Json = field(default_factory=dict)
    events: list[SpanEvent] = field(default_factory=list)
    service: str | None = None  # the program that made it
    extra: Json = field(default_factory=dict)

    @property
    def operation(self) -> str:
        """Return the kind of operation; some writers record it only in the name."""
        named = self.attributes.get(OPERATION)
        if isinstance(named, str) and named:
            return named
        first = self.name.partition(" ")[0]
        return first if first in (CHAT, AGENT, TOOL, HOOK, PERMISSION) else HOOK if first == "hook" else ""

    def text(self, *keys: str) -> str | None:
        """Return the first of these attributes that is text, without removing it."""
        for key in keys:
            value = self.attributes.get(key)
            if isinstance(value, str) and value:
                return value
        return None

    def take_text(self, *keys: str) -> str | None:
        """Take all of these attributes, and return the first that is not empty, as text."""
        values = [self.attributes.pop(key) for key in keys if key in self.attributes]
        return next((text_from(value) for value in values if value not in (None, "")), None)

    def take_number(self, *keys: str) -> float | None:
        """Take the first of these attributes that is a number, also as text; other values stay."""
        found: float | None = None
        for key in keys:
            number = number_from(self.attributes.get(key))
            if number is not None:
                del self.attributes[key]
                found = number if found is None else found
        return found

    def take_integer(self, *keys: str) -> int | None:
        number = self.take_number(*keys)
        return int(number) if number is not None else None

    def take_flag(self, key: str) -> bool:
        return self.attributes.pop(key, None) in (True, "true", 1, "1")


SKILL_CONTENT, SKILL_NAME = "github.copilot.skill.content", "gen_ai.skill.name"
SKILL_DESCRIPTION, SKILL_URI = "gen_ai.skill.description", "gen_ai.skill.source.uri"


def take_skills(spans: list[Span]) -> list[SkillDocument]:
    """Take the texts of skills that were loaded out of spans and their events, each once."""
    made: list[SkillDocument] = []
    for span in spans:
        for holder in (span.attributes, *(event.attributes for event in span.events)):
            content = holder.get(SKILL_CONTENT)
            if not isinstance(content, str) or not content.strip():
                continue
            del holder[SKILL_CONTENT]
            name, description = text_from(holder.get(SKILL_NAME)), text_from(holder.get(SKILL_DESCRIPTION))
            text = content if not description or description in content else f"{description}\n\n{content}"
            document = SkillDocument(title=name, text=text, path=uri_to_path(holder.get(SKILL_URI)))
            if document not in made:
                made.append(document)
    return made


@dataclass(slots=True)
class UserPrompt:
    """A prompt of the user, and the span that it was recorded in."""

    text: str
    at: datetime | None
    span_id: str | None
    extra: Json | None = None


def number_from(value: Any) -> float | None:
    """Return a number, also one that was stored as text; no infinities."""
    if isinstance(value, str):
        try:
            value = float(value) if not value.strip().lstrip("-").isdigit() else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e18 else None


def prompts_of_spans(spans: list[Span]) -> list[UserPrompt]:
    """Take the user's prompts out of the events of spans."""
    asked: list[UserPrompt] = []
    for span in spans:
        for event in [event for event in span.events if event.name == PROMPT_EVENT]:
            text = event.attributes.pop("content", None)
            if isinstance(text, str) and text.strip():
                span.events.remove(event)
                event.attributes.pop(SESSION_KEYS[0], None)
                asked.append(UserPrompt(text, event.at, span.id, event.attributes or None))
    return asked


# Spans from the three forms they are stored in: the SDK's own objects, OTLP, and rows of a database.


# Columns of the table `spans` that repeat an attribute.
COLUMNS = {
    "operation_name": "gen_ai.operation.name",
    "provider_name": "gen_ai.provider.name",
    "agent_name": "gen_ai.agent.name",
    "conversation_id": "gen_ai.conversation.id",
    "request_model": "gen_ai.request.model",
    "response_model": "gen_ai.response.model",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cached_tokens": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_tokens": "gen_ai.usage.reasoning_tokens",
    "tool_name": "gen_ai.tool.name",
    "tool_call_id": "gen_ai.tool.call.id",
    "tool_type": "gen_ai.tool.type",
    "chat_session_id": "copilot_chat.chat_session_id",
    "turn_index": "copilot_chat.turn.index",
    "ttft_ms": "copilot_chat.time_to_first_token",
}
# Parts of the SDK's objects that are empty, or repeat other fields.
REDUNDANT = (
    "_ended",
    "_droppedAttributesCount",
    "_droppedEventsCount",
    "_droppedLinksCount",
    "_duration",
    "_attributeCountLimit",
    "_attributeValueLengthLimit",
    "_performanceStartTime",
    "_performanceOffset",
    "_spanProcessor",
    "_spanLimits",
    "_startTimeProvided",
    "droppedAttributesCount",
    "droppedEventsCount",
    "droppedLinksCount",
    "duration",
    "ended",
    "kind",
    "traceFlags",
)


def span_from_sdk(value: Json) -> Span:
    """Return a span from an object of OpenTelemetry's JavaScript SDK; its ids are in other fields in older releases."""
    context = take_dict(value, "_spanContext") or take_dict(value, "spanContext") or value
    span = _named_span(context)
    if context is not value and context:
        value["spanContext"] = context
    parent = take_dict(value, "parentSpanContext") or {}
    span.parent_id = take_str(parent, "spanId") or take_str(value, "parentSpanId") or None
    span.name = take_str(value, "name") or ""
    span.started_at = timestamp_from_pair(value.pop("startTime", None))
    span.ended_at = timestamp_from_pair(value.pop("endTime", None))
    _read_status(span, value)
    span.attributes = take_dict(value, "attributes") or {}
    span.service = _service(take_dict(value, "resource"))
    for raw in take_list(value, "events") or []:
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            at = timestamp_from_pair(raw.get("time"))
            span.events.append(SpanEvent(raw["name"], at, take_dict(raw, "attributes") or {}))
        else:
            value.setdefault("odd_events", []).append(raw)
    for key in REDUNDANT:
        value.pop(key, None)
    if value.get("links") == []:
        del value["links"]
    span.extra = value
    return span


def span_from_otlp(value: Json, service: str | None) -> Span:
    """Return a span of an OTLP document: attributes are lists of keys and typed values, times are nanoseconds."""
    span = _named_span(value)
    span.parent_id = take_str(value, "parentSpanId") or None
    span.name = take_str(value, "name") or ""
    span.started_at = timestamp_from_nanoseconds(value.pop("startTimeUnixNano", None))
    span.ended_at = timestamp_from_nanoseconds(value.pop("endTimeUnixNano", None))
    _read_status(span, value)
    span.attributes = attributes_from(value.pop("attributes", None))
    span.service = service
    for raw in take_list(value, "events") or []:
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            at = timestamp_from_nanoseconds(raw.get("timeUnixNano"))
            span.events.append(SpanEvent(raw["name"], at, attributes_from(raw.get("attributes"))))
        else:
            value.setdefault("odd_events", []).append(raw)
    value.pop("kind", None)
    span.extra = value
    return span


def span_from_row(row: Json, attributes: Json) -> Span:
    """Return a span of a row of the table `spans`, with the rows of `span_attributes`, which are all text."""
    native_id = take_str(row, "span_id")
    if native_id is None:
        raise BadRecord("a span without an id")
    span = Span(native_id, take_str(row, "name") or "", take_str(row, "trace_id"))
    span.parent_id = take_str(row, "parent_span_id") or None
    span.started_at = timestamp_from(row.pop("start_time_ms", None))
    span.ended_at = timestamp_from(row.pop("end_time_ms", None))
    span.status = take_int(row, "status_code") or 0
    span.status_message = take_str(row, "status_message")
    span.attributes = attributes
    for column, key in COLUMNS.items():
        value = row.pop(column, None)
        if value is not None:
            attributes.setdefault(key, value)
    row.pop("session_id", None)  # computed from two of the others
    span.extra = row
    return span


def _named_span(context: Json) -> Span:
    native_id = take_str(context, "spanId")
    if not native_id:
        raise BadRecord("a span without an id")
    for key in ("traceFlags", "traceState", "isRemote"):
        context.pop(key, None)
    return Span(native_id, trace_id=take_str(context, "traceId"))


def _read_status(span: Span, value: Json) -> None:
    status = take_dict(value, "status") or {}
    span.status = take_int(status, "code") or 0
    span.status_message = take_str(status, "message")


def _service(resource: Json | None) -> str | None:
    attributes = (resource or {}).get("attributes", (resource or {}).get("_attributes"))
    if isinstance(attributes, list):  # the raw form of the SDK's own resource is a list of pairs
        attributes = dict(pair for pair in attributes if isinstance(pair, list) and len(pair) == 2 and _is_key(pair[0]))
    name = attributes.get("service.name") if isinstance(attributes, dict) else None
    return name if isinstance(name, str) else None


def _is_key(value: object) -> bool:
    return isinstance(value, str)


def attributes_from(value: object) -> Json:
    """Return OTLP's list of attributes as a plain object."""
    made: Json = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            try:
                made[item["key"]] = _any_value(item.get("value"))
            except RecursionError:
                made[item["key"]] = None  # nested too deeply
    return made


def _any_value(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    [(kind, inner)] = value.items()
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal() and len(inner) < 25:
        return int(inner)
    if kind in ("stringValue", "intValue", "boolValue", "doubleValue", "bytesValue"):
        return inner
    if kind == "arrayValue" and isinstance(inner, dict) and isinstance(inner.get("values", []), list):
        return [_any_value(item) for item in inner.get("values", [])]
    if kind == "kvlistValue" and isinstance(inner, dict):
        return attributes_from(inner.get("values"))
    return value


# Tokens and cost of a span.


NANO = 1e9
TOKENS = "gen_ai.usage."


def usage_of(span: Span, source: str) -> Usage | None:
    """Take the tokens out of a span. Input includes the cached part and output the reasoning, as recorded.

    The CLI up to 1.0.60 has an underscore where the conventions now have a dot.
    """
    usage = Usage(
        input=span.take_integer(f"{TOKENS}input_tokens"),
        output=span.take_integer(f"{TOKENS}output_tokens"),
        cache_read=span.take_integer(f"{TOKENS}cache_read.input_tokens", f"{TOKENS}cache_read_input_tokens"),
        cache_write=span.take_integer(f"{TOKENS}cache_creation.input_tokens", f"{TOKENS}cache_creation_input_tokens"),
        reasoning=span.take_integer(
            f"{TOKENS}reasoning.output_tokens", f"{TOKENS}reasoning_output_tokens", f"{TOKENS}reasoning_tokens"
        ),
        model=span.text("gen_ai.response.model", "gen_ai.request.model"),
        premium_requests=span.take_number("github.copilot.cost"),
        scope="call",
        source=source,
    )
    nano = span.take_number("copilot_chat.copilot_usage_nano_aiu")
    usage.credits = nano / NANO if nano is not None else None
    extra: Json = {}
    first_token_ms = _first_token_ms(span)
    if first_token_ms is not None:
        extra["first_token_ms"] = first_token_ms
    elapsed_ms = ms_between(span.started_at, span.ended_at)
    if elapsed_ms is not None:
        extra["elapsed_ms"] = elapsed_ms
    counted = (usage.input, usage.output, usage.cache_read, usage.reasoning, usage.premium_requests, usage.credits)
    if all(number is None for number in counted):
        return None
    usage.extra = extra or None
    return usage


def _first_token_ms(span: Span) -> float | None:
    """Return the time to the first token: the extension counts milliseconds, the CLI's runtime seconds."""
    milliseconds = span.take_number("copilot_chat.time_to_first_token")
    seconds = span.take_number("gen_ai.response.time_to_first_chunk", "github.copilot.time_to_first_chunk")
    if milliseconds is None and seconds is not None:
        return seconds * 1000
    return milliseconds
