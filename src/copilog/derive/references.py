"""What an answer was based on, each file once however many of its ranges were recorded."""

from __future__ import annotations

from posixpath import normpath
from typing import NamedTuple

from copilog.model import Turn, UsedReference

STATUSES = (None, "complete", "partial", "omitted")  # of several references to a file the best counts


class UsedFile(NamedTuple):
    """A file, an address or a text that a turn refers to, and every reference to it."""

    references: list[UsedReference]
    status: str | None


def used_files(turn: Turn) -> list[UsedFile]:
    """Return what a turn refers to, in the order of the first reference to each."""
    groups: dict[str, list[UsedReference]] = {}
    for reference in turn.references:
        groups.setdefault(_key_of(reference), []).append(reference)
    return [UsedFile(group, min((each.status for each in group), key=_rank)) for group in groups.values()]


def _key_of(reference: UsedReference) -> str:
    place = reference.place
    if place is not None and place.path:
        is_windows = place.path[1:3] in (":\\", ":/")
        return normpath(place.path.lower().replace("\\", "/") if is_windows else place.path)
    if place is not None and place.uri:
        return place.uri
    return (place.name if place is not None else None) or reference.text or reference.variable or ""


def _rank(status: str | None) -> int:
    return STATUSES.index(status) if status in STATUSES else 1
