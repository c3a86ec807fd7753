"""The document of a conversation: all of it, as JSON, packed.

    chapters   messages in lists of CHAPTER each, as long as others follow
    frame 1    the conversation without what stands elsewhere, and without the brace that ends it
    frame 2    its traces, with the sizes and times of their files, and the brace
    frame 3    a line break and the texts of files, where there are any

Joined, the frames are a line of JSON, or two. Most conversations have no chapters. Those that have get longer at their
end as a rule, and a chapter that is as it was need not be written again. The texts of files are kept apart, each once:
what a step of an editing session leaves is what the next one finds, so that written out they would make most of an
archive. The digest is taken of everything but the sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from copilog import jsonio
from copilog.derive.outcomes import settle_running
from copilog.model import Conversation, Message
from copilog.store.packing import pack, pack_pieces, unpack

CHAPTER = 128  # messages
_DIGEST_BYTES = 16
_LONG_ENOUGH_TO_TELL = 64  # the last characters of a text; few others have the same, and its length

_SELECT = """
    SELECT data FROM (
        SELECT 0 AS is_document, position, data FROM chapter WHERE conversation = ?1
        UNION ALL SELECT 1, 0, data FROM document WHERE conversation = ?1
    ) ORDER BY is_document, position
"""

_encoder = msgspec.json.Encoder()

Number = int | None  # of a text; None where there is none


class Chapter(NamedTuple):
    """Messages of a long conversation, packed."""

    digest: bytes
    data: bytes


class Document(NamedTuple):
    """A whole conversation, packed. The digest is that of all of it."""

    data: bytes
    chapters: list[Chapter]
    digest: bytes


class FileTexts(msgspec.Struct):
    """The texts of files, and which of them stand in the changes and files of a conversation, in their order."""

    texts: list[str]
    changes: list[tuple[Number, Number]]  # before, after
    files: list[tuple[Number, Number, Number]]  # initial, original, current


def document_of(conversation: Conversation) -> Document:
    """All of a conversation, as it is stored."""
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
    """The conversation that a document holds, equal to the one that was stored."""
    unpacked = unpack(data)
    end = unpacked.find(b"\n")  # JSON as it is written here has no line breaks of its own
    if end < 0:
        conversation = _decoder().decode(unpacked)
    else:
        lines = memoryview(unpacked)
        conversation = _decoder().decode(lines[:end])
        _put_texts(conversation, _texts_decoder().decode(lines[end:]))
    earlier = [message for chapter in chapters for message in _messages_decoder().decode(unpack(chapter))]
    if earlier:
        conversation.messages = earlier + conversation.messages
    return conversation


def stored_conversation(connection: sqlite3.Connection, rowid: int) -> Conversation | None:
    """A conversation of the archive by its number; None where it has no document."""
    # In one statement, as a scan may be writing at the same time.
    *chapters, data = [data for (data,) in connection.execute(_SELECT, (rowid,))] or [None]
    if data is None:
        return None
    conversation = conversation_from(data, chapters)
    settle_running(conversation)
    return conversation


def without_half_characters(conversation: Conversation) -> Conversation:
    """The same with U+FFFD for what is no character: file names of any bytes, cut halves of a pair."""
    text = json.dumps(msgspec.to_builtins(conversation)).encode()
    return msgspec.convert(jsonio.decode(text)[0], Conversation)


@cache
def _decoder() -> msgspec.json.Decoder[Conversation]:
    """Made when it is needed: knowing the whole model takes a while."""
    return msgspec.json.Decoder(Conversation)


@cache
def _texts_decoder() -> msgspec.json.Decoder[FileTexts]:
    return msgspec.json.Decoder(FileTexts)


@cache
def _messages_decoder() -> msgspec.json.Decoder[list[Message]]:
    return msgspec.json.Decoder(list[Message])


# --- chapters ---------------------------------------------------------------------------------------------------


def _without_chapters(conversation: Conversation) -> tuple[Conversation, list[Chapter]]:
    """The conversation with its last messages, and chapters of those before; it is given back as it is when short."""
    messages = conversation.messages
    if len(messages) <= CHAPTER:
        return conversation, []
    rest = (len(messages) - 1) // CHAPTER * CHAPTER
    chapters = [_chapter_of(messages[start : start + CHAPTER]) for start in range(0, rest, CHAPTER)]
    return replace(conversation, messages=messages[rest:]), chapters


def _chapter_of(messages: list[Message]) -> Chapter:
    data = pack(_encoder.encode(messages))
    return Chapter(hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest(), data)


# --- the texts of files -----------------------------------------------------------------------------------------


def _without_texts(conversation: Conversation) -> tuple[Conversation, FileTexts | None]:
    """The conversation without the texts of files, and those; it is given back as it is where it has none."""
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
    """A line break and the texts as JSON, one by one: all versions of a large file are much more than the file."""
    yield b'\n{"texts":['
    separator = b""
    for text in texts.texts:
        yield separator
        yield _encoder.encode(text)
        separator = b","
    yield b'],"changes":' + _encoder.encode(texts.changes)
    yield b',"files":' + _encoder.encode(texts.files) + b"}"


def _put_texts(conversation: Conversation, texts: FileTexts) -> None:
    """Give changes and files their texts back."""
    known: dict[Number, str | None] = dict(enumerate(texts.texts))
    for change, (before, after) in zip(conversation.file_changes, texts.changes, strict=True):
        change.before, change.after = known.get(before), known.get(after)
    for file, (initial, original, current) in zip(conversation.files, texts.files, strict=True):
        file.initial, file.original, file.current = known.get(initial), known.get(original), known.get(current)


class _Numbered:
    """Texts, each once, by their number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._alike: dict[tuple[int, str], list[int]] = {}

    def number(self, text: str | None) -> Number:
        if text is None:
            return None
        # Texts of this size take longer to hash than to compare: as a rule, the same text is the same object.
        alike = self._alike.setdefault((len(text), text[-_LONG_ENOUGH_TO_TELL:]), [])
        for number in alike:
            if self.texts[number] == text:
                return number
        alike.append(len(self.texts))
        self.texts.append(text)
        return alike[-1]
