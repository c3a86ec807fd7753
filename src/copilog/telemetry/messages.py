"""The content of a snapshot: `messagesJson` joined, repaired where it was cut, in one shape (R-7 to R-10).

The input has three dialects (chat-completions, Responses, Anthropic); the output has one kind of message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from copilog.errors import BadRecord
from copilog.jsonio import decode_strictly
from copilog.telemetry.events import Json, prop, unwrapped
from copilog.trajectory import TrajectoryMessage

# Which fields a message without text needs to count: any, tool calls alone (--compat), or none (no correlation).
Retention = Literal["full", "compat", "plain"]

PART_UNITS = 8192  # UTF-16 units of a property before the rest goes to the next part
_PART_DIGITS = (2, 3)
_ROLES: dict[Any, str] = {0: "system", 1: "user", 2: "assistant", 3: "tool", "developer": "system", "function": "tool"}
_IMAGES = frozenset({"image", "image_url", "input_image"})
_TRUNCATED = "Input data was truncated"
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_MOST_DIGITS = 4000
_NEXT_MESSAGE = '},{"role":'


class Payload(NamedTuple):
    """`messagesJson` as sent, parts joined. `has_gap`: a later part exists without one before it."""

    value: Any
    has_gap: bool


class Messages(NamedTuple):
    """The messages of one snapshot."""

    messages: list[TrajectoryMessage]
    truncated: bool
    recovered: bool


def read_messages(properties: Mapping[str, Any], *, retention: Retention = "full", recovery: bool = False) -> Messages:
    """Return all messages of a snapshot. Raise BadRecord if something cannot be read."""
    items, truncated, recovered = items_of(payload_of(properties), recovery)
    messages = messages_from(items, retention)
    if messages and messages[0].role != "system" and (system := system_prompt(properties)):
        messages.insert(0, TrajectoryMessage("system", system))
    return Messages(messages, truncated, recovered)


# --- the text ---------------------------------------------------------------------------------------------------


def payload_of(properties: Mapping[str, Any]) -> Payload:
    value = properties.get("messagesJson")
    if isinstance(value, (list, dict)):
        return Payload(value, False)
    parts = [value] if isinstance(value, str) and value else []
    while parts and (part := _part(properties, len(parts) + 1)):
        parts.append(part)
    keys = [key for key in properties if key.startswith("messagesJson_")]
    if not parts and not keys:
        return Payload(value or None, False)
    has_gap = len(keys) >= max(len(parts), 1) and any(
        (_part_number(key) or 0) > len(parts) and properties[key] for key in keys
    )
    return Payload("".join(parts), has_gap)


def _part(properties: Mapping[str, Any], number: int) -> str | None:
    """Return a later part of the text, under a number of two or three digits."""
    for key in (f"messagesJson_{number:02d}", f"messagesJson_{number:03d}"):
        part = properties.get(key)
        if isinstance(part, str) and part:
            return part
    return None


def _part_number(key: str) -> int | None:
    """Return 2 for `messagesJson_02`; None for any other property."""
    base, _, digits = key.rpartition("_")
    if base != "messagesJson" or len(digits) not in _PART_DIGITS or not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if int(digits) > 1 else None


def items_of(payload: Payload, recovery: bool) -> tuple[list[Any], bool, bool]:
    """Return the items of a payload, whether its end was cut off, and whether it needed --json-recovery."""
    value, has_gap = payload
    if value is None or (value == "" and not has_gap):
        return [], False, False
    truncated = recovered = False
    if isinstance(value, str):
        value = join_split_characters(value)
        try:
            value = parsed(value)
        except ValueError as error:
            truncated = is_cut(value, has_gap)
            recovered = recovery and not truncated
            if not (truncated or recovered) or (mended := repaired_text(value)) is None:
                raise BadRecord(f"messagesJson is not JSON: {error}", "bad-messages") from None
            try:
                value = parsed(mended)
            except ValueError as again:
                raise BadRecord(f"messagesJson is not JSON, cut or not: {again}", "bad-messages") from None
    if isinstance(value, dict):
        value = value.get("messages")
    if not isinstance(value, list):
        raise BadRecord("messagesJson is not a list of messages", "bad-messages")
    return value, truncated, recovered


def parsed(text: str) -> Any:
    """Decode a JSON value. Raise ValueError if it is invalid. Half surrogate pairs are preserved, NaN is not."""
    try:
        return decode_strictly(text)
    except msgspec.DecodeError as error:
        if str(error) == _TRUNCATED:
            raise ValueError(_TRUNCATED) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeEncodeError:
        pass
    try:
        return json.loads(text, parse_constant=lambda _: None, parse_int=_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _number(digits: str) -> int | float:
    """Return an integer, unless it has more digits than Python converts."""
    return int(digits) if len(digits) < _MOST_DIGITS else float(digits)


def join_split_characters(text: str) -> str:
    """Join halves of surrogate pairs that were cut apart between two parts; a half alone becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def is_cut(text: str, has_gap: bool) -> bool:
    """Return whether the writer or a collector cut the text, so that it is repaired in any case (R-8 a)."""
    return has_gap or (len(text.encode("utf-16-le", "surrogatepass")) // 2) % PART_UNITS == 0


def repaired_text(text: str) -> str | None:
    """Return the text up to its last complete message, closed again; None if no message is complete."""
    if not text.startswith("["):
        return None
    # Messages as JavaScript writes them: then only the text after the last beginning of one is searched.
    start = text.rfind(_NEXT_MESSAGE)
    if start > 0:
        quick = text[: _end_of_last_element(text, start + 1, 1) or start + 1] + "]"
        try:
            msgspec.json.decode(quick, type=list[msgspec.Raw])
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
        else:
            return quick
    end = _end_of_last_element(text, 1, 1)
    return text[:end] + "]" if end else None


def _end_of_last_element(text: str, start: int, depth: int) -> int | None:
    """Return the end of the last complete bracketed element of the outermost list, from an offset at a given depth."""
    end = None
    for token in _TOKEN.finditer(text, start):
        first = token[0][0]
        if first in "[{":
            depth += 1
        elif first in "]}":
            depth -= 1
            if depth == 1:
                end = token.end()
            elif depth < 1:
                break
    return end


def system_prompt(properties: Mapping[str, Any]) -> str:
    """Return the system prompt that Anthropic's dialect has beside the messages; empty if there is none."""
    value = prop(properties, "request.option.system")
    if isinstance(value, str) and len(value) * 2 >= PART_UNITS:
        value = join_split_characters(_joined_option(properties, "request.option.system", value))
    return flattened(unwrapped(value)).text


def _joined_option(properties: Mapping[str, Any], key: str, first: str) -> str:
    """Return a request option with its parts. Only an option that fills its property completely has further parts."""
    if len(first.encode("utf-16-le", "surrogatepass")) // 2 != PART_UNITS:
        return first
    parts = [first]
    while isinstance(part := prop(properties, f"{key}_{len(parts) + 1:02d}"), str):
        parts.append(part)
    return "".join(parts)


# --- the messages -----------------------------------------------------------------------------------------------


class Content(NamedTuple):
    """Content of any dialect, as text and other fields."""

    text: str
    images: int
    thinking: str
    calls: list[Json]
    results: list[TrajectoryMessage]


def messages_from(items: list[Any], retention: Retention = "full") -> list[TrajectoryMessage]:
    """Return the messages of a list of any dialect, without empty ones."""
    messages: list[TrajectoryMessage] = []
    for item in items:
        if isinstance(item, dict) and (role := role_of(item.get("role"))):
            messages += (made for made in _messages_of_item(item, role) if _is_retained(made, retention))
    if retention == "plain":
        return [TrajectoryMessage(message.role, message.content) for message in messages]
    return messages


def role_of(value: Any) -> str | None:
    """Return the role's name; numbers and the names of other dialects are translated."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    role = _ROLES.get(value, value)
    return role if isinstance(role, str) and role else None


def _messages_of_item(item: Json, role: str) -> list[TrajectoryMessage]:
    content = flattened(item.get("content"))
    calls = item.get("tool_calls")
    calls = [*(calls if isinstance(calls, list) else ()), *content.calls]
    call_id = item.get("tool_call_id")
    thoughts = [item.get("reasoning_text"), item.get("cot_summary"), content.thinking]
    message = TrajectoryMessage(
        role,
        content.text,
        tool_calls=calls or None,
        tool_call_id=call_id if isinstance(call_id, str) and call_id else None,
        reasoning="\n".join(thought for thought in thoughts if isinstance(thought, str) and thought) or None,
        attachments=content.images or None,
        missing=True if role == "unknown" and item.get("missing") is True else None,
    )
    return [*content.results, message]


def _is_retained(message: TrajectoryMessage, retention: Retention) -> bool:
    if message.content or message.missing:
        return True
    if retention == "full":
        return bool(message.tool_calls or message.tool_call_id or message.attachments or message.reasoning)
    return retention == "compat" and bool(message.tool_calls)


def flattened(content: Any) -> Content:
    """Return the text of a string, or of a list of blocks."""
    if isinstance(content, str):
        return Content(content, 0, "", [], [])
    if not isinstance(content, list):
        return Content("", 0, "", [], [])
    texts: list[str] = []
    images = 0
    thinking: list[str] = []
    calls: list[Json] = []
    results: list[TrajectoryMessage] = []
    for block in content:
        if isinstance(block, str):
            texts.append(block)
            continue
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "tool_use":
            calls.append(_call_from(block))
        elif kind == "tool_result":
            results.append(_result_from(block))
        elif kind == "thinking":
            if isinstance(thought := block.get("thinking"), str):
                thinking.append(thought)
        elif isinstance(kind, str) and kind in _IMAGES:
            images += 1
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    return Content("".join(texts), images, "".join(thinking), calls, results)


def _call_from(block: Json) -> Json:
    arguments = json.dumps(block.get("input"), ensure_ascii=False)
    return {"id": block.get("id"), "type": "function", "function": {"name": block.get("name"), "arguments": arguments}}


def _result_from(block: Json) -> TrajectoryMessage:
    call_id = block.get("tool_use_id")
    content = flattened(block.get("content"))
    return TrajectoryMessage(
        "tool",
        content.text,
        tool_call_id=call_id if isinstance(call_id, str) and call_id else None,
        attachments=content.images or None,
    )
