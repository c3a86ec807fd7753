"""Store what the user adds to a conversation: a star, labels, a note. Stored by id, independent of the conversation."""

from __future__ import annotations

import sqlite3

from copilog.errors import UsageError
from copilog.store.database import transaction
from copilog.store.times import now
from copilog.store.units import merged_by_part, read_again


def star(connection: sqlite3.Connection, conversation_id: str, on: bool) -> None:
    _annotate(connection, conversation_id, "is_starred", int(on))


def note(connection: sqlite3.Connection, conversation_id: str, text: str | None) -> None:
    """Replace the note; an empty one removes it."""
    _annotate(connection, conversation_id, "note", (text or "").strip() or None)


def label(connection: sqlite3.Connection, conversation_id: str, names: tuple[str, ...]) -> None:
    rows = [(conversation_id, name) for name in _clean(names)]
    with transaction(connection):
        connection.executemany("INSERT OR IGNORE INTO label (id, label) VALUES (?, ?)", rows)


def unlabel(connection: sqlite3.Connection, conversation_id: str, names: tuple[str, ...]) -> None:
    """Remove labels; all of them if none is named."""
    with transaction(connection):
        if names:
            rows = [(conversation_id, name) for name in _clean(names)]
            connection.executemany("DELETE FROM label WHERE id = ? AND label = ?", rows)
        else:
            connection.execute("DELETE FROM label WHERE id = ?", (conversation_id,))


def labels(connection: sqlite3.Connection) -> dict[str, int]:
    """Return all labels in use, with the number of conversations that have them."""
    return dict(connection.execute("SELECT label, count(*) FROM label GROUP BY label ORDER BY label").fetchall())


def removed(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the ids of removed conversations, with the time of removal."""
    return dict(connection.execute("SELECT id, removed_at FROM tombstone ORDER BY removed_at, id").fetchall())


def restore(connection: sqlite3.Connection, wanted: str) -> str:
    """Let the next scan store a removed conversation again, if its files still exist; return its id."""
    ids = [name for name in removed(connection) if name == wanted] or [
        name for name in removed(connection) if name.startswith(wanted) or name.partition(":")[2].startswith(wanted)
    ]
    if len(ids) != 1:
        reason = f"may be {' or '.join(ids[:5])}" if ids else "was not removed"
        raise UsageError(f"{wanted}: {reason}; give the id of a removed conversation, or its first characters")
    (conversation_id,) = ids
    with transaction(connection):
        connection.execute("DELETE FROM tombstone WHERE id = ?", (conversation_id,))
        parts = [part for part, whole in merged_by_part(connection).items() if whole == conversation_id]
        connection.execute("DELETE FROM part WHERE whole = ?", (conversation_id,))
        for name in {conversation_id, *parts}:
            read_again(connection, name)
    return conversation_id


def move(connection: sqlite3.Connection, one: str, other: str) -> None:
    """Move the star, labels and note of a conversation to another; notes are joined, one below the other."""
    found = connection.execute(
        "SELECT id, is_starred, note FROM annotation WHERE id IN (?, ?)", (one, other)
    ).fetchall()
    noted = {name: (is_starred, text) for name, is_starred, text in found}
    if one in noted:
        texts = [text for name in (other, one) if (text := noted.get(name, (0, None))[1])]
        star(connection, other, any(is_starred for is_starred, _ in noted.values()))
        note(connection, other, "\n\n".join(dict.fromkeys(texts)))
    connection.execute("INSERT OR IGNORE INTO label SELECT ?, label FROM label WHERE id = ?", (other, one))
    for table in ("annotation", "label"):
        connection.execute(f"DELETE FROM {table} WHERE id = ?", (one,))  # noqa: S608


def _annotate(connection: sqlite3.Connection, conversation_id: str, column: str, value: str | int | None) -> None:
    with transaction(connection):
        connection.execute(
            f"INSERT INTO annotation (id, {column}, changed_at) VALUES (?, ?, ?) ON CONFLICT (id) "  # noqa: S608
            f"DO UPDATE SET {column} = excluded.{column}, changed_at = excluded.changed_at",
            (conversation_id, value, now()),
        )


def _clean(names: tuple[str, ...]) -> list[str]:
    """Return labels as they are stored: without space around them, each once."""
    cleaned = [name for name in dict.fromkeys(" ".join(name.split()) for name in names) if name]
    if not cleaned:
        raise UsageError("a label needs a name")
    return cleaned
