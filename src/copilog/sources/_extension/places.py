"""Where the Copilot Chat extension keeps its things, below a storage folder of VS Code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath

from copilog.sources._vscode.places_on_disk import folders_in
from copilog.sources.roots import StorageFolder

EXTENSION = "github.copilot-chat"  # with capitals below a workspace, without them in globalStorage
SESSION_STATE = "session-state"


def extension_folders(folder: StorageFolder, *names: str) -> Iterator[Path]:
    """The folders of these names, one below the other, that the extension has in a storage folder of VS Code."""
    if folder.kind == "copilot-home":
        return
    for child in folders_in(folder.path):
        if child.name.lower() == EXTENSION:
            inner = child.joinpath(*names)
            if not any(path.is_symlink() for path in _steps(child, names)):
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


def session_folders(folder: StorageFolder) -> list[Path]:
    """The folders of the sessions in a home of Copilot CLI."""
    if folder.kind != "copilot-home" or (folder.path / SESSION_STATE).is_symlink():
        return []
    return folders_in(folder.path / SESSION_STATE)


def is_plain_file(path: Path) -> bool:
    """Whether there is a file that is no link: what a link points to may lie anywhere."""
    try:
        return path.is_file() and not path.is_symlink()
    except OSError:
        return False
