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
_LONGEST_INDEX = 18  # digits; a longer turn number is invalid


class Event(NamedTuple):
    """A recognised event. `time` is the envelope's, as written."""

    name: str
    base: str
    time: str | None
    properties: Json


def event_of(record: Json) -> Event | None:
    """Return the event of a record, or None if its name is not one that copilog uses."""
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
    if isinstance(properties, dict):  # by far the most common position
        return Event(name, base, _text(record.get("time")), properties)
    properties, is_export = _properties_elsewhere(record, properties)
    return Event(name, base, _text(record.get("timestamp" if is_export else "time")), properties)


def properties_of(record: Json) -> Json:
    """Return the properties of any record, recognised or not; empty if it has none."""
    data = record.get("data")
    inner = data.get("baseData") if isinstance(data, dict) else None
    return _properties_elsewhere(record, inner.get("properties") if isinstance(inner, dict) else None)[0]


def raw_name_of(record: Json) -> str | None:
    """Return the full name of any event: the inner one if it has a prefix, else the outer one (N-3)."""
    data = record.get("data")
    inner = data.get("baseData") if isinstance(data, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if isinstance(name, str) and "/" in name:
        return name
    outer = record.get("name")
    return _text(outer) or _text(name)


def is_event(value: Any) -> bool:
    """Return whether a JSON value is an event of telemetry, of any name."""
    return isinstance(value, dict) and raw_name_of(value) is not None and not _ENVELOPE.isdisjoint(value)


def _properties_elsewhere(record: Json, first: Any) -> tuple[Json, bool]:
    """Return the first properties that are an object, and whether the record is an export with custom dimensions."""
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
    """Return a property in either spelling, `request.option.model` or `request_option_model`; empty ones are absent."""
    value = properties.get(key)
    if (value is None or value == "") and "." in key:
        value = properties.get(key.replace(".", "_"))
    return None if value == "" else value


def text_prop(properties: Mapping[str, Any], key: str) -> str | None:
    """Return a property that is text and not empty, as all ids are (R-6)."""
    return _text(properties.get(key)) or (_text(properties.get(key.replace(".", "_"))) if "." in key else None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def turn_index(properties: Mapping[str, Any]) -> int | None:
    """Return an integer, or the integer of digits; None for anything else, which is not a turn (R-12)."""
    value = properties.get("turnIndex")
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _LONGEST_INDEX
        return int(value) if is_number else None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_INDEX:
        return value
    return None


def timestamp_of(event: Event) -> str | None:
    """Return when it happened, as written (R-21)."""
    return _text(event.properties.get("timestamp")) or event.time


def instant_of(text: str | None) -> int | None:
    """Return a time in microseconds since 1970. A missing or invalid one is None, and counts as earliest (R-21)."""
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
    """Return the value of a request option, which is JSON inside a text; None if it is empty."""
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
    """Return the model that a request asked for (4.2 of the rules)."""
    value = prop(properties, "request.option.model")
    if not isinstance(value, str):
        return None
    if len(value) > 2 and value[0] == value[-1] == '"' and "\\" not in value:  # nearly always
        inner: Any = value[1:-1]
        return inner if '"' not in inner and inner not in _ABSENT else _text(unwrapped(value))
    return _text(unwrapped(value))


def has_request_option(properties: Mapping[str, Any]) -> bool:
    """Return whether the event has any request option: then it has what was sent, not the answer."""
    return any(key.startswith(_REQUEST_OPTION) and value not in (None, "") for key, value in properties.items())


def decoded(text: str) -> Any:
    """Return the value of a JSON text, with NaN as absent; None if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
