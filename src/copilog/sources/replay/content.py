"""Convert raw messages (roles and parts by number, or in another spelling) to parts of the model.

Format notes: docs/formats/chat-replay.md, "Messages".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from copilog import tags
from copilog.diagnostics import Ledger
from copilog.fields import Json, json_text, put_back, rest, take_dict, take_list, take_str
from copilog.model import (
    AnyPart,
    Attachment,
    Compaction,
    Place,
    Prompt,
    ResultItem,
    Role,
    Text,
    Thinking,
    ToolCall,
    Unknown,
)
from copilog.sources.tool_results import data_url
from copilog.sources.tool_rounds import clean_id

IMAGE, TEXT, OPAQUE, CACHE_BREAKPOINT, DOCUMENT = range(5)

ROLES: dict[object, Role] = {
    0: "system",
    1: "user",
    2: "assistant",
    3: "tool",
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
# The types of parts as other producers name them.
PART_TYPES: dict[object, int] = {
    "text": TEXT,
    "input_text": TEXT,
    "output_text": TEXT,
    "image_url": IMAGE,
    "image": IMAGE,
    "opaque": OPAQUE,
    "cache": CACHE_BREAKPOINT,
    "document": DOCUMENT,
}


@dataclass(slots=True, eq=False)
class RawCall:
    """A tool call in an assistant's message."""

    id: str
    native_id: str
    name: str
    arguments: str | None
    extra: Json | None = None


@dataclass(slots=True, eq=False)
class RawMessage:
    """One message of a request. `content` holds its parts unchanged."""

    role: Role
    content: list[Any]
    pointer: str
    calls: list[RawCall] = field(default_factory=list)
    call_id: str | None = None
    native_call_id: str | None = None
    unknown_role: str | None = None
    extra: Json | None = None
    _text: str | None = None
    _user_text: str | None = None
    _is_injected: bool | None = None

    @property
    def text(self) -> str:
        """Return all text parts, joined as the extension joins them."""
        if self._text is None:
            self._text = "".join(text for part in self.content if (text := text_of(part)) is not None)
        return self._text

    @property
    def is_injected(self) -> bool:
        """Return whether a user's message has no text of the user."""
        self._read_user_text()
        return bool(self._is_injected)

    @property
    def user_text(self) -> str | None:
        """Return the text that the user typed; None in a message that the product made by itself."""
        self._read_user_text()
        return self._user_text

    def _read_user_text(self) -> None:
        if self._is_injected is None:
            self._user_text = tags.user_text(self.text) if self.role == "user" else None
            self._is_injected = self._user_text is None

    def has_call(self, call_id: str) -> bool:
        return any(call.id == call_id for call in self.calls)


def type_of(part: object) -> int | None:
    """Return the type of a part by its number; None for an unrecognized one."""
    if isinstance(part, str):
        return TEXT
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, int) and not isinstance(kind, bool):
        return kind if IMAGE <= kind <= DOCUMENT else None
    return PART_TYPES.get(kind) if isinstance(kind, str) else None


def text_of(part: object) -> str | None:
    """Return the text of a text part."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or type_of(part) != TEXT:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def messages_in(raw: object, pointer: str) -> list[RawMessage]:
    """Return the messages of a request. Items that are not messages stay in the given list."""
    if not isinstance(raw, list):
        return []
    made: list[RawMessage] = []
    unread: list[Any] = []
    for position, item in enumerate(raw):
        if isinstance(item, dict):
            made.append(_message_from(item, f"{pointer}/{position}"))
        elif item is not None:
            unread.append(item)
    raw[:] = unread
    return made


def _message_from(raw: Json, pointer: str) -> RawMessage:
    role = raw.get("role")
    known = ROLES.get(role) if isinstance(role, int | str) and not isinstance(role, bool) else None
    message = RawMessage(role=known or "system", content=_take_content(raw), pointer=pointer)
    if known is None:
        message.unknown_role = str(role)
    else:
        del raw["role"]
    message.native_call_id = take_str(raw, "toolCallId") or take_str(raw, "tool_call_id")
    if message.native_call_id is not None:
        message.call_id = clean_id(message.native_call_id)
    for key in ("toolCalls", "tool_calls"):
        calls = take_list(raw, key)
        if calls is not None:
            put_back(raw, key, _read_calls(calls, message.calls))
    message.extra = rest(raw)
    return message


def _take_content(raw: Json) -> list[Any]:
    content = raw.get("content")
    if isinstance(content, str | list):
        del raw["content"]
        return [content] if isinstance(content, str) else content
    if content is None:
        raw.pop("content", None)
    return []


def _read_calls(items: list[Any], calls: list[RawCall]) -> list[Any]:
    """Add the calls that can be read, and return the others."""
    unread: list[Any] = []
    for item in items:
        function = item.get("function") if isinstance(item, dict) else None
        native_id = item.get("id") if isinstance(item, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(native_id, str) or not isinstance(name, str) or not isinstance(function, dict):
            unread.append(item)
            continue
        arguments = arguments_text(function.pop("arguments", None))
        del item["id"], function["name"]
        if not function:
            del item["function"]
        if item.get("type") == "function":
            del item["type"]
        calls.append(RawCall(clean_id(native_id), native_id, name, arguments, rest(item)))
    return unread


def arguments_text(value: object) -> str | None:
    """Return arguments as JSON text: most writers store them so, some as the object itself."""
    return value if isinstance(value, str) or value is None else json_text(value)


# Parts of raw messages as parts of the model: prose, prompts, thinking, images, documents, tool results.


Scope = Literal["turn", "conversation"]

SUMMARY, SUMMARY_END = "<conversation-summary>", "</conversation-summary>"
_IMAGE_TAG = re.compile(r'<promptTsxImg src="([^"]*)"\s*/>')


def assistant_parts(message: RawMessage, ledger: Ledger) -> tuple[list[AnyPart], Json]:
    """Return the parts of a model's answer, in order, and the fields of the message that are only for machines."""
    parts: list[AnyPart] = []
    beside: Json = {}
    for position, part in enumerate(_counted(message, ledger)):
        text = text_of(part)
        if text is None:
            _add_other(part, position, parts, beside, ledger)
        elif parts and isinstance(parts[-1], Text):
            parts[-1].text += text
        elif text:
            parts.append(Text(text=text))
    ledger.parts.seen += len(message.calls)
    ledger.parts.used += len(message.calls)
    parts += [
        ToolCall(
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            native_ids=[call.native_id] if call.native_id != call.id else [],
            extra=call.extra,
        )
        for call in message.calls
    ]
    return parts, beside


def prompt_parts(message: RawMessage, ledger: Ledger, scope: Scope) -> tuple[list[AnyPart], Json]:
    """Return the parts that a message of the user or of the product sent to the model."""
    parts: list[AnyPart] = []
    beside: Json = {}
    if message.text:
        parts += _user_text_and_prompt(message, scope)
    for position, part in enumerate(_counted(message, ledger)):
        if text_of(part) is None:
            _add_other(part, position, parts, beside, ledger)
    return parts, beside


def _user_text_and_prompt(message: RawMessage, scope: Scope) -> list[AnyPart]:
    text = message.text
    if message.role == "system":
        return [Prompt(text=text, scope="system")]
    if message.user_text == text.strip():
        return [Text(text=text)]
    parts: list[AnyPart] = [] if message.user_text is None else [Text(text=message.user_text)]
    parts.append(Prompt(text=text, scope=scope))
    if text.lstrip().startswith(SUMMARY):
        summary = text.lstrip().removeprefix(SUMMARY).partition(SUMMARY_END)[0]
        parts.insert(0, Compaction(text=summary.strip()))
    return parts


def _counted(message: RawMessage, ledger: Ledger) -> list[Any]:
    ledger.parts.seen += len(message.content)
    ledger.parts.used += len(message.content)
    return message.content


def _add_other(part: Any, position: int, parts: list[AnyPart], beside: Json, ledger: Ledger) -> None:
    """Add a part that is not text; parts that only machines can read go to `beside`."""
    kind = type_of(part)
    if kind == IMAGE:
        parts.append(_attachment(part, "image", "imageUrl", "url", position))
    elif kind == DOCUMENT:
        parts.append(_attachment(part, "document", "documentData", "data", position))
    elif kind == CACHE_BREAKPOINT:
        beside.setdefault("cache_breakpoints", []).append(part.get("cacheType"))
    elif kind == OPAQUE and (thinking := _thinking_from(part, position)) is not None:
        parts.append(thinking)
    elif kind == OPAQUE:
        beside.setdefault("opaque", []).append({key: value for key, value in part.items() if key != "type"})
    else:
        name = f"content:{part.get('type') if isinstance(part, dict) else type(part).__name__}"
        ledger.parts.count_unknown("content:text" if kind == TEXT else name)
        parts.append(Unknown(type=name, raw=part, position=position))


def _thinking_from(part: Json, position: int) -> Thinking | None:
    value = part.get("value")
    if not isinstance(value, dict) or value.get("type") != "thinking" or not isinstance(value.get("thinking"), dict):
        return None
    thought: Json = dict(value["thinking"])
    text = thinking_text(thought)
    more = {key: item for key, item in part.items() if key not in ("type", "value")}
    more |= {key: item for key, item in value.items() if key not in ("type", "thinking")}
    made = Thinking(text=text or "", id=take_str(thought, "id"), position=position)
    made.extra = rest({**thought, **more})
    return made


def thinking_text(thought: Json) -> str | None:
    """Take the readable part of a thought: a text, or a list of them."""
    text = thought.get("text")
    if isinstance(text, list) and all(isinstance(item, str) for item in text):
        text = "\n".join(text)
    if not isinstance(text, str):
        return None
    del thought["text"]
    return text


def _attachment(part: Json, kind: str, holder: str, key: str, position: int) -> Attachment:
    """Return an image or a document: its bytes if they are inline, else the address."""
    raw = {name: value for name, value in part.items() if name != "type"}
    inner = take_dict(raw, holder) or take_dict(raw, "image_url") or {}
    inner = dict(inner)
    source = take_str(inner, key)
    made = Attachment(type=kind, position=position)
    if source is not None:
        mime_type, made.data = data_url(source)
        made.mime_type = mime_type or take_str(inner, "mediaType")
        if made.data is None:
            made.place = Place(uri=source)
    if inner:
        raw[holder] = inner
    made.extra = rest(raw)
    return made


# --- tool results -----------------------------------------------------------------------------------------------


def result_from_message(message: RawMessage, ledger: Ledger) -> tuple[str, list[ResultItem], Json]:
    """Return a tool's output as the model received it: its text, items that are not text, and fields for machines."""
    items: list[ResultItem] = []
    beside: Json = {}
    for position, part in enumerate(_counted(message, ledger)):
        if text_of(part) is not None:
            continue
        parts: list[AnyPart] = []
        _add_other(part, position, parts, beside, ledger)
        for made in parts:
            if isinstance(made, Attachment):
                items.append(ResultItem(mime_type=made.mime_type, data=made.data, place=made.place, extra=made.extra))
            else:
                items.append(ResultItem(extra={"part": part}))
    return message.text, items, beside


def result_from_log(response: list[Any]) -> tuple[str, list[ResultItem]]:
    """Return the output of a tool from the log: one string for each piece, images as addresses that contain them."""
    text = ""
    items: list[ResultItem] = []
    for piece in response:
        if not isinstance(piece, str):
            if piece is not None:
                items.append(ResultItem(extra={"value": piece}))
            continue
        if piece.startswith("data:"):
            item = _inline(piece)
            if item.data is not None:
                items.append(item)
                continue
        items += [_inline(source) for source in _IMAGE_TAG.findall(piece)]
        text += "\n" + piece if text and not text.endswith("\n") else piece
    return _IMAGE_TAG.sub(_placeholder, text), items


def _inline(source: str) -> ResultItem:
    mime_type, data = data_url(source) if source.startswith("data:") else (None, None)
    return ResultItem(mime_type=mime_type, data=data, place=Place(uri=source) if data is None else None)


def _placeholder(found: re.Match[str]) -> str:
    """Return the mark that replaces an image within a text; its bytes are an item of the result."""
    return "[image]" if data_url(found[1])[1] is not None and found[1].startswith("data:") else found[0]
