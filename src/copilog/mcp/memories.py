"""Find memories and plans: documents of conversations, which are opened one by one, newest first."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from copilog.store.archive import Archive
from copilog.store.selection import Selection

KINDS = frozenset({"memory", "plan"})
MOST_OPENED = 300  # conversations


class Recorded(NamedTuple):
    """A memory or a plan."""

    kind: str
    title: str | None
    path: str | None
    text: str
    id: str  # of the conversation
    workspace: str | None
    updated_at: str | None  # of the conversation


class Memories(NamedTuple):
    """The memories of a selection, newest first."""

    found: list[Recorded]
    is_complete: bool


def recorded_memories(archive: Archive, selection: Selection) -> Memories:
    """Return the memories and plans of selected conversations, those of the last active conversation first.

    Memories of a workspace or of the user belong to no conversation, and count as well.
    """
    having = "SELECT c.id FROM conversation AS c JOIN conversation_document AS d ON d.conversation = c.rowid"
    kinds = ", ".join("?" * len(KINDS))
    rows = archive.connection.execute(f"{having} WHERE d.kind IN ({kinds})", sorted(KINDS))
    ids = {name for (name,) in rows.fetchall()}
    everywhere = msgspec.structs.replace(selection, include_empty=True)
    selected = [summary for summary in archive.list_selected(everywhere) if summary.id in ids] if ids else []
    found = [
        Recorded(
            kind=document.kind,
            title=document.title,
            path=document.path,
            text=document.text,
            id=summary.id,
            workspace=summary.workspace,
            updated_at=summary.updated_at.isoformat() if summary.updated_at is not None else None,
        )
        for summary in selected[:MOST_OPENED]
        for document in archive.get(summary.id).documents
        if document.kind in KINDS and document.text.strip()
    ]
    return Memories(found, len(selected) <= MOST_OPENED)
