"""Conversation trajectories: the JSONL that `copilog extract` writes, one conversation on each line.

Format notes: docs/formats/trajectories.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of

if TYPE_CHECKING:
    from copilog.sources._trajectory.lines import Place

SUFFIXES = (".jsonl", ".ndjson", ".json")
SIGNS = frozenset({"metadata", "mode_distribution", "context", "telemetry_type"})
_BEGINNING = re.compile(rb'\s*\{\s*"conversation_id"\s*:\s*"[^"]*"\s*,\s*"messages"\s*:')


class TrajectoryFile(Source):
    name = "trajectory-file"
    title = "Conversation trajectories (JSONL)"
    is_index = True

    def claims(self, file: Probe) -> bool:
        """By the first line; where that one is broken, by how we begin a line."""
        if file.suffix not in SUFFIXES or not file.may_hold_records or file.is_content:
            return False
        first = file.first_record
        if first is None:
            return file.suffix != ".json" and _BEGINNING.match(file.head) is not None
        is_trajectory = isinstance(first.get("conversation_id"), str) and isinstance(first.get("messages"), list)
        return is_trajectory and not SIGNS.isdisjoint(first)

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """One stub for each conversation; all lines are counted here, so that reading one counts none again."""
        from copilog.sources._trajectory.conversation import pointer_of
        from copilog.sources._trajectory.lines import survey

        for native_id, places in survey(found.path, ledger).items():
            yield Conversation(
                id=places[0].id,
                native_id=native_id,
                source=self.name,
                marks=["stub", "inside"],
                provenance=[provenance_of(found, role="index", row=native_id, pointer=pointer_of(places[0]))],
            )

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """All conversations; with a `native_id` that one, whose lines `index` has counted."""
        from copilog.sources._trajectory.lines import places_in, survey

        if found.native_id is None:
            places = survey(found.path, ledger)
        else:
            known = places_in(found.path)
            places = {found.native_id: known[found.native_id]} if found.native_id in known else {}
        for native_id, of_conversation in places.items():
            for copy in _copies(of_conversation):
                yield from self._read(native_id, copy, found, ledger)

    def _read(self, native_id: str, places: list[Place], found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources._trajectory.conversation import conversation_from, line_from, pointer_of
        from copilog.sources._trajectory.lines import trajectory_at

        lines = []
        for place in places:
            trajectory = trajectory_at(found.path, place)
            if trajectory is None:
                ledger.note("changed-while-reading", "another line stands here now", line=place.line)
            else:
                lines.append(line_from(trajectory, place, ledger))
        if lines:
            made = conversation_from(native_id, lines, self.name)
            made.provenance = [provenance_of(found, row=native_id, pointer=pointer_of(lines[0].place))]
            yield made


def _copies(places: list[Place]) -> list[list[Place]]:
    """Lines that say the same id again, as in files that were joined, are copies of the conversation."""
    copies: list[list[Place]] = []
    met: dict[str, int] = {}
    for place in places:
        number = met[place.conversation_id] = met.get(place.conversation_id, -1) + 1
        if number == len(copies):
            copies.append([])
        copies[number].append(place)
    return copies
