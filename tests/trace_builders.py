"""Made-up traces of one conversation, for tests of how they become one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from copilog.model import Conversation, FileChange, Message, Provenance, Text, ToolResult, Turn

STORAGE = "/home/ana/.config/Code/User/workspaceStorage/aaaa"
ELSEWHERE = "/home/ana/.config/Code/User/workspaceStorage/bbbb"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
LOG, FILE = "vscode-session-log", "vscode-session"


def trace(
    source: str, *numbers: int, folder: str = STORAGE, marks: tuple[str, ...] = (), **fields: Any
) -> Conversation:
    """Return a session with the turns of these numbers, as one file has it."""
    suffix = ".jsonl" if source == LOG else ".json"
    made = Conversation(id="vscode:s", native_id="s", source=source, marks=list(marks), **fields)
    for index, number in enumerate(numbers):
        made.turns.append(Turn(index=index, pointer=f"/requests/{index}", request_id=f"r{number}"))
        made.turns[-1].timing.started_at = NOON + timedelta(minutes=number)
        made.messages.append(Message(role="user", parts=[Text(text=f"question {number}")], turn=index))
        made.messages.append(
            Message(role="assistant", parts=[Text(text=f"answer {number} of {folder[-4:]}{suffix}")], turn=index)
        )
    made.provenance = [Provenance(source=source, path=f"{folder}/chatSessions/s{suffix}")]
    return made


def stub(title: str | None = "From the index", folder: str = STORAGE, **fields: Any) -> Conversation:
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-state",
        title=title,
        marks=["stub"],
        extra={"index": {"title": title}},
        provenance=[Provenance(source="vscode-state", path=f"{folder}/state.vscdb", role="index", row="index")],
        **fields,
    )


def edits(*changes: FileChange, folder: str = STORAGE, **fields: Any) -> Conversation:
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-editing",
        file_changes=list(changes),
        marks=["orphan-edits"],
        provenance=[
            Provenance(source="vscode-editing", path=f"{folder}/chatEditingSessions/s/state.json", role="edits")
        ],
        **fields,
    )


def spilled(call_id: str, text: str, folder: str = STORAGE, name: str = "content.txt") -> Conversation:
    path = f"{folder}/GitHub.copilot-chat/chat-session-resources/s/{call_id}/{name}"
    result = ToolResult(call_id=call_id, text=text, full_text=text, full_text_path=path, origin="resource file")
    return Conversation(
        id="vscode:s",
        native_id="s",
        source="vscode-resources",
        messages=[Message(role="tool", parts=[result])],
        marks=["resource"],
        provenance=[Provenance(source="vscode-resources", path=path, role="resource")],
    )


def requests(conversation: Conversation) -> list[str | None]:
    return [turn.request_id for turn in conversation.turns]


def reasons(conversation: Conversation) -> dict[str | None, str | None]:
    """Return why each turn is superseded, in order."""
    return {turn.request_id: turn.superseded for turn in conversation.turns}


def roles(conversation: Conversation) -> list[tuple[str, str]]:
    return [(place.source, place.role) for place in conversation.provenance]


def is_numbered(conversation: Conversation) -> bool:
    """Return whether the numbers of turns and messages agree."""
    numbers = [message.turn for message in conversation.messages if message.turn is not None]
    return [turn.index for turn in conversation.turns] == list(range(len(conversation.turns))) and numbers == sorted(
        numbers
    )


def change(number: int, uri: str = "file:///home/ana/tides.py", **fields: Any) -> FileChange:
    return FileChange(uri=uri, request_id=f"r{number}", diff=f"diff {number}", added=number, removed=0, **fields)
