"""Define the table of checksums, which one migration makes: never change it once released.

A trigger on each table that is covered clears the checksum of what was written; `checksums.seal` makes it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

OF_CONVERSATION = ("document", "messages", "rows", "spend", "state")  # kinds whose key is a conversation's rowid
_DETAILS = (
    "turn", "tool_call", "file_edit", "token_usage", "skill", "trace", "prompt_share", "relation", "queued_prompt",
    "estimate_sample", "command", "file_touch", "told_text", "conversation_document",
    "memory_use",
)  # fmt: skip
COVERED = {
    "document": ("document", "chapter"),
    "messages": ("message",),
    "rows": _DETAILS,
    "spend": ("spend",),
}
STATE = ("signature", "stored_at", "gone_at")  # columns of `conversation` that change while the content does not
PASSING = ("indexed", "is_indexed", "is_compared", "rows_version")  # columns that no checksum covers
_COLUMNS = (
    "id", "native_id", "source", "title", "title_origin", "assistant", "application", "location", "workspace",
    "repository", "branch", "started_at", "updated_at", "turns", "messages", "tool_calls", "edits", "errors",
    "failed_calls", "command_errors", "models", "modes", "agents", "skills", "marks", "is_empty", "digest",
    "text_bytes",
)  # fmt: skip


def _clear(kind: str, key: str) -> str:
    return f"UPDATE checksum SET digest = NULL WHERE kind = '{kind}' AND key = {key} AND digest IS NOT NULL;"  # noqa: S608


def _triggers() -> Iterator[str]:
    for kind, tables in COVERED.items():
        for table in tables:
            for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
                name = f"checksum_{table}_{event.lower()}"
                clear = _clear(kind, f"{row}.conversation")
                yield f"CREATE TRIGGER {name} AFTER {event} ON {table}\n    BEGIN {clear} END;"
    kinds = ", ".join(f"('{kind}', new.rowid)" for kind in OF_CONVERSATION)
    add = f"INSERT OR IGNORE INTO checksum (kind, key) VALUES {kinds};"  # noqa: S608
    yield f"CREATE TRIGGER checksum_conversation_insert AFTER INSERT ON conversation\n    BEGIN {add} END;"
    for kind, columns in (("rows", _COLUMNS), ("state", STATE)):
        yield (
            f"CREATE TRIGGER checksum_conversation_{kind} AFTER UPDATE OF {', '.join(columns)} ON conversation\n"
            f"    BEGIN {_clear(kind, 'new.rowid')} END;"
        )
    names = ", ".join(f"'{kind}'" for kind in OF_CONVERSATION)
    remove = f"DELETE FROM checksum WHERE key = old.rowid AND kind IN ({names});"  # noqa: S608
    yield f"CREATE TRIGGER checksum_conversation_delete AFTER DELETE ON conversation\n    BEGIN {remove} END;"
    for kind, table in (("part", "part"), ("user", "annotation"), ("user", "label"), ("user", "tombstone")):
        for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
            # No INSERT OR IGNORE: the outer statement's way with conflicts would replace it.
            add = (
                f"INSERT INTO checksum (kind, key) SELECT '{kind}', {row}.id"  # noqa: S608
                f" WHERE NOT EXISTS (SELECT 1 FROM checksum WHERE kind = '{kind}' AND key = {row}.id);"
            )
            yield (
                f"CREATE TRIGGER checksum_{table}_{event.lower()} AFTER {event} ON {table}\n"
                f"    BEGIN {_clear(kind, f'{row}.id')} {add} END;"
            )


def _existing() -> Iterator[str]:
    for kind in OF_CONVERSATION:
        yield f"INSERT INTO checksum (kind, key) SELECT '{kind}', rowid FROM conversation;"  # noqa: S608
    yield "INSERT INTO checksum (kind, key) SELECT 'part', id FROM part;"
    yield (
        "INSERT INTO checksum (kind, key) SELECT 'user', id FROM"
        " (SELECT id FROM annotation UNION SELECT id FROM label UNION SELECT id FROM tombstone);"
    )


CHECKSUM_TABLES = "\n".join(
    [
        """
    CREATE TABLE checksum (                -- of what is stored, so that a wrong bit is found
        kind TEXT NOT NULL,                -- document, messages, rows, spend, state: of a conversation; part; user
        key NOT NULL,                      -- rowid of the conversation; id of the part, or of what the user added to
        digest BLOB,                       -- NULL: written since, and not yet sealed
        PRIMARY KEY (kind, key)
    ) WITHOUT ROWID;
    CREATE INDEX checksum_missing ON checksum (kind, key) WHERE digest IS NULL;""",
        *_existing(),
        *_triggers(),
    ]
)


def clear_rows(connection: sqlite3.Connection) -> None:
    """Clear the checksums of rows, which a migration has changed. The caller has a transaction."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'checksum'").fetchone():
        connection.execute("UPDATE checksum SET digest = NULL WHERE kind IN ('messages', 'rows', 'spend', 'state')")
