"""Find histories of typed prompts in the archive, and the conversations that contain their prompts."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator

import msgspec

from copilog.derive.prompts import HISTORIES, RELATION, RELATION_BACK, Owner
from copilog.model import Relation

_HISTORIES = f"SELECT rowid FROM conversation WHERE source IN {HISTORIES}"  # noqa: S608 - constants only
_PROMPT_TABLES = ("turn", "queued_prompt")
_BY_PROMPT = " UNION ".join(
    f"""
    SELECT mine.conversation FROM json_each(?1) AS fresh
    JOIN {table} AS theirs ON theirs.conversation = fresh.value JOIN turn AS mine ON mine.prompt = theirs.prompt
    WHERE mine.conversation IN ({_HISTORIES})
    """  # noqa: S608
    for table in _PROMPT_TABLES
)
_BY_LINK = """
    SELECT DISTINCT relation.conversation FROM relation JOIN conversation AS c ON c.id = relation.other_id
    WHERE relation.kind = ? AND c.rowid IN (SELECT value FROM json_each(?))
"""
_LINKED = f"""
    SELECT c.id FROM relation JOIN conversation AS c ON c.rowid = relation.conversation
    WHERE relation.kind = '{RELATION}' AND relation.other_id = ? ORDER BY c.id
"""  # noqa: S608
_SHARING = f"""
    SELECT rowid FROM conversation WHERE source IN {HISTORIES} AND id != ?4 AND (
        rowid IN (SELECT conversation FROM turn WHERE prompt IN (SELECT value FROM json_each(?1)))
        OR rowid IN (
            SELECT conversation FROM relation WHERE kind = ?2 AND other_id IN (SELECT value FROM json_each(?3))
        ) OR id IN (SELECT value FROM json_each(?3))
    ) ORDER BY id
"""  # noqa: S608
_OWNERS = " UNION ALL ".join(
    f"""
    SELECT t.prompt, c.id, c.workspace, trace.path FROM {table} AS t JOIN conversation AS c ON c.rowid = t.conversation
    LEFT JOIN trace ON trace.conversation = c.rowid AND trace.position = 0
    WHERE t.prompt IN (SELECT value FROM json_each(?1)) AND c.source NOT IN {HISTORIES}
    """  # noqa: S608
    for table in _PROMPT_TABLES
)


def histories(connection: sqlite3.Connection) -> set[int]:
    """Return the numbers of all histories."""
    return {number for (number,) in connection.execute(_HISTORIES)}


def histories_near(connection: sqlite3.Connection, fresh: Collection[int]) -> set[int]:
    """Return the histories that contain a prompt of some conversations, or were linked to one of them."""
    numbers = _as_json(fresh)
    by_prompt = connection.execute(_BY_PROMPT, (numbers,))
    by_link = connection.execute(_BY_LINK, (RELATION, numbers))
    return {number for (number,) in (*by_prompt, *by_link)}


def histories_with(
    connection: sqlite3.Connection, keys: Iterable[int], linked_to: Iterable[str], other_than: str
) -> list[int]:
    """Return the other histories that contain prompts with these keys, or link prompts to these conversations."""
    found = connection.execute(_SHARING, (_as_json(keys), RELATION, _as_json(linked_to), other_than))
    return [number for (number,) in found]


def owners_with(connection: sqlite3.Connection, keys: Iterable[int]) -> Iterator[Owner]:
    """Yield the conversations that contain prompts with these keys."""
    return (Owner(*row) for row in connection.execute(_OWNERS, (_as_json(keys),)))


def histories_of(connection: sqlite3.Connection, conversation_id: str) -> list[Relation]:
    """Return relations to the histories that have a relation to a conversation."""
    reason = "prompts of this conversation are in that history"
    found = [name for (name,) in connection.execute(_LINKED, (conversation_id,))]
    return [Relation(kind=RELATION_BACK, other_id=name, reason=reason) for name in found]


def _as_json(values: Iterable[int | str]) -> str:
    return msgspec.json.encode(list(values)).decode()
