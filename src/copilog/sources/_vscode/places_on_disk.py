"""Where below a storage folder VS Code keeps sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from copilog.sources.base import Found
from copilog.sources.roots import StorageFolder

SESSION_FOLDERS = ("chatSessions", "emptyWindowChatSessions", "transferredChatSessions")


def session_files(folder: StorageFolder, suffix: str, source: str) -> Iterator[Found]:
    """The session files of one kind in a storage folder, by name."""
    for name in SESSION_FOLDERS:
        for path in files_in(folder.path / name):
            if path.suffix.lower() == suffix:
                yield Found(path, source, native_id=path.stem, application=folder.application)


def files_in(folder: Path) -> list[Path]:
    """The plain files of a folder by name; none when the folder is missing or cannot be read.

    A link is left out: what it points to may lie outside of the folder that is to be read.
    """
    try:
        with os.scandir(folder) as entries:
            return _by_name(folder, [entry.name for entry in entries if entry.is_file(follow_symlinks=False)])
    except OSError:
        return []


def folders_in(folder: Path) -> list[Path]:
    """The plain folders of a folder by name; none when it is missing or cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return _by_name(folder, [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)])
    except OSError:
        return []


def _by_name(folder: Path, names: list[str]) -> list[Path]:
    return [folder / name for name in sorted(names, key=os.path.normcase)]
