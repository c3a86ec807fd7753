"""What tests of the archive put into it, and how they look at its rows."""

from __future__ import annotations

from typing import Any

from copilog.store.archive import Archive
from copilog.store.entries import Entry

HARBOUR = ("When is high water?", "At noon, harbour time.")
MOORING = ("And the mooring?", "Two knots, café side.")


def put_all(archive: Archive, *entries: Entry) -> list[str]:
    outcomes = [archive.put(each, "files-1") for each in entries]
    archive.index_pending()
    return list(outcomes)


def rows(archive: Archive, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return archive.connection.execute(query, values).fetchall()


def hits(archive: Archive, words: str) -> list[tuple[str, int]]:
    """Return the rows that match in the full-text index itself."""
    return rows(
        archive,
        "SELECT conversation.id, message.position FROM words JOIN message ON message.rowid = words.rowid "
        "JOIN conversation ON conversation.rowid = message.conversation WHERE words MATCH ? ORDER BY 1, 2",
        words,
    )


def words_with(archive: Archive, piece: str) -> list[str]:
    found = rows(
        archive,
        "SELECT word FROM word WHERE rowid IN (SELECT rowid FROM word_part WHERE word_part MATCH ?) ORDER BY word",
        piece,
    )
    return [word for (word,) in found]
