"""Update the full-text index in bulk, and the list of indexed words, for search within words.

A conversation is stored first and indexed later. The tables record what is not in the index yet
(`conversation.is_indexed`, `meta`), so that the next run completes one that was killed.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import msgspec

from copilog.store.database import transaction
from copilog.store.schema import MESSAGE_BITS, TEXT_COLUMNS, TOKENIZER

BATCH_BYTES = 16 << 20
FEW_BYTES = 4 << 20
HASH_BYTES = 64 << 20
BATCHES_UNMERGED = 8
SHORTEST_PART = 3  # characters of a word that can be looked up by trigrams

_TEXTS = ", ".join(TEXT_COLUMNS)
# One statement per batch: FTS5 writes its buffer at the beginning of each statement.
_ROWS = """
    FROM json_each(?) AS range CROSS JOIN message
    WHERE message.rowid >= json_extract(range.value, '$[0]') AND message.rowid < json_extract(range.value, '$[1]')
"""
_INDEX = f"INSERT INTO words (rowid, {_TEXTS}) SELECT message.rowid, {_TEXTS} {_ROWS}"
_TOKENISE = f"INSERT INTO temp.fresh (rowid, {_TEXTS}) SELECT message.rowid, {_TEXTS} {_ROWS}"
_DONE = f"""
    UPDATE conversation SET is_indexed = 1, indexed = coalesce(
        (SELECT max(message.rowid) + 1 FROM message WHERE message.rowid >= conversation.rowid << {MESSAGE_BITS}
         AND message.rowid < (conversation.rowid + 1) << {MESSAGE_BITS}) - (conversation.rowid << {MESSAGE_BITS}), 0)
    WHERE rowid = ?
"""  # noqa: S608
_STALE = "vocabulary is stale"


class Pending(NamedTuple):
    """A conversation whose messages from position `indexed` are not in the index."""

    rowid: int
    indexed: int
    text_bytes: int

    def rows(self) -> tuple[int, int]:
        return (self.rowid << MESSAGE_BITS) + self.indexed, (self.rowid + 1) << MESSAGE_BITS


def _ranges(batch: list[Pending]) -> str:
    return msgspec.json.encode([item.rows() for item in batch]).decode()


def index_pending(connection: sqlite3.Connection, limit_bytes: int | None = None, *, finish: bool = True) -> int:
    """Index stored conversations that are not indexed, up to about so many bytes of text; return their number.

    During a scan, `finish=False` postpones the update of the list of words, which is then made at once.
    """
    amount = _pending_bytes(connection)
    is_by_text = finish and not _is_stale(connection) and _are_few(connection, amount)
    count = taken = 0
    while amount is not None and (limit_bytes is None or taken < limit_bytes):
        with transaction(connection):
            batch = _next_batch(connection)  # in the transaction, as another process may index at the same time
            if not batch:
                break
            _enlarge_buffers(connection)
            connection.execute(_INDEX, (_ranges(batch),))
            connection.executemany(_DONE, [(item.rowid,) for item in batch])
            if is_by_text:
                _add_words_of(connection, batch)
            else:
                connection.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (_STALE,))
        count += len(batch)
        taken += sum(item.text_bytes for item in batch)
    if finish and _is_stale(connection):
        _add_all_words(connection)
    return count


def has_pending(connection: sqlite3.Connection) -> bool:
    """Return whether a search would miss stored texts."""
    (found,) = connection.execute("SELECT EXISTS (SELECT 1 FROM conversation WHERE NOT is_indexed)").fetchone()
    return bool(found) or _is_stale(connection)


def optimise(connection: sqlite3.Connection) -> None:
    """Optimise the index, and drop words that no longer occur."""
    with transaction(connection):
        connection.execute("DELETE FROM word")
        connection.execute("INSERT INTO word_part (word_part) VALUES ('delete-all')")
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        _insert_words(connection, "term")
        connection.execute("DELETE FROM meta WHERE key = ?", (_STALE,))


def _pending_bytes(connection: sqlite3.Connection) -> int | None:
    """Return the approximate bytes of pending text; None if nothing is pending."""
    (amount,) = connection.execute("SELECT sum(text_bytes) FROM conversation WHERE NOT is_indexed").fetchone()
    return None if amount is None else int(amount)


def _next_batch(connection: sqlite3.Connection) -> list[Pending]:
    rows = connection.execute("SELECT rowid, indexed, text_bytes FROM conversation WHERE NOT is_indexed ORDER BY rowid")
    batch: list[Pending] = []
    taken = 0
    for row in rows:
        batch.append(Pending(*row))
        taken += batch[-1].text_bytes
        if taken >= BATCH_BYTES:
            break
    rows.close()
    return batch


def _enlarge_buffers(connection: sqlite3.Connection) -> None:
    """Let the index buffer a batch in memory before it writes, and several batches before it merges them."""
    for table in ("words", "word_part"):
        known = dict(connection.execute(f"SELECT k, v FROM {table}_config"))  # noqa: S608
        for name, value in (("hashsize", HASH_BYTES), ("automerge", BATCHES_UNMERGED)):
            if known.get(name) != value:
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES (?, ?)", (name, value))  # noqa: S608


# --- words ----------------------------------------------------------------------------------------------------------


def _is_stale(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM meta WHERE key = ?", (_STALE,)).fetchone() is not None


def _are_few(connection: sqlite3.Connection, amount: int | None) -> bool:
    """Return whether splitting these texts into words again is cheaper than reading all words of the index."""
    if amount is None or amount <= FEW_BYTES:
        return True
    (total,) = connection.execute("SELECT sum(text_bytes) FROM conversation").fetchone()
    return amount * 4 < int(total)


def _add_words_of(connection: sqlite3.Connection, batch: list[Pending]) -> None:
    """Add the words of a few conversations, split by an index in memory like the large one."""
    connection.execute(
        f"CREATE VIRTUAL TABLE temp.fresh USING fts5 "
        f"({_TEXTS}, content='', detail='none', columnsize=0, tokenize=\"{TOKENIZER}\")"
    )
    connection.execute("CREATE VIRTUAL TABLE temp.fresh_term USING fts5vocab (temp, fresh, row)")
    connection.execute(_TOKENISE, (_ranges(batch),))
    _insert_words(connection, "temp.fresh_term")
    connection.execute("DROP TABLE temp.fresh_term")
    connection.execute("DROP TABLE temp.fresh")


def _add_all_words(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        _insert_words(connection, "term")
        connection.execute("DELETE FROM meta WHERE key = ?", (_STALE,))


def _insert_words(connection: sqlite3.Connection, vocabulary: str) -> None:
    (last,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM word").fetchone()
    connection.execute(f"INSERT OR IGNORE INTO word (word) SELECT term FROM {vocabulary}")  # noqa: S608
    connection.execute(
        "INSERT INTO word_part (rowid, word) SELECT rowid, word FROM word WHERE rowid > ? AND length(word) >= ?",
        (last, SHORTEST_PART),
    )
