"""The most recent pages, until the archive or the definitions of this machine change. Safe for several threads."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any, NamedTuple

MOST_KEPT = 24


class Kept(NamedTuple):
    """A value, and what it was made from besides its key."""

    workspaces: list[str]
    defined: Any
    value: Any


class PageCache:
    """Values by the state of the archive and the filters that they were made for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Any, Kept] = OrderedDict()

    def get(self, key: Any) -> Kept | None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
            return kept

    def keep(self, key: Any, kept: Kept) -> None:
        with self._lock:
            self._kept[key] = kept
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
