"""List the files and folders below a storage folder in which sources look for their files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from stat import S_ISREG

from copilog.intake.folders import entries_in
from copilog.sources.base import Found
from copilog.sources.roots import StorageFolder

# Where below a storage folder VS Code keeps sessions; and which files and folders there are, told quickly. What is
# here runs for thousands of files at every start. So it works with names as long as it can: a `Path` costs more
# than to ask the system about a file.


_NAME = os.path.normcase
SESSION_FOLDERS = ("chatSessions", "emptyWindowChatSessions", "transferredChatSessions")


def session_files(folder: StorageFolder, suffix: str, source: str) -> Iterator[Found]:
    """The session files of one kind in a storage folder, by name."""
    for name in SESSION_FOLDERS:
        place = folder.path / name
        for file in file_names_in(place):
            stem = file[: -len(suffix)]
            if stem and file[len(stem) :].lower() == suffix:
                yield Found(place / file, source, native_id=stem, application=folder.application)


def files_in(folder: Path) -> list[Path]:
    """The plain files of a folder by name; none when the folder is missing or cannot be read.

    A link is left out: what it points to may lie outside of the folder that is to be read.
    """
    return [folder / name for name in file_names_in(folder)]


def folders_in(folder: Path) -> list[Path]:
    """The plain folders of a folder by name; none when it is missing or cannot be read."""
    return [folder / name for name in folder_names_in(folder)]


def file_names_in(folder: Path) -> list[str]:
    """The names of `files_in`."""
    return sorted([entry.name for entry in entries_in(folder) if entry.is_file(follow_symlinks=False)], key=_NAME)


def folder_names_in(folder: Path) -> list[str]:
    """The names of `folders_in`."""
    return sorted([entry.name for entry in entries_in(folder) if entry.is_dir(follow_symlinks=False)], key=_NAME)


def is_plain_file(path: Path | str) -> bool:
    """Whether there is a file that is no link: what a link points to may lie anywhere.

    A folder that may not be entered is an error, which is told, and not the same as one without the file.
    """
    try:
        return S_ISREG(os.lstat(path).st_mode)
    except PermissionError:
        raise
    except (OSError, ValueError):  # the latter for a name that no file can have
        return False


# Where the Copilot Chat extension keeps its things, below a storage folder of VS Code.


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
