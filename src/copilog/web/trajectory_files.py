"""Files of trajectories that the user opened: on the command line, or by dropping them on the page.

Dropped files are stored in a private folder until the server ends. Pages name files by a key, never by a path: no
address gives access to other files.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException

LARGEST = 2 << 30  # bytes of a dropped file
LONGEST_NAME = 120


class OpenedFile(NamedTuple):
    key: str
    name: str  # as shown
    path: Path
    size: int
    is_dropped: bool


class OpenedFiles:
    """All open files, in the order in which they were opened."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._files: dict[str, OpenedFile] = {}
        self._folder: Path | None = None
        self._lock = threading.Lock()
        for path in paths:
            self._add(path.name, path, is_dropped=False)

    def all(self) -> list[OpenedFile]:
        return list(self._files.values())

    def get(self, key: str) -> OpenedFile:
        """Return the file with this key, or raise a 404."""
        found = self._files.get(key)
        if found is None:
            raise HTTPException(404, "no such file is open; open it again")
        return found

    async def drop(self, name: str, chunks: AsyncIterator[bytes]) -> OpenedFile:
        """Store a file that a page sends."""
        path = self._private_folder() / f"{secrets.token_hex(8)}.jsonl"
        size = 0
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > LARGEST:
                        raise HTTPException(
                            413, f"the file is larger than {LARGEST >> 30} GiB: open it with `copilog serve FILE`"
                        )
                    file.write(chunk)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return self._add(name, path, is_dropped=True)

    def close(self, key: str) -> None:
        found = self._files.pop(key, None)
        if found is not None and found.is_dropped:
            found.path.unlink(missing_ok=True)

    def close_all(self) -> None:
        """Delete all dropped files."""
        self._files.clear()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, name: str, path: Path, *, is_dropped: bool) -> OpenedFile:
        made = OpenedFile(
            secrets.token_urlsafe(9), name[:LONGEST_NAME] or "(unnamed)", path, path.stat().st_size, is_dropped
        )
        self._files[made.key] = made
        return made

    def _private_folder(self) -> Path:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="copilog-opened-"))  # for the user only
            return self._folder
