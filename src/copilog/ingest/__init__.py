"""From folders to conversations: discover, read, merge; and the books of each file."""

from __future__ import annotations

from copilog.ingest.containment import contained
from copilog.ingest.discovery import discover, find_roots, found_at, walk
from copilog.ingest.inspection import inspect, inspect_file
from copilog.ingest.reading import WorkspaceDefinitions, read

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
