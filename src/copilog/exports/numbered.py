"""Number the turns of a conversation in its JSON: `number` from 1, beside `turn` and `index` from 0.

The model, and so the archive, has the index only. Readers of the JSON leave the numbers out.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from copilog.model import Conversation, FileChange, Message, Provenance, Turn, turn_number
from copilog.model.values import Conflict

Of = TypeVar("Of", Message, Turn, FileChange, Conflict)


class _Message(Message, kw_only=True):
    number: int | None = None


class _Turn(Turn, kw_only=True):
    number: int | None = None


class _FileChange(FileChange, kw_only=True):
    number: int | None = None


class _Conflict(Conflict, kw_only=True):
    number: int | None = None


_NUMBERED: dict[type, Any] = {Message: _Message, Turn: _Turn, FileChange: _FileChange, Conflict: _Conflict}
_ARE_NUMBERED = tuple(_NUMBERED.values())


def with_numbers(value: Any) -> Any:
    """Return a conversation, message or turn with the numbers of turns, and any other value as it is.

    No text is copied.
    """
    if isinstance(value, Turn):
        return _numbered(value, value.index)
    if isinstance(value, Message):
        return _numbered(value, value.turn)
    if not isinstance(value, Conversation):
        return value
    return msgspec.structs.replace(
        value,
        turns=[_numbered(turn, turn.index) for turn in value.turns],
        messages=[_numbered(message, message.turn) for message in value.messages],
        file_changes=[_numbered(change, change.turn) for change in value.file_changes],
        provenance=[_with_conflicts(trace) for trace in value.provenance],
    )


def _with_conflicts(trace: Provenance) -> Provenance:
    if not trace.conflicts:
        return trace
    conflicts = [_numbered(conflict, conflict.turn) for conflict in trace.conflicts]
    return msgspec.structs.replace(trace, conflicts=conflicts)


def _numbered(item: Of, index: int | None) -> Of:
    if index is None or isinstance(item, _ARE_NUMBERED):
        return item
    fields = {name: getattr(item, name) for name in item.__struct_fields__}
    made: Of = _NUMBERED[type(item)](**fields, number=turn_number(index))
    return made
