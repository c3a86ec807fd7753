"""Take places out of a decoded object, as `take` does with plain fields.

A value is taken out only when the place tells all that stood there. A location with a field that nobody has
described yet gives its place too, and stays behind for `extra`.
"""

from __future__ import annotations

from copilog.model import Place, Range
from copilog.sources._vscode.places import place_from
from copilog.sources._vscode.take import Json
from copilog.sources._vscode.uris import plain_uri, uri_to_string

_URI_TEXTS = ("scheme", "authority", "path", "query", "fragment")
_URI_KEYS = frozenset({"$mid", "fsPath", "external", "_sep", *_URI_TEXTS})  # the middle three are caches
_LOCATION_KEYS = frozenset({"uri", "range"})
_SYMBOL_KEYS = frozenset({"name", "kind", "containerName", "tags", "location"})
_LOCATION_SHAPE = ("uri", "range")
_RANGE_SHAPE = ("startLineNumber", "startColumn", "endLineNumber", "endColumn")
_RANGE_KEYS = frozenset(_RANGE_SHAPE)


def take_place(obj: Json, key: str) -> Place | None:
    """The place under a key: a URI, a location or a symbol."""
    value = obj.get(key)
    place = _plain_place(value)
    if place is not None:
        del obj[key]
        return place
    place = place_from(value)
    if place is not None and is_told_by_place(value):
        del obj[key]
    return place


def _plain_place(value: object) -> Place | None:
    """A place as VS Code writes nearly all of them, with all that is told there; None for any other."""
    if type(value) is not dict:
        return None
    if tuple(value) != _LOCATION_SHAPE:
        plain = plain_uri(value)
        return None if plain is None else Place(uri=plain[0], path=plain[1])
    plain, span = plain_uri(value["uri"]), value["range"]
    if plain is None or type(span) is not dict or tuple(span) != _RANGE_SHAPE:
        return None
    first, column, last, end = span.values()
    if not (type(first) is type(column) is type(last) is type(end) is int):
        return None
    lines = Range(start_line=first, start_column=column, end_line=last, end_column=end)
    return Place(uri=plain[0], path=plain[1], range=lines)


def take_uri(obj: Json, key: str) -> str | None:
    """The URI under a key as text."""
    value = obj.get(key)
    plain = plain_uri(value)
    if plain is not None:
        del obj[key]
        return plain[0]
    text = uri_to_string(value)
    if text is not None and _is_told_by_uri(value):
        del obj[key]
    return text


def is_told_by_place(value: object) -> bool:
    """Whether a place made of this value leaves nothing of it out."""
    if not isinstance(value, dict):
        return isinstance(value, str)
    if "uri" in value:
        return value.keys() <= _LOCATION_KEYS and _is_told_by_uri(value["uri"]) and _is_told_by_range(value)
    if "location" in value:
        kind = value.get("kind")
        is_plain = value.keys() <= _SYMBOL_KEYS and (kind is None or type(kind) is int)
        return is_plain and place_from(value["location"]) is not None and is_told_by_place(value["location"])
    return _is_told_by_uri(value)


def _is_told_by_uri(value: object) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str)
    if not value.keys() <= _URI_KEYS:
        return False
    for key in _URI_TEXTS:  # noqa: SIM110 - a generator takes twice as long, and each reference comes by here
        if not isinstance(value.get(key, ""), str):
            return False
    return True


def _is_told_by_range(location: Json) -> bool:
    span = location.get("range")
    if span is None:
        return True
    return isinstance(span, dict) and span.keys() == _RANGE_KEYS and all(type(n) is int for n in span.values())
