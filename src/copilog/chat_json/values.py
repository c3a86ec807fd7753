"""Write the small values of VS Code's chat JSON: URIs, locations, times, ranges of text, bytes."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

from copilog import jsonio
from copilog.errors import BadRecord
from copilog.fields import Json
from copilog.model import Place, Range
from copilog.uris import uri_parts, uri_to_string

URI = 1  # the $mid of a URI
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def uri_json(uri: str) -> Json | str:
    """Return a URI as the object that VS Code writes; a text that is not a URI stays a text."""
    parts = uri_parts(uri)
    if parts is None:
        return uri
    path = _valid_path(parts.path, has_authority=bool(parts.authority))
    fields = {"authority": parts.authority, "path": path, "query": parts.query, "fragment": parts.fragment}
    return {"$mid": URI, **{name: text for name, text in fields.items() if text}, "scheme": parts.scheme}


def _valid_path(path: str, *, has_authority: bool) -> str:
    """Return a path that VS Code takes: one URI that it does not take makes it refuse the chat."""
    if has_authority:
        return path if path.startswith("/") or not path else f"/{path}"
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def path_json(path: str) -> Json | str:
    """Return a path, or a URI, as a URI object."""
    if uri_to_string(path) is not None and not path.startswith("/") and path[1:2] != ":":
        return uri_json(path)
    path = path.replace("\\", "/") if path[1:3] in (":\\", ":/") or path.startswith("\\\\") else path
    if path.startswith("//"):
        host, _, rest = path[2:].partition("/")
        return {"$mid": URI, "authority": host, "path": f"/{rest}", "scheme": "file"}
    return {"$mid": URI, "path": path if path.startswith("/") else f"/{path}", "scheme": "file"}


def place_json(place: Place) -> Json | str | None:
    """Return a location: a symbol, a range of a file, a URI; None if it names nothing."""
    target = uri_json(place.uri) if place.uri else place.path
    if target is None:
        return None
    located: Any = target
    if place.range is not None:
        located = {"uri": target, "range": range_json(place.range)}
    if place.symbol_kind is None:
        return located  # type: ignore[no-any-return]
    if place.range is None:  # VS Code shows no symbol without one
        located = {"uri": target, "range": range_json(Range(start_line=1, end_line=1))}
    return {"name": place.name or "", "kind": place.symbol_kind, **(place.extra or {}), "location": located}


def range_json(lines: Range) -> Json:
    return {
        "startLineNumber": lines.start_line,
        "startColumn": lines.start_column,
        "endLineNumber": lines.end_line,
        "endColumn": lines.end_column,
    }


def ms_of(moment: datetime) -> int | float:
    """Return milliseconds since 1970."""
    return number_json((moment - _EPOCH) / timedelta(milliseconds=1))


def number_json(value: float) -> int | float:
    """Return a number without a fraction as an integer."""
    return int(value) if float(value).is_integer() else value


def units(text: str) -> int:
    """Return the length in UTF-16 units, in which VS Code counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def bytes_json(data: bytes) -> Json:
    return {"$base64": base64.b64encode(data).decode()}


def value_of_text(text: str) -> Any:
    """Return the value of JSON text; a text that is not JSON stays a text."""
    try:
        return jsonio.decode(text.encode("utf-8", "surrogatepass"))[0]
    except (BadRecord, UnicodeError):
        return text


def with_texts(fields: Json, **texts: Any) -> Json:
    """Return fields with those of the others that are known."""
    return {**fields, **{name: value for name, value in texts.items() if value is not None}}


def put_notes(made: Json, notes: dict[str, str], names: dict[str, str]) -> None:
    """Put notes back under the keys from which they were read, by their labels."""
    for label, key in names.items():
        if label in notes and not isinstance(made.get(key), str):
            made[key] = markdown_json(notes[label], made.get(key))


def markdown_json(text: str, left: Any) -> Json | str:
    """Return a Markdown value: with the fields that it had besides its text, else as plain text."""
    return {**left, "value": text} if isinstance(left, dict) else text
