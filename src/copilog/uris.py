"""URIs and locations as VS Code writes them: strings, objects with a decoded path, ranges, symbols."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from copilog.fields import Json
from copilog.model import Place, Range
from copilog.text_cache import cached_by_text

# VS Code's URIs, which are stored as strings or as objects with a scheme, an authority and a decoded path. The
# objects may have `fsPath` and `external` too. Those are caches that may be wrong, so they only count without a
# `path`. These functions run for each file that a conversation names, hence the fast paths for plain paths.


_URI_OBJECT = 1  # the $mid of a URI
_PLAIN_SHAPES = frozenset(  # the fields of nearly all URI objects, in the order in which VS Code writes them
    {
        ("$mid", "path", "scheme"),
        ("$mid", "external", "path", "scheme"),
        ("$mid", "fsPath", "path", "scheme"),
        ("$mid", "fsPath", "external", "path", "scheme"),
        ("$mid", "fsPath", "_sep", "path", "scheme"),
        ("$mid", "fsPath", "_sep", "external", "path", "scheme"),
    }
)
_PATHLESS_SCHEMES = frozenset({"command", "data", "http", "https", "mailto"})
_needs_encoding = re.compile(r"[^A-Za-z0-9/_.~-]").search
_needs_parsing = re.compile(r"[%?#:]").search
# A scheme has at least two letters, as a single one is a Windows drive; and "note: some text" is not a URI.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?=/|\S*\Z)(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_DRIVE = re.compile(r"/?[A-Za-z]:")


class Uri(NamedTuple):
    """The decoded parts of a URI; empty where it has none."""

    scheme: str
    authority: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""


def plain_uri(value: object) -> tuple[str, str | None] | None:
    """Return the text and path of a URI object without other fields, as nearly all are; None for anything else."""
    if type(value) is not dict or tuple(value) not in _PLAIN_SHAPES:
        return None
    scheme, path = value["scheme"], value["path"]
    if type(scheme) is not str or type(path) is not str:
        return None
    if scheme == "file":
        return _uri_of_file(path)
    uri = Uri(scheme, "", path)
    return (_text_of(uri), _path_of(uri)) if scheme else None


@cached_by_text(1024)
def _uri_of_file(path: str) -> tuple[str, str | None]:
    """Return the URI of a path. Cached, as a conversation repeats the names of few files."""
    if path and not _needs_encoding(path):
        return f"file://{path}", path
    uri = Uri("file", "", path)
    return _text_of(uri), _path_of(uri)


def uri_to_string(value: object) -> str | None:
    """Return the URI as VS Code writes it, or None if the value is not a URI."""
    if isinstance(value, str):
        return value if _URI.match(value) else None
    plain = plain_uri(value)
    if plain is not None:
        return plain[0]
    uri = uri_parts(value)
    return None if uri is None else _text_of(uri)


def paths_at(value: object, *keys: str) -> str:
    """Return the files under some keys of an object, or of each object of a list, one per line and each once."""
    items = value if isinstance(value, list) else [value]
    uris = [item.get(key) for item in items if isinstance(item, dict) for key in keys]
    return "\n".join(dict.fromkeys(path for uri in uris if (path := uri_to_path(uri) or uri_to_string(uri))))


def _text_of(uri: Uri) -> str:
    scheme, authority, path, query, fragment = uri
    text = f"{scheme}:"
    if authority:
        text += f"//{_encode_authority(authority)}"
    elif scheme == "file":
        text += "//"
    text += _encode(_with_small_drive(path), "/") if _needs_encoding(path) else path
    if query:
        text += f"?{_encode(query)}"
    if fragment:
        text += f"#{_encode(fragment)}"
    return text


def uri_to_path(value: object) -> str | None:
    """Return the path of a URI with forward slashes: /home/ana, c:/src/app or //server/share; None without one."""
    if isinstance(value, str) and value.startswith("file:///") and not _needs_parsing(value, 8):
        return value[7:]
    plain = plain_uri(value)
    if plain is not None:
        return plain[1]
    uri = uri_parts(value)
    return None if uri is None else _path_of(uri)


def _path_of(uri: Uri) -> str | None:
    if uri.scheme in _PATHLESS_SCHEMES or not uri.path:
        return None
    if uri.authority and uri.scheme == "file":
        return f"//{uri.authority}{uri.path}"
    path = _with_small_drive(uri.path)
    return path[1:] if path[2:3] == ":" and _DRIVE.match(path) else path


def uri_parts(value: object) -> Uri | None:
    """Return the parts of a URI, or None if the value is not a URI."""
    if isinstance(value, str):
        return _parts_of_string(value)
    if not isinstance(value, dict):
        return None
    scheme = value.get("scheme")
    if not isinstance(scheme, str) or not scheme:
        if value.get("$mid") != _URI_OBJECT:
            return None
        scheme = "file"  # as VS Code does
    path = value.get("path")
    if path is None:
        return _parts_from_caches(value, scheme)
    if not isinstance(path, str):
        return None
    return Uri(scheme, _text(value, "authority"), path, _text(value, "query"), _text(value, "fragment"))


def _parts_of_string(text: str) -> Uri | None:
    match = _URI.match(text)
    if match is None:
        return None
    scheme, *others = match.groups("")
    return Uri(scheme.lower(), *map(unquote, others))


def _parts_from_caches(value: dict[str, Any], scheme: str) -> Uri | None:
    uri = _parts_of_string(_text(value, "external"))
    if uri is not None:
        return uri
    path = _text(value, "fsPath")
    authority = _text(value, "authority")
    if value.get("_sep") == 1 or path.startswith("\\\\") or _DRIVE.match(path):  # written on Windows
        path = path.replace("\\", "/")
    if path.startswith("//"):
        authority, _, path = path[2:].partition("/")
    if not path.startswith("/") and (path or scheme == "file"):
        path = f"/{path}"
    return Uri(scheme, authority, path, _text(value, "query"), _text(value, "fragment"))


def _text(value: dict[str, Any], key: str) -> str:
    part = value.get(key)
    return part if isinstance(part, str) else ""


def _with_small_drive(path: str) -> str:
    drive = _DRIVE.match(path)
    return path[: drive.end()].lower() + path[drive.end() :] if drive else path


def _encode_authority(authority: str) -> str:
    user, at, host = authority.partition("@") if "@" in authority else ("", "", authority)
    return f"{_encode(user, ':')}{at}{_encode(host.lower(), ':[]')}"


def _encode(text: str, safe: str = "") -> str:
    return quote(text, safe=safe, errors="replace")


# Locations as VS Code writes them: a URI, a location with a range, a symbol.


_EMPTY_LINK = re.compile(r"\[\]\(([^()\s]*)\)")
_LINES = re.compile(r"^L?(\d+)(?:[,.]\d+)?(?:-L?(\d+)(?:[,.]\d+)?)?$")


def range_from(value: object) -> Range | None:
    """Return a 1-based range, or None if the value is not a range."""
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


def location_from(value: object) -> Place | None:
    """Return a location from a URI (text or object), a location `{uri, range}` or a symbol `{name, location}`."""
    if type(value) is dict:
        if "uri" in value:
            place = _location_of_uri(value["uri"])
            if place is not None:
                place.range = range_from(value.get("range"))
            return place
        if "location" in value and isinstance(value.get("name"), str):
            return _location_of_symbol(value)
        return _location_of_uri(value)
    if isinstance(value, str):
        return _location_of_uri(value) or Place(path=value)
    return None


def _location_of_uri(value: object) -> Place | None:
    plain = plain_uri(value)
    if plain is not None:
        return Place(uri=plain[0], path=plain[1])
    uri = uri_to_string(value)
    return None if uri is None else Place(uri=uri, path=uri_to_path(value))


def _location_of_symbol(value: dict[str, Any]) -> Place | None:
    location = value["location"]
    if isinstance(location, dict) and "location" in location:
        return None  # a symbol is not in a symbol, and such data may be nested a thousand levels deep
    place = location_from(location) or Place()
    place.name = value["name"]
    kind = value.get("kind")
    place.symbol_kind = kind if type(kind) is int else None
    place.extra = {key: value[key] for key in ("containerName", "tags") if key in value} or None
    return place


def base_name(path: str) -> str:
    """Return the last part of a path of any system."""
    return path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or path


def label_of(place: Place) -> str:
    """Return how VS Code shows a location in prose: the symbol, or the file's name with its lines."""
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


# Take locations out of a decoded object, as `take` does with plain fields. A value is taken out only if the result
# has all of its fields. A location with an unknown field is returned too, but stays in the object for `extra`.


_URI_TEXTS = ("scheme", "authority", "path", "query", "fragment")
_URI_KEYS = frozenset({"$mid", "fsPath", "external", "_sep", *_URI_TEXTS})  # the middle three are caches
_LOCATION_KEYS = frozenset({"uri", "range"})
_SYMBOL_KEYS = frozenset({"name", "kind", "containerName", "tags", "location"})
_LOCATION_SHAPE = ("uri", "range")
_RANGE_SHAPE = ("startLineNumber", "startColumn", "endLineNumber", "endColumn")
_RANGE_KEYS = frozenset(_RANGE_SHAPE)


def take_location(obj: Json, key: str) -> Place | None:
    """Take the location under a key: a URI, a location or a symbol."""
    value = obj.get(key)
    place = _plain_location(value)
    if place is not None:
        del obj[key]
        return place
    place = location_from(value)
    if place is not None and is_lossless_as_location(value):
        del obj[key]
    return place


def _plain_location(value: object) -> Place | None:
    """Return a location in the most common form, with all of its fields; None for any other."""
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
    """Take the URI under a key as text."""
    value = obj.get(key)
    plain = plain_uri(value)
    if plain is not None:
        del obj[key]
        return plain[0]
    text = uri_to_string(value)
    if text is not None and _is_lossless_as_uri(value):
        del obj[key]
    return text


def is_lossless_as_location(value: object) -> bool:
    """Return whether a location made of this value includes all of it."""
    if not isinstance(value, dict):
        return isinstance(value, str)
    if "uri" in value:
        return value.keys() <= _LOCATION_KEYS and _is_lossless_as_uri(value["uri"]) and _is_lossless_as_range(value)
    if "location" in value:
        kind = value.get("kind")
        is_plain = value.keys() <= _SYMBOL_KEYS and (kind is None or type(kind) is int)
        return is_plain and location_from(value["location"]) is not None and is_lossless_as_location(value["location"])
    return _is_lossless_as_uri(value)


def _is_lossless_as_uri(value: object) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str)
    if not value.keys() <= _URI_KEYS:
        return False
    for key in _URI_TEXTS:  # noqa: SIM110 - a generator takes twice as long, and each reference comes by here
        if not isinstance(value.get(key, ""), str):
            return False
    return True


def _is_lossless_as_range(location: Json) -> bool:
    span = location.get("range")
    if span is None:
        return True
    return isinstance(span, dict) and span.keys() == _RANGE_KEYS and all(type(n) is int for n in span.values())
