"""Find the folders to read: the default ones of this machine, or those that the user named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from copilog.errors import UsageError
from copilog.intake.files import refusal
from copilog.sources.real_paths import RealPaths
from copilog.sources.root_search import Skipped
from copilog.sources.roots import Root, StorageFolder, default_roots, roots_from


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
            reason = refusal(path.stat().st_mode) if path.exists() else "no such file or folder"
            raise UsageError(f"{path}: {reason}")
        found = roots_from(path, skipped=skipped) or _files_in(path)
        if not found:
            raise UsageError(
                f"{path}: this is not a home folder or a data folder of VS Code or Copilot, and there is "
                "none below it, nor a file with a conversation"
            )
        roots += found
    return roots


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
