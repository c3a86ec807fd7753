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

    Folders that were not searched go to `skipped`, each with a reason.
    """
    if not paths:
        return default_roots()
    roots: list[Root] = []
    for path in paths:
        if path.is_file():
            roots.append(Root("file", path, None, "named", True, path.absolute()))
            continue
        if not path.is_dir():
            reason = refusal(path.stat().st_mode) if path.exists() else "no such file or folder"
            raise UsageError(f"{path}: {reason}")
        found = roots_from(path, skipped=skipped)
        if not found:
            raise UsageError(
                f"{path}: this is not a home folder or a data folder of VS Code or Copilot, and there is "
                "none below it; to read single files, use `copilog inspect` or `copilog show`"
            )
        roots += found
    return roots


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
