"""Read a conversation that copilog wrote, from whoever has the file now.

The file is the first trace of the conversation, and the only one that was read. The traces that it names stay as they
are recorded; nothing is opened because a file names it. Format notes: docs/formats/own-files.md
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from copilog import jsonio
from copilog.derive.document_kinds import with_known_kinds
from copilog.errors import BadRecord
from copilog.model import RECORDED, Conversation, Provenance
from copilog.sources.base import Found, provenance_of

SIGNS = frozenset({"id", "source", "provenance"})  # keys that are in every file, whatever the conversation
LARGEST_NUMBER = 1 << 63
UNREAD = frozenset({"extra", "raw", "data"})  # values that are stored as they are

_ID = re.compile(r"[a-z]+:.+", re.DOTALL)


class Name(msgspec.Struct):
    """The names of a conversation, which are decoded without the rest of it."""

    id: str
    source: str
    native_id: str | None = None

    @property
    def key(self) -> str:
        """Return the id by which traces of a conversation are collected."""
        return self.native_id or self.id.partition(":")[2]


def is_conversation(value: Any) -> bool:
    """Return whether a decoded object is a conversation that copilog wrote."""
    return isinstance(value, dict) and value.keys() >= SIGNS and is_id(value["id"])


def is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def name_in(value: dict[str, Any]) -> Name:
    """Return the names of a conversation. Raise BadRecord if it has none."""
    name: Name = _converted(value, Name)
    if not is_id(name.id):
        raise BadRecord("an id that does not name its program")
    return name


def conversation_from(value: dict[str, Any], found: Found, pointer: str | None = None) -> Conversation:
    """Return a conversation from its JSON, with the file as its first trace. Raise BadRecord if it is not one."""
    _check_numbers(value)
    name_in(value)
    known = with_known_kinds(value)
    conversation: Conversation = jsonio.with_room(lambda given: _converted(given, Conversation), known)
    _check_turns(conversation)
    own = provenance_of(found, role="copy", pointer=pointer, marks=[RECORDED])
    path = own.path if pointer is None else f"{own.path}#{pointer}"
    conversation.provenance = [own, *(place for place in conversation.provenance if not _is_same(place, own))]
    for turn in conversation.turns:
        if path in turn.traces:  # an earlier state of this file was a trace when it was written
            turn.traces = [trace for trace in turn.traces if trace != path]
    return conversation


def stub_of(name: Name, found: Found, source: str, pointer: str | None = None) -> Conversation:
    """Return what is known of a conversation in a file before it is read."""
    trace = provenance_of(found, role="index", row=name.key, pointer=pointer)
    return Conversation(id=name.id, native_id=name.key, source=source, marks=["stub", "inside"], provenance=[trace])


def _is_same(one: Provenance, other: Provenance) -> bool:
    return (one.path, one.row, one.pointer) == (other.path, other.row, other.pointer)


def _converted(value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise BadRecord(f"not a conversation as this version of copilog writes it: {error}") from None


def _check_turns(conversation: Conversation) -> None:
    """Raise BadRecord if messages and turns do not belong together, as all other code relies on it."""
    if [turn.index for turn in conversation.turns] != list(range(len(conversation.turns))):
        raise BadRecord("its turns are not numbered in their order")
    if any(message.turn is not None and message.turn < 0 for message in conversation.messages):
        raise BadRecord("a message of a turn before the first one")


def _check_numbers(value: Any) -> None:
    """Raise BadRecord for numbers that no database and no figure can have."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [one for key, one in item.items() if key not in UNREAD]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, int) and not -LARGEST_NUMBER <= item < LARGEST_NUMBER:
            raise BadRecord("a number of more than 64 bits")
