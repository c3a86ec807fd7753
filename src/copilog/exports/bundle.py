"""Export conversations for another copilog: one .zip file with their models, their own files, and their records.

    conversations/0001.json    the model, as `copilog export --format json` writes it
    files/1/.copilot/...       files and folders that belong to this conversation alone, as they are
    records/0001.jsonl         what shared files have of this conversation, as the model
    copilog-bundle.json        what the bundle contains, with a sum of each file, and the user's stars, labels and notes

The file is written from its beginning to its end. Format notes: docs/formats/own-files.md
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

import msgspec

from copilog.errors import BadFile
from copilog.exports.bundle_content import OwnFile, RecordsOf, content_of, member_name
from copilog.exports.formats import Format, Making
from copilog.exports.index import NOTHING_ADDED, Added, Entry
from copilog.exports.json_text import document_pieces, json_text
from copilog.intake.files import opened
from copilog.model import Conversation
from copilog.sources.own_files.manifest import NAME, Bundled, Manifest, Member, RawFile

CHUNK = 1 << 20
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first time that a .zip file can express
_MODE = 0o100600 << 16  # a regular file of the user's alone


class _Output:
    """What a .zip file is written to: a stream that cannot go back, read piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


class _Bundle:
    """The .zip file that is being written."""

    def __init__(self, making: Making) -> None:
        self._making = making
        self._output = _Output()
        self._zip = zipfile.ZipFile(self._output, "w", zipfile.ZIP_DEFLATED)  # type: ignore[call-overload]
        self._homes: dict[str, int] = {}
        self._names: set[str] = set()
        self._files: dict[Path, RawFile] = {}
        self.manifest = Manifest(written_by=making.by, written_at=making.at, is_redacted=making.is_redacted)

    def add(self, number: int, conversation: Conversation, added: Added) -> Iterator[bytes]:
        """Add one conversation."""
        bundled = Bundled(
            id=conversation.id,
            native_id=conversation.native_id,
            source=conversation.source,
            model=f"conversations/{number:04}.json",
        )
        self._add_annotations(bundled, conversation.id, added)
        yield from self._member(bundled.model, _encoded(document_pieces(conversation)))
        if self._making.is_redacted:
            self._making.left_out.add(
                conversation.id, "files as their programs wrote them", len(conversation.provenance)
            )
        else:
            yield from self._add_content(number, bundled, conversation)
        self.manifest.conversations.append(bundled)

    def finish(self) -> Iterator[bytes]:
        """Add the list of what is in the bundle, and the end of the .zip file."""
        text = msgspec.json.format(msgspec.json.encode(self.manifest), indent=2)
        yield from self._member(NAME, iter([text, b"\n"]))
        self._zip.close()
        yield self._output.take()

    def _add_annotations(self, bundled: Bundled, conversation_id: str, added: Added) -> None:
        if self._making.options.no_annotations:
            return
        if self._making.is_redacted:  # they are not part of the conversation in which secrets were replaced
            number = added.is_starred + len(added.labels) + (added.note is not None)
            self._making.left_out.add(conversation_id, "stars, labels and notes", number)
            return
        bundled.is_starred, bundled.labels, bundled.note = added.is_starred, list(added.labels), added.note

    def _add_content(self, number: int, bundled: Bundled, conversation: Conversation) -> Iterator[bytes]:
        content = content_of(conversation)
        missing = content.missing
        for file in content.files:
            written = yield from self._add_file(bundled, file)
            missing += not written
        if content.records:
            bundled.records = f"records/{number:04}.jsonl"
            yield from self._member(bundled.records, _encoded(map(_record, content.records)))
        self._making.left_out.add(conversation.id, "files that are not on this machine any more", missing)

    def _add_file(self, bundled: Bundled, file: OwnFile) -> Generator[bytes, None, bool]:
        """Add a file as it is; return whether it could be read. A file that changes meanwhile is as it was found."""
        if file.path in self._files:  # of several conversations
            bundled.files.append(self._files[file.path])
            return True
        name = self._free(member_name(file.path, self._homes))
        pieces = _pieces_of(file.path)
        try:
            modified = datetime.fromtimestamp(file.path.stat().st_mtime, UTC)
            first = next(pieces, b"")
        except (BadFile, OSError):
            return False
        yield from self._member(name, chain([first], pieces), modified)
        path = str(file.path).encode("utf-8", "replace").decode()
        self._files[file.path] = RawFile(member=name, path=path, source=file.source, modified_at=modified)
        bundled.files.append(self._files[file.path])
        return True

    def _member(self, name: str, pieces: Iterator[bytes], modified: datetime | None = None) -> Iterator[bytes]:
        info = zipfile.ZipInfo(name, _time_of(modified or self._making.at))
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, _MODE
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as member:
            for piece in pieces:
                digest.update(piece)
                size += len(piece)
                member.write(piece)
                yield self._output.take()
        yield self._output.take()
        self._names.add(name.casefold())
        if name != NAME:
            self.manifest.members[name] = Member(size=size, sha256=digest.hexdigest())

    def _free(self, name: str) -> str:
        """Return a name that no member has, also where capitals make no difference."""
        if name.casefold() not in self._names:
            return name
        return next(other for number in count(2) if (other := f"{name}-{number}").casefold() not in self._names)


def _pieces(conversations: Iterable[Conversation], index: Sequence[Entry], making: Making) -> Iterator[bytes]:
    bundle = _Bundle(making)
    added = {entry.id: entry.added for entry in index}
    for number, conversation in enumerate(conversations, 1):
        yield from bundle.add(number, conversation, added.get(conversation.id, NOTHING_ADDED))
    if bundle.manifest.conversations:
        yield from bundle.finish()


def _pieces_of(path: Path) -> Iterator[bytes]:
    """Yield the content of a file. Raise BadFile if it cannot be opened."""
    with opened(path) as file:
        yield file.read(CHUNK)
        with suppress(OSError):  # of a disk that was removed meanwhile: what was read is the file
            while piece := file.read(CHUNK):
                yield piece


def _record(record: RecordsOf) -> str:
    """Return a line about what one shared file has of a conversation."""
    trace = record.trace
    about = {"source": trace.source, "path": trace.path, "table": trace.table, "row": trace.row}
    return json_text({**about, "conversation": record.conversation}, is_compact=True) + "\n"


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    return (text.encode("utf-8", "replace") for text in texts)


def _time_of(moment: datetime | None) -> tuple[int, int, int, int, int, int]:
    if moment is None or moment.year < _EARLIEST[0]:
        return _EARLIEST
    return moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second


FORMAT = Format(
    "bundle",
    "bundle",
    ".copilog.zip",
    "application/zip",
    _pieces,
    shape="lines",
    options=frozenset({"no_annotations"}),
)
