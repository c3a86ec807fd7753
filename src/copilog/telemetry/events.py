"""One record to one event: names and properties in all the spellings that collectors give them (R-6, N-1 to N-3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

Json = dict[str, Any]
Seq = tuple[int, int]  # file, byte offset of the record: the order of all events of a run
Place = tuple[int, int, int]  # file, byte offset and length of a record, to read it again

SNAPSHOT = "engine.messages"
TEXT_EVENTS = frozenset({"conversation.messageText", "inlineConversation.messageText", "editingSession.messageText"})
SESSION_MESSAGE, SESSION_RESPONSE = "interactiveSessionMessage", "interactiveSessionResponse"
CONTEXT = "participantDetectionContext"
MODEL_EVENTS = frozenset(
    {
        "model.request.added",
        "model.message.added",
        "model.modelCall.input",
        "model.modelCall.output",
        "model.request.options.added",
    }
)
RECOGNISED = TEXT_EVENTS | MODEL_EVENTS | {SNAPSHOT, SESSION_MESSAGE, SESSION_RESPONSE, CONTEXT}

_ENVELOPE = frozenset({"data", "properties", "customDimensions", "measurements", "iKey"})
_REQUEST_OPTION = ("request.option.", "request_option_")
_ABSENT = frozenset({"", "undefined", "null"})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST_INDEX = 18  # digits; a turn number beyond that is none


class Event(NamedTuple):
    """A recognised event. `time` is the envelope's, as it was written."""

    name: str
    base: str
    time: str | None
    properties: Json


def event_of(record: Json) -> Event | None:
    """The event of a record, or None when its name is none that we use."""
    data = record.get("data")
    inner = data.get("baseData") if isinstance(data, dict) else None
    inner = inner if isinstance(inner, dict) else None
    for name in (inner.get("name") if inner is not None else None, record.get("name")):
        if isinstance(name, str):
            base = name[name.rfind("/") + 1 :]
            if base in RECOGNISED:
                break
    else:
        return None
    properties = inner.get("properties") if inner is not None else None
    if isinstance(properties, dict):  # by far the most common place
        return Event(name, base, _text(record.get("time")), properties)
    properties, is_export = _properties_elsewhere(record, properties)
    return Event(name, base, _text(record.get("timestamp" if is_export else "time")), properties)


def properties_of(record: Json) -> Json:
    """The properties of any record, recognised or not; empty when it has none."""
    data = record.get("data")
    inner = data.get("baseData") if isinstance(data, dict) else None
    return _properties_elsewhere(record, inner.get("properties") if isinstance(inner, dict) else None)[0]


def raw_name_of(record: Json) -> str | None:
    """The full name of any event: the inner one where it has a prefix, else the outer one (N-3)."""
    data = record.get("data")
    inner = data.get("baseData") if isinstance(data, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if isinstance(name, str) and "/" in name:
        return name
    outer = record.get("name")
    return _text(outer) or _text(name)


def is_event(value: Any) -> bool:
    """Return whether some JSON is an event of telemetry, whichever it is."""
    return isinstance(value, dict) and raw_name_of(value) is not None and not _ENVELOPE.isdisjoint(value)


def _properties_elsewhere(record: Json, first: Any) -> tuple[Json, bool]:
    """The first properties that are an object, and whether the record is an export with custom dimensions."""
    for value, is_export in (
        (first, False),
        (record.get("properties"), False),
        (record.get("customDimensions"), True),
    ):
        if isinstance(value, str):
            value = decoded(value)
        if isinstance(value, dict):
            return value, is_export
    return {}, False


def prop(properties: Mapping[str, Any], key: str) -> Any:
    """A property in either spelling, `request.option.model` or `request_option_model`; empty ones are absent."""
    value = properties.get(key)
    if (value is None or value == "") and "." in key:
        value = properties.get(key.replace(".", "_"))
    return None if value == "" else value


def text_prop(properties: Mapping[str, Any], key: str) -> str | None:
    """A property that is a text and not empty: ids are nothing else (R-6)."""
    return _text(properties.get(key)) or (_text(properties.get(key.replace(".", "_"))) if "." in key else None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def turn_index(properties: Mapping[str, Any]) -> int | None:
    """A whole number, or the digits of one; anything else is no turn (R-12)."""
    value = properties.get("turnIndex")
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _LONGEST_INDEX
        return int(value) if is_number else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_INDEX:
        return value
    return None


def timestamp_of(event: Event) -> str | None:
    """When it happened, as it was written (R-21)."""
    return _text(event.properties.get("timestamp")) or event.time


def instant_of(text: str | None) -> int | None:
    """A time in microseconds since 1970; None for a missing or unreadable one, which counts as earliest (R-21)."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def unwrapped(value: Any) -> Any:
    """The value of a request option, which is JSON inside a text; None when it says nothing."""
    if not isinstance(value, str):
        return value
    if value in _ABSENT:
        return None
    try:
        inner = json.loads(value)
    except (ValueError, RecursionError):
        inner = value.strip('"')
    return None if isinstance(inner, str) and inner in _ABSENT else inner


def model_option(properties: Mapping[str, Any]) -> str | None:
    """The model that a request asked for (4.2 of the rules)."""
    value = prop(properties, "request.option.model")
    if not isinstance(value, str):
        return None
    if len(value) > 2 and value[0] == value[-1] == '"' and "\\" not in value:  # nearly always
        inner: Any = value[1:-1]
        return inner if '"' not in inner and inner not in _ABSENT else _text(unwrapped(value))
    return _text(unwrapped(value))


def has_request_option(properties: Mapping[str, Any]) -> bool:
    """Whether any option of a request is there: then the event tells what was sent, not what came back."""
    return any(key.startswith(_REQUEST_OPTION) and value not in (None, "") for key, value in properties.items())


def decoded(text: str) -> Any:
    """The value of a JSON text, NaN as absent; None for what is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
