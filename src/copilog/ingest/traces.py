"""Collect traces by the id of their conversation, and hints of indexes about conversations stored elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from copilog import identity
from copilog.model import Conversation
from copilog.sources import SOURCES, Found

# Sources of the trace that represents a conversation before it is read, best first.
ORDER = {source.name: position for position, source in enumerate(SOURCES)}


class Traces(Protocol):
    """Collects traces in any order."""

    def add(self, key: str, found: Found) -> None:
        """Add a trace of a conversation."""

    def add_once(self, key: str, found: Found) -> None:
        """Add a trace unless it was added before."""

    def add_hint(self, key: str, stub: Conversation) -> None:
        """Add the hint of an index about a conversation; several hints are combined."""


class TracesInMemory:
    """Holds all traces in memory, for conversations that are returned at once."""

    def __init__(self) -> None:
        self.groups: dict[str, list[Found]] = {}
        self.hints: dict[str, Conversation] = {}

    def add(self, key: str, found: Found) -> None:
        self.groups.setdefault(key, []).append(found)

    def add_once(self, key: str, found: Found) -> None:
        if found not in self.groups.get(key, ()):
            self.add(key, found)

    def add_hint(self, key: str, stub: Conversation) -> None:
        known = self.hints.get(key)
        self.hints[key] = stub if known is None else identity.merge([known, stub])

    def founds(self) -> Iterator[Found]:
        """Yield one for each conversation: those that have files, then those that only an index names."""
        for key, traces in self.groups.items():
            yield replace(found_of(traces), hint=self.hints.pop(key, None))
        for hint in self.hints.values():
            yield replace(found_from_hint(hint), hint=hint)


def found_of(traces: Iterable[Found]) -> Found:
    """Combine all traces of a conversation."""
    first, *others = sorted(traces, key=lambda found: ORDER[found.source])
    return replace(first, others=tuple(others)) if others else first


def found_from_hint(hint: Conversation) -> Found:
    """Return a conversation that only an index names, without the hint."""
    path = Path(hint.provenance[0].path)
    return Found(path, hint.source, hint.native_id, hint.workspace, hint.application, is_index_entry=True)
