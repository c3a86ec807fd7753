"""Record what an archive is made from: each scan stores its origins, and later commands update only from these.

The user's own archive in its usual place is made from this machine, whatever else was put into it. Any other one, also
that of COPILOG_ARCHIVE, is made from the folders and files that were named when it was filled; from the default folders
of a machine only if it was filled from these, and on that machine. A new one is made from this machine, and so is that
of COPILOG_ARCHIVE while only files and folders of exports were added to it. A folder that does not exist now, such as
that of a disk that is not mounted, is skipped: none of its conversations counts as gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from copilog.errors import CopilogError, UsageError
from copilog.ingest.scan_roots import find_roots
from copilog.sources.roots import LINK, Root
from copilog.store.archive import Archive
from copilog.store.database import archive_path, own_archive_path, real_path
from copilog.store.units import MACHINE, paths_of_root, put_origin, recorded_origins

NAMED = frozenset({"--root", "named", "bundled sample"})  # values of `Root.why` for roots that the user named
CONFIGURED = "config file"


class Scope(NamedTuple):
    """Roots that are scanned together: traces of one conversation may be in several of them."""

    name: str
    roots: list[Root]
    absent: list[str]  # folders that belong to it and do not exist now


class Origins(NamedTuple):
    """The origins of an archive. `notes` say which are not updated, and why."""

    scopes: list[Scope]
    paths: list[Path]
    notes: list[str]

    @property
    def roots(self) -> list[Root]:
        return [root for scope in self.scopes for root in scope.roots]

    @property
    def has_machine(self) -> bool:
        return any(scope.name == MACHINE for scope in self.scopes)


def scope_of(roots: Sequence[Root]) -> Scope:
    """Return the scope of these roots: conversations that were discovered in it, and no longer are, are gone."""
    absent = [str(root.path) for root in roots if root.why == CONFIGURED and not root.exists]
    there = [root for root in roots if root.exists]
    if all(root.why in NAMED or root.why.startswith(LINK) for root in roots):
        return Scope(list_of(str(root.named or root.path) for root in roots), there, absent)
    return Scope(MACHINE, there, absent)


def named_origins(roots: Sequence[Root], paths: Sequence[Path]) -> Origins:
    """Return the roots and paths that the user named as origins to scan."""
    return Origins([scope_of(roots)] if roots else [], list(paths), [])


def list_of(paths: Iterable[str]) -> str:
    return "\n".join(sorted(set(paths)))


def remember(archive: Archive, scopes: Iterable[Scope], paths: Iterable[Path]) -> None:
    """Store these scopes and paths as further origins of an archive."""
    for scope in scopes:
        kind = "machine" if scope.name == MACHINE else "roots"
        put_origin(archive.connection, scope.name, kind, str(Path.home()) if kind == "machine" else None)
    for path in paths:
        put_origin(archive.connection, str(path.absolute()), "path")


def origins_of(archive: Archive, machine: Callable[[], list[Root]]) -> Origins:
    """Return the origins of an archive; `machine` returns the default folders of this machine."""
    known = recorded_origins(archive.connection)
    path, origins = real_path(archive.path), Origins([], [], [])
    has_roots = any(kind != "path" for _, kind, _ in known)
    is_default = path == real_path(archive_path())  # which COPILOG_ARCHIVE may name
    if path == real_path(own_archive_path()) or (is_default and not has_roots) or (not known and _is_new(archive)):
        return Origins([scope_of(machine())], [], [])
    if not known:
        origins.notes.append(
            "it has no record of what it was made from, and is not updated; copilog scan --root adds to it"
        )
    for name, kind, home in known:
        if kind == "machine":
            _add_machine(origins, archive, machine, home)
        else:
            _add_named(origins, name.split("\n"), kind)
    return origins


def roots_of(path: Path, machine: Callable[[], list[Root]]) -> list[Root]:
    """Return the folders that the archive at a path is made from; empty if it cannot be opened."""
    try:
        with Archive(path) as archive:
            return origins_of(archive, machine).roots
    except CopilogError:
        return []


def _is_new(archive: Archive) -> bool:
    return archive.connection.execute("SELECT 1 FROM conversation LIMIT 1").fetchone() is None


def _add_machine(origins: Origins, archive: Archive, machine: Callable[[], list[Root]], home: str | None) -> None:
    scope = scope_of(machine())
    if home is None:  # an earlier version did not record the machine
        tops = tuple(f"{root.path}{os.sep}" for root in scope.roots)
        is_here = any(path.startswith(tops) for path in paths_of_root(archive.connection, MACHINE))
    else:
        is_here = home == str(Path.home())
    if is_here:
        origins.scopes.append(scope)
    else:
        origins.notes.append(
            f"it was made from {home or 'another machine'}, which is not this home folder; it is not updated"
        )


def _add_named(origins: Origins, folders: list[str], kind: str) -> None:
    """Add folders that were named together, or a single file or folder."""
    roots: list[Root] = []
    absent: list[str] = []
    for folder in folders:
        try:
            roots += find_roots([Path(folder)]) if kind != "path" else []
        except UsageError:  # it does not exist, or contains nothing in a known format
            absent.append(folder)
    if roots:
        origins.scopes.append(Scope(list_of(folders), roots, absent))
    elif kind != "roots" and all(_holds_anything(Path(folder)) for folder in folders):
        origins.paths.extend(map(Path, folders))
        return
    if missing := absent if roots else folders:
        origins.notes.append(f"{', '.join(missing)}: does not exist now; its conversations stay in the archive")


def _holds_anything(path: Path) -> bool:
    """Return whether a path has content; an empty folder may be the mount point of an absent disk."""
    try:
        return path.is_file() or any(path.iterdir())
    except OSError:
        return False
