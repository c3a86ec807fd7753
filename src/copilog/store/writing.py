"""Write conversations to the archive and delete them: one transaction each."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec.structs import astuple

from copilog.intake.folders import is_gone
from copilog.model import RECORDED
from copilog.store.database import transaction
from copilog.store.documents import Chapter
from copilog.store.entries import Entry
from copilog.store.file_names import on_disk
from copilog.store.rows import DETAILS, ConversationRow, MessageRow, Row, columns_of
from copilog.store.schema import MESSAGE_BITS, ROWS_VERSION, TEXT_COLUMNS
from copilog.store.times import now

Outcome = Literal["new", "changed", "unchanged", "removed", "refused"]

MOST_MESSAGES = 1 << MESSAGE_BITS  # including the row of the title

_TEXTS = ", ".join(TEXT_COLUMNS)
_OWN_COLUMNS = (
    *columns_of(ConversationRow),
    "signature",
    "text_bytes",
    "indexed",
    "is_indexed",
    "stored_at",
    "rows_version",
)
_INSERT = f"INSERT INTO conversation ({', '.join(_OWN_COLUMNS)}) VALUES ({', '.join('?' * len(_OWN_COLUMNS))})"  # noqa: S608
_UPDATE = (
    f"UPDATE conversation SET {', '.join(f'{name} = ?' for name in _OWN_COLUMNS)}, "  # noqa: S608
    "gone_at = NULL, is_compared = 0 WHERE rowid = ?"
)
_MESSAGE = ", ".join(columns_of(MessageRow))
_SELECT_MESSAGES = f"SELECT {_MESSAGE} FROM message WHERE rowid >= ? AND rowid < ? ORDER BY rowid"  # noqa: S608
_INSERT_MESSAGE = (
    f"INSERT INTO message (rowid, conversation, {_MESSAGE})"  # noqa: S608 - names of our own
    f" VALUES (?, ?, {', '.join('?' * len(columns_of(MessageRow)))})"
)
_COLUMNS = {table: ", ".join(columns_of(row)) for table, row in DETAILS.items()}
_INSERT_DETAIL = {
    table: f"INSERT INTO {table} (conversation, {_COLUMNS[table]})"  # noqa: S608
    f" VALUES (?, {', '.join('?' * len(columns_of(row)))})"
    for table, row in DETAILS.items()
}
_UNINDEX = (
    f"INSERT INTO words (words, rowid, {_TEXTS}) SELECT 'delete', rowid, {_TEXTS} FROM message "  # noqa: S608
    "WHERE rowid >= ? AND rowid < ?"
)

# Python looks up adapters for None in three ways each time it is bound: a tenth of a first scan's
# writing. With this adapter it does so no more.
sqlite3.register_adapter(type(None), {}.get)  # type: ignore[arg-type] # it gives None for None


_STORED = "rowid, digest, turns, messages, text_bytes, indexed, gone_at"


class Stored(NamedTuple):
    """The stored state of a conversation."""

    rowid: int
    digest: bytes
    turns: int
    messages: int
    text_bytes: int
    indexed: int
    gone_at: str | None


def put(
    connection: sqlite3.Connection,
    entry: Entry,
    signature: str,
    let_go: Collection[str] = (),
    *,
    is_united: bool = False,
) -> Outcome:
    """Store a conversation, replacing its stored state. `index_pending` updates the full-text index later.

    `let_go` are files that it was read from and that no longer belong to it. The stored state stays if less was read,
    unless the caller has united the two (`is_united`).
    A conversation with more messages than can be numbered is refused, and its stored state stays: otherwise rows that
    name messages by number would refer to those of another conversation.
    """
    with transaction(connection):
        if connection.execute("SELECT 1 FROM tombstone WHERE id = ?", (entry.id,)).fetchone():
            return "removed"
        if len(entry.messages) > MOST_MESSAGES:
            return "refused"
        row = connection.execute(
            f"SELECT {_STORED} FROM conversation WHERE id = ?",  # noqa: S608
            (entry.id,),
        ).fetchone()
        if row is None:
            _insert(connection, entry, signature)
            return "new"
        old = Stored(*row)
        if old.digest == entry.digest:
            _touch(connection, old.rowid, entry, signature)
            return "unchanged" if old.gone_at is None else "changed"  # its files exist again
        missing = [path for path in _missing_files(connection, old.rowid, entry) if path not in let_go]
        if missing and not is_united and _size_of(entry) < (old.turns, old.messages, old.text_bytes):
            _keep(connection, old.rowid, missing, signature)
            return "unchanged"
        _replace(connection, old, entry, signature)
        return "changed"


def lacks_something_stored(connection: sqlite3.Connection, entry: Entry) -> bool:
    """Return whether a new reading of a conversation may lack turns, files or texts that are stored.

    If only an index names the conversation now, it does not count as a reading: `put` keeps the stored state.
    """
    row = connection.execute("SELECT rowid, digest, text_bytes FROM conversation WHERE id = ?", (entry.id,)).fetchone()
    if row is None or row[1] == entry.digest:
        return False
    rowid, _, text_bytes = row
    missing = _missing_files(connection, rowid, entry)
    if not entry.turns:
        return not missing  # every file was read, and none has turns any more
    is_damaged = '"damaged"' in entry.row.marks or any(trace.marks and "torn" in trace.marks for trace in entry.traces)
    if missing or is_damaged or entry.text_bytes < text_bytes:
        return True
    present = {_turn_key(turn.request_id, turn.prompt, turn.started_at): turn for turn in entry.turns}
    stored = connection.execute(
        "SELECT request_id, prompt, started_at, traces, superseded FROM turn WHERE conversation = ?", (rowid,)
    )
    for *named, traces, superseded in stored:
        found = present.get(_turn_key(*named))
        if found is None or found.traces < traces or (superseded is not None and found.superseded is None):
            return True
    return False


def _turn_key(request_id: str | None, prompt: int | None, started_at: str | None) -> object:
    return request_id or (prompt, started_at)


def replace_rows(connection: sqlite3.Connection, rowid: int, entry: Entry) -> None:
    """Replace a stored conversation by an entry, but keep its signature, `stored_at` and `gone_at`.

    The caller has a transaction.
    """
    signature, stored_at, gone_at = connection.execute(
        "SELECT signature, stored_at, gone_at FROM conversation WHERE rowid = ?", (rowid,)
    ).fetchone()
    row = connection.execute(f"SELECT {_STORED} FROM conversation WHERE rowid = ?", (rowid,)).fetchone()  # noqa: S608
    _replace(connection, Stored(*row), entry, signature)
    connection.execute(
        "UPDATE conversation SET stored_at = ?, gone_at = ? WHERE rowid = ?", (stored_at, gone_at, rowid)
    )


def absorb(connection: sqlite3.Connection, rowid: int, home: str) -> None:
    """Delete a conversation that became a part of another, which is gone only if both are. Use in a transaction."""
    connection.execute(
        "UPDATE conversation SET stored_at = ?, gone_at = CASE WHEN (SELECT gone_at FROM conversation WHERE rowid = ?) "
        "IS NULL THEN NULL ELSE gone_at END WHERE id = ?",
        (now(), rowid, home),
    )
    delete_rows(connection, rowid)


def remove(connection: sqlite3.Connection, conversation_id: str) -> None:
    """Delete a conversation, and ensure that no scan stores it or a part of it again."""
    with transaction(connection):
        (rowid,) = connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
        delete_rows(connection, rowid)
        connection.execute("UPDATE part SET data = x'' WHERE whole = ?", (conversation_id,))
        connection.execute("INSERT OR REPLACE INTO tombstone VALUES (?, ?)", (conversation_id, now()))


def delete_rows(connection: sqlite3.Connection, rowid: int) -> None:
    """Delete all rows of a conversation. The caller has a transaction."""
    (indexed,) = connection.execute("SELECT indexed FROM conversation WHERE rowid = ?", (rowid,)).fetchone()
    _delete_messages(connection, rowid, 0, indexed)
    for table in DETAILS:
        connection.execute(f"DELETE FROM {table} WHERE conversation = ?", (rowid,))  # noqa: S608
    _put_chapters(connection, rowid, [])
    connection.execute("DELETE FROM document WHERE conversation = ?", (rowid,))
    connection.execute("DELETE FROM conversation WHERE rowid = ?", (rowid,))


def _insert(connection: sqlite3.Connection, entry: Entry, signature: str) -> None:
    own = (signature, entry.text_bytes, 0, int(not entry.messages), now(), ROWS_VERSION)
    rowid = connection.execute(_INSERT, (*astuple(entry.row), *own)).lastrowid
    assert rowid is not None
    connection.execute("INSERT INTO document VALUES (?, ?)", (rowid, entry.document))
    if entry.chapters:
        _put_chapters(connection, rowid, entry.chapters)
    _insert_messages(connection, rowid, entry.messages)
    for table, rows in details_of(entry):
        _insert_details(connection, table, rowid, rows)


def _replace(connection: sqlite3.Connection, old: Stored, entry: Entry, signature: str) -> None:
    """Replace the stored state. Unchanged messages stay, also in the index."""
    kept = _count_equal(connection, old.rowid, entry.messages)
    _delete_messages(connection, old.rowid, kept, old.indexed)
    _insert_messages(connection, old.rowid, entry.messages[kept:])
    for table, rows in details_of(entry):
        _put_details(connection, table, old.rowid, rows)
    connection.execute("UPDATE document SET data = ? WHERE conversation = ?", (entry.document, old.rowid))
    _put_chapters(connection, old.rowid, entry.chapters)
    indexed = min(kept, old.indexed)
    own = (signature, entry.text_bytes, indexed, int(indexed == len(entry.messages)), now(), ROWS_VERSION)
    connection.execute(_UPDATE, (*astuple(entry.row), *own, old.rowid))


def _touch(connection: sqlite3.Connection, rowid: int, entry: Entry, signature: str) -> None:
    """Record that the conversation was seen again, with the present state of its files."""
    connection.execute("UPDATE conversation SET signature = ?, gone_at = NULL WHERE rowid = ?", (signature, rowid))
    connection.execute("UPDATE document SET data = ? WHERE conversation = ?", (entry.document, rowid))
    _put_details(connection, "trace", rowid, entry.traces)


def _missing_files(connection: sqlite3.Connection, rowid: int, entry: Entry) -> list[str]:
    """Return the files of the stored conversation that were not read this time."""
    first = entry.traces[0].marks if entry.traces else None
    is_recorded = RECORDED in (first or "").split()  # only the first of its files was read
    present = {trace.path for trace in (entry.traces[:1] if is_recorded else entry.traces)}
    paths = connection.execute("SELECT path FROM trace WHERE conversation = ? AND role IN ('lead', 'copy')", (rowid,))
    return [path for (path,) in paths if path not in present]


def _size_of(entry: Entry) -> tuple[int, int, int]:
    return entry.row.turns, entry.row.messages, entry.text_bytes


def _keep(connection: sqlite3.Connection, rowid: int, missing: list[str], signature: str) -> None:
    """Keep the stored state, as less was read: an entry of an index, an older copy.

    Either the better files no longer exist, and the archive outlives them, or they were not selected this time.
    """
    are_gone = all(is_gone(on_disk(path)) for path in missing)
    connection.execute(
        "UPDATE conversation SET signature = ?, gone_at = CASE WHEN ? THEN coalesce(gone_at, ?) END WHERE rowid = ?",
        (signature, are_gone, now(), rowid),
    )


def _count_equal(connection: sqlite3.Connection, rowid: int, messages: list[MessageRow]) -> int:
    """Count the messages, from the first, that are stored unchanged."""
    first = rowid << MESSAGE_BITS
    count = 0
    for stored, row in zip(
        connection.execute(_SELECT_MESSAGES, (first, first + MOST_MESSAGES)), messages, strict=False
    ):
        if stored != astuple(row):
            break
        count += 1
    return count


def _insert_messages(connection: sqlite3.Connection, rowid: int, messages: list[MessageRow]) -> None:
    first = rowid << MESSAGE_BITS
    connection.executemany(_INSERT_MESSAGE, ((first + row.position, rowid, *astuple(row)) for row in messages))


def _delete_messages(connection: sqlite3.Connection, rowid: int, start: int, indexed: int) -> None:
    """Delete the messages from a position on, also from the index, which needs their texts for that."""
    first = rowid << MESSAGE_BITS
    if start < indexed:
        connection.execute(_UNINDEX, (first + start, first + indexed))
    connection.execute("DELETE FROM message WHERE rowid >= ? AND rowid < ?", (first + start, first + MOST_MESSAGES))


def _put_chapters(connection: sqlite3.Connection, rowid: int, chapters: Sequence[Chapter]) -> None:
    """Write the chapters that have changed."""
    stored = dict(
        connection.execute("SELECT position, digest FROM chapter WHERE conversation = ?", (rowid,)).fetchall()
    )
    connection.executemany(
        "INSERT OR REPLACE INTO chapter VALUES (?, ?, ?, ?)",
        (
            (rowid, position, *chapter)
            for position, chapter in enumerate(chapters)
            if stored.get(position) != chapter.digest
        ),
    )
    if len(stored) > len(chapters):
        connection.execute("DELETE FROM chapter WHERE conversation = ? AND position >= ?", (rowid, len(chapters)))


def details_of(entry: Entry) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield the tables besides messages, each with its rows."""
    details: tuple[Sequence[Row], ...] = (
        entry.turns, entry.tool_calls, entry.file_edits, entry.usages, entry.skills, entry.traces,
        entry.spends, entry.shares, entry.relations, entry.queued, entry.samples, entry.commands, entry.touches,
        entry.documents, entry.memory_uses,
    )  # fmt: skip
    return zip(DETAILS, details, strict=True)


def _put_details(connection: sqlite3.Connection, table: str, rowid: int, rows: Sequence[Row]) -> None:
    """Replace the stored rows; equal rows at the beginning stay."""
    key = ("message", "position") if table == "tool_call" else ("position",)
    names = ", ".join(key)
    kept = 0
    sql = f"SELECT {_COLUMNS[table]} FROM {table} WHERE conversation = ? ORDER BY {names}"  # noqa: S608 - of our own
    for stored in connection.execute(sql, (rowid,)):
        if kept < len(rows) and stored == astuple(rows[kept]):
            kept += 1
            continue
        connection.execute(
            f"DELETE FROM {table} WHERE conversation = ? AND ({names}) >= ({', '.join('?' * len(key))})",  # noqa: S608
            (rowid, *stored[: len(key)]),
        )
        break
    _insert_details(connection, table, rowid, rows[kept:])


def _insert_details(connection: sqlite3.Connection, table: str, rowid: int, rows: Sequence[Row]) -> None:
    if rows:
        connection.executemany(_INSERT_DETAIL[table], [(rowid, *astuple(row)) for row in rows])
