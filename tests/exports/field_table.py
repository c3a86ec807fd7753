"""Find which fields of the model an export has, and which of them come back when it is read: the table of the docs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from copilog.exports.writing import NothingToWrite
from copilog.model import Conversation, Message, Part, Text, Turn, parts_of
from tests.exports.conversations import a_conversation, at, exported, format_of, read_back
from tests.view.test_writers_conformance import KINDS, blank, conversation_with, fill, filled

FORMATS = ("trajectory", "atif", "otlp")
COMES_BACK, IN_THE_FILE, LEFT_OUT = "yes", "file", "–"
# Of every part: where it was in the writer's file, and what has no meaning for others.
NOT_TRIED = frozenset({"extra", "position"})
# Fields that say which messages and turns belong together.
STRUCTURE = frozenset(
    {"turns", "messages", "index", "role", "parts", "turn", "superseded", "branch", "provenance", "id"}
    | {"call_id", "parent_call_id"}
)
# Values that a conversation can have at the place where they are tried.
GIVEN: dict[str, Any] = {"Turn.status": "cancelled", "Message.created_at": at(1), "Prompt.scope": "turn"}

Change = Callable[[Conversation, Any], Conversation]


def table_text() -> str:
    """Return the table as Markdown."""
    lines = ["| Field | " + " | ".join(FORMATS) + " |", "|---|" + "---|" * len(FORMATS)]
    lines += [f"| `{name}` | {' | '.join(found)} |" for name, found in rows()]
    return "\n".join(lines)


def rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each field with what becomes of it in each format; fields that no format has are left out."""
    for name, found in (*_fields_of_parts(), *_fields_of_records()):
        if set(found) != {LEFT_OUT}:
            yield name, found


def _fields_of_parts() -> Iterator[tuple[str, tuple[str, ...]]]:
    for kind in sorted(KINDS, key=lambda kind: kind.__name__):
        part = filled(kind)
        for name in kind.__struct_fields__:
            setattr(part, name, GIVEN.get(f"{kind.__name__}.{name}", getattr(part, name)))
        whole = answered(conversation_with(part))
        read = {name: _parts_of(_read(whole, name)) for name in FORMATS}
        for field in msgspec.structs.fields(kind):
            if field.name in NOT_TRIED or field.name in STRUCTURE:
                continue
            value = getattr(part, field.name)
            without = answered(conversation_with(msgspec.structs.replace(part, **{field.name: blank(field)})))
            yield (
                f"{kind.__name__}.{field.name}",
                tuple(
                    _found(
                        any(
                            type(other) is kind and _are_same(getattr(other, field.name), value) for other in read[name]
                        ),
                        whole,
                        without,
                        name,
                    )
                    for name in FORMATS
                ),
            )


def _parts_of(read: Conversation | None) -> list[Part]:
    return list(parts_of(read)) if read is not None else []


def answered(whole: Conversation) -> Conversation:
    whole.messages.append(Message(role="assistant", turn=0, parts=[Text(text="Done.")]))
    return whole


def _fields_of_records() -> Iterator[tuple[str, tuple[str, ...]]]:
    records: tuple[tuple[type[msgspec.Struct], Change, Callable[[Conversation], list[Any]]], ...] = (
        (Message, _with_message, lambda read: read.messages),
        (Turn, _with_turn, lambda read: read.turns),
        (Conversation, lambda whole, change: msgspec.structs.replace(whole, **change), lambda read: [read]),
    )
    for kind, changed, among in records:
        for field in msgspec.structs.fields(kind):
            if field.name in NOT_TRIED or field.name in STRUCTURE:
                continue
            title = f"{kind.__name__}.{field.name}"
            value = GIVEN.get(title) or fill(field.type, title)
            whole = changed(a_conversation(), {field.name: value})
            without = changed(a_conversation(), {field.name: blank(field)})
            found = []
            for name in FORMATS:
                read = _read(whole, name)
                is_back = read is not None and any(getattr(other, field.name) == value for other in among(read))
                found.append(_found(is_back, whole, without, name))
            yield title, tuple(found)


def _with_message(whole: Conversation, change: Any) -> Conversation:
    position = 1 if "mode" in change else 2
    whole.messages[position] = msgspec.structs.replace(whole.messages[position], **change)
    return whole


def _with_turn(whole: Conversation, change: Any) -> Conversation:
    whole.turns[0] = msgspec.structs.replace(whole.turns[0], **change)
    return whole


def _found(is_back: bool, whole: Conversation, without: Conversation, name: str) -> str:
    if _content(whole, name) == _content(without, name):
        return LEFT_OUT
    return COMES_BACK if is_back else IN_THE_FILE


def _are_same(one: Any, other: Any) -> bool:
    """Compare two values; JSON text by what it says."""
    if isinstance(one, str) and isinstance(other, str) and other.startswith("{"):
        return bool(one and json.loads(one) == json.loads(other))
    return bool(one == other)


def _content(whole: Conversation, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"one{format_of(name).ending}")
        try:
            exported([whole], name, path)
        except NothingToWrite:
            return b""
        return path.read_bytes()


def _read(whole: Conversation, name: str) -> Conversation | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"one{format_of(name).ending}")
        try:
            exported([whole], name, path)
        except NothingToWrite:
            return None
        return next(iter(read_back(path)), None)
