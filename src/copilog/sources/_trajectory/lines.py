"""Where in a file of trajectories each conversation stands, so that one can be read without the others."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.sources._extension.lines import iter_lines
from copilog.sources._vscode.take import Json

SUBAGENT = "#"  # between the id of a conversation and the call that started a sub-agent
PADDING = b" \t\r\n\0"
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
    """Look at all lines of a file, each of them one record. Nothing but places is kept."""
    places: Places = {}
    for line in iter_lines(path):
        if line.offset == 0 and line.data.startswith(jsonio.UTF8_MARK):
            ledger.note("byte-order-mark", "the file starts with a byte order mark", line=1, offset=0)
        if not line.data.strip(PADDING):
            ledger.seen += 1
            ledger.ignore("blank-line")
            continue
        with ledger.record(line=line.number, offset=line.offset):
            trajectory, repairs = _decoded(line.data, is_last_open=line.is_last_open)
            name = _name_in(trajectory)
            native_id, our_id = _owner_of(name, trajectory)
            place = Place(name, our_id, line.number, line.offset, len(line.data))
            places.setdefault(native_id, []).append(place)
            for repair in repairs:
                ledger.note(repair.code, repair.reason, "info", line=line.number, offset=line.offset)
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
    """The trajectory at a place; None when the file has changed since."""
    try:
        with path.open("rb") as file:
            if file.read(2) in jsonio.UTF16_MARKS:
                file.seek(0)
                data = jsonio.as_utf8(file.read())[0][place.offset : place.offset + place.length]
            else:
                file.seek(place.offset)
                data = file.read(place.length)
        trajectory = _decoded(data)[0]
        is_same = _name_in(trajectory) == place.conversation_id
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None
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


def _decoded(data: bytes, *, is_last_open: bool = False) -> tuple[Json, list[jsonio.Repair]]:
    try:
        value, repairs = jsonio.decode(data.removeprefix(jsonio.UTF8_MARK).strip(PADDING))
    except BadRecord:
        if is_last_open:
            raise BadRecord("the last line breaks off", "torn-tail") from None
        raise
    if not isinstance(value, dict):
        raise BadRecord(f"a line that is {type(value).__name__}, not an object")
    return value, repairs
