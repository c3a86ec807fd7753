"""List the files that an answer was based on, each file once, however many of its ranges were recorded."""

from __future__ import annotations

from posixpath import normpath
from typing import NamedTuple

from copilog.model import Turn, UsedReference

STATUSES = (None, "complete", "partial", "omitted")  # the best of several references to a file counts


class UsedFile(NamedTuple):
    """A file, an address or a text that a turn refers to, and every reference to it."""

    references: list[UsedReference]
    status: str | None

    @property
    def status_label(self) -> str:
        """Return how much of it was used: the text shown to the user, else the status; empty if all of it was."""
        written = next((each.status_text for each in self.references if each.status_text), None)
        return written or (self.status if self.status in ("partial", "omitted") else "") or ""


def used_files(turn: Turn, folder: str | None) -> list[UsedFile]:
    """Return the files that a turn refers to, in the order of the first reference to each.

    `folder` is the folder of the workspace, if known: relative paths start there.
    """
    groups: dict[str, list[UsedReference]] = {}
    for reference in turn.references:
        groups.setdefault(_key_of(reference, folder), []).append(reference)
    return [UsedFile(group, min((each.status for each in group), key=_rank)) for group in groups.values()]


def _key_of(reference: UsedReference, folder: str | None) -> str:
    place = reference.place
    if place is not None and place.path:
        return _normal_path(place.path, folder)
    if place is not None and place.uri:
        return place.uri
    return (place.name if place is not None else None) or reference.text or reference.variable or ""


def _normal_path(path: str, folder: str | None) -> str:
    """Return the normalised absolute path if its root is known. Windows paths ignore case."""
    is_absolute = path.startswith(("/", "\\")) or _is_windows(path)
    if folder and not is_absolute:
        path = f"{folder}/{path}"
    return normpath(path.lower().replace("\\", "/") if _is_windows(path) else path)


def _is_windows(path: str) -> bool:
    return path[1:3] in (":\\", ":/")


def _rank(status: str | None) -> int:
    return STATUSES.index(status) if status in STATUSES else 1
