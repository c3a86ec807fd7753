"""Look up conversations that may be the same as one without an id, for comparison."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import msgspec

from copilog.store.schema import MESSAGE_BITS, SHORTEST_UNIQUE_ID

PHRASE_WORDS = 12
MOST_SIMILAR = 40  # most conversations with the same words: a common prompt may have very many

_BY_REQUESTS = """
    SELECT DISTINCT theirs.conversation FROM turn AS mine JOIN turn AS theirs ON theirs.request_id = mine.request_id
    WHERE mine.conversation = ?1 AND theirs.conversation <> ?1
"""
_BY_PHRASE = f"SELECT DISTINCT rowid >> {MESSAGE_BITS} FROM words WHERE words MATCH ? LIMIT {MOST_SIMILAR + 1}"  # noqa: S608
_BY_DOUBTS = """
    SELECT other.rowid FROM relation JOIN conversation AS other ON other.id = relation.other_id
    WHERE relation.conversation = ? AND relation.kind = 'possible-duplicate'
"""
# Of two sessions with the same request, the later one, or the one whose id copilog gave it: of version 5, where VS Code
# writes 4. A fork records what it copied. Ids that are short may be counted from one in every session.
_IMPORTED = """
    WITH named AS (
        SELECT rowid, id, coalesce(started_at, '~') AS started_at, is_compared, EXISTS (
            SELECT 1 FROM trace WHERE trace.conversation = c.rowid AND position = 0 AND marks LIKE '%recorded%'
        ) AS is_recorded, native_id GLOB '????????-????-5*' AS is_given
        FROM conversation AS c WHERE native_id IS NOT NULL
    )
    SELECT DISTINCT CASE
        WHEN (one.started_at, one.is_recorded, one.is_given, one.id)
            > (other.started_at, other.is_recorded, other.is_given, other.id)
        THEN one.rowid ELSE other.rowid END AS number
    FROM named AS one
    JOIN turn AS mine ON mine.conversation = one.rowid
    JOIN turn AS theirs ON theirs.request_id = mine.request_id AND theirs.conversation <> mine.conversation
    JOIN named AS other ON other.rowid = theirs.conversation
    WHERE NOT one.is_compared AND length(mine.request_id) >= :shortest
    AND mine.copied_from IS NULL AND theirs.copied_from IS NULL
    UNION
    SELECT rowid FROM conversation
    WHERE instr(marks, :mark) AND native_id IS NOT NULL
    UNION
    SELECT c.rowid FROM turn JOIN conversation AS c ON c.rowid = turn.conversation
    WHERE request_id GLOB :given AND c.native_id IS NOT NULL
    ORDER BY number
"""
_PROMPTS = f"""
    SELECT user FROM message WHERE rowid >= ?1 << {MESSAGE_BITS} AND rowid < (?1 + 1) << {MESSAGE_BITS}
    AND role = 'user' AND parent_call_id IS NULL AND user IS NOT NULL ORDER BY rowid
"""  # noqa: S608


class StoredState(NamedTuple):
    """A conversation as it is stored in the archive."""

    number: int
    id: str
    messages: int
    is_compared: bool


def stored_state(connection: sqlite3.Connection, number: int) -> StoredState:
    row = connection.execute("SELECT id, messages, is_compared FROM conversation WHERE rowid = ?", (number,)).fetchone()
    return StoredState(number, row[0], row[1], bool(row[2]))


def nameless(connection: sqlite3.Connection, sources: Iterable[str]) -> list[int]:
    """Return the conversations of these sources that have no id of their own."""
    rows = connection.execute(
        "SELECT rowid FROM conversation WHERE native_id IS NULL AND source IN (SELECT value FROM json_each(?)) "
        "ORDER BY id",
        (msgspec.json.encode(list(sources)).decode(),),
    )
    return [number for (number,) in rows]


def imported(connection: sqlite3.Connection, mark: str, given: str) -> list[int]:
    """Return sessions that were imported under an id of their own.

    They have the mark, or ids of requests that fit a pattern; or they have requests of an earlier session, if one of
    both was stored since the last comparison.
    """
    rows = connection.execute(_IMPORTED, {"mark": f'"{mark}"', "given": given, "shortest": SHORTEST_UNIQUE_ID})
    return [number for (number,) in rows]


def exported_subagents(connection: sqlite3.Connection) -> list[tuple[int, str, str, int]]:
    """Return the number, id, native id and messages of sub-agents that were stored from an export."""
    query = "SELECT rowid, id, native_id, messages FROM conversation WHERE source = 'atif' AND native_id LIKE '%#%'"
    return connection.execute(query).fetchall()


def caller_of(connection: sqlite3.Connection, name: str) -> str | None:
    """Return the conversation that has a sub-agent, by the id that an export gave it: of the session, and the call."""
    session_id, mark, call = name.rpartition("#")
    query = (
        "SELECT c.id FROM tool_call JOIN conversation AS c ON c.rowid = tool_call.conversation "
        "WHERE c.native_id = ? AND c.source <> 'atif' AND tool_call.call_id IN (?, ?)"
    )
    calls = (call, call.partition("__vscode-")[0])
    row = connection.execute(query, (session_id, *calls)).fetchone() if mark else None
    return None if row is None else str(row[0])


def uncompared(connection: sqlite3.Connection) -> list[int]:
    """Return the conversations that were stored since the last comparison."""
    return [number for (number,) in connection.execute("SELECT rowid FROM conversation WHERE NOT is_compared")]


def mark_compared(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE conversation SET is_compared = 1 WHERE NOT is_compared")


def similar_conversations(
    connection: sqlite3.Connection, numbers: Collection[int], telling_length: int
) -> dict[int, set[int]]:
    """Return, for each conversation, those that share a request or the beginning of a prompt, or were related before.

    Conversations that were compared before are looked up only among the others. Few users type the same prompt if it
    has `telling_length` characters.
    """
    fresh = set(uncompared(connection))
    known = set(numbers) - fresh
    if len(known) < len(fresh):  # then looking up each of them is cheaper
        fresh.update(known)
        known.clear()
    found = {number: _similar_to(connection, number, telling_length) for number in numbers if number in fresh}
    found.update((number, set()) for number in known)
    begun: dict[str, set[int]] = {}
    for number in known:
        for words in _beginnings(connection, number, telling_length):
            begun.setdefault(words, set()).add(number)
    for other in fresh if known else ():
        words_of_other = {_beginning(text) for (text,) in connection.execute(_PROMPTS, (other,))}
        near = _related(connection, other).union(*(begun.get(words, set()) for words in words_of_other))
        for number in near & known:
            found[number].add(other)
    return found


def _similar_to(connection: sqlite3.Connection, number: int, telling_length: int) -> set[int]:
    """Return the conversations that are similar to one, among all."""
    found = _related(connection, number)
    for words in _beginnings(connection, number, telling_length):
        phrase = words.replace('"', " ").replace("\0", " ")
        found.update(other for (other,) in connection.execute(_BY_PHRASE, (f'user : "{phrase}"',)))
    return found - {number}


def _related(connection: sqlite3.Connection, number: int) -> set[int]:
    return {other for query in (_BY_REQUESTS, _BY_DOUBTS) for (other,) in connection.execute(query, (number,))}


def _beginnings(connection: sqlite3.Connection, number: int, telling_length: int) -> Iterator[str]:
    """Yield the beginning of the first prompt, and of the first long prompt if that is another one."""
    is_first = True
    for (text,) in connection.execute(_PROMPTS, (number,)):
        is_distinctive = len(text) >= telling_length
        if is_first or is_distinctive:
            yield _beginning(text)
        is_first = False
        if is_distinctive:
            return


def _beginning(text: str) -> str:
    return " ".join(text.split(maxsplit=PHRASE_WORDS)[:PHRASE_WORDS])
