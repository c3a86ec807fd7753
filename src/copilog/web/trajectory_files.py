"""Files of trajectories that somebody opened: named on the command line, or dropped on the page.

What is dropped is kept in a private folder for as long as the server runs. A page knows files by a key, never by a
path: no address names a place on the disk.
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

LARGEST = 2 << 30  # bytes of a file that is dropped
LONGEST_NAME = 120


class OpenedFile(NamedTuple):
    key: str
    name: str  # as shown
    path: Path
    size: int
    is_dropped: bool


class OpenedFiles:
    """All that are open, in the order in which they were opened."""

    def __init__(self, paths: Iterable[Path] = ()) -> None:
        self._files: dict[str, OpenedFile] = {}
        self._folder: Path | None = None
        self._lock = threading.Lock()
        for path in paths:
            self._add(path.name, path, is_dropped=False)

    def all(self) -> list[OpenedFile]:
        return list(self._files.values())

    def get(self, key: str) -> OpenedFile:
        """The file with this key; none such is a 404."""
        found = self._files.get(key)
        if found is None:
            raise HTTPException(404, "no such file is open; open it again")
        return found

    async def drop(self, name: str, chunks: AsyncIterator[bytes]) -> OpenedFile:
        """Keep what a page sends."""
        path = self._private_folder() / f"{secrets.token_hex(8)}.jsonl"
        size = 0
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > LARGEST:
                        raise HTTPException(
                            413, f"files of more than {LARGEST >> 30} GiB: copilog serve FILE opens them"
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
        """Delete what was dropped."""
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
                self._folder = Path(tempfile.mkdtemp(prefix="copilog-opened-"))  # for this user alone
            return self._folder
