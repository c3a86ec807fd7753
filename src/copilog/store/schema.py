"""Name the tables and views of the archive, which `migrations` makes. Users query the views: docs/archive.md

Tables are named in the singular, views in the plural. A message's rowid is its conversation's rowid times 2**20 plus
its position, so that all rows of a conversation are adjacent and can be deleted as one range.
"""

from __future__ import annotations

APPLICATION_ID = 0x434F504C  # "COPL"
MESSAGE_BITS = 20
TOKENIZER = "unicode61 remove_diacritics 2"
TEXT_COLUMNS = ("title", "user", "answer", "thinking", "arguments", "result", "paths")

# Tables with one row or more for a conversation, whose first column is its rowid.
DETAIL_TABLES = (
    "turn", "tool_call", "file_edit", "token_usage", "skill", "trace", "spend", "prompt_share", "relation",
    "queued_prompt", "estimate_sample", "command", "file_touch",
    "conversation_document", "memory_use",
)  # fmt: skip
# Version of the rows that `entries` makes. Rows of an earlier version are rebuilt from the document.
ROWS_VERSION = 20
# SQL for how a turn ends that was not answered.
UNANSWERED = "('failed', 'cancelled')"
UNNAMED = "(unnamed)"  # a sub-agent without a name
# Views for users and data frames.
VIEWS = (
    "conversations", "messages", "turns", "tool_calls", "file_edits", "usage", "spending", "prompt_shares", "skills",
    "relations", "traces", "files", "problems", "commands", "file_touches", "documents",
    "memory_uses",
)  # fmt: skip


def is_counted(row: str, turn: str = "turn") -> str:
    """Return SQL that holds for rows, named `row`, of turns that count, and for rows without a turn."""
    return (  # internal names; the index has only superseded turns, so the test costs nothing
        "NOT EXISTS (SELECT 1 FROM turn AS superseded INDEXED BY turn_superseded"  # noqa: S608
        f" WHERE superseded.conversation = {row}.conversation AND superseded.position = {row}.{turn}"
        " AND superseded.superseded IS NOT NULL)"
    )
