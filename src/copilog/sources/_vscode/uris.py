"""VS Code's URIs, which are stored as strings or as objects with a scheme, an authority and a decoded path.

The objects may carry `fsPath` and `external` too. Those are caches that nobody checks, so they only count when there
is no `path`. These functions run for each file that a conversation names, hence the short cuts for plain paths.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from copilog.remembering import remembered

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
# A scheme has two letters at least, for a single one is a Windows drive; and "note: some text" is no URI.
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
    """The text and path of a URI object that tells no more than them, as nearly all do; None for anything else."""
    if type(value) is not dict or tuple(value) not in _PLAIN_SHAPES:
        return None
    scheme, path = value["scheme"], value["path"]
    if type(scheme) is not str or type(path) is not str:
        return None
    if scheme == "file":
        return _uri_of_file(path)
    uri = Uri(scheme, "", path)
    return (_text_of(uri), _path_of(uri)) if scheme else None


@remembered(1024)
def _uri_of_file(path: str) -> tuple[str, str | None]:
    """A conversation names the same few files over and over."""
    if path and not _needs_encoding(path):
        return f"file://{path}", path
    uri = Uri("file", "", path)
    return _text_of(uri), _path_of(uri)


def uri_to_string(value: object) -> str | None:
    """The URI as VS Code writes it; None for something that is no URI."""
    if isinstance(value, str):
        return value if _URI.match(value) else None
    plain = plain_uri(value)
    if plain is not None:
        return plain[0]
    uri = uri_parts(value)
    return None if uri is None else _text_of(uri)


def paths_at(value: object, *keys: str) -> str:
    """The files under some keys of an object, or of each object of a list, below one another and each once."""
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
    """The path of a URI with forward slashes: /home/ana, c:/src/app or //server/share; None if it has no path."""
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
    """The parts of a URI; None for something that is no URI."""
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
