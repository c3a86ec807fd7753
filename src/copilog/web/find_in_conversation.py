"""Search in one conversation: its messages that contain the words, loaded into a page or not."""

from __future__ import annotations

import msgspec

from copilog.store.archive import Archive
from copilog.store.schema import MESSAGE_BITS

MOST_HITS = 5_000
LONGEST_WORDS = 200


class Hits(msgspec.Struct):
    """Messages by position, and whether there are more."""

    words: str
    messages: list[int]
    is_cut: bool = False


def find_in(archive: Archive, conversation_id: str, words: str) -> Hits:
    """Return the messages whose texts contain these words as they are written, ignoring case."""
    wanted = words.strip()[:LONGEST_WORDS].casefold()
    found = Hits(words.strip()[:LONGEST_WORDS], [])
    row = archive.connection.execute("SELECT rowid FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    if row is None or not wanted:
        return found
    first = row[0] << MESSAGE_BITS  # all rows of a conversation are consecutive
    rows = archive.connection.execute(
        "SELECT position, user, answer, thinking, arguments, result, paths FROM message "
        "WHERE rowid >= ? AND rowid < ? AND role NOT IN ('title', 'document') ORDER BY rowid",
        (first, first + (1 << MESSAGE_BITS)),
    )
    for position, *texts in rows:
        if any(text and wanted in text.casefold() for text in texts):
            if len(found.messages) == MOST_HITS:
                found.is_cut = True
                break
            found.messages.append(position)
    return found
