"""Compare archived conversations without an id with those that they may be the same as.

As among the files of a folder, a conversation with an id takes all equal ones; among the rest, the longest does. A
short export may fit two conversations that continued differently, so a part is never a reason to join another one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import NamedTuple

from copilog.ingest.export_merge import likeness_of, prints_of
from copilog.similarity import DISTINCTIVE_LENGTH, Fingerprint, Likeness, compare
from copilog.sources import SOURCES
from copilog.store.match_candidates import StoredState, similar_conversations, stored_state
from copilog.store.parts import members_of

NAMELESS = tuple(source.name for source in SOURCES if source.is_nameless)


class Group:
    """A conversation of the archive; its parts are loaded on first use."""

    def __init__(self, connection: sqlite3.Connection, row: StoredState, *, is_imported: bool = False) -> None:
        self.connection = connection
        self._is_imported = is_imported
        self.number, self.id, self.messages, self.is_compared = row

    @cached_property
    def _loaded(self) -> tuple[bool, dict[str, Fingerprint]]:
        members = members_of(self.connection, self.id)
        own = members[self.id]
        return self._is_imported or (own.native_id is None and own.source in NAMELESS), prints_of(members)

    @property
    def is_nameless(self) -> bool:
        """Return whether it may be a part of another one: it has no id, or one that its program gave an import."""
        return self._loaded[0]

    @property
    def prints(self) -> dict[str, Fingerprint]:
        return self._loaded[1]

    @property
    def own(self) -> Fingerprint:
        return self.prints[self.id]


class Regrouping(NamedTuple):
    """Conversations without an id, and the conversation that each of their parts belongs to."""

    groups: list[Group]
    homes: dict[str, str]

    def moved(self) -> dict[str, tuple[str, str]]:
        """Return the parts that belong elsewhere, each with its present and its new conversation."""
        known = ((part, group.id, self.homes[part]) for group in self.groups for part in group.prints)
        return {part: (old, home) for part, old, home in known if old != home}


class Comparison:
    """Conversations without an id, and those that may be the same as each, unless all were compared before."""

    def __init__(self, connection: sqlite3.Connection, numbers: Collection[int], imports: Collection[int] = ()) -> None:
        self._candidates = similar_conversations(connection, {*numbers, *imports}, DISTINCTIVE_LENGTH)
        everybody = self._candidates.keys() | {other for near in self._candidates.values() for other in near}
        self._groups = {
            number: Group(connection, stored_state(connection, number), is_imported=number in imports)
            for number in everybody
        }

    def regroupings(self) -> Iterator[Regrouping]:
        """Yield where the parts belong, for each cluster of similar conversations."""
        for cluster in self._clusters():
            groups = [self._groups[number] for number in sorted(cluster)]
            nameless = [group for group in groups if group.is_nameless]
            homes: dict[str, str] = {}
            for group in nameless:
                for name, printed in group.prints.items():
                    same = [other for other in self._identified_candidates(group) if _are_same(other.own, printed)]
                    if same:
                        homes[name] = max(same, key=lambda other: (len(other.own.turns), other.id)).id
            left = {name: printed for group in nameless for name, printed in group.prints.items() if name not in homes}
            yield Regrouping(nameless, homes | _by_the_longest(left))

    def doubts(self) -> dict[str, dict[str, str | None]]:
        """Return, by id, the conversations that each may be the same as, with the reason; None if they differ.

        Call this for the conversations that remain after regrouping.
        """
        reasons: dict[str, dict[str, str | None]] = {}
        for number in {number for cluster in self._clusters() for number in cluster}:
            one = self._groups[number]
            for other in (self._groups[near] for near in self._candidates[number]):
                if one.is_compared and other.is_compared:
                    continue
                likeness = _likeness(one, other)
                reason = likeness.reason if likeness.verdict != "different" else None
                reasons.setdefault(one.id, {})[other.id] = reason
                reasons.setdefault(other.id, {})[one.id] = reason
        return reasons

    def _clusters(self) -> Iterator[set[int]]:
        """Yield clusters of similar conversations without an id, by number, unless all were compared before."""
        links: dict[int, set[int]] = {number: set() for number in self._candidates}
        for number, near in self._candidates.items():
            for other in near & self._candidates.keys():
                links[number].add(other)
                links[other].add(number)
        left = set(links)
        while left:
            cluster: set[int] = set()
            waiting = {left.pop()}
            while waiting:
                number = waiting.pop()
                cluster.add(number)
                waiting |= links[number] - cluster
            left -= cluster
            near = cluster.union(*(self._candidates[number] for number in cluster))
            if not all(self._groups[number].is_compared for number in near):
                yield cluster

    def _identified_candidates(self, group: Group) -> Iterator[Group]:
        near = (self._groups[number] for number in self._candidates[group.number])
        return (other for other in near if not other.is_nameless)


def _by_the_longest(prints: dict[str, Fingerprint]) -> dict[str, str]:
    """Assign to the longest all that are the same as it; then repeat with the longest of the rest.

    An import has an id, so that it comes before all without one.
    """
    homes: dict[str, str] = {}
    for name in sorted(prints, key=lambda name: (not prints[name].is_named, -len(prints[name].turns), name)):
        if name in homes:
            continue
        homes[name] = name
        for other in prints.keys() - homes.keys():
            if _are_same(prints[name], prints[other]):
                homes[other] = name
    return homes


def _are_same(one: Fingerprint, other: Fingerprint) -> bool:
    return compare(one, other).verdict == "same"


def _likeness(one: Group, other: Group) -> Likeness:
    """Compare as files of a folder are compared: one with an id comes first, so that reasons are the same."""
    first, second = sorted((one, other), key=lambda group: (group.is_nameless, group.id))
    return likeness_of(first.prints, second.prints)
