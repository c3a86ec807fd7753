"""Conversations to export in tests: those of the sample and of real files, hostile ones, and one with everything."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from copilog import ingest
from copilog.diagnostics import Report
from copilog.exports.chosen import chosen_of
from copilog.exports.formats import Format, Making, format_named
from copilog.exports.options import Options
from copilog.exports.writing import Exported, write
from copilog.model import (
    Attachment,
    Conversation,
    Message,
    Outcome,
    Place,
    PlanDocument,
    Prompt,
    SubAgent,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    Workspace,
)
from copilog.sample import home

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOSTILE = {
    "half a surrogate pair": "tide \ud83d table \udc00",
    "NUL": "tide\0table",
    "control characters": "\x1b[31mred\x1b[0m\r\n\x07",
    "markup": "</script><!-- ]]> ``` <think> </tool_response> \u2028 \u202e",
    "a formula": '=HYPERLINK("x")',
    "empty": "",
    "blank": " \n\t ",
    "huge": "tide " * 200_000,
}


@cache
def _sample() -> tuple[Conversation, ...]:
    return tuple(_read(home()))


def sample_conversations() -> list[Conversation]:
    """The conversations of the sample; copies, as tests may change them."""
    return list(copy.deepcopy(_sample()))


@cache
def corpus_conversations(folder: Path) -> tuple[Conversation, ...]:
    return tuple(ingest.read(folder))


def _read(folder: Path) -> Iterator[Conversation]:
    report = Report()
    for found in ingest.discover([folder], report=report):
        yield from ingest.read(found, report=report)


def read_back(path: Path) -> list[Conversation]:
    """Read an exported file as any other file, without merging it with others."""
    return list(ingest.read(path))


def format_of(name: str) -> Format:
    kind = format_named(name)
    assert kind is not None
    return kind


def exported(conversations: list[Conversation], name: str, path: Path, **options: Any) -> Exported:
    making = Making(by="copilog 1.2.3", at=NOON, options=Options(**options))
    return write(chosen_of(conversations), format_of(name), path, making)


def left_out_of(done: Exported) -> dict[str, int]:
    return {each.what: each.number for each in done.left_out}


def at(minute: int) -> datetime:
    return NOON.replace(minute=minute)


def a_conversation(text: str = "Read the tide file", answer: str = "It has 12 lines.") -> Conversation:
    """One turn with a call of a tool, its result and an answer."""
    return Conversation(
        id="vscode:one",
        native_id="one",
        source="vscode-session",
        title="Tide file",
        started_at=at(0),
        updated_at=at(5),
        workspace=Workspace(folder="/home/ana/tides", repository="https://example.org/tides.git", branch="main"),
        turns=[
            Turn(
                index=0,
                request_id="request-1",
                status="complete",
                timing=Timing(started_at=at(0), completed_at=at(5)),
                usage=[Usage(input=1200, output=80, cache_read=1000, reasoning=16, model="gpt-5", source="x")],
            )
        ],
        messages=[
            Message(role="system", turn=0, parts=[Prompt(text="You answer briefly.", scope="system")]),
            Message(role="user", turn=0, created_at=at(0), parts=[Text(text=text)]),
            Message(
                role="assistant",
                turn=0,
                created_at=at(1),
                model="gpt-5",
                parts=[
                    Thinking(text="A file, then."),
                    Text(text="Let me look."),
                    ToolCall(
                        id="call-1",
                        name="read_file",
                        arguments='{"path": "tides.csv"}',
                        status="complete",
                        outcome=Outcome(kind="succeeded"),
                    ),
                ],
            ),
            Message(role="tool", turn=0, created_at=at(2), parts=[ToolResult(call_id="call-1", text="12 lines")]),
            Message(role="assistant", turn=0, created_at=at(5), model="gpt-5", parts=[Text(text=answer)]),
        ],
    )


def with_subagent() -> Conversation:
    """A conversation whose second call started a sub-agent that uses a tool itself."""
    whole = a_conversation()
    outer = ToolCall(
        id="call-2",
        name="runSubagent",
        arguments='{"prompt": "Count them"}',
        status="complete",
        subagent=SubAgent(name="Scout", prompt="Count them", result="There are 12."),
    )
    inner = ToolCall(id="call-3", name="grep", arguments='{"pattern": "."}', status="complete")
    whole.messages[4:4] = [
        Message(role="assistant", turn=0, created_at=at(2), model="gpt-5", parts=[outer]),
        Message(role="user", turn=0, created_at=at(2), parent_call_id="call-2", parts=[Text(text="Count them")]),
        Message(role="assistant", turn=0, created_at=at(3), parent_call_id="call-2", model="gpt-5-mini", parts=[inner]),
        Message(
            role="tool",
            turn=0,
            created_at=at(3),
            parent_call_id="call-2",
            parts=[ToolResult(call_id="call-3", text="12")],
        ),
        Message(
            role="assistant",
            turn=0,
            created_at=at(4),
            parent_call_id="call-2",
            model="gpt-5-mini",
            parts=[Text(text="There are 12.")],
        ),
        Message(role="tool", turn=0, created_at=at(4), parts=[ToolResult(call_id="call-2", text="There are 12.")]),
    ]
    return whole


def hostile_conversations() -> list[Conversation]:
    """Conversations in which texts, names, ids and arguments are hostile."""
    return [_hostile(number, text) for number, text in enumerate(HOSTILE.values())]


def _hostile(number: int, text: str) -> Conversation:
    short = text[:2000]
    whole = a_conversation(f"Look: {text}", f"Here: {text}")
    whole.id, whole.native_id = f"vscode:{number}{short}", f"{number}{short}"
    whole.title = short
    whole.workspace = Workspace(folder=short, repository=short)
    whole.documents = [PlanDocument(text=text)]
    turn = whole.turns[0]
    turn.request_id, turn.details = short, short
    call = whole.messages[2].parts[-1]
    assert isinstance(call, ToolCall)
    call.id, call.name, call.arguments = f"c{short}", f"n{short}", text
    whole.messages[2].parts.insert(0, Thinking(text=text))
    whole.messages[1].parts.append(Attachment(type="file", name=short, place=Place(path=short), text=text))
    whole.messages[3].parts = [ToolResult(call_id=call.id, text=text)]
    whole.messages[2].model = short
    return whole
