"""Stars, labels and notes as a text file: one line of JSON for each conversation, readable and easy to compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import msgspec

from copilog.errors import UsageError
from copilog.jsonio import replace_lone_surrogates
from copilog.store.annotations import label, note, star
from copilog.store.database import transaction


class NotesLine(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What a user added to one conversation."""

    id: str
    title: str = ""  # for readers; not imported
    starred: bool = False
    labels: list[str] = []
    note: str = ""


def notes_lines(connection: sqlite3.Connection) -> Iterator[bytes]:
    """Yield a line for each conversation that has a star, labels or a note, ordered by id."""
    rows = connection.execute(
        "SELECT added.id, coalesce(conversation.title, ''), coalesce(is_starred, 0), coalesce(note, ''),"
        " (SELECT json_group_array(label) FROM (SELECT label FROM label WHERE label.id = added.id ORDER BY label))"
        " FROM (SELECT id FROM annotation UNION SELECT id FROM label) AS added"
        " LEFT JOIN annotation ON annotation.id = added.id LEFT JOIN conversation ON conversation.id = added.id"
        " ORDER BY added.id"
    )
    for name, title, is_starred, text, labels in rows:
        line = NotesLine(name, title, bool(is_starred), msgspec.json.decode(labels, type=list[str]), text)
        if line.starred or line.labels or line.note:
            yield msgspec.json.encode(line) + b"\n"


def add_notes(connection: sqlite3.Connection, lines: Iterable[bytes]) -> int:
    """Add what the lines say to what is there; return their number. Nothing is added if any line is wrong.

    Stars and labels are united; a note is added below another one that does not contain it.
    """
    decoder = msgspec.json.Decoder(NotesLine)
    read: list[NotesLine] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(f"line {number}: {error}; nothing was imported") from None
    with transaction(connection):
        for one in read:
            _add(connection, one)
    return len(read)


def _add(connection: sqlite3.Connection, line: NotesLine) -> None:
    name = replace_lone_surrogates(line.id)
    if line.starred:
        star(connection, name, True)
    labels = tuple(replace_lone_surrogates(each) for each in line.labels if each.strip())
    if labels:
        label(connection, name, labels)
    text = replace_lone_surrogates(line.note).strip()
    row = connection.execute("SELECT note FROM annotation WHERE id = ?", (name,)).fetchone()
    known = (row[0] if row is not None else None) or ""
    if text and text not in known:
        note(connection, name, f"{known}\n\n{text}" if known else text)
