"""What a session saved: artefacts and long pastes in files/, reports of the research agent in research/."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from copilog.errors import BadFile
from copilog.intake.files import read_bytes

FOLDERS = ("files", "research")
LONGEST_TEXT = 1 << 20  # bytes; of longer files only name and size are kept


def session_of_saved(path: Path, sessions: str) -> Path | None:
    """The session folder that a saved file lies in; None for any other file."""
    for folder in path.parents:
        if folder.name in FOLDERS and folder.parent.parent.name == sessions:
            return folder.parent
    return None


def saved_files(session: Path) -> list[Path]:
    """The files that a session saved, by name. Links are not followed."""
    found: list[Path] = []
    for name in FOLDERS:
        if (session / name).is_symlink():
            continue
        for parent, folders, files in os.walk(session / name, followlinks=False):
            folders.sort()
            found += [path for file in sorted(files) if not (path := Path(parent, file)).is_symlink()]
    return found


def saved_entry(path: Path, session: Path) -> dict[str, Any]:
    """What is kept of a saved file: its name, its size, and its text if it is one and not too long."""
    entry: dict[str, Any] = {"path": path.relative_to(session).as_posix(), "size": None}
    try:
        entry["size"] = path.stat().st_size
        if entry["size"] <= LONGEST_TEXT:
            entry["text"] = read_bytes(path).decode("utf-8")
    except (OSError, BadFile, UnicodeDecodeError):
        return entry
    return entry
