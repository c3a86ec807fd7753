"""Traces by the id of their conversation, and what indexes say about conversations that are kept elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace

from copilog import identity
from copilog.model import Conversation
from copilog.sources import SOURCES, Found

# The trace that speaks for a conversation before it is read, best first.
ORDER = {source.name: position for position, source in enumerate(SOURCES)}


class Traces(Protocol):
    """Takes in what is found, in any order."""

    def add(self, key: str, found: Found) -> None:
        """One more trace of a conversation."""

    def add_once(self, key: str, found: Found) -> None:
        """The same for one that may have been met before."""

    def add_hint(self, key: str, stub: Conversation) -> None:
        """What an index says about a conversation; what several say is put together."""


class TracesInMemory:
    """For as many conversations as are asked for at once."""

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
        """One for each conversation: those that have files, and then those that only an index knows."""
        for key, traces in self.groups.items():
            yield replace(found_of(traces), hint=self.hints.pop(key, None))
        for hint in self.hints.values():
            yield replace(found_in_index(hint), hint=hint)


def found_of(traces: Iterable[Found]) -> Found:
    """All traces of a conversation as one."""
    first, *others = sorted(traces, key=lambda found: ORDER[found.source])
    return replace(first, others=tuple(others)) if others else first


def found_in_index(hint: Conversation) -> Found:
    """A conversation of which there is nothing but what an index says; without that."""
    path = Path(hint.provenance[0].path)
    return Found(path, hint.source, hint.native_id, hint.workspace, hint.application, is_index_entry=True)
