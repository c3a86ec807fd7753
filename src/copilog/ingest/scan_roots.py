"""Find the folders to read: the default ones of this machine, or those that the user named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from copilog.errors import UsageError
from copilog.intake.files import refusal, why_missing
from copilog.sources.real_paths import RealPaths
from copilog.sources.root_search import LOOSE, NOT_SEARCHED, Skipped
from copilog.sources.roots import Root, StorageFolder, default_roots, roots_from

MOST_IDENTIFIED = 1000  # files outside of all roots that are opened, to report those with conversations


def find_roots(paths: Sequence[Path] = (), skipped: list[Skipped] | None = None) -> list[Root]:
    """Return the roots to search: those at and below the named paths only, else the default ones of this machine.

    A folder without any has its conversations in files of their own, such as exports: each of these is a root. Folders
    that were not searched go to `skipped`, each with a reason.
    """
    if not paths:
        return default_roots()
    roots: list[Root] = []
    for path in paths:
        if path.is_file():
            roots.append(_root_of(path, path))
            continue
        if not path.is_dir():
            reason = refusal(path.stat().st_mode) if path.exists() else why_missing(path)
            raise UsageError(f"{path}: {reason}")
        found = roots_below(path, skipped=skipped) or _files_in(path)
        if not found:
            raise UsageError(
                f"{path}: this is not a home folder or a data folder of VS Code or Copilot, and there is "
                "none below it, nor a file with a conversation"
            )
        roots += found
    return roots


def roots_below(path: Path, why: str = "--root", skipped: list[Skipped] | None = None) -> list[Root]:
    """Return the root at a named folder, and all roots below it; none if there are none.

    What was not searched goes to `skipped`, with the files outside of all roots that have conversations.
    """
    passed_over: list[Skipped] = []
    roots = roots_from(path, why, passed_over)
    if skipped is not None:
        skipped += [each for each in passed_over if each[1] != LOOSE]
        skipped += _loose_files(path, [file for file, reason in passed_over if reason == LOOSE])
    return roots


def _loose_files(top: Path, candidates: Sequence[Path]) -> Iterator[Skipped]:
    """Report files with conversations that are in none of the found folders: the first, and how many more."""
    from copilog.sources import Probe, identify

    found: list[Path] = []
    for path in candidates[:MOST_IDENTIFIED]:
        try:
            is_known = identify(Probe(path)) is not None
        except UsageError:  # two formats claim it
            is_known = True
        if is_known:
            found.append(path)
    if found:
        more = f", and {len(found) - 1:,} more" if len(found) > 1 else ""
        yield (
            found[0],
            f"{NOT_SEARCHED}{more}: a file with conversations outside of the found folders; name it to read it",
        )
    if (left := len(candidates) - MOST_IDENTIFIED) > 0:
        yield top, f"{NOT_SEARCHED} in full: {left:,} JSON files outside of the found folders may have conversations"


def _root_of(path: Path, named: Path) -> Root:
    return Root("file", path, None, "named", True, named.absolute())


def _files_in(folder: Path) -> list[Root]:
    """Return the files below a folder that have conversations, whatever their format."""
    from copilog.diagnostics import Report
    from copilog.ingest.discovery import founds_in

    paths = {trace.path for found in founds_in(folder, Report()) for trace in found.traces()}
    return [_root_of(path, folder) for path in sorted(paths)]


class SeenFolders:
    """Storage folders seen so far, by their real paths: roots may be nested."""

    def __init__(self) -> None:
        self._real_paths: set[str] = set()
        self._paths = RealPaths()

    def is_new(self, folder: StorageFolder) -> bool:
        """Return whether a folder has not been seen before."""
        place = self._paths.of(folder.path)
        is_new = place not in self._real_paths
        self._real_paths.add(place)
        return is_new
