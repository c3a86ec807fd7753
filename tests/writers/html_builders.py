"""Made-up conversations for tests of their HTML, and that HTML."""

from __future__ import annotations

from copilog.model import Conversation, Message, Turn, Workspace
from copilog.render.pages import render_page
from copilog.writers.html.addresses import ServedAddresses
from copilog.writers.html.conversation import Pages, Window


def told(*messages: Message, turns: int = 1, **more: object) -> Conversation:
    values: dict[str, object] = {
        "id": "vscode:1",
        "source": "vscode-session",
        "assistant": "GitHub Copilot",
        "workspace": Workspace(folder="/home/ana/tide-tables"),
        "turns": [Turn(index=index, status="complete") for index in range(turns)],
        "messages": list(messages),
        **more,
    }
    return Conversation(**values)  # type: ignore[arg-type]


def asked(*parts: object, turn: int = 0) -> Message:
    return Message(role="user", parts=list(parts), turn=turn)  # type: ignore[arg-type]


def answered(*parts: object, turn: int = 0, **more: object) -> Message:
    return Message(role="assistant", parts=list(parts), turn=turn, **more)  # type: ignore[arg-type]


def drawn(window: Window) -> str:
    return render_page("conversation_part.html", what="window", messages=window)


def shown(conversation: Conversation, *, is_served: bool = False) -> str:
    addresses = ServedAddresses(conversation.id) if is_served else None
    return drawn(Pages(conversation, addresses).whole())
