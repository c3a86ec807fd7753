"""List what the memory tool wrote, over all workspaces, and how often it was used."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from copilog.store.selection import matcher
from copilog.store.times import text_of

SCOPES = ("user", "repository", "workspace", "session")
NANO = 1_000_000_000

# A plan of a session is a file of its memory. A time that no record has is that of the file.
_MEMORIES = """
    SELECT coalesce(d.scope, 'session') AS scope, c.workspace, d.path, d.characters,
           coalesce(d.updated_at, d.created_at) AS changed_at, f.modified_ns, d.trace, c.id, c.gone_at IS NOT NULL,
           m.result, c.rowid
    FROM conversation_document AS d JOIN conversation AS c ON c.rowid = d.conversation
    LEFT JOIN message AS m ON m.rowid = (d.conversation << 20) + d.message
    LEFT JOIN file AS f ON f.path = d.trace
    WHERE d.kind = 'memory' OR (d.kind = 'plan' AND d.path >= '/memories/session/' AND d.path < '/memories/session0')
"""
# Uses by the conversations that the memory is for: its own, those of its workspace, or all.
_USES = """
    SELECT u.path = ?1, c.rowid, coalesce(u.turn, -1), coalesce(t.started_at, c.updated_at, c.started_at)
    FROM memory_use AS u JOIN conversation AS c ON c.rowid = u.conversation
    LEFT JOIN turn AS t ON t.conversation = u.conversation AND t.position = u.turn
    WHERE CASE ?2 WHEN 'user' THEN 1 WHEN 'session' THEN c.rowid = ?3 ELSE c.workspace IS ?4 END
"""


class Memory(msgspec.Struct, kw_only=True):
    """A file of the memory tool. Unknown uses are None: no conversation that it is for records any."""

    scope: str  # user, repository, workspace, session
    workspace: str | None
    path: str | None  # as the tool names it
    characters: int
    changed_at: str | None
    uses: int | None = None  # turns in which the tool touched it, or a prompt contained it
    last_used_at: str | None = None
    conversation: str | None = None  # of a session's memory
    is_gone: bool = False  # whether its file no longer exists
    file: str | None = None
    text: str | None = None


def memories(
    connection: sqlite3.Connection, *, workspace: str | None = None, scopes: Iterable[str] = (), has_text: bool = False
) -> list[Memory]:
    """Return the memories of all workspaces, or of some: by scope, workspace and path; with their texts if wanted."""
    wanted = frozenset(scopes)
    is_meant = matcher("workspace", workspace) if workspace and workspace.strip() else None
    found: list[Memory] = []
    for row in connection.execute(_MEMORIES).fetchall():
        scope, folder, path, characters, changed_at, modified_ns, file, name, is_gone, text, rowid = row
        if (wanted and scope not in wanted) or (is_meant is not None and not is_meant(folder or "")):
            continue
        if changed_at is None and modified_ns is not None and modified_ns > 0:
            changed_at = text_of(datetime.fromtimestamp(modified_ns / NANO, UTC))
        uses, last_used_at = _uses(connection, path, scope, rowid, folder)
        found.append(
            Memory(
                scope=scope,
                workspace=folder if scope != "user" else None,
                path=path,
                characters=characters,
                changed_at=changed_at,
                uses=uses,
                last_used_at=last_used_at,
                conversation=name if scope == "session" else None,
                is_gone=bool(is_gone),
                file=file,
                text=text if has_text else None,
            )
        )
    return sorted(found, key=lambda each: (SCOPES.index(each.scope), each.workspace or "", each.path or ""))


def _uses(
    connection: sqlite3.Connection, path: str | None, scope: str, rowid: int, folder: str | None
) -> tuple[int | None, str | None]:
    rows = connection.execute(_USES, (path, scope, rowid, folder)).fetchall()
    if not rows:
        return None, None
    turns = {(conversation, turn): at for is_it, conversation, turn, at in rows if is_it}
    return len(turns), max(filter(None, turns.values()), default=None)
