"""Where in a file of trajectories each conversation stands, so that one can be read without the others."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.records import JsonLines, record_at
from copilog.sources._vscode.take import Json

SUBAGENT = "#"  # between the id of a conversation and the call that started a sub-agent
# Whose conversation a trajectory is of, going by the source that it was made from.
FAMILIES = {
    "cli-events": "cli",
    "cli-history": "cli",
    "session-todos": "cli",
    "rewind-snapshots": "cli",
    "atif": "atif",
}
COPILOT_HOME = ".copilot"
# Ids that copilog itself gave to conversations that carried none.
_OWN_ID = re.compile(r"(export|replay|atif|cli|vscode):[0-9a-f]{32}")


class Place(NamedTuple):
    """One line: whose it is, and where."""

    conversation_id: str  # as it stands there
    id: str  # our own of the conversation
    line: int
    offset: int
    length: int


# The lines of each conversation, sub-agents with their parents, in the order in which they first appear.
Places = dict[str, list[Place]]


def survey(path: Path, ledger: Ledger) -> Places:
    """Return where each conversation stands. Each line is one record; nothing but places is kept."""
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


def places_in(path: Path) -> Places:
    """The same for a file whose records are counted already. A file that has not changed is looked at once."""
    try:
        stat = path.stat()
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None
    return _remembered(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _remembered(path: Path, _size: int, _modified: int) -> Places:
    return survey(path, Ledger())


def trajectory_at(path: Path, place: Place) -> Json | None:
    """Return the trajectory at a place; None when the file has changed since."""
    try:
        trajectory = record_at(path, place.offset, place.length)
        is_same = isinstance(trajectory, dict) and _name_in(trajectory) == place.conversation_id
    except BadRecord:
        return None
    return trajectory if is_same else None


def _name_in(trajectory: Json) -> str:
    """The id of a line as it stands there; BadRecord for what is no trajectory."""
    name = trajectory.get("conversation_id")
    if not isinstance(name, str) or not name:
        raise BadRecord("a trajectory without conversation_id")
    if not isinstance(trajectory.get("messages"), list):
        raise BadRecord("a trajectory without a list of messages")
    return name


def _owner_of(name: str, trajectory: Json) -> tuple[str, str]:
    """The conversation that a line belongs to, by its native id and by ours; a sub-agent belongs to its parent.

    Our id is the one that the source gave which the trajectory is of; telemetry comes from VS Code.
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
