"""Store the parts of merged conversations, each as it was read.

Parts are stored so that the conversation can be merged again when a part is read again, or another one joins: the
result does not depend on their order. A conversation that nothing has joined has no parts. A removed one keeps the ids
of its parts without their content, so that no scan stores one of them again.
"""

from __future__ import annotations

import sqlite3

import msgspec
from msgspec.structs import replace

from copilog.model import Conversation, Relation
from copilog.store.documents import conversation_from, document_of, stored_conversation

DOUBT = "possible-duplicate"  # the kind of relation between two conversations that may be the same


def merged_id_of(connection: sqlite3.Connection, part: str) -> str | None:
    row = connection.execute("SELECT whole FROM part WHERE id = ?", (part,)).fetchone()
    return None if row is None else str(row[0])


def members_of(connection: sqlite3.Connection, whole: str) -> dict[str, Conversation]:
    """Return the parts of a conversation by id: only itself if nothing has joined it."""
    rows = connection.execute("SELECT id, data FROM part WHERE whole = ? ORDER BY id", (whole,)).fetchall()
    if not rows:
        return {whole: stored(connection, whole)[1]}
    return {part: _unpacked(data) for part, data in rows}


def stored(connection: sqlite3.Connection, conversation_id: str) -> tuple[int, Conversation]:
    """Return a stored conversation with its number."""
    number = number_of(connection, conversation_id)
    conversation = stored_conversation(connection, number) if number is not None else None
    assert number is not None
    assert conversation is not None
    return number, conversation


def put_part(connection: sqlite3.Connection, whole: str, part: str, signature: str, conversation: Conversation) -> None:
    """Store a part as it was read, without doubts, which are stored with the merged conversation."""
    values = (part, whole, signature, _packed(replace(conversation, relations=without_doubts(conversation))))
    connection.execute("INSERT OR REPLACE INTO part (id, whole, signature, data) VALUES (?, ?, ?, ?)", values)


def _packed(conversation: Conversation) -> bytes:
    """Return a document with its chapters as one value."""
    document = document_of(conversation)
    return msgspec.msgpack.encode([document.data, *(chapter.data for chapter in document.chapters)])


def _unpacked(packed: bytes) -> Conversation:
    data, *chapters = msgspec.msgpack.decode(packed, type=list[bytes])
    return conversation_from(data, chapters)


def move_part(connection: sqlite3.Connection, part: str, whole: str) -> None:
    """Make a part belong to a conversation, to another one, or be a conversation of its own."""
    for name in (part, whole):
        if merged_id_of(connection, name) is None:
            (signature,) = connection.execute("SELECT signature FROM conversation WHERE id = ?", (name,)).fetchone()
            put_part(connection, name, name, signature, stored(connection, name)[1])
    connection.execute("UPDATE part SET whole = ? WHERE id = ?", (whole, part))


def signature_of(connection: sqlite3.Connection, part: str) -> str:
    """Return the state of the files that a part was read from."""
    (signature,) = connection.execute("SELECT signature FROM part WHERE id = ?", (part,)).fetchone()
    return str(signature)


def forget_single(connection: sqlite3.Connection, whole: str) -> None:
    """Delete the part of a conversation that has no other parts."""
    connection.execute(
        "DELETE FROM part WHERE whole = ?1 AND (SELECT count(*) FROM part WHERE whole = ?1) = 1", (whole,)
    )


def number_of(connection: sqlite3.Connection, conversation_id: str) -> int | None:
    row = connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    return None if row is None else int(row[0])


def is_removed(connection: sqlite3.Connection, conversation_id: str) -> bool:
    return connection.execute("SELECT 1 FROM tombstone WHERE id = ?", (conversation_id,)).fetchone() is not None


def without_doubts(conversation: Conversation) -> list[Relation]:
    """Return the relations of a conversation that are certain."""
    return [relation for relation in conversation.relations if relation.kind != DOUBT]


def doubtful_conversations(connection: sqlite3.Connection) -> set[str]:
    """Return the conversations that may be the same as another."""
    rows = connection.execute(
        "SELECT DISTINCT c.id FROM relation JOIN conversation AS c ON c.rowid = relation.conversation WHERE kind = ?",
        (DOUBT,),
    )
    return {name for (name,) in rows}


def doubts_of(connection: sqlite3.Connection, conversation_id: str) -> list[Relation]:
    """Return what a stored conversation may be the same as."""
    rows = connection.execute(
        "SELECT kind, other_id, reason FROM relation JOIN conversation AS c ON c.rowid = relation.conversation "
        "WHERE c.id = ? AND kind = ? ORDER BY position",
        (conversation_id, DOUBT),
    )
    return [Relation(kind=kind, other_id=other_id, reason=reason) for kind, other_id, reason in rows]


def conversations_doubting(connection: sqlite3.Connection, conversation_id: str) -> list[str]:
    """Return the conversations that are recorded as possibly the same as this one."""
    rows = connection.execute(
        "SELECT DISTINCT c.id FROM relation JOIN conversation AS c ON c.rowid = relation.conversation "
        "WHERE kind = ? AND other_id = ?",
        (DOUBT, conversation_id),
    )
    return [name for (name,) in rows]
