"""Visit every text of a value: fields of structs, lists, dictionaries and their keys, texts in bytes.

No kind of part is named here, so that a new one is visited without a change. Fields that can only have fixed values
(`Literal` types) are left out: they are copilog's own words.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from copilog.errors import CopilogError

Whole = TypeVar("Whole")


class NotRedacted(CopilogError):  # noqa: N818 - it is the promise that was not kept
    """Something could not be scanned, so nothing may be written."""


class Leaf(NamedTuple):
    """A text of a value. Texts of one `stream` follow each other, and may be pieces of one text."""

    text: str
    stream: str = ""
    is_binary: bool = False  # bytes that are no text; each character is a byte


Visit = Callable[[Leaf], str]

# Names of fields whose texts continue in the next element of a list: parts of an answer, pieces of an output.
_CONTINUED = frozenset({
    "text", "value", "content", "output", "data", "chunk", "delta", "message", "body", "raw", "command",
    "original", "shown", "display", "full_text", "arguments", "result", "prompt", "before", "after", "diff",
    "code", "stdout", "stderr", "thinking", "snippet", "chunks", "lines", "texts",
})  # fmt: skip
_OF_A_CALL = ("call_id",)  # names of fields that say to which call a text belongs
_DEEPEST = 400


def walk(value: Whole, visit: Visit) -> Whole:
    """Return the value with what `visit` returns for each of its texts; raise NotRedacted if one cannot be visited."""
    try:
        made: Whole = _walk(value, visit, "", 0)
    except RecursionError:
        raise NotRedacted("a value is nested too deeply to be scanned") from None
    return made


def leaves_in(value: Any) -> list[Leaf]:
    """Return the texts of a value, in the order in which `walk` visits them."""
    leaves: list[Leaf] = []

    def note(leaf: Leaf) -> str:
        leaves.append(leaf)
        return leaf.text

    walk(value, note)
    return leaves


def _walk(value: Any, visit: Visit, stream: str, depth: int) -> Any:
    if isinstance(value, str):
        return visit(Leaf(value, stream)) if value else value
    if value is None or isinstance(value, bool | float | datetime | date | time):
        return value
    if isinstance(value, int):
        return value
    if depth > _DEEPEST:
        raise NotRedacted("a value is nested too deeply to be scanned")
    if isinstance(value, msgspec.Struct):
        return _walk_struct(value, visit, stream, depth)
    if isinstance(value, dict):
        return _walk_dict(value, visit, stream, depth)
    if isinstance(value, list):
        return _walk_list(value, visit, stream, depth)
    if isinstance(value, tuple):
        return _walk_tuple(value, visit, stream, depth)
    if isinstance(value, set | frozenset):
        return type(value)(_walk(item, visit, stream, depth + 1) for item in sorted(value, key=repr))
    if is_dataclass(value) and not isinstance(value, type):
        pairs = {field.name: _walk(getattr(value, field.name), visit, "", depth + 1) for field in fields(value)}
        return replace(value, **pairs)
    if isinstance(value, bytes | bytearray):
        return _walk_bytes(bytes(value), visit)
    if isinstance(value, msgspec.Raw):
        return msgspec.Raw(_walk_bytes(bytes(value), visit))
    raise NotRedacted(f"a value of type {type(value).__name__} cannot be scanned")


def _walk_struct(value: msgspec.Struct, visit: Visit, stream: str, depth: int) -> Any:
    changed = {}
    open_fields, fixed_fields = _fields_of(type(value))
    fixed = [fixed for name in fixed_fields if isinstance(fixed := getattr(value, name), str)]
    fixed += [made.replace(".", "_") for name in _OF_A_CALL if isinstance(made := getattr(value, name, None), str)]
    # A prompt does not continue an answer, nor the output of one call that of another.
    here = "/".join([stream.partition(".")[0], *fixed, type(value).__name__])
    for name in open_fields:
        old = getattr(value, name)
        if old is None or old == "" or old == []:
            continue
        new = _walk(old, visit, _stream(here, name), depth + 1)
        if new is not old:
            changed[name] = new
    return msgspec.structs.replace(value, **changed) if changed else value


def _walk_dict(value: dict[Any, Any], visit: Visit, stream: str, depth: int) -> dict[Any, Any]:
    made = {}
    here = stream.partition(".")[0]
    for key, item in value.items():
        new_key = _walk(key, visit, "", depth + 1)
        made[new_key] = _walk(item, visit, _stream(here, str(key)), depth + 1)
    if len(made) != len(value):
        raise NotRedacted("two names of one dictionary would become the same")
    return made


def _walk_list(value: list[Any], visit: Visit, stream: str, depth: int) -> list[Any]:
    if len(value) > 16 and _are_bytes(value):
        return _walk_numbers(value, visit)
    return [_walk(item, visit, stream, depth + 1) for item in value]


def _walk_tuple(value: tuple[Any, ...], visit: Visit, stream: str, depth: int) -> tuple[Any, ...]:
    made = [_walk(item, visit, stream, depth + 1) for item in value]
    return value._make(made) if hasattr(value, "_make") else type(value)(made)


def _are_bytes(value: list[Any]) -> bool:
    return all(type(item) is int and 0 <= item <= 255 for item in value)


def _walk_numbers(value: list[int], visit: Visit) -> list[Any]:
    """Visit bytes that are written as a list of numbers."""
    data = bytes(value)
    made = _walk_bytes(data, visit)
    return value if made == data else list(made)


def _walk_bytes(data: bytes, visit: Visit) -> bytes:
    try:
        text, is_text = data.decode("utf-8"), True
    except UnicodeDecodeError:
        text, is_text = data.decode("latin-1"), False
    if not text:
        return data
    made = visit(Leaf(text, "", not is_text))
    return data if made == text else made.encode("utf-8")


def _stream(here: str, name: str) -> str:
    """Return the stream of a field: its texts are continued by those of the same field of a neighbour."""
    return f"{here}.{name}"


def is_continued(stream: str) -> bool:
    """Return whether texts of a stream may be pieces of one text."""
    return stream.rpartition(".")[2] in _CONTINUED


@lru_cache(maxsize=512)
def _fields_of(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a struct that may contain any text, and those of which only fixed texts are possible."""
    hints = get_type_hints(kind)
    fixed = {name for name in kind.__struct_fields__ if _is_fixed(hints[name])}
    return (
        tuple(name for name in kind.__struct_fields__ if name not in fixed),
        tuple(name for name in kind.__struct_fields__ if name in fixed),
    )


def _is_fixed(hint: Any) -> bool:
    """Return whether a type has no text but fixed ones, and no struct."""
    if get_origin(hint) in (Union, types.UnionType):
        return all(_is_fixed(each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        return True
    return hint in (type(None), bool, int, float, datetime)
