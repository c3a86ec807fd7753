"""Images and other binary parts of a conversation, written to files.

Names come from the conversation and are not to be trusted: no name leads out of the folder, and no file is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from copilog.errors import UsageError
from copilog.model import AnyPart, Attachment, Conversation, ToolResult, turn_number

# A table of our own, because that of Python's mimetypes depends on the machine.
EXTENSIONS = {
    "application/gzip": ".gz",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "application/zip": ".zip",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "image/bmp": ".bmp",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/jpg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/tiff": ".tiff",
    "image/webp": ".webp",
    "text/csv": ".csv",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "video/mp4": ".mp4",
}
SAME_EXTENSION = {".jpeg": ".jpg", ".htm": ".html", ".tif": ".tiff"}
UNKNOWN_EXTENSION = ".bin"
LONGEST_NAME = 60  # characters, so that four bytes for each still make a file name on any system
MOST_OF_A_NAME = 1000

_ODD = re.compile(r"[^\w.+\-]+")


class Binary(NamedTuple):
    """Bytes of a conversation, with their name, type and turn."""

    turn: int | None  # counted from 1
    name: str
    mime_type: str | None
    data: bytes


class Written(NamedTuple):
    """A file, and whether it is new: an earlier run may have written the same bytes."""

    path: Path
    binary: Binary
    is_new: bool


def binaries_of(conversation: Conversation) -> Iterator[Binary]:
    """Yield everything that has bytes: attachments of prompts, sent or not, and results of tools."""
    for message in conversation.messages:
        yield from _binaries_in(message.parts, turn_number(message.turn))
    for queued in conversation.queued:
        yield from _binaries_in(queued.message.parts, None)
    if conversation.draft is not None:
        yield from _binaries_in(conversation.draft.attachments, None)


def _binaries_in(parts: list[AnyPart], turn: int | None) -> Iterator[Binary]:
    for part in parts:
        if isinstance(part, Attachment) and part.data is not None:
            yield Binary(turn, part.name or part.type, part.mime_type, part.data)
        elif isinstance(part, ToolResult):
            for item in part.items:
                if item.data is not None:
                    yield Binary(turn, "result", item.mime_type, item.data)


def save(binaries: Iterator[Binary], folder: Path) -> Iterator[Written]:
    """Write each to a file of its own in the folder, which is created if it does not exist."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; --save-attachments needs one")
    for binary in binaries:
        folder.mkdir(parents=True, exist_ok=True)
        path, is_new = _write(folder, file_name(binary), binary.data)
        yield Written(path, binary, is_new)


def file_name(binary: Binary) -> str:
    """Return a file name that is valid on any system, such as `turn02-shot.png`."""
    stem, suffix = _stem_and_suffix(binary.name)
    wanted = EXTENSIONS.get((binary.mime_type or "").partition(";")[0].strip().lower())
    if wanted is None:
        wanted = suffix or UNKNOWN_EXTENSION
    elif suffix and SAME_EXTENSION.get(suffix, suffix) != wanted:
        stem += suffix
    prefix = "unsent" if binary.turn is None else f"turn{binary.turn:02}"
    return f"{prefix}-{stem[:LONGEST_NAME].strip('._-') or 'attachment'}{wanted}"


def _stem_and_suffix(name: str) -> tuple[str, str]:
    """Return the name without its folder and odd characters, and its suffix if it has one."""
    last = name[-MOST_OF_A_NAME:].replace("\\", "/").rstrip("/").rpartition("/")[2]
    clean = _ODD.sub("_", last).strip("._-")
    stem, dot, suffix = clean.rpartition(".")
    if dot and stem and re.fullmatch(r"[A-Za-z0-9]{1,8}", suffix):
        return stem, f".{suffix.lower()}"
    return clean, ""


def _write(folder: Path, name: str, data: bytes) -> tuple[Path, bool]:
    """Write a new file. If the name is taken by other bytes, add a number to it."""
    stem, _, suffix = name.rpartition(".")
    number = 1
    while True:
        path = folder / (name if number == 1 else f"{stem}-{number}.{suffix}")
        try:
            with path.open("xb") as file:  # never opens an existing file, and follows no link
                file.write(data)
        except FileExistsError:
            if _holds(path, data):
                return path, False
            number += 1
        else:
            return path, True


def _holds(path: Path, data: bytes) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
