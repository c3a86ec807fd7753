"""What the sources of spans do alike: find the sessions in a file, and give all of them or one."""

from __future__ import annotations

from collections.abc import Iterator

from copilog.diagnostics import Ledger
from copilog.model import Conversation
from copilog.sources._extension.spans import Span
from copilog.sources._extension.trace_conversations import Session, conversation_of, sessions_of
from copilog.sources.base import Found, provenance_of

MARK = "trace"


def stubs_from(spans: list[Span], found: Found) -> Iterator[Conversation]:
    """One stub for each session, which stands in this very file."""
    for session in sessions_of(spans).values():
        begun = [tree.started_at for tree in session.trees if tree.started_at is not None]
        ended = [tree.ended_at for tree in session.trees if tree.ended_at is not None]
        stub = Conversation(
            id=f"{session.namespace}:{session.id}",
            native_id=session.id,
            source=found.source,
            marks=["stub", "inside"],
            started_at=min(begun, default=None),
            updated_at=max(ended, default=None),
        )
        yield _placed(stub, session, found, "index")


def conversations_from(spans: list[Span], found: Found, ledger: Ledger) -> Iterator[Conversation]:
    """The conversations of all sessions; with a `native_id` that one. Uses the spans up."""
    for session in sessions_of(spans).values():
        if found.native_id in (None, session.id):
            yield _placed(conversation_of(session, ledger, found.source, MARK), session, found, "lead")


def _placed(made: Conversation, session: Session, found: Found, role: str) -> Conversation:
    made.application = found.application
    made.provenance = [provenance_of(found, role=role, row=session.id)]
    return made
