"""Files of trajectories, one to a line: read in one pass, or again by id and offset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord, UsageError
from copilog.intake.records import JsonLines, Record, record_at

MOST_NEAR = 3
MOST_IDS = 20_000  # searched for similar ones

Json = dict[str, Any]
ReportBytesRead = Callable[[int], None]  # called with the number of bytes that were read


class LinePosition(NamedTuple):
    """The position of a conversation in a file, and how many more lines have its id."""

    conversation_id: str
    number: int
    offset: int
    size: int
    repeats: int = 0


class _OnlyId(msgspec.Struct):
    conversation_id: str


_decode_id = msgspec.json.Decoder(_OnlyId).decode


def shown(path: Path) -> str:
    """Return a path as text; bytes of a name that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def trajectories_in(
    path: Path, ledger: Ledger, heard: ReportBytesRead | None = None
) -> Iterator[tuple[str, Json, Record]]:
    """Yield id, trajectory and position of each line. A line that is not a trajectory goes to the ledger."""
    for record in _records(path, ledger, heard):
        trajectory, number, offset, _ = record
        conversation_id = trajectory.get("conversation_id")
        if isinstance(conversation_id, str):
            yield conversation_id, trajectory, record
        else:
            ledger.reject(
                "bad-record", "no conversation_id, so the line is not a trajectory", line=number, offset=offset
            )


def _records(
    path: Path, ledger: Ledger, heard: ReportBytesRead | None, decode: Callable[[bytes], Any] | None = None
) -> Iterator[Record]:
    options: dict[str, Any] = {} if decode is None else {"decode": decode}
    try:
        for record in JsonLines(path, ledger, lambda value: "conversation_id" in value, **options):
            yield record
            if heard is not None:
                heard(record[-1] + 1)
    except BadFile as error:
        raise BadFile(f"{shown(path)}: {error}", error.code) from None


def read_back(path: Path, sighting: LinePosition) -> Json:
    """Return the trajectory at a position."""
    try:
        trajectory = record_at(path, sighting.offset, sighting.size)
    except BadFile as error:
        raise BadFile(f"{shown(path)}: {error}", error.code) from None
    except BadRecord:
        trajectory = None
    if not isinstance(trajectory, dict) or trajectory.get("conversation_id") != sighting.conversation_id:
        raise BadFile(f"{shown(path)} changed while it was read", "changed-while-reading")
    return trajectory


def find_conversation(
    old: Path, new: Path, wanted: str, heard: ReportBytesRead | None = None
) -> tuple[LinePosition | None, LinePosition | None]:
    """Return the position of a conversation in each of two files, by its id or the beginning of it.

    Raise UsageError if neither file has it, or if several ids begin so.
    """
    seen = [_ids_beginning_with(wanted, path, heard) for path in (old, new)]
    candidates = list(dict.fromkeys([*seen[0], *seen[1]]))
    if wanted in candidates:
        candidates = [wanted]
    if not candidates:
        raise UsageError(_not_there(old, new, wanted))
    if len(candidates) > 1:
        shown = ", ".join(map(repr, candidates[:MOST_NEAR])) + (", ..." if len(candidates) > MOST_NEAR else "")
        raise UsageError(f"{wanted!r} matches several ids: {shown}; type more characters of the one you mean")
    return seen[0].get(candidates[0]), seen[1].get(candidates[0])


def _ids_beginning_with(wanted: str, path: Path, heard: ReportBytesRead | None) -> dict[str, LinePosition]:
    found: dict[str, LinePosition] = {}
    for conversation_id, (_, number, offset, size) in _ids_of(path, heard):
        if not conversation_id.startswith(wanted):
            continue
        first = found.get(conversation_id)
        if first is not None:
            found[conversation_id] = first._replace(repeats=first.repeats + 1)
        elif conversation_id == wanted or len(found) < MOST_NEAR + 2:
            found[conversation_id] = LinePosition(conversation_id, number, offset, size)
    return found


def _ids_of(path: Path, heard: ReportBytesRead | None = None) -> Iterator[tuple[str, Record]]:
    """Yield id and position of each line that has an id; `copilog compare` without an id reports the others."""
    for record in _records(path, Ledger(), heard, _decode_id):
        value = record[0]
        conversation_id = value.conversation_id if isinstance(value, _OnlyId) else value.get("conversation_id")
        if isinstance(conversation_id, str):
            yield conversation_id, record


def _not_there(old: Path, new: Path, wanted: str) -> str:
    ids = {each: None for path in (old, new) for each, _ in islice(_ids_of(path), MOST_IDS)}
    if not ids:
        return f"there is no trajectory in {shown(old)} nor in {shown(new)}"
    near = get_close_matches(wanted, ids, MOST_NEAR)
    hint = f"; similar ids: {', '.join(map(repr, near))}" if near else ""
    return f"no conversation has the id {wanted!r} in {shown(old)} or {shown(new)}{hint}"
