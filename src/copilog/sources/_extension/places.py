"""Where the Copilot Chat extension keeps its things, below a storage folder of VS Code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from copilog.sources._vscode.places_on_disk import folder_names_in, is_plain_file
from copilog.sources.roots import StorageFolder

EXTENSION = "github.copilot-chat"  # with capitals below a workspace, without them in globalStorage
SESSION_STATE = "session-state"


def extension_folders(folder: StorageFolder, *names: str) -> Iterator[Path]:
    """The folders of these names, one below the other, that the extension has in a storage folder of VS Code."""
    if folder.kind == "copilot-home":
        return
    for child in folder_names_in(folder.path):
        if child.lower() == EXTENSION:
            inner = folder.path.joinpath(child, *names)
            if not any(path.is_symlink() for path in _steps(folder.path / child, names)):
                yield inner


def _steps(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        folder = folder / name
        yield folder


def below(path: PurePath, *names: str) -> tuple[str, ...] | None:
    """What follows these folder names in a path, the last time they stand there; None when they do not."""
    parts = path.parts
    size = len(names)
    for start in range(len(parts) - size - 1, -1, -1):
        if parts[start : start + size] == names:
            return parts[start + size :]
    return None


def is_extension_folder(path: PurePath) -> bool:
    return path.name.lower() == EXTENSION


def files_of_sessions(folder: StorageFolder, *names: str) -> Iterator[tuple[Path, str]]:
    """The files of this name, through no link, of the sessions in a home of Copilot CLI, each with its session's id."""
    sessions = folder.path / SESSION_STATE
    if folder.kind != "copilot-home" or sessions.is_symlink():
        return
    above, inside = f"{sessions}{os.sep}", f"{os.sep}{PurePath(*names)}"
    for session in folder_names_in(sessions):
        if is_plain_file(above + session + inside):
            path = sessions.joinpath(session, *names)
            if not path.parent.is_symlink():
                yield path, session
