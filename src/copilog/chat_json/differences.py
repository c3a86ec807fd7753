"""What a JSON value has more than another that was made from the model, and both put together again.

A value that was read and is written again has to be equal. The model holds nearly all of it; what it does not hold is
kept beside it as the difference, in terms of JSON:

    {"drop": [keys], "put": {key: value}, "in": {key: difference}}     of an object
    {"of": length, "put": {index: value}, "in": {index: difference}}   of a list
    {"bytes": "keys" or "buffer"}                                      bytes in the spelling of early releases
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from copilog.fields import Json

KEYS, BUFFER = "keys", "buffer"


def difference(made: Any, wanted: Any) -> Json | None:
    """Return what turns one object or list into another; None if they are equal."""
    if isinstance(made, dict) and isinstance(wanted, dict):
        spelling = _spelling(made, wanted)
        return {"bytes": spelling} if spelling is not None else _of_objects(made, wanted)
    if isinstance(made, list) and isinstance(wanted, list):
        return of_items(dict(enumerate(made)), wanted)
    raise TypeError("only objects and lists differ in parts")


def of_items(made: dict[int, Any], wanted: list[Any]) -> Json | None:
    """Return what turns items at some positions into a list; None if they are the list."""
    put: Json = {}
    inner: Json = {}
    for position, value in enumerate(wanted):
        _compare(str(position), made, position, value, put, inner)
    if not put and not inner and made.keys() == set(range(len(wanted))):
        return None
    return {"of": len(wanted), **({"put": put} if put else {}), **({"in": inner} if inner else {})}


def _of_objects(made: Json, wanted: Json) -> Json | None:
    drop = [key for key in made if key not in wanted]
    put: Json = {}
    inner: Json = {}
    for key, value in wanted.items():
        _compare(key, made, key, value, put, inner)
    found: Json = {name: value for name, value in (("drop", drop), ("put", put), ("in", inner)) if value}
    return found or None


def _compare(name: str, made: Any, key: Any, value: Any, put: Json, inner: Json) -> None:
    """Add to `put` or `inner` if the value under a key is another one."""
    held = made.get(key)
    is_there = key in made
    if is_there and type(held) is type(value) and isinstance(value, dict | list):
        found = difference(held, value)
        if found is not None:
            inner[name] = found
    elif not is_there or not _is_same(held, value):
        put[name] = value


def _is_same(held: Any, value: Any) -> bool:
    """Return whether two values are the same JSON, in which true is not 1, and 1.0 is 1."""
    return isinstance(held, bool) == isinstance(value, bool) and bool(held == value)


def applied(made: Any, found: Json | None) -> Any:
    """Return a value with a difference applied to it."""
    if found is None:
        return made
    if "bytes" in found:
        return _spelled(made, found["bytes"])
    put, inner = found.get("put", {}), found.get("in", {})
    if "of" in found:
        items = made if isinstance(made, dict) else dict(enumerate(made if isinstance(made, list) else ()))
        return [
            put[name] if (name := str(at)) in put else applied(items.get(at), inner.get(name))
            for at in range(found["of"])
        ]
    held = made if isinstance(made, dict) else {}
    dropped = frozenset(found.get("drop", ()))
    kept = {key: applied(value, inner.get(key)) for key, value in held.items() if key not in dropped}
    return {**kept, **put}


def _spelling(made: Json, wanted: Json) -> str | None:
    """Return the spelling of bytes that early releases used, if that is the only difference."""
    text = made.get("$base64")
    if len(made) != 1 or not isinstance(text, str):
        return None
    for spelling in (KEYS, BUFFER):
        if len(wanted) > 1 and (spelling == BUFFER) == ("data" in wanted) and _spelled(made, spelling) == wanted:
            return spelling
    return None


def _spelled(made: Any, spelling: str) -> Any:
    try:
        data = base64.b64decode(made["$base64"], validate=True)
    except (binascii.Error, ValueError, KeyError, TypeError):
        return made
    if spelling == BUFFER:
        return {"type": "Buffer", "data": list(data)}
    return {str(at): value for at, value in enumerate(data)}
