"""Read conversations from folders: discover, read, merge; with a ledger for each file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from copilog.lazy_names import names_on_first_use

if TYPE_CHECKING:
    from copilog.ingest.containment import contained
    from copilog.ingest.discovery import discover, found_at, walk
    from copilog.ingest.inspection import inspect, inspect_file
    from copilog.ingest.reading import WorkspaceDefinitions, read
    from copilog.ingest.scan_roots import find_roots

# Name -> module, imported on first use: a scan without changes reads nothing, and imports no readers.
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


__getattr__ = names_on_first_use(__name__, _EXPORTS)


def __dir__() -> list[str]:
    return sorted(__all__)
