"""Find out whether a program uses a user data folder: a running VS Code writes over what others put there.

On Linux, /proc tells which processes have files of the folder open. Elsewhere it is VS Code's lock file, `code.lock`,
which has the number of its process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from copilog.errors import UsageError

LOCK = "code.lock"
PROCESSES = Path("/proc")


def user_data_folder(path: Path) -> Path:
    """Return the user data folder around a session file, or the file's own folder if it is in none."""
    path = Path(os.path.realpath(path))
    return next((folder.parent for folder in path.parents if folder.name == "User"), path.parent)


def require_idle(path: Path) -> None:
    """Raise UsageError while a program uses the user data folder of a session file."""
    folder = user_data_folder(path)
    for user in users_of(folder):
        raise UsageError(f"{folder} is in use by {user}; close VS Code, and repeat the command")


def users_of(folder: Path) -> Iterator[str]:
    """Yield the processes that use a folder, as text."""
    if sys.platform.startswith("linux"):
        yield from _processes_with_files_in(folder)
    yield from _holder_of_lock(folder)


def _processes_with_files_in(folder: Path) -> Iterator[str]:
    for process in PROCESSES.iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            why = _why_it_uses(process, folder)
            if why is not None:
                yield f"process {process.name} ({_name_of(process)}), which {why}"


def _why_it_uses(process: Path, folder: Path) -> str | None:
    inside = f"{folder}{os.sep}"
    with suppress(OSError):  # it has ended, or is another user's
        words = (process / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        if _names_folder(words, folder):
            return "was started with it"
    with suppress(OSError), os.scandir(process / "fd") as links:
        for link in links:
            with suppress(OSError):
                target = os.readlink(link.path)  # noqa: PTH115 - the file may be deleted
                if target.startswith(inside):
                    return f"has {target} open"
    return None


def _names_folder(words: list[str], folder: Path) -> bool:
    option = "--user-data-dir"
    named = [word.removeprefix(f"{option}=") for word in words if word.startswith(f"{option}=")]
    named += [after for word, after in pairwise(words) if word == option]
    return any(os.path.realpath(name) == str(folder) for name in named if name)


def _name_of(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "ended"


def _holder_of_lock(folder: Path) -> Iterator[str]:
    try:
        text = (folder / LOCK).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return
    if text.isdecimal() and _is_running(int(text)):
        yield f"process {text}, which holds {folder / LOCK}"


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # VS Code removes the file when it ends
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
