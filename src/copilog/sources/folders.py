"""List the files and folders below a storage folder in which sources look for their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

from copilog.intake.folders import is_link, is_regular_file, names_in
from copilog.sources.base import Found
from copilog.sources.roots import StorageFolder

# The folders below a storage folder where VS Code keeps sessions, and a fast listing of files and folders. This code
# runs for thousands of files at every start, so it works with names as long as it can: a `Path` costs more than a
# system call about a file.


_NAME = os.path.normcase
SESSION_FOLDERS = ("chatSessions", "emptyWindowChatSessions", "transferredChatSessions")


def session_files(folder: StorageFolder, suffix: str, source: str) -> Iterator[Found]:
    """Yield the session files of one kind in a storage folder, by name."""
    present = names_in(folder.path).folders
    for name in SESSION_FOLDERS:
        if name not in present:
            continue
        place = folder.path / name
        for file in file_names_in(place):
            stem = file[: -len(suffix)]
            if stem and file[len(stem) :].lower() == suffix:
                yield Found(place / file, source, native_id=stem, application=folder.application)


def files_in(folder: Path) -> list[Path]:
    """Return the plain files of a folder by name; none if the folder is missing or unreadable.

    Links are left out, as their targets may be outside of the folder.
    """
    return [folder / name for name in file_names_in(folder)]


def folders_in(folder: Path) -> list[Path]:
    """Return the plain folders of a folder by name; none if it is missing or unreadable."""
    return [folder / name for name in folder_names_in(folder)]


def file_names_in(folder: Path) -> list[str]:
    """Return the names of `files_in`."""
    return sorted(names_in(folder).files, key=_NAME)


def folder_names_in(folder: Path) -> list[str]:
    """Return the names of `folders_in`."""
    return sorted(names_in(folder).folders, key=_NAME)


def is_plain_file(path: Path | str) -> bool:
    """Return whether there is a file that is not a link, as a link may lead anywhere.

    Links, pipes and folders without permission are noted, and differ from a folder without the file.
    """
    return is_regular_file(path)


# Where the Copilot Chat extension stores its data, below a storage folder of VS Code.


EXTENSION = "github.copilot-chat"  # with capitals below a workspace, without them in globalStorage
SESSION_STATE = "session-state"


def extension_folders(folder: StorageFolder, *names: str) -> Iterator[Path]:
    """Yield the folders of these names, one below the other, that the extension has in a storage folder of VS Code."""
    if folder.kind == "copilot-home":
        return
    for child in folder_names_in(folder.path):
        if child.lower() == EXTENSION:
            inner = folder.path.joinpath(child, *names)
            if not any(is_link(path) for path in _steps(folder.path / child, names)):
                yield inner


def _steps(folder: Path, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        folder = folder / name
        yield folder


def below(path: PurePath, *names: str) -> tuple[str, ...] | None:
    """Return the parts of a path after the last occurrence of these folder names, or None without one."""
    parts = path.parts
    size = len(names)
    for start in range(len(parts) - size - 1, -1, -1):
        if parts[start : start + size] == names:
            return parts[start + size :]
    return None


def is_extension_folder(path: PurePath) -> bool:
    return path.name.lower() == EXTENSION


def files_of_sessions(folder: StorageFolder, *names: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of these names, without links, in the sessions of a Copilot CLI home, with each session's id."""
    sessions = folder.path / SESSION_STATE
    if folder.kind != "copilot-home" or is_link(sessions):
        return
    above, inside = f"{sessions}{os.sep}", f"{os.sep}{PurePath(*names)}"
    for session in folder_names_in(sessions):
        if is_plain_file(above + session + inside):
            path = sessions.joinpath(session, *names)
            if not is_link(path.parent):
                yield path, session
