"""The shape of a snapshot: one letter per message, enough to rank and to align snapshots without their texts.

    s system   u user   U user message that Copilot wrote   a assistant   A assistant that calls tools
    t tool     T tool with the id of its call               o any other role, whose name is in `others`

This is the hot part of an extraction, optimised for benchmarks/bench_extract.py.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from copilog.jsonio import decode_strictly
from copilog.tags import is_injected
from copilog.telemetry.messages import (
    Payload,
    Retention,
    is_cut,
    items_of,
    messages_from,
    payload_of,
    repaired_text,
    system_prompt,
)
from copilog.trajectory import TrajectoryMessage

_LETTERS = {
    "system": "s",
    "developer": "s",
    "user": "u",
    "assistant": "a",
    "tool": "t",
    "function": "t",
}
_ABSENT = msgspec.Raw()
_QUOTE, _BRACKET = ord('"'), ord("[")
_EMPTY_LIST = frozenset(b" \t\r\n]")
_WORTH_REMEMBERING, _MOST_REMEMBERED = 1 << 12, 1 << 23  # characters


class Shape(NamedTuple):
    """The letters, and the names of other roles in the order of their letters."""

    letters: str
    others: tuple[str, ...] = ()


class _Narrow(msgspec.Struct, gc=False):
    role: Any = None
    content: msgspec.Raw = _ABSENT
    tool_calls: msgspec.Raw = _ABSENT
    tool_call_id: msgspec.Raw = _ABSENT
    reasoning_text: msgspec.Raw = _ABSENT
    cot_summary: msgspec.Raw = _ABSENT
    missing: Any = None


_decode_narrow = msgspec.json.Decoder(list[_Narrow]).decode
_decode_text = msgspec.json.Decoder(str).decode


def shape_of(messages: list[TrajectoryMessage]) -> Shape:
    """Return the shape of decoded messages."""
    letters: list[str] = []
    others: list[str] = []
    for message in messages:
        letter = _LETTERS.get(message.role, "o")
        if letter == "o":
            others.append(message.role)
        elif (letter == "a" and message.tool_calls) or (letter == "t" and message.tool_call_id):
            letter = letter.upper()
        elif letter == "u" and is_injected(message.content):
            letter = "U"
        letters.append(letter)
    return Shape("".join(letters), tuple(others))


class ShapeCache:
    """A cache of the last snapshots of a few conversations. The next one mostly begins with the same text.

    Comparing is ten times faster than decoding. The cache is small, and is dropped after each range.
    """

    def __init__(self) -> None:
        self._cached: OrderedDict[str, tuple[str, Shape, bool]] = OrderedDict()
        self._characters = 0

    def add(self, conversation: str, text: str, shape: Shape, *, is_whole: bool) -> None:
        """Add a text: without its last bracket if it is complete, unchanged if it was cut."""
        if not _WORTH_REMEMBERING < len(text) < _MOST_REMEMBERED or (is_whole and text[-1] != "]"):
            return
        self._forget(conversation)
        stem = text[:-1] if is_whole else text
        self._cached[conversation] = (stem, shape, is_whole)
        self._characters += len(stem)
        while self._characters > _MOST_REMEMBERED:
            self._forget(next(iter(self._cached)))

    def _forget(self, conversation: str) -> None:
        known = self._cached.pop(conversation, None)
        if known is not None:
            self._characters -= len(known[0])

    def shape_of(self, conversation: str, text: str) -> Shape | None:
        """Return the shape of a text that equals the last one of the conversation, or continues it."""
        known = self._cached.get(conversation)
        if known is None or not text.startswith(known[0]):
            return None
        stem, shape, is_whole = known
        if not is_whole:
            return shape if len(text) == len(stem) else None
        rest = text[len(stem) :]
        if rest == "]":
            return shape
        if not rest.startswith(","):
            return None
        try:
            more = _shape_of_narrow(_decode_narrow("[" + rest[1:]))
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return None
        longer = Shape(shape.letters + more.letters, shape.others + more.others)
        self.add(conversation, text, longer, is_whole=True)
        return longer


def shape_of_snapshot(
    properties: Mapping[str, Any],
    retention: Retention,
    recovery: bool,
    shape_cache: ShapeCache | None = None,
    conversation: str = "",
) -> Shape:
    """Return the shape of an encoded snapshot. Raise BadRecord if it cannot be read. No letters mean no messages."""
    payload = payload_of(properties)
    shape = None
    if retention == "full" and isinstance(payload.value, str):
        shape = _quick_shape(payload, shape_cache or ShapeCache(), conversation)
    if shape is None:
        items, _, _ = items_of(payload, recovery)
        shape = shape_of(messages_from(items, retention))
    if shape.letters and shape.letters[0] != "s" and system_prompt(properties):
        return Shape("s" + shape.letters, shape.others)
    return shape


def _quick_shape(payload: Payload, shape_cache: ShapeCache, conversation: str) -> Shape | None:
    """Return the shape from the cache or narrow structs, or None if the snapshot has to be decoded in full."""
    text, has_gap = payload
    shape = shape_cache.shape_of(conversation, text)
    if shape is not None:
        return shape
    try:
        shape = _shape_of_narrow(_decode_narrow(text))
    except (msgspec.ValidationError, UnicodeEncodeError):
        return None
    except (msgspec.DecodeError, RecursionError):
        shape = _shape_of_cut(text) if is_cut(text, has_gap) else None
        if shape is not None and not has_gap:  # a gap allows this, the text alone does not
            shape_cache.add(conversation, text, shape, is_whole=False)
        return shape
    shape_cache.add(conversation, text, shape, is_whole=True)
    return shape


def _shape_of_cut(text: str) -> Shape | None:
    mended = repaired_text(text)
    if mended is None:
        return None
    try:
        return _shape_of_narrow(_decode_narrow(mended))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _shape_of_narrow(items: list[_Narrow]) -> Shape:
    letters: list[str] = []
    others: tuple[str, ...] = ()
    for item in items:
        role = item.role
        letter = _LETTERS.get(role) if type(role) is str else None
        content = memoryview(item.content)
        if letter is None or len(content) < 3 or content[0] != _QUOTE or item.tool_calls is not _ABSENT:
            quick = _call_without_text(item, letter, content)
            if quick is None:
                slow = shape_of(messages_from([_as_dict(item)]))
                letters.append(slow.letters)
                others += slow.others
            else:
                letters.append(quick)
        elif letter == "u":
            letters.append("U" if is_injected(_decode_text(content)) else "u")
        elif letter == "t" and item.tool_call_id is not _ABSENT:
            call_id = memoryview(item.tool_call_id)
            letters.append("T" if call_id[0] == _QUOTE and len(call_id) > 2 else "t")
        else:
            letters.append(letter)
    return Shape("".join(letters), others)


def _call_without_text(item: _Narrow, letter: str | None, content: memoryview) -> str | None:
    """Return `A` for an assistant's message with tool calls and plain text or none; None if it has to be decoded."""
    if letter != "a" or item.tool_calls is _ABSENT or len(content) == 0 or content[0] != _QUOTE:
        return None
    calls = memoryview(item.tool_calls)
    return "A" if calls[0] == _BRACKET and calls[1] not in _EMPTY_LIST else None


def _as_dict(item: _Narrow) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": item.role, "missing": item.missing}
    for name in ("content", "tool_calls", "tool_call_id", "reasoning_text", "cot_summary"):
        raw = getattr(item, name)
        if raw is not _ABSENT:
            fields[name] = _decode_leniently(raw)
    return fields


def _decode_leniently(raw: msgspec.Raw) -> Any:
    """Decode a value that was skipped before; only a number out of range can still be refused."""
    try:
        return decode_strictly(bytes(raw))
    except msgspec.ValidationError:
        import json

        return json.loads(bytes(raw))
