"""The plain contender's reading of events and of the messages of a snapshot, with the standard library alone.

Written from the rules of docs/formats/telemetry.md and nothing else, so that two readings of them can be compared.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeGuard

from benchmarks.contender_records import InputFile, Json, value_of

PART = 8192
TEXT_EVENTS = {"conversation.messageText", "inlineConversation.messageText", "editingSession.messageText"}
SESSION_EVENTS = {"interactiveSessionMessage", "interactiveSessionResponse"}
CHUNK_EVENTS = {
    "model.message.added",
    "model.modelCall.input",
    "model.modelCall.output",
    "model.request.options.added",
}
MODEL_EVENTS = CHUNK_EVENTS | {"model.request.added"}
RECOGNISED = {"engine.messages", "participantDetectionContext"} | TEXT_EVENTS | SESSION_EVENTS | MODEL_EVENTS
ROLES = {0: "system", 1: "user", 2: "assistant", 3: "tool", "developer": "system", "function": "tool"}
IMAGES = ("image", "image_url", "input_image")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = -(1 << 62)
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)


class Rejected(Exception):  # noqa: N818 - a verdict on data
    """A snapshot whose messages cannot be read."""


class Event(NamedTuple):
    """One recognised event and its place."""

    file: InputFile
    offset: int
    name: str
    base: str
    time: str | None
    properties: Json
    is_recovered: bool = False

    @property
    def instant(self) -> int:
        return instant(self.time)


# --- events ---------------------------------------------------------------------------------------------------------


def event_of(file: InputFile, offset: int, record: Json, is_recovered: bool) -> Event | None:
    """R-6, R-21: the event in a record, if it is one of those that count."""
    data = record.get("data")
    base_data = data.get("baseData") if isinstance(data, dict) else None
    base_data = base_data if isinstance(base_data, dict) else {}
    for name in (base_data.get("name"), record.get("name")):
        if isinstance(name, str) and name.rpartition("/")[2] in RECOGNISED:
            break
    else:
        return None
    time = record.get("time")
    for candidate in (base_data.get("properties"), record.get("properties"), record.get("customDimensions")):
        properties = value_of(candidate) if isinstance(candidate, str) else candidate
        if isinstance(properties, dict):
            if candidate is record.get("customDimensions"):
                time = record.get("timestamp")
            break
    else:
        properties = {}
    own_time = prop(properties, "timestamp")
    time = own_time if isinstance(own_time, str) else time
    time = time if isinstance(time, str) and time else None
    return Event(file, offset, name, name.rpartition("/")[2], time, properties, is_recovered)


def prop(properties: Json, key: str) -> Any:
    """N-2: a property under either spelling; what is empty is absent."""
    for spelling in (key, key.replace(".", "_")):
        value = properties.get(spelling)
        if value is not None and value != "":
            return value
    return None


def text_prop(properties: Json, key: str) -> str | None:
    """R-6: a property that must be a text, such as an id; SQLite has no half characters."""
    value = prop(properties, key)
    return replace_lone_surrogates(value) if isinstance(value, str) else None


def replace_lone_surrogates(text: str) -> str:
    """Pairs of halves as one character, and U+FFFD for halves without the other."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def turn_index(properties: Json) -> int | None:
    return whole_number(prop(properties, "turnIndex"))


def whole_number(value: Any) -> int | None:
    """R-12: an integer or digits."""
    if isinstance(value, str) and re.fullmatch("[0-9]+", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def instant(text: str | None) -> int:
    """R-21: microseconds; what cannot be read is earliest."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return EARLIEST
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def has_request_option(properties: Json) -> bool:
    options = (key for key in properties if key.startswith(("request.option.", "request_option_")))
    return any(properties[key] not in (None, "") for key in options)


def unwrapped(value: Any) -> Any:
    """4.2: what a request option says, decoded once."""
    if isinstance(value, str):
        inner = value_of(value)
        value = value.strip('"') if inner is None else inner
    return None if value in ("", "undefined", "null", None) else value


# --- messages -------------------------------------------------------------------------------------------------------


class Messages(NamedTuple):
    messages: list[Json]
    is_truncated: bool
    is_recovered: bool


def read_messages(properties: Json, *, compat: bool, recovery: bool) -> Messages:
    """R-7 to R-10: the messages of a snapshot."""
    items, is_truncated, is_recovered = _items(properties, recovery=recovery)
    messages = with_system(messages_from(items, compat=compat), properties)
    return Messages(messages, is_truncated, is_recovered)


def with_system(messages: list[Json], properties: Json) -> list[Json]:
    """R-10: the messages, after the system prompt where that is a request option."""
    if not messages or messages[0]["role"] == "system":
        return messages
    system = _flattened(unwrapped(_joined(properties, "request.option.system")))[0]
    return [{"role": "system", "content": system}, *messages] if system else messages


def _items(properties: Json, *, recovery: bool) -> tuple[list[Any], bool, bool]:
    """R-7, R-8: the list in messagesJson, and whether it was cut, or broken and recovered."""
    items = prop(properties, "messagesJson")
    is_truncated = is_recovered = False
    if isinstance(items, str):
        text, has_gap = _parts(properties, "messagesJson", items)
        items = value_of(text)
        if items is None and text.startswith("["):
            is_truncated = has_gap or len(text.encode("utf-16-le")) // 2 % PART == 0
            is_recovered = recovery and not is_truncated
            if is_truncated or is_recovered:
                items = value_of(_without_torn_tail(text))
    if isinstance(items, dict):
        items = items.get("messages")
    if not isinstance(items, list):
        raise Rejected("messagesJson is no list")
    return items, is_truncated, is_recovered


def _parts(properties: Json, key: str, first: str) -> tuple[str, bool]:
    """The text of a property and its numbered parts up to the first gap, and whether there was a gap."""
    rest: dict[int, Any] = {}
    for name, value in properties.items():
        stem, _, suffix = name.rpartition("_")
        if stem != key or value in (None, "") or not re.fullmatch("[0-9]{2,3}", suffix) or int(suffix) < 2:
            continue
        if len(suffix) == 2 or int(suffix) not in rest:
            rest[int(suffix)] = value
    parts = [first]
    while isinstance(rest.get(len(parts) + 1), str):
        parts.append(rest.pop(len(parts) + 1))
    return replace_lone_surrogates("".join(parts)), bool(rest)


def _joined(properties: Json, key: str) -> Any:
    """Section 3, edge case 7: another property than messagesJson is joined only when its first part is full."""
    for spelling in (key, key.replace(".", "_")):
        value = properties.get(spelling)
        if isinstance(value, str) and len(value.encode("utf-16-le", "surrogatepass")) == 2 * PART:
            return _parts(properties, spelling, value)[0]
        if value:
            return value
    return None


def _without_torn_tail(text: str) -> str:
    """R-8a: the text up to the last bracket that closes an element of the list."""
    depth = end = 0
    for token in STRING_OR_BRACKET.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if depth == 1:
                end = token.end()
            if depth == 0:
                break
    return text[:end] + "]" if end else ""


def messages_from(items: list[Any], *, compat: bool) -> list[Json]:
    """R-9, R-10: the messages worth keeping, in one dialect."""
    found: list[Json] = []
    for item in items:
        if isinstance(item, dict):
            found += _plain_messages(item)
    return [message for message in found if _is_retained(message, compat=compat)]


def _is_retained(message: Json, *, compat: bool) -> bool:
    if message["content"] or message.get("tool_calls"):
        return True
    if compat:
        return False
    return any(message.get(key) for key in ("tool_call_id", "attachments", "reasoning"))


def _plain_messages(item: Json) -> list[Json]:
    role = item.get("role")
    if isinstance(role, (int, str)) and not isinstance(role, bool):
        role = ROLES.get(role, role)
    if not _is_text(role):
        return []
    content = item.get("content")
    blocks = content if isinstance(content, list) else []
    results = [_tool_message(block) for block in blocks if _type_of(block) == "tool_result"]
    text, images = _flattened(content)
    calls = item.get("tool_calls")
    calls = list(calls) if isinstance(calls, list) else []
    calls += [_tool_call(block) for block in blocks if _type_of(block) == "tool_use"]
    call_id = item.get("tool_call_id")
    thinking = [block.get("thinking") for block in blocks if _type_of(block) == "thinking"]
    thoughts = [item.get("reasoning_text"), item.get("cot_summary"), "".join(filter(_is_text, thinking))]
    message: Json = {
        "role": role,
        "content": text,
        "tool_calls": calls or None,
        "tool_call_id": call_id if _is_text(call_id) else None,
        "reasoning": "\n".join(filter(_is_text, thoughts)) or None,
        "attachments": images or None,
    }
    return [*results, message]


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _type_of(block: Any) -> Any:
    return block.get("type") if isinstance(block, dict) else None


def _tool_message(block: Json) -> Json:
    text, images = _flattened(block.get("content"))
    call_id = block.get("tool_use_id")
    call_id = call_id if _is_text(call_id) else None
    return {"role": "tool", "content": text, "tool_call_id": call_id, "attachments": images or None}


def _tool_call(block: Json) -> Json:
    arguments = json.dumps(block.get("input"), ensure_ascii=False)
    return {"id": block.get("id"), "type": "function", "function": {"name": block.get("name"), "arguments": arguments}}


def _flattened(content: Any) -> tuple[str, int]:
    """The text of a content, and how many images it has."""
    if isinstance(content, str):
        return content, 0
    texts: list[str] = []
    images = 0
    for block in content if isinstance(content, list) else []:
        kind = _type_of(block)
        if isinstance(block, str):
            texts.append(block)
        elif kind in IMAGES:
            images += 1
        elif kind not in ("tool_use", "tool_result", "thinking") and isinstance(block, dict):
            text = block.get("text")
            if isinstance(text, str):
                texts.append(text)
    return "".join(texts), images
