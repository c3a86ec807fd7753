"""Places as VS Code writes them: a URI, a location with a range, a symbol."""

from __future__ import annotations

import re
from typing import Any

from copilog.model import Place, Range
from copilog.sources._vscode.uris import plain_uri, uri_to_path, uri_to_string

_EMPTY_LINK = re.compile(r"\[\]\(([^()\s]*)\)")
_LINES = re.compile(r"^L?(\d+)(?:[,.]\d+)?(?:-L?(\d+)(?:[,.]\d+)?)?$")


def range_from(value: object) -> Range | None:
    """A 1-based range, None for anything that is none."""
    if type(value) is not dict:
        return None
    start, end = value.get("startLineNumber"), value.get("endLineNumber")
    if type(start) is not int or type(end) is not int:
        return None
    first, last = value.get("startColumn"), value.get("endColumn")
    return Range(
        start_line=start,
        start_column=first if type(first) is int else 1,
        end_line=end,
        end_column=last if type(last) is int else 1,
    )


def place_from(value: object) -> Place | None:
    """A place from a URI (text or object), a location `{uri, range}` or a symbol `{name, location}`."""
    if type(value) is dict:
        if "uri" in value:
            place = _uri_place(value["uri"])
            if place is not None:
                place.range = range_from(value.get("range"))
            return place
        if "location" in value and isinstance(value.get("name"), str):
            return _symbol_place(value)
        return _uri_place(value)
    if isinstance(value, str):
        return _uri_place(value) or Place(path=value)
    return None


def _uri_place(value: object) -> Place | None:
    plain = plain_uri(value)
    if plain is not None:
        return Place(uri=plain[0], path=plain[1])
    uri = uri_to_string(value)
    return None if uri is None else Place(uri=uri, path=uri_to_path(value))


def _symbol_place(value: dict[str, Any]) -> Place | None:
    location = value["location"]
    if isinstance(location, dict) and "location" in location:
        return None  # a symbol does not stand in a symbol, and data may go on like that for a thousand levels
    place = place_from(location) or Place()
    place.name = value["name"]
    kind = value.get("kind")
    place.symbol_kind = kind if type(kind) is int else None
    place.extra = {key: value[key] for key in ("containerName", "tags") if key in value} or None
    return place


def base_name(path: str) -> str:
    """The last part of a path of any system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path


def label_of(place: Place) -> str:
    """How VS Code shows a place in prose: the symbol, or the file's name with its lines."""
    if place.name:
        return place.name
    name = base_name(place.path or place.uri or "")
    lines = place.range
    if lines is None:
        return name
    if lines.start_line == lines.end_line:
        return f"{name}:{lines.start_line}"
    return f"{name}:{lines.start_line}-{lines.end_line}"


def with_named_links(text: str) -> str:
    """Fill in links without a label, as tool messages have them, with the file's name and lines."""
    if "[](" not in text:
        return text
    return _EMPTY_LINK.sub(lambda match: _link_label(match[1]), text)


def _link_label(target: str) -> str:
    address, _, fragment = target.partition("#")
    name = base_name(uri_to_path(address) or address)
    lines = _LINES.match(fragment)
    if not lines:
        return f"`{name}`"
    first, last = lines[1], lines[2]
    return f"`{name}:{first}`" if last in (None, first) else f"`{name}:{first}-{last}`"
