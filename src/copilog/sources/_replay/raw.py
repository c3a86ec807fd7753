"""Messages as they went to the model: roles and parts by number, or in other producers' spelling.

Format notes: docs/formats/chat-replay.md, "Messages".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from copilog import tags
from copilog.model import Role
from copilog.sources._vscode.rounds import clean_id
from copilog.sources._vscode.take import Json, json_text, put_back, rest, take_list, take_str

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
# The types of parts as other producers call them.
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
    """One message of a request. `content` holds its parts as they came."""

    role: Role
    content: list[Any]
    pointer: str
    calls: list[RawCall] = field(default_factory=list)
    call_id: str | None = None
    native_call_id: str | None = None
    unknown_role: str | None = None
    extra: Json | None = None
    _text: str | None = None
    _words: str | None = None
    _is_injected: bool | None = None

    @property
    def text(self) -> str:
        """All text parts, joined as the extension joins them."""
        if self._text is None:
            self._text = "".join(text for part in self.content if (text := text_of(part)) is not None)
        return self._text

    @property
    def is_injected(self) -> bool:
        """Whether a user's message holds nothing of the user's."""
        self._look_at_words()
        return bool(self._is_injected)

    @property
    def words(self) -> str | None:
        """What the user typed; None in a message that the product made by itself."""
        self._look_at_words()
        return self._words

    def _look_at_words(self) -> None:
        if self._is_injected is None:
            self._words = tags.user_text(self.text) if self.role == "user" else None
            self._is_injected = self._words is None

    def has_call(self, call_id: str) -> bool:
        return any(call.id == call_id for call in self.calls)


def type_of(part: object) -> int | None:
    """The type of a part by its number; None for one that nobody has described."""
    if isinstance(part, str):
        return TEXT
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(kind, int) and not isinstance(kind, bool):
        return kind if IMAGE <= kind <= DOCUMENT else None
    return PART_TYPES.get(kind) if isinstance(kind, str) else None


def text_of(part: object) -> str | None:
    """The text of a text part."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or type_of(part) != TEXT:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


def messages_in(raw: object, pointer: str) -> list[RawMessage]:
    """The messages of a request. What is no message stays in the list that was given."""
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
    """Arguments as JSON text: most writers store them so, some as the object itself."""
    return value if isinstance(value, str) or value is None else json_text(value)
