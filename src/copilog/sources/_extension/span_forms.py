"""Spans out of the three forms they are stored in: the SDK's own objects, OTLP, and rows of a database."""

from __future__ import annotations

from typing import Any

from copilog.errors import BadRecord
from copilog.sources._extension.moments import moment_from, moment_from_nanoseconds, moment_from_pair
from copilog.sources._extension.spans import Span, SpanEvent
from copilog.sources._vscode.take import Json, take_dict, take_int, take_list, take_str

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
# Parts of the SDK's objects that say nothing, or say it again.
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
    """A span as OpenTelemetry's JavaScript SDK holds it; older and newer releases put the ids in different places."""
    context = take_dict(value, "_spanContext") or take_dict(value, "spanContext") or value
    span = _named_span(context)
    if context is not value and context:
        value["spanContext"] = context
    parent = take_dict(value, "parentSpanContext") or {}
    span.parent_id = take_str(parent, "spanId") or take_str(value, "parentSpanId") or None
    span.name = take_str(value, "name") or ""
    span.started_at = moment_from_pair(value.pop("startTime", None))
    span.ended_at = moment_from_pair(value.pop("endTime", None))
    _read_status(span, value)
    span.attributes = take_dict(value, "attributes") or {}
    span.service = _service(take_dict(value, "resource"))
    for raw in take_list(value, "events") or []:
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            at = moment_from_pair(raw.get("time"))
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
    """A span of an OTLP document: attributes are lists of keys and typed values, times are nanoseconds."""
    span = _named_span(value)
    span.parent_id = take_str(value, "parentSpanId") or None
    span.name = take_str(value, "name") or ""
    span.started_at = moment_from_nanoseconds(value.pop("startTimeUnixNano", None))
    span.ended_at = moment_from_nanoseconds(value.pop("endTimeUnixNano", None))
    _read_status(span, value)
    span.attributes = attributes_from(value.pop("attributes", None))
    span.service = service
    for raw in take_list(value, "events") or []:
        if isinstance(raw, dict) and isinstance(raw.get("name"), str):
            at = moment_from_nanoseconds(raw.get("timeUnixNano"))
            span.events.append(SpanEvent(raw["name"], at, attributes_from(raw.get("attributes"))))
        else:
            value.setdefault("odd_events", []).append(raw)
    value.pop("kind", None)
    span.extra = value
    return span


def span_from_row(row: Json, attributes: Json) -> Span:
    """A row of the table `spans`, with the rows of `span_attributes`, which are all text."""
    native_id = take_str(row, "span_id")
    if native_id is None:
        raise BadRecord("a span without an id")
    span = Span(native_id, take_str(row, "name") or "", take_str(row, "trace_id"))
    span.parent_id = take_str(row, "parent_span_id") or None
    span.started_at = moment_from(row.pop("start_time_ms", None))
    span.ended_at = moment_from(row.pop("end_time_ms", None))
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
    """OTLP's list of attributes as a plain object."""
    made: Json = {}
    for item in value if isinstance(value, list) else []:
        if isinstance(item, dict) and isinstance(item.get("key"), str):
            try:
                made[item["key"]] = _any_value(item.get("value"))
            except RecursionError:
                made[item["key"]] = None  # nested beyond all sense
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
