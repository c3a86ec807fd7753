"""Choose the conversations to write: of an archive, as they are at hand, or redacted.

Redacted ones wait in a temporary file without a name: nothing is written before all of them could be redacted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple

import msgspec

from copilog.atomic_files import temporary_file
from copilog.derive.estimating import DEFAULTS, Calibration
from copilog.exports.index import Added, Entry, entry, entry_of
from copilog.model import Conversation
from copilog.redaction import Redactor
from copilog.store.archive import Archive
from copilog.store.calibrating import parameters_of


class Chosen(NamedTuple):
    """The conversations to write, each read when it is its turn."""

    entries: Sequence[Entry]
    get: Callable[[str], Conversation]
    calibration: Calibration = DEFAULTS  # of estimates, as the archive has it


def chosen_in(archive: Archive, ids: Sequence[str]) -> Chosen:
    """Return conversations of an archive."""
    found = archive.summaries(ids)
    rows = [found[each] for each in ids if each in found]
    entries = [
        entry(
            row.id,
            row.title,
            row.updated_at or row.started_at,
            row.turns,
            row.started_at,
            Added(row.is_starred, tuple(row.labels), row.note),
        )
        for row in rows
    ]
    return Chosen(entries, archive.get, parameters_of(archive.connection))


def chosen_of(conversations: Iterable[Conversation]) -> Chosen:
    """Return conversations that were read already."""
    by_id = {conversation.id: conversation for conversation in conversations}
    return Chosen([entry_of(conversation) for conversation in by_id.values()], by_id.__getitem__)


@contextmanager
def redacted(chosen: Chosen, redactor: Redactor | None) -> Iterator[Chosen]:
    """Return the same conversations redacted; as they are if there is no redactor."""
    if redactor is None:
        yield chosen
        return
    with held(chosen, (redactor.value(chosen.get(each.id)) for each in chosen.entries), redactor) as found:
        yield found


@contextmanager
def held(chosen: Chosen, conversations: Iterable[Conversation], redactor: Redactor) -> Iterator[Chosen]:
    """Keep the chosen conversations, redacted, in a temporary file, and return them as what is to be written."""
    with temporary_file() as file:
        holder = _Holder(file)
        entries = [
            holder.add(conversation)._replace(added=redactor.value(each.added))
            for each, conversation in zip(chosen.entries, conversations, strict=True)
        ]
        yield Chosen(entries, holder.get, chosen.calibration)


class _Holder:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[str, tuple[int, int]] = {}

    def add(self, conversation: Conversation) -> Entry:
        data = msgspec.msgpack.encode(conversation)
        self._places[conversation.id] = self._file.tell(), len(data)
        self._file.write(data)
        return entry_of(conversation)

    def get(self, conversation_id: str) -> Conversation:
        start, length = self._places[conversation_id]
        self._file.seek(start)
        return msgspec.msgpack.decode(self._file.read(length), type=Conversation)
