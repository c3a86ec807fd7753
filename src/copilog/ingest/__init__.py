"""From folders to conversations: discover, read, merge; and the books of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copilog.ingest.containment import contained
    from copilog.ingest.discovery import discover, found_at, walk
    from copilog.ingest.inspection import inspect, inspect_file
    from copilog.ingest.reading import WorkspaceDefinitions, read
    from copilog.ingest.scan_roots import find_roots

# Name -> module, looked up on first use: a scan that finds nothing changed reads nothing, and loads no readers.
_EXPORTS = {
    "WorkspaceDefinitions": "copilog.ingest.reading",
    "contained": "copilog.ingest.containment",
    "discover": "copilog.ingest.discovery",
    "find_roots": "copilog.ingest.scan_roots",
    "found_at": "copilog.ingest.discovery",
    "inspect": "copilog.ingest.inspection",
    "inspect_file": "copilog.ingest.inspection",
    "read": "copilog.ingest.reading",
    "walk": "copilog.ingest.discovery",
}

__all__ = [
    "WorkspaceDefinitions",
    "contained",
    "discover",
    "find_roots",
    "found_at",
    "inspect",
    "inspect_file",
    "read",
    "walk",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'copilog.ingest' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
