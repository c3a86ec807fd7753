"""The definitions on this machine, read at most once a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from copilog.definitions import Definition

SECONDS = 60.0


class DefinedHere:
    """The custom agents and skills of the user and of workspaces."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, ...], tuple[float, list[Definition]]] = {}

    def of(self, workspaces: Sequence[str]) -> list[Definition]:
        """Return the definitions of the user and of these folders."""
        folders = tuple(workspaces)
        with self._lock:
            until, found = self._known.get(folders, (0.0, []))
            if time.monotonic() >= until:
                found = _read(folders)
                # The last request is the most likely to be repeated.
                self._known = {folders: (time.monotonic() + SECONDS, found)}
            return found


def _read(folders: tuple[str, ...]) -> list[Definition]:
    from copilog.ingest import find_roots
    from copilog.ingest.defined_here import definitions_on_this_machine

    return definitions_on_this_machine(folders, find_roots())
