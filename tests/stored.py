"""Small made-up conversations for tests of the archive."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from copilog.derive import conclude
from copilog.model import Conversation, Message, Mode, Model, Provenance, Text, ToolCall, Turn, Workspace
from copilog.store.entries import Entry, entry_of

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


def conversation(
    native_id: str,
    *exchanges: tuple[str, str],
    title: str | None = None,
    folder: str | None = "/home/ana/tide-tables",
    model: str | None = "gpt-5",
    mode: str = "agent",
    days: int = 0,
    path: str | None = None,
    tool: str | None = None,
) -> Conversation:
    """A conversation of questions and answers, touched so many days after the first of them."""
    moment = NOON + timedelta(days=days)
    messages: list[Message] = []
    for turn, (question, answer) in enumerate(exchanges):
        messages.append(Message(role="user", parts=[Text(text=question)], turn=turn, created_at=moment))
        messages.append(Message(role="assistant", parts=[Text(text=answer)], turn=turn, created_at=moment))
        if tool is not None:
            messages[-1].parts.append(ToolCall(id=f"call-{turn}", name=tool, arguments='{"path": "tides.py"}'))
    return Conversation(
        id=f"vscode:{native_id}",
        native_id=native_id,
        source="vscode-session",
        title=title,
        workspace=Workspace(folder=folder) if folder else None,
        started_at=moment - timedelta(hours=1),
        updated_at=moment,
        turns=[
            Turn(
                index=turn,
                status="complete",
                mode=Mode(kind=mode),
                model=Model(id=f"copilot/{model}", name=model) if model else None,
            )
            for turn in range(len(exchanges))
        ],
        messages=messages,
        provenance=[
            Provenance(source="vscode-session", path=path or f"/home/ana/chatSessions/{native_id}.json", size=100)
        ],
    )


def entry(native_id: str, *exchanges: tuple[str, str], **more: object) -> Entry:
    return concluded_entry(conversation(native_id, *exchanges, **more))  # type: ignore[arg-type]


def concluded_entry(made: Conversation) -> Entry:
    """The entry of a conversation as a scan makes it: with its conclusions."""
    conclude(made)
    return entry_of(made)
