"""Files of trajectories, one to a line: read in one pass, or found again by id and place."""

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
MOST_IDS = 20_000  # that are looked through for near ones

Json = dict[str, Any]
Heard = Callable[[int], None]  # is told how many bytes were read


class Sighting(NamedTuple):
    """Where a conversation stands in a file, and how many more lines have its id."""

    conversation_id: str
    number: int
    offset: int
    size: int
    repeats: int = 0


class _OnlyId(msgspec.Struct):
    conversation_id: str


_decode_id = msgspec.json.Decoder(_OnlyId).decode


def shown(path: Path) -> str:
    """A path as text; bytes of a name that are no UTF-8 show as U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def trajectories_in(path: Path, ledger: Ledger, heard: Heard | None = None) -> Iterator[tuple[str, Json, Record]]:
    """Yield id, trajectory and place of each line; what is no trajectory goes to the ledger."""
    for record in _records(path, ledger, heard):
        trajectory, number, offset, _ = record
        conversation_id = trajectory.get("conversation_id")
        if isinstance(conversation_id, str):
            yield conversation_id, trajectory, record
        else:
            ledger.reject("bad-record", "no conversation_id, so this is no trajectory", line=number, offset=offset)


def _records(
    path: Path, ledger: Ledger, heard: Heard | None, decode: Callable[[bytes], Any] | None = None
) -> Iterator[Record]:
    options: dict[str, Any] = {} if decode is None else {"decode": decode}
    try:
        for record in JsonLines(path, ledger, lambda value: "conversation_id" in value, **options):
            yield record
            if heard is not None:
                heard(record[-1] + 1)
    except BadFile as error:
        raise BadFile(f"{shown(path)}: {error}", error.code) from None


def read_back(path: Path, sighting: Sighting) -> Json:
    """The trajectory that was seen at a place."""
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
    old: Path, new: Path, wanted: str, heard: Heard | None = None
) -> tuple[Sighting | None, Sighting | None]:
    """Where a conversation stands in each of two files, by its id or the beginning of it.

    Raise UsageError when neither file has it, or when several ids begin so.
    """
    seen = [_ids_beginning_with(wanted, path, heard) for path in (old, new)]
    candidates = list(dict.fromkeys([*seen[0], *seen[1]]))
    if wanted in candidates:
        candidates = [wanted]
    if not candidates:
        raise UsageError(_not_there(old, new, wanted))
    if len(candidates) > 1:
        shown = ", ".join(map(repr, candidates[:MOST_NEAR])) + (", ..." if len(candidates) > MOST_NEAR else "")
        raise UsageError(f"{wanted!r} matches several ids: {shown}; type more of one of them")
    return seen[0].get(candidates[0]), seen[1].get(candidates[0])


def _ids_beginning_with(wanted: str, path: Path, heard: Heard | None) -> dict[str, Sighting]:
    found: dict[str, Sighting] = {}
    for conversation_id, (_, number, offset, size) in _ids_of(path, heard):
        if not conversation_id.startswith(wanted):
            continue
        first = found.get(conversation_id)
        if first is not None:
            found[conversation_id] = first._replace(repeats=first.repeats + 1)
        elif conversation_id == wanted or len(found) < MOST_NEAR + 2:
            found[conversation_id] = Sighting(conversation_id, number, offset, size)
    return found


def _ids_of(path: Path, heard: Heard | None = None) -> Iterator[tuple[str, Record]]:
    """Id and place of each line that has one; `copilog compare` without an id tells of the others."""
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
    hint = f"; near to it: {', '.join(map(repr, near))}" if near else ""
    return f"no conversation has the id {wanted!r} in {shown(old)} or {shown(new)}{hint}"
