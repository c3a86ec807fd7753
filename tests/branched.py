"""A made-up conversation with superseded turns and branches.

    1 ── 2 (removed) ── 3 ── 4
                        └─ 5 ── 6 (undone)      a copy that continued in another workspace
                           └─ 7                 and a copy of that one

Whatever belongs to a superseded turn has `ghost` in its name, so that it is noticed wherever it appears.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from copilog.model import (
    AnyPart,
    Branch,
    Conflict,
    Conversation,
    CustomAgent,
    FileChange,
    FileEdit,
    Message,
    Mode,
    Model,
    PromptShare,
    Provenance,
    Skill,
    SubAgent,
    Terminal,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    Usage,
    Vote,
    Workspace,
)

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
FOLDER = "/home/ana/tide-tables"
TRUNK, COPY, THIRD = (f"/home/ana/storage/{name}/chatSessions/1c.jsonl" for name in ("trunk", "copy", "third"))
PROMPTS = (
    "Which gauges do we have?",
    "Ask the ghost of the harbour",
    "Compute the high tides",
    "Print them as a table",
    "Plot them instead",
    "Summon the ghost again",
    "Plot the low tides, too",
)
ANSWERS = ("Two gauges.", "The ghostly answer.", "Computed.", "Printed.", "Plotted.", "The ghost is back.", "Both.")
SUPERSEDED = {1: "removed", 5: "undone"}
FROM_TRUNK, FROM_COPY = Branch(leaves_from=2, trace=COPY), Branch(leaves_from=4, trace=THIRD)


def branched_conversation(native_id: str = "1c", *, title: str | None = "Tides in copies") -> Conversation:
    branches = {4: FROM_TRUNK, 5: FROM_TRUNK, 6: FROM_COPY}
    traces = {3: [TRUNK], 4: [COPY, THIRD], 5: [COPY], 6: [THIRD]}
    turns = [
        _turn(index, branch=branches.get(index), traces=traces.get(index, [TRUNK, COPY, THIRD]))
        for index in range(len(PROMPTS))
    ]
    return Conversation(
        id=f"vscode:{native_id}",
        native_id=native_id,
        source="vscode-session-log",
        title=title,
        assistant="GitHub Copilot",
        workspace=Workspace(folder=FOLDER),
        started_at=NOON,
        updated_at=NOON + timedelta(hours=1),
        turns=turns,
        messages=[message for turn in turns for message in _messages(turn)],
        file_changes=[_change(index) for index in range(len(PROMPTS))],
        provenance=[
            Provenance(source="vscode-session-log", path=TRUNK, role="lead"),
            Provenance(
                source="vscode-session-log",
                path=COPY,
                role="copy",
                conflicts=[
                    Conflict(field="title", value="Tides elsewhere"),
                    Conflict(field="status", value="cancelled", turn=2),
                ],
            ),
            Provenance(source="vscode-session-log", path=THIRD, role="copy"),
        ],
    )


def _name(index: int, real: str) -> str:
    return f"ghost-{real}" if index in SUPERSEDED else real


def _turn(index: int, **more: Any) -> Turn:
    is_ghost = index in SUPERSEDED
    model = _name(index, "tern-5" if index != 4 else "gull-2")
    usage = Usage(
        input=900_000 if is_ghost else 1000 + index,
        output=100_000 if is_ghost else 100 + index,
        premium_requests=50.0 if is_ghost else 1.0,
        by_category=[PromptShare(category=_name(index, "Files"), percent=50.0)],
        source="result",
    )
    return Turn(
        index=index,
        request_id=f"request_{index:020}",
        status="failed" if is_ghost else "complete",
        error=TurnError(message="The ghost is asleep", code="ghost-error") if is_ghost else None,
        vote=Vote(is_up=False, reason="ghostly") if is_ghost else None,
        mode=Mode(kind=_name(index, "agent")),
        custom_agent=CustomAgent(name=_name(index, "pilot"), evidence="modeInfo"),
        model=Model(id=f"copilot/{model}", name=model),
        skills=[Skill(name=_name(index, "tides"), is_loaded=True, evidence="read")],
        timing=Timing(started_at=NOON + timedelta(minutes=index), elapsed_ms=9e6 if is_ghost else 20_000.0),
        usage=[usage],
        is_undone=SUPERSEDED.get(index) == "undone",
        superseded=SUPERSEDED.get(index),
        **more,
    )


def _messages(turn: Turn) -> list[Message]:
    index, at = turn.index, turn.timing.started_at
    call, scout, file = f"call-{index}", f"scout-{index}", f"{FOLDER}/{_name(index, f'tide{index}.py')}"
    parts: list[AnyPart] = [
        Thinking(text=_name(index, "thoughts about tides")),
        Text(text=ANSWERS[index]),
        ToolCall(
            id=call,
            name=_name(index, "run_in_terminal"),
            arguments=f'{{"command": "{_name(index, "pytest")} -q"}}',
            status="failed" if turn.superseded else "complete",
        ),
        Terminal(call_id=call, command=f"{_name(index, 'pytest')} -q", output=_name(index, "1 passed"), exit_code=0),
        FileEdit(uri=f"file://{file}", path=file, added=3, removed=1, diff=f"--- a\n+++ b\n+{_name(index, 'tide')}\n"),
        ToolCall(
            id=scout,
            name=_name(index, "runSubagent"),
            status="complete",
            subagent=SubAgent(name=_name(index, "scout"), prompt=_name(index, "look"), result=_name(index, "seen")),
        ),
    ]
    result = ToolResult(call_id=call, text=_name(index, "all passed"), is_error=bool(turn.superseded))
    below = Text(text=_name(index, "looked around"))
    return [
        Message(role="user", parts=[Text(text=PROMPTS[index])], turn=index, created_at=at),
        Message(role="assistant", parts=parts, turn=index, created_at=at),
        Message(role="assistant", parts=[below], turn=index, created_at=at, parent_call_id=scout),
        Message(role="tool", parts=[result], turn=index, created_at=at),
    ]


def _change(index: int) -> FileChange:
    file = f"{FOLDER}/{_name(index, f'tide{index}.py')}"
    return FileChange(
        uri=f"file://{file}",
        path=file,
        turn=index,
        request_id=f"request_{index:020}",
        before="old\n",
        after=f"{_name(index, 'tide')}\n",
        added=1,
        removed=1,
    )
