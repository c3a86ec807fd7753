"""Conversation trajectories: the JSON lines that `copilog extract` writes, one conversation on each line.

Format notes: docs/formats/trajectories.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.fields import Json
from copilog.intake.records import JsonLines, record_at
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source, provenance_of

SUFFIXES = (".jsonl", ".ndjson", ".json")
SIGNS = frozenset({"metadata", "mode_distribution", "context", "telemetry_type"})
_BEGINNING = re.compile(rb'\s*\{\s*"conversation_id"\s*:\s*"[^"]*"\s*,\s*"messages"\s*:')


class TrajectoryFile(Source):
    name = "trajectory-file"
    title = "Conversation trajectories (JSONL)"
    is_index = True

    def claims(self, file: Probe) -> bool:
        """Decide by the first line; if that one is broken, by how copilog begins a line."""
        if file.suffix not in SUFFIXES or not file.may_hold_records or file.is_content:
            return False
        first = file.first_record
        if first is None:
            return file.suffix != ".json" and _BEGINNING.match(file.head) is not None
        is_trajectory = isinstance(first.get("conversation_id"), str) and isinstance(first.get("messages"), list)
        return is_trajectory and not SIGNS.isdisjoint(first)

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each conversation. All lines are counted here, so that reading one counts none again."""
        from copilog.sources.trajectories.conversation import pointer_of

        for native_id, places in survey(found.path, ledger).items():
            yield Conversation(
                id=places[0].id,
                native_id=native_id,
                source=self.name,
                marks=["stub", "inside"],
                provenance=[provenance_of(found, role="index", row=native_id, pointer=pointer_of(places[0]))],
            )

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield all conversations; with a `native_id` that one, whose lines `index` has counted."""

        if found.native_id is None:
            places = survey(found.path, ledger)
        else:
            known = line_positions(found.path)
            places = {found.native_id: known[found.native_id]} if found.native_id in known else {}
        for native_id, of_conversation in places.items():
            for copy in _with_counted_copies(of_conversation):
                yield from self._read(native_id, copy, found, ledger)

    def _read(self, native_id: str, places: list[Place], found: Found, ledger: Ledger) -> Iterator[Conversation]:
        from copilog.sources.trajectories.conversation import conversation_from, line_from, pointer_of

        lines = []
        for place in places:
            trajectory = trajectory_at(found.path, place)
            if trajectory is None:
                ledger.note(
                    "changed-while-reading",
                    "the file has changed, and another line is at this offset now",
                    line=place.line,
                )
            else:
                lines.append(line_from(trajectory, place, ledger))
        if lines:
            made = conversation_from(native_id, lines, self.name)
            made.provenance = [provenance_of(found, row=native_id, pointer=pointer_of(lines[0].place))]
            yield made


def _with_counted_copies(places: list[Place]) -> list[list[Place]]:
    """Count lines that repeat an id, as in files that were joined: they are copies of the conversation."""
    copies: list[list[Place]] = []
    met: dict[str, int] = {}
    for place in places:
        number = met[place.conversation_id] = met.get(place.conversation_id, -1) + 1
        if number == len(copies):
            copies.append([])
        copies[number].append(place)
    return copies


# The offset of each conversation in a file of trajectories, so that one can be read without the others.


SUBAGENT = "#"  # between the id of a conversation and the call that started a sub-agent
# The source of a trajectory decides which conversation it belongs to.
FAMILIES = {
    "cli-events": "cli",
    "cli-history": "cli",
    "session-todos": "cli",
    "rewind-snapshots": "cli",
    "atif": "atif",
}
COPILOT_HOME = ".copilot"
# Ids that copilog itself gave to conversations without one.
_OWN_ID = re.compile(r"(export|replay|atif|cli|vscode):[0-9a-f]{32}")


class Place(NamedTuple):
    """The owner and the offset of one line."""

    conversation_id: str  # as it is in the line
    id: str  # our own id of the conversation
    line: int
    offset: int
    length: int


# The lines of each conversation, sub-agents with their parents, in the order in which they first appear.
Places = dict[str, list[Place]]


def survey(path: Path, ledger: Ledger) -> Places:
    """Return the offsets of each conversation. Each line is one record; only offsets are held."""
    places: Places = {}
    for trajectory, line, offset, size in JsonLines(path, ledger, lambda value: "conversation_id" in value):
        try:
            name = _name_in(trajectory)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
            continue
        ledger.used += 1
        native_id, our_id = _owner_of(name, trajectory)
        places.setdefault(native_id, []).append(Place(name, our_id, line, offset, size))
    return places


def line_positions(path: Path) -> Places:
    """Return the offsets in a file whose records are counted already. An unchanged file is read once."""
    try:
        stat = path.stat()
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None
    return _cached_survey(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _cached_survey(path: Path, _size: int, _modified: int) -> Places:
    return survey(path, Ledger())


def trajectory_at(path: Path, place: Place) -> Json | None:
    """Return the trajectory at an offset, or None if the file has changed since."""
    try:
        trajectory = record_at(path, place.offset, place.length)
        is_same = isinstance(trajectory, dict) and _name_in(trajectory) == place.conversation_id
    except BadRecord:
        return None
    return trajectory if is_same else None


def _name_in(trajectory: Json) -> str:
    """Return the id of a line, unchanged. Raise BadRecord if the line is not a trajectory."""
    name = trajectory.get("conversation_id")
    if not isinstance(name, str) or not name:
        raise BadRecord("a trajectory without conversation_id")
    if not isinstance(trajectory.get("messages"), list):
        raise BadRecord("a trajectory without a list of messages")
    return name


def _owner_of(name: str, trajectory: Json) -> tuple[str, str]:
    """Return the conversation of a line, by its native id and by ours. A sub-agent belongs to its parent.

    Our id comes from the source that the trajectory was made from; telemetry comes from VS Code.
    """
    native_id = name.rpartition(SUBAGENT)[0] or name if is_subagent(trajectory) else name
    if _OWN_ID.fullmatch(native_id):
        return native_id.partition(":")[2], native_id
    kind, path = trajectory.get("telemetry_type"), trajectory.get("file_path")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        is_of_cli = isinstance(path, str) and COPILOT_HOME in re.split(r"[/\\]", path)
        family = "cli" if is_of_cli else "vscode"
    return native_id, f"{family}:{native_id}"


def is_subagent(trajectory: Json) -> bool:
    metadata = trajectory.get("metadata")
    return isinstance(metadata, dict) and metadata.get("subagent") is True
