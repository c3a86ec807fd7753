"""Pack a conversation as its document: all of it, as JSON.

    chapters   messages in lists of CHAPTER each, as long as others follow
    frame 1    the conversation without the content of other frames, and without the closing brace
    frame 2    its traces, with the sizes and times of their files, and the brace
    frame 3    a line break and the texts of files, where there are any

Joined, the frames are a line of JSON, or two. Most conversations have no chapters. Those that have usually grow at
their end, and an unchanged chapter need not be written again. The texts of files are stored separately, each once:
the result of a step of an editing session is the input of the next one, so repeated texts would be most of an
archive. The digest covers everything except the sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from typing import Any, NamedTuple, overload

import msgspec
from msgspec.structs import replace

from copilog import jsonio
from copilog.derive.document_kinds import with_known_kinds
from copilog.derive.outcomes import settle_running
from copilog.model import Conversation, Message
from copilog.store.database import unmapped
from copilog.store.packing import pack, pack_pieces, unpack

CHAPTER = 128  # messages
_DIGEST_BYTES = 16
_MOST_PACKED_BYTES = 16 << 20  # of chapters in memory
_DISTINCTIVE_ENDING = 64  # the last characters of a text; few texts share them and its length

# Not ordered, as SQLite would hold all chapters to sort them.
_SELECT = """
    SELECT position, data FROM chapter WHERE conversation = ?1
    UNION ALL SELECT NULL, data FROM document WHERE conversation = ?1
"""

_HAS_CHAPTERS = "SELECT 1 FROM chapter WHERE conversation = ? LIMIT 1"

_encoder = msgspec.json.Encoder()

Number = int | None  # number of a text; None if there is no text


class Chapter(NamedTuple):
    """Messages of a long conversation, packed."""

    digest: bytes
    data: bytes


class ChapterFile(Sequence[Chapter]):
    """The chapters of a large conversation, in a temporary file."""

    def __init__(self, chapters: Iterable[Chapter]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the last use of the chapters
        self._places: list[tuple[bytes, int, int]] = []  # digest, offset and size
        for chapter in chapters:
            self.append(chapter)

    def append(self, chapter: Chapter) -> None:
        self._places.append((chapter.digest, self._file.seek(0, 2), len(chapter.data)))
        self._file.write(chapter.data)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Chapter: ...
    @overload
    def __getitem__(self, index: slice) -> list[Chapter]: ...
    def __getitem__(self, index: int | slice) -> Chapter | list[Chapter]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        digest, offset, size = self._places[index]
        self._file.seek(offset)
        return Chapter(digest, self._file.read(size))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class Document(NamedTuple):
    """A packed conversation. The digest covers all of it."""

    data: bytes
    chapters: Sequence[Chapter]
    digest: bytes


class FileTexts(msgspec.Struct):
    """The texts of files, and the numbers of the texts in the changes and files of a conversation, in their order."""

    texts: list[str]
    changes: list[tuple[Number, Number]]  # before, after
    files: list[tuple[Number, Number, Number]]  # initial, original, current


def document_of(conversation: Conversation) -> Document:
    """Return the document of a conversation."""
    traces = conversation.provenance
    plain, texts = _without_texts(replace(conversation, provenance=[]))
    plain, chapters = _without_chapters(plain)
    head = pack(memoryview(_encoder.encode(plain))[:-1])
    tail = pack_pieces(_pieces(texts)) if texts is not None else b""
    digest = hashlib.blake2b(head, digest_size=_DIGEST_BYTES)
    for chapter in chapters:
        digest.update(chapter.digest)
    digest.update(tail)
    digest.update(_encoder.encode([replace(trace, size=None, modified_at=None) for trace in traces]))
    data = head + pack(b',"provenance":' + _encoder.encode(traces) + b"}") + tail
    return Document(data, chapters, digest.digest())


def conversation_from(data: bytes, chapters: Iterable[bytes] = ()) -> Conversation:
    """Return the conversation of a document, equal to the one that was stored."""
    unpacked = unpack(data)
    end = unpacked.find(b"\n")  # this JSON has no line breaks inside
    if end < 0:
        conversation = jsonio.with_room(_decoded, unpacked)
    else:
        lines = memoryview(unpacked)
        conversation = jsonio.with_room(_decoded, lines[:end])
        _put_texts(conversation, _texts_decoder().decode(lines[end:]))
    earlier = [message for chapter in chapters for message in _messages_of(chapter)]
    if earlier:
        conversation.messages = earlier + conversation.messages
    return conversation


def _messages_of(chapter: bytes) -> list[Message]:
    return jsonio.with_room(_messages_decoder().decode, unpack(chapter))


def stored_conversation(connection: sqlite3.Connection, rowid: int) -> Conversation | None:
    """Return a conversation of the archive by its number; None if it has no document."""
    conversation: Conversation | None = None
    earlier: dict[int, list[Message]] = {}
    is_long = connection.execute(_HAS_CHAPTERS, (rowid,)).fetchone() is not None
    with unmapped(connection) if is_long else nullcontext():
        # One statement, as a scan may write at the same time; and one packed chapter at a time in memory.
        for position, data in connection.execute(_SELECT, (rowid,)):
            if position is None:
                conversation = conversation_from(data)
            else:
                earlier[position] = _messages_of(data)
    if conversation is None:
        return None
    before = [message for position in sorted(earlier) for message in earlier[position]]
    conversation.messages = before + conversation.messages
    settle_running(conversation)
    return conversation


def without_half_characters(conversation: Conversation) -> Conversation:
    """Replace lone surrogates by U+FFFD: undecodable bytes of file names, halves of a cut pair."""
    text = json.dumps(msgspec.to_builtins(conversation)).encode()
    return msgspec.convert(with_known_kinds(jsonio.decode(text)[0]), Conversation)


def _decoded(data: bytes | memoryview) -> Conversation:
    try:
        return _decoder().decode(data)
    except msgspec.ValidationError:  # an archive of another version may have documents of other kinds
        return msgspec.convert(with_known_kinds(msgspec.json.decode(data)), Conversation)


@cache
def _decoder() -> msgspec.json.Decoder[Conversation]:
    """Return the decoder, created on first use: analysing the model is slow."""
    return msgspec.json.Decoder(Conversation)


@cache
def _texts_decoder() -> msgspec.json.Decoder[FileTexts]:
    return msgspec.json.Decoder(FileTexts)


@cache
def _messages_decoder() -> msgspec.json.Decoder[list[Message]]:
    return msgspec.json.Decoder(list[Message])


# --- chapters ---------------------------------------------------------------------------------------------------


def _without_chapters(conversation: Conversation) -> tuple[Conversation, Sequence[Chapter]]:
    """Return the conversation with its last messages, and chapters of the earlier ones; a short one is unchanged."""
    messages = conversation.messages
    if len(messages) <= CHAPTER:
        return conversation, []
    rest = (len(messages) - 1) // CHAPTER * CHAPTER
    chapters: list[Chapter] | ChapterFile = []
    size = 0
    for start in range(0, rest, CHAPTER):
        chapter = _chapter_of(messages[start : start + CHAPTER])
        size += len(chapter.data)
        if size > _MOST_PACKED_BYTES and isinstance(chapters, list):
            chapters = ChapterFile(chapters)
        chapters.append(chapter)
    return replace(conversation, messages=messages[rest:]), chapters


def _chapter_of(messages: list[Message]) -> Chapter:
    data = pack(_encoder.encode(messages))
    return Chapter(hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest(), data)


# --- the texts of files -----------------------------------------------------------------------------------------


def _without_texts(conversation: Conversation) -> tuple[Conversation, FileTexts | None]:
    """Return the conversation without the texts of files, and the texts; one without texts is unchanged."""
    if not conversation.file_changes and not conversation.files:
        return conversation, None
    numbered = _Numbered()
    number = numbered.number
    texts = FileTexts(
        numbered.texts,
        [(number(change.before), number(change.after)) for change in conversation.file_changes],
        [(number(file.initial), number(file.original), number(file.current)) for file in conversation.files],
    )
    plain = replace(
        conversation,
        file_changes=[replace(change, before=None, after=None) for change in conversation.file_changes],
        files=[replace(file, initial=None, original=None, current=None) for file in conversation.files],
    )
    return plain, texts


def _pieces(texts: FileTexts) -> Iterator[bytes]:
    """Yield a line break and the texts as JSON, one by one: all versions of a large file need much memory."""
    yield b'\n{"texts":['
    separator = b""
    for text in texts.texts:
        yield separator
        yield _encoder.encode(text)
        separator = b","
    yield b'],"changes":' + _encoder.encode(texts.changes)
    yield b',"files":' + _encoder.encode(texts.files) + b"}"


def _put_texts(conversation: Conversation, texts: FileTexts) -> None:
    """Restore the texts of changes and files."""
    known: dict[Number, str | None] = dict(enumerate(texts.texts))
    for change, (before, after) in zip(conversation.file_changes, texts.changes, strict=True):
        change.before, change.after = known.get(before), known.get(after)
    for file, (initial, original, current) in zip(conversation.files, texts.files, strict=True):
        file.initial, file.original, file.current = known.get(initial), known.get(original), known.get(current)


class _Numbered:
    """Numbers distinct texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._by_ending: dict[tuple[int, str], list[int]] = {}

    def number(self, text: str | None) -> Number:
        if text is None:
            return None
        # Texts of this size take longer to hash than to compare: usually, an equal text is the same object.
        candidates = self._by_ending.setdefault((len(text), text[-_DISTINCTIVE_ENDING:]), [])
        for number in candidates:
            if self.texts[number] == text:
                return number
        candidates.append(len(self.texts))
        self.texts.append(text)
        return candidates[-1]
