"""Made-up conversations for tests of what is printed, and how they are printed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from copilog.model import AnyPart, Conversation, Message, Text, TextEdit, Turn, Workspace
from copilog.writers.terminal import TextOptions, render_conversation

FOLDER = "/home/ana/tide-tables"


def conversation(*answer: AnyPart, asked: Sequence[AnyPart] = (), **turn: Any) -> Conversation:
    """Return a conversation of one turn."""
    question: list[AnyPart] = list(asked) or [Text(text="When is high tide?")]
    return Conversation(
        id="vscode:5f0c2a9e",
        source="vscode-session",
        title="High tide",
        assistant="GitHub Copilot",
        workspace=Workspace(folder=FOLDER),
        turns=[Turn(index=0, **turn)],
        messages=[
            Message(role="user", parts=question, turn=0),
            Message(role="assistant", parts=list(answer), turn=0),
        ],
    )


def shown(made: Conversation, *, terminal: bool = False, **options: Any) -> str:
    """Return the text without colours: as a pipe gets it, or laid out for a terminal of 100 columns."""
    page = io.StringIO()
    console = Console(file=page, width=100, no_color=True, color_system=None)
    for piece in render_conversation(made, TextOptions(markdown=terminal, **options)):
        console.print(piece, soft_wrap=not terminal)
    return page.getvalue()


def edit(line: int, column: int, text: str) -> TextEdit:
    return TextEdit(start_line=line, start_column=column, end_line=line, end_column=column, text=text)
