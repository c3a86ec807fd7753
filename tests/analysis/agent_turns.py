"""Small made-up conversations of which only agents, skills and calls matter."""

from __future__ import annotations

from pathlib import Path

from copilog.analysis.selection import Chosen, choose
from copilog.definitions import Definition, Kind
from copilog.model import (
    Agent,
    Conversation,
    CustomAgent,
    Message,
    Skill,
    Status,
    SubAgent,
    Timing,
    ToolCall,
    Turn,
    Workspace,
)
from copilog.store.archive import Archive
from tests.measured import at
from tests.stored import concluded_entry


def turn(
    index: int,
    agent: str | None = None,
    *,
    evidence: str = "modeInfo",
    participant: str | None = None,
    status: Status = "complete",
    skills: list[Skill] | None = None,
    is_system: bool = False,
    request_id: str | None = None,
    day: int = 4,
) -> Turn:
    """Make a turn at so many minutes past nine."""
    return Turn(
        index=index,
        request_id=request_id,
        status=status,
        agent=Agent(id=participant) if participant else None,
        custom_agent=CustomAgent(name=agent, evidence=evidence) if agent else None,
        skills=skills or [],
        is_system_initiated=is_system,
        timing=Timing(started_at=at(day, f"09:{index:02}:00")),
    )


def calls(number: int, *parts: ToolCall, inside: str | None = None) -> Message:
    """Make a message with the calls of a turn, or of the sub-agent that one of its calls started."""
    return Message(role="assistant", turn=number, parent_call_id=inside, parts=list(parts))


def call(call_id: str, name: str, server: str | None = None) -> ToolCall:
    return ToolCall(id=call_id, name=name, status="complete", origin="mcp" if server else "internal", server=server)


def start(call_id: str, subagent: str | None, *, is_failed: bool = False) -> ToolCall:
    status = "failed" if is_failed else "complete"
    return ToolCall(id=call_id, name="runSubagent", status=status, subagent=SubAgent(name=subagent, prompt="Go."))  # type: ignore[arg-type]


def conversation(
    name: str, turns: list[Turn], *messages: Message, day: int = 4, folder: str | None = None
) -> Conversation:
    return Conversation(
        id=f"vscode:{name}",
        native_id=name,
        source="vscode-session",
        workspace=Workspace(folder=folder) if folder else None,
        started_at=at(day, "09:00:00"),
        updated_at=at(day, "09:59:00"),
        turns=turns,
        messages=list(messages),
    )


def store(archive: Archive, *conversations: Conversation) -> Chosen:
    """Put them into an archive, and choose all that it holds."""
    for made in conversations:
        archive.put(concluded_entry(made), "made up")
    return choose(archive)


def defined(
    name: str,
    kind: Kind = "agent",
    *,
    folder: str = "/home/ana/tide-tables",
    tools: list[str] | None = None,
    handoffs: list[str] | None = None,
) -> Definition:
    """Make a definition in a workspace."""
    file = f"skills/{name}/SKILL.md" if kind == "skill" else f"{kind}s/{name}.md"
    path = str(Path(folder, ".github", file).as_posix())
    return Definition(kind=kind, name=name, path=path, tools=tools or [], handoffs=handoffs or [])
