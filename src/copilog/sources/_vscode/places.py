"""Places as VS Code writes them: a URI, a location with a range, a symbol."""

from __future__ import annotations

import re
from typing import Any

from copilog.model import Place, Range
from copilog.sources._vscode.uris import uri_to_path, uri_to_string

_EMPTY_LINK = re.compile(r"\[\]\(([^()\s]*)\)")
_LINES = re.compile(r"^L?(\d+)(?:[,.]\d+)?(?:-L?(\d+)(?:[,.]\d+)?)?$")


def range_from(value: object) -> Range | None:
    """A 1-based range, None for anything that is none."""
    if not isinstance(value, dict):
        return None
    start, end = value.get("startLineNumber"), value.get("endLineNumber")
    if not isinstance(start, int) or not isinstance(end, int):
        return None
    first, last = value.get("startColumn"), value.get("endColumn")
    return Range(
        start_line=start,
        start_column=first if isinstance(first, int) else 1,
        end_line=end,
        end_column=last if isinstance(last, int) else 1,
    )


def place_from(value: object) -> Place | None:
    """A place from a URI (text or object), a location `{uri, range}` or a symbol `{name, location}`."""
    if isinstance(value, str):
        return Place(uri=value, path=uri_to_path(value)) if ":" in value else Place(path=value)
    if not isinstance(value, dict):
        return None
    if "uri" in value:
        uri = value["uri"]
        if uri_to_string(uri) is None:
            return None
        return Place(uri=uri_to_string(uri), path=uri_to_path(uri), range=range_from(value.get("range")))
    if isinstance(value.get("name"), str) and "location" in value:
        return _symbol_place(value)
    text = uri_to_string(value)
    return None if text is None else Place(uri=text, path=uri_to_path(value))


def _symbol_place(value: dict[str, Any]) -> Place:
    place = place_from(value["location"]) or Place()
    place.name = value["name"]
    kind = value.get("kind")
    place.symbol_kind = kind if isinstance(kind, int) else None
    extra: dict[str, Any] = {key: value[key] for key in ("containerName", "tags") if key in value}
    place.extra = extra or None
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
