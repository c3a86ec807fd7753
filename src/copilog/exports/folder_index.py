"""Keep the index of a folder of exported conversations: for programs in `copilog-export.json`, for people beside it.

The first one tells which file is of which conversation. Only what it names is ever replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import msgspec

from copilog.atomic_files import atomic_file
from copilog.exports.file_names import numbered
from copilog.exports.formats import Format, Making
from copilog.exports.index import Entry, facts_of
from copilog.trajectory import encoded

NAME = "copilog-export.json"
LARGEST = 64 << 20


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One conversation of the folder, in one format."""

    id: str
    title: str
    format: str
    file: str | None = None  # None in a dataset, whose files have all conversations
    updated_at: datetime | None = None
    turns: int = 0

    @property
    def facts(self) -> str:
        return facts_of(self.updated_at, self.turns)


class _Content(msgspec.Struct, kw_only=True, omit_defaults=True):
    written_by: str = ""
    notice: str = ""
    conversations: list[Line] = []
    indexes: dict[str, str] = {}  # by format: the index for people


class FolderIndex:
    """The index of one folder, as it was found and as it becomes."""

    def __init__(self, folder: Path, content: _Content) -> None:
        self._folder = folder
        self._content = content

    @classmethod
    def is_in(cls, folder: Path) -> bool:
        """Return whether the folder has an index."""
        return (folder / NAME).is_file()

    @classmethod
    def read(cls, folder: Path) -> FolderIndex:
        """Return the index of a folder; an empty one if it has none, or one that is not ours."""
        content = _Content()
        path = folder / NAME
        with suppress(OSError, msgspec.DecodeError):
            if path.is_file() and path.stat().st_size <= LARGEST:
                content = msgspec.json.decode(path.read_bytes(), type=_Content)
        content.conversations = [line for line in content.conversations if _is_plain(line.file)]
        content.indexes = {kind: name for kind, name in content.indexes.items() if _is_plain(name)}
        return cls(folder, content)

    @classmethod
    def may_replace(cls, folder: Path, kind: Format) -> bool:
        """Return whether a dataset may take the place of a folder: it is empty, or such a dataset."""
        if not folder.is_dir() or folder.is_symlink():
            return False
        if not any(folder.iterdir()):
            return True
        lines = cls.read(folder).lines()
        return bool(lines) and all(line.format == kind.name and line.file is None for line in lines)

    def lines(self) -> list[Line]:
        return self._content.conversations

    def names(self) -> Iterator[str]:
        """Yield the names of the files that are spoken for."""
        yield NAME
        yield from self._content.indexes.values()
        yield from (line.file for line in self._content.conversations if line.file is not None)

    def name_of(self, conversation_id: str, kind: Format) -> str | None:
        """Return the file of a conversation; None if it has none here."""
        return next(
            (
                line.file
                for line in self._content.conversations
                if line.id == conversation_id and line.format == kind.name and line.file is not None
            ),
            None,
        )

    def add(self, kind: Format, names: Mapping[str, str], entries: Sequence[Entry], making: Making) -> None:
        """Add conversations with the names of their files, and write the index."""
        added = {each.id for each in entries}
        kept = [line for line in self._content.conversations if line.format != kind.name or line.id not in added]
        self._content.conversations = kept + [
            Line(
                id=each.id,
                title=each.title,
                format=kind.name,
                file=names.get(each.id),
                updated_at=each.moment,
                turns=each.turns,
            )
            for each in entries
        ]
        self._content.written_by, self._content.notice = making.by, making.notice
        self._write()

    def finish(self, kind: Format, making: Making) -> list[Path]:
        """Write the index again without the files that were not written, and the one for people; return its path."""
        lines = self._content.conversations
        self._content.conversations = [
            line for line in lines if line.file is None or (self._folder / line.file).is_file()
        ]
        paths = []
        if kind.folder_index is not None:
            name, draw = kind.folder_index
            name = self._content.indexes.setdefault(kind.name, self._free(name))
            here = [line for line in self._content.conversations if line.format == kind.name and line.file is not None]
            here.sort(key=lambda line: (line.updated_at is not None, line.updated_at, line.id), reverse=True)
            with atomic_file(self._folder / name, is_private=True) as file:
                file.write(draw(here, making).encode("utf-8", "replace"))
            paths.append(self._folder / name)
        self._write()
        return paths

    def _free(self, name: str) -> str:
        found, number = name, 1
        while (self._folder / found).exists() or (self._folder / found).is_symlink():
            number += 1
            found = numbered(name, number)
        return found

    def _write(self) -> None:
        text = msgspec.json.format(encoded(self._content), indent=2)
        with atomic_file(self._folder / NAME, is_private=True) as file:
            file.write(text + b"\n")


def _is_plain(name: str | None) -> bool:
    """Return whether it is the name of a file in the folder itself, and of no other one."""
    return name is None or (name not in ("", ".", "..") and not set("/\\:") & set(name))
