"""What a conversation was made of that an export has joined: each part as it was read.

Parts are kept so that the whole can be made again when one of them is read again, or one more joins: it is the same
then, in whichever order they came. A conversation that nothing has joined has no parts. A removed one keeps the ids
of its parts without what they said, so that none of them comes back on its own.
"""

from __future__ import annotations

import sqlite3

import msgspec
from msgspec.structs import replace

from copilog.model import Conversation, Relation
from copilog.store.documents import conversation_from, document_of, stored_conversation

DOUBT = "possible-duplicate"  # the kind of relation between two that may be one


def whole_of(connection: sqlite3.Connection, part: str) -> str | None:
    row = connection.execute("SELECT whole FROM part WHERE id = ?", (part,)).fetchone()
    return None if row is None else str(row[0])


def members_of(connection: sqlite3.Connection, whole: str) -> dict[str, Conversation]:
    """What a conversation was made of, by id: itself, when nothing has joined it."""
    rows = connection.execute("SELECT id, data FROM part WHERE whole = ? ORDER BY id", (whole,)).fetchall()
    if not rows:
        return {whole: stored(connection, whole)[1]}
    return {part: _unpacked(data) for part, data in rows}


def stored(connection: sqlite3.Connection, conversation_id: str) -> tuple[int, Conversation]:
    """A conversation as it is stored, with its number."""
    number = number_of(connection, conversation_id)
    conversation = stored_conversation(connection, number) if number is not None else None
    assert number is not None
    assert conversation is not None
    return number, conversation


def put_part(connection: sqlite3.Connection, whole: str, part: str, signature: str, conversation: Conversation) -> None:
    """Keep something as it was read: what it may be the same as is a matter of the whole."""
    values = (part, whole, signature, _packed(replace(conversation, relations=without_doubts(conversation))))
    connection.execute("INSERT OR REPLACE INTO part (id, whole, signature, data) VALUES (?, ?, ?, ?)", values)


def _packed(conversation: Conversation) -> bytes:
    """A document with its chapters, as one."""
    document = document_of(conversation)
    return msgspec.msgpack.encode([document.data, *(chapter.data for chapter in document.chapters)])


def _unpacked(packed: bytes) -> Conversation:
    data, *chapters = msgspec.msgpack.decode(packed, type=list[bytes])
    return conversation_from(data, chapters)


def move_part(connection: sqlite3.Connection, part: str, whole: str) -> None:
    """Make something a part of a conversation, or what is one a part of another, or a conversation of its own."""
    for name in (part, whole):
        if whole_of(connection, name) is None:
            (signature,) = connection.execute("SELECT signature FROM conversation WHERE id = ?", (name,)).fetchone()
            put_part(connection, name, name, signature, stored(connection, name)[1])
    connection.execute("UPDATE part SET whole = ? WHERE id = ?", (whole, part))


def signature_of(connection: sqlite3.Connection, part: str) -> str:
    """The state of the files that a part was read from."""
    (signature,) = connection.execute("SELECT signature FROM part WHERE id = ?", (part,)).fetchone()
    return str(signature)


def forget_single(connection: sqlite3.Connection, whole: str) -> None:
    """A conversation that is its own only part needs none."""
    connection.execute(
        "DELETE FROM part WHERE whole = ?1 AND (SELECT count(*) FROM part WHERE whole = ?1) = 1", (whole,)
    )


def number_of(connection: sqlite3.Connection, conversation_id: str) -> int | None:
    row = connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    return None if row is None else int(row[0])


def is_removed(connection: sqlite3.Connection, conversation_id: str) -> bool:
    return connection.execute("SELECT 1 FROM tombstone WHERE id = ?", (conversation_id,)).fetchone() is not None


def without_doubts(conversation: Conversation) -> list[Relation]:
    """The relations of a conversation that are known for sure."""
    return [relation for relation in conversation.relations if relation.kind != DOUBT]


def doubted(connection: sqlite3.Connection) -> set[str]:
    """Conversations that may be the same as another."""
    rows = connection.execute(
        "SELECT DISTINCT c.id FROM relation JOIN conversation AS c ON c.rowid = relation.conversation WHERE kind = ?",
        (DOUBT,),
    )
    return {name for (name,) in rows}


def doubts_of(connection: sqlite3.Connection, conversation_id: str) -> list[Relation]:
    """What a conversation, as it is stored, may be the same as."""
    rows = connection.execute(
        "SELECT kind, other_id, reason FROM relation JOIN conversation AS c ON c.rowid = relation.conversation "
        "WHERE c.id = ? AND kind = ? ORDER BY position",
        (conversation_id, DOUBT),
    )
    return [Relation(kind=kind, other_id=other_id, reason=reason) for kind, other_id, reason in rows]


def doubters_of(connection: sqlite3.Connection, conversation_id: str) -> list[str]:
    """Conversations that are said to be possibly the same as this one."""
    rows = connection.execute(
        "SELECT DISTINCT c.id FROM relation JOIN conversation AS c ON c.rowid = relation.conversation "
        "WHERE kind = ? AND other_id = ?",
        (DOUBT, conversation_id),
    )
    return [name for (name,) in rows]
