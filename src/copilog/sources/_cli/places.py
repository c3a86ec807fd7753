"""Where sessions lie below a Copilot home, and which file belongs to which of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from copilog.sources._cli.checkpoints import FOLDER as CHECKPOINTS
from copilog.sources._cli.companions import LOG, PLAN, VSCODE, VSCODE_REQUESTS, WORKSPACE
from copilog.sources._cli.saved_files import session_of_saved
from copilog.sources._vscode.places_on_disk import file_names_in, files_in, folder_names_in, is_plain_file

SESSIONS = "session-state"
COMPANIONS = (WORKSPACE, PLAN, VSCODE, VSCODE_REQUESTS)


def session_traces(home: Path) -> Iterator[tuple[Path, str]]:
    """The files that stand for sessions, each with the id of its session.

    A session folder has a log, or, when nothing was ever said in it, only its companions. Early releases wrote a
    log without a folder; where there are both, both are traces of one session.
    """
    sessions = home / SESSIONS
    above, log = f"{sessions}{os.sep}", os.sep + LOG
    for name in folder_names_in(sessions):
        path = sessions.joinpath(name, LOG) if is_plain_file(above + name + log) else main_file(sessions / name)
        if path is not None:
            yield path, name
    for name in file_names_in(sessions):
        path = sessions / name
        if path.suffix.lower() == ".jsonl":
            yield path, path.stem


def main_file(folder: Path) -> Path | None:
    """The file that stands for a session: its log, else the first of its companions that is there."""
    for name in (LOG, WORKSPACE, PLAN, VSCODE):
        if is_plain_file(folder / name):
            return folder / name
    if (folder / CHECKPOINTS).is_symlink():
        return None
    return next((path for path in files_in(folder / CHECKPOINTS) if path.suffix.lower() == ".md"), None)


def session_folder_of(path: Path) -> Path | None:
    """The folder of the session that a file belongs to, where it has one."""
    parent = path.parent
    if parent.parent.name == SESSIONS and path.name in (LOG, *COMPANIONS):
        return parent
    if parent.name == CHECKPOINTS and parent.parent.parent.name == SESSIONS and path.suffix.lower() in (".md", ".json"):
        return parent.parent
    if path.name == LOG and is_plain_file(parent / WORKSPACE):
        return parent  # a session folder that was copied elsewhere
    return session_of_saved(path, SESSIONS)


def is_companion(path: Path) -> bool:
    """Whether a file is one of those beside a log."""
    return path.name != LOG and session_folder_of(path) is not None


def is_log_by_place(path: Path) -> bool:
    """Whether a file is a log, going by where it lies."""
    if path.name == LOG:
        return path.parent.parent.name == SESSIONS
    return path.suffix.lower() == ".jsonl" and path.parent.name == SESSIONS
