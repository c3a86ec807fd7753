"""Conversations as `copilog show --json` and `copilog export --format json` write them: a document, or JSON lines.

Format notes: docs/formats/own-files.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from copilog import jsonio
from copilog.diagnostics import Ledger
from copilog.errors import BadFile, BadRecord
from copilog.intake.files import read_small
from copilog.intake.limits import largest_record
from copilog.intake.records import JsonLines, first_record, record_at
from copilog.model import Conversation
from copilog.sources.base import Found, Probe, Source
from copilog.sources.own_files.recorded import (
    SIGNS,
    Name,
    conversation_from,
    is_conversation,
    is_id,
    name_in,
    stub_of,
)

_BEGINNING = re.compile(rb'\{\n  "id": "[a-z]+:[^"\n]+",\n  (?:"native_id": "[^"\n]*",\n  )?"source": "')
SUFFIXES = (".json", ".jsonl", ".ndjson")


class CopilogJson(Source):
    name = "copilog-json"
    title = "Conversation as copilog's own JSON"
    is_index = True

    def claims(self, file: Probe) -> bool:
        if file.suffix not in SUFFIXES or file.is_content or not file.begins_with_object:
            return False
        if file.suffix == ".json" and file.keys >= SIGNS and is_id(file.text_value("id")):
            return True
        return is_conversation(file.first_record) or _BEGINNING.match(file.head) is not None

    def index(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield one stub for each conversation. All are counted here, so that reading one counts none again."""
        met: set[str] = set()
        for value, place in _values(found.path, ledger):
            made = _counted(value, place, found, ledger)
            if made is not None and place.name.key not in met:
                met.add(place.name.key)
                yield stub_of(place.name, found, self.name, place.pointer)

    def read(self, found: Found, ledger: Ledger) -> Iterator[Conversation]:
        """Yield all conversations; with a `native_id` that one, which `index` has counted."""
        if found.native_id is None:
            for value, place in _values(found.path, ledger):
                made = _counted(value, place, found, ledger)
                if made is not None:
                    yield made
            return
        for place in known_places(found.path).get(found.native_id, ()):
            current = _value_at(found.path, place)
            if current is None:
                reason = "the file has changed, and another conversation is at this position now"
                ledger.note("changed-while-reading", reason, line=place.line)
                continue
            with suppress(BadRecord):  # `index` has reported it
                yield conversation_from(current, found, place.pointer)


class Place(NamedTuple):
    """The position of one conversation; a document has neither pointer nor offset."""

    name: Name
    pointer: str | None = None
    line: int | None = None
    offset: int | None = None
    length: int = 0


def known_places(path: Path) -> dict[str, list[Place]]:
    """Return the positions in a file whose conversations are counted already. An unchanged file is read once."""
    try:
        stat = path.stat()
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror or error}", "unreadable") from None
    return _cached_places(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=8)
def _cached_places(path: Path, _size: int, _modified: int) -> dict[str, list[Place]]:
    places: dict[str, list[Place]] = {}
    for _, place in _values(path, Ledger()):
        places.setdefault(place.name.key, []).append(place)
    return places


def _values(path: Path, ledger: Ledger) -> Iterator[tuple[dict[str, Any], Place]]:
    """Yield the conversations of a file with their positions, each counted as seen; what has no names is rejected."""
    if first_record(path) is None:
        ledger.seen += 1
        try:
            value = _document(path)
            place = Place(name_in(value))
        except BadRecord as error:
            ledger.reject(error.code, str(error), pointer="")
        else:
            yield value, place
        return
    for value, line, offset, size in JsonLines(path, ledger, is_conversation):
        try:
            place = Place(name_in(value), f"/{line}", line, offset, size)
        except BadRecord as error:
            ledger.reject(error.code, str(error), line=line, offset=offset)
        else:
            yield value, place


def _counted(value: dict[str, Any], place: Place, found: Found, ledger: Ledger) -> Conversation | None:
    """Return a conversation, counted as used; None if it is bad, which is counted, too."""
    with ledger.record(line=place.line, offset=place.offset, pointer=place.pointer):
        ledger.seen -= 1  # the record counts itself
        return conversation_from(value, found, place.pointer)
    return None


def _value_at(path: Path, place: Place) -> dict[str, Any] | None:
    """Return the conversation at a position; None if the file has changed since."""
    try:
        value = _document(path) if place.offset is None else record_at(path, place.offset, place.length)
        is_same = isinstance(value, dict) and name_in(value) == place.name
    except BadRecord:
        return None
    return value if is_same else None


def _document(path: Path) -> dict[str, Any]:
    """Return the one object of a document. Raise BadRecord if it is not an object."""
    value, _ = jsonio.decode(read_small(path, largest_record()))
    if not isinstance(value, dict):
        raise BadRecord("not an object")
    return value
