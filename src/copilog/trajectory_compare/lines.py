"""Files of trajectories, one to a line: read in one pass, or found again by id and place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from copilog import jsonio
from copilog.errors import BadFile, BadRecord, UsageError

BUFFER_BYTES = 1 << 20
MOST_NEAR = 3
MOST_IDS = 20_000  # that are looked through for near ones

Heard = Callable[[int], None]  # is told how many bytes were read


class Sighting(NamedTuple):
    """Where a conversation stands in a file, and how many more lines have its id."""

    conversation_id: str
    number: int
    offset: int
    repeats: int = 0


class _OnlyId(msgspec.Struct):
    conversation_id: str


_decode_id = msgspec.json.Decoder(_OnlyId).decode


def shown(path: Path) -> str:
    """A path as text; bytes of a name that are no UTF-8 show as U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def lines_of(path: Path, heard: Heard | None = None) -> Iterator[tuple[int, int, bytes]]:
    """Line number, byte offset and bytes of each line; a byte order mark is no part of the first one."""
    offset = 0
    try:
        with path.open("rb", buffering=BUFFER_BYTES) as file:
            for number, line in enumerate(file, start=1):
                marked = number == 1 and line.startswith(jsonio.UTF8_MARK)
                yield number, offset, line.removeprefix(jsonio.UTF8_MARK) if marked else line
                offset += len(line)
                if heard is not None:
                    heard(len(line))
    except OSError as error:
        raise BadFile(f"{shown(path)}: cannot be read: {error.strerror or error}", "unreadable") from None


def decode_trajectory(line: bytes) -> tuple[str, dict[str, Any]]:
    """The id and the trajectory of a line; raise BadRecord for anything else."""
    value, _ = jsonio.decode(line)
    if not isinstance(value, dict):
        raise BadRecord("not a JSON object", "bad-record")
    conversation_id = value.get("conversation_id")
    if not isinstance(conversation_id, str):
        raise BadRecord("no conversation_id, so this is no trajectory", "bad-record")
    return conversation_id, value


def read_back(path: Path, sighting: Sighting) -> dict[str, Any]:
    """The trajectory that was seen at a place."""
    try:
        with path.open("rb") as file:
            file.seek(sighting.offset)
            conversation_id, trajectory = decode_trajectory(file.readline().removeprefix(jsonio.UTF8_MARK))
    except OSError as error:
        raise BadFile(f"{shown(path)}: cannot be read: {error.strerror or error}", "unreadable") from None
    except BadRecord:
        conversation_id, trajectory = "", {}
    if conversation_id != sighting.conversation_id:
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
    for number, offset, conversation_id in _ids_of(path, heard):
        if not conversation_id.startswith(wanted):
            continue
        first = found.get(conversation_id)
        if first is not None:
            found[conversation_id] = first._replace(repeats=first.repeats + 1)
        elif conversation_id == wanted or len(found) < MOST_NEAR + 2:
            found[conversation_id] = Sighting(conversation_id, number, offset)
    return found


def _ids_of(path: Path, heard: Heard | None = None) -> Iterator[tuple[int, int, str]]:
    """Line number, byte offset and id of each line that has one."""
    for number, offset, line in lines_of(path, heard):
        try:
            yield number, offset, _decode_id(line).conversation_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            try:
                yield number, offset, decode_trajectory(line)[0]
            except BadRecord:
                continue  # `copilog compare` without an id tells of it


def _not_there(old: Path, new: Path, wanted: str) -> str:
    ids = {each: None for path in (old, new) for _, _, each in islice(_ids_of(path), MOST_IDS)}
    if not ids:
        return f"there is no trajectory in {shown(old)} nor in {shown(new)}"
    near = get_close_matches(wanted, ids, MOST_NEAR)
    hint = f"; near to it: {', '.join(map(repr, near))}" if near else ""
    return f"no conversation has the id {wanted!r} in {shown(old)} or {shown(new)}{hint}"
