"""The stored entry of a conversation: nothing is lost, and the rows agree with the conversation."""

from __future__ import annotations

import pickle
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, astuple, replace

from copilog import ingest, sample
from copilog.derive.documents import numbered_documents
from copilog.model import (
    Agent,
    AnyPart,
    Approval,
    Conversation,
    CustomAgent,
    Duration,
    FileChange,
    FileEdit,
    MemoryDocument,
    Message,
    Mode,
    Model,
    PromptShare,
    Provenance,
    Relation,
    Role,
    Skill,
    SubAgent,
    Terminal,
    Text,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
    TurnError,
    Usage,
    Vote,
    Workspace,
)
from copilog.store.documents import conversation_from
from copilog.store.entries import entry_of
from copilog.store.migrations import MIGRATIONS
from copilog.store.packing import pack, unpack
from copilog.store.rows import DETAILS, ConversationRow, MessageRow, Row, columns_of
from copilog.store.schema import DETAIL_TABLES
from copilog.store.times import time_text
from copilog.store.writing import details_of
from tests.samples import EVERY, Sample, read, source_of
from tests.samples import claiming as sources_claiming
from tests.stored import concluded_entry

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


@cache
def sample_conversations() -> list[Conversation]:
    return [conversation for found in ingest.discover([sample.home()]) for conversation in ingest.read(found)]


def plain(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Return rows as the values of their columns."""
    return [astuple(row) for row in rows]


def assert_nothing_is_lost(conversation: Conversation) -> None:
    entry = entry_of(conversation)

    back = conversation_from(entry.document)
    assert back == conversation
    again = entry_of(back)
    assert again.messages == entry.messages
    assert list(details_of(again)) == list(details_of(entry))


# --- nothing is lost --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", EVERY, ids=str)
def test_a_conversation_comes_back_as_it_was(sample: Sample, tmp_path: Path) -> None:
    path = sample.laid_out(tmp_path)
    if sources_claiming(path):
        for conversation in read(path, source_of(path)).conversations:
            assert_nothing_is_lost(conversation)


def test_the_sample_comes_back_as_it_was() -> None:
    assert sample_conversations()
    for conversation in sample_conversations():
        assert_nothing_is_lost(conversation)


def test_a_document_is_json_for_whoever_unpacks_it() -> None:
    [conversation, *_] = sample_conversations()

    document = unpack(entry_of(conversation).document)

    assert msgspec.json.decode(document) == msgspec.to_builtins(conversation)


def test_an_entry_crosses_process_borders() -> None:
    for conversation in sample_conversations():
        entry = entry_of(conversation)
        assert pickle.loads(pickle.dumps(entry)) == entry


def test_a_file_name_that_is_not_valid_text_is_stored() -> None:
    conversation = conversation_with(provenance=[Provenance(source="cli-events", path="/home/ana/t\udce4de.jsonl")])

    entry = entry_of(conversation)

    assert conversation_from(entry.document).provenance[0].path == "/home/ana/t\ufffdde.jsonl"
    assert entry.traces[0].path == "/home/ana/t\ufffdde.jsonl"


def test_numbers_beyond_all_tables_stay_in_the_document() -> None:
    conversation = conversation_with(usage=[Usage(input=10**30, output=7, scope="session")])

    entry = entry_of(conversation)

    assert plain(entry.usages) == [
        (0, None, "session", "", None, None, 7, None, None, None, None, None, None, 0, None, None, None)
    ]
    assert conversation_from(entry.document) == conversation


@given(st.binary())
def test_packing_loses_nothing(data: bytes) -> None:
    assert unpack(pack(data)) == data
    assert unpack(pack(data) + pack(b"more")) == data + b"more"


# --- the digest -------------------------------------------------------------------------------------------------


def test_touching_a_file_changes_nothing() -> None:
    trace = Provenance(source="cli-events", path="/home/ana/events.jsonl", size=10, modified_at=NOON)
    before = conversation_with(provenance=[trace])
    after = conversation_with(provenance=[replace(trace, size=11, modified_at=NOON + timedelta(hours=1))])

    assert entry_of(before).digest == entry_of(after).digest
    assert conversation_from(entry_of(after).document) == after


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Ebb"},
        {"messages": [Message(role="user", parts=[Text(text="Hello again")])]},
        {"provenance": [Provenance(source="cli-events", path="/home/ana/copy.jsonl")]},
        {"extra": {"note": 1}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_other_change_changes_the_digest(changes: dict[str, Any]) -> None:
    assert entry_of(conversation_with()).digest != entry_of(conversation_with(**changes)).digest


# --- rows -------------------------------------------------------------------------------------------------------


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        for migration in MIGRATIONS:
            connection.executescript(migration)
        yield connection


def columns_in(database: sqlite3.Connection, table: str) -> list[str]:
    return [name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")]


def test_rows_have_the_columns_of_their_tables(database: sqlite3.Connection) -> None:
    for table, row in DETAILS.items():
        assert columns_in(database, table) == ["conversation", *columns_of(row)], table
    assert columns_in(database, "message") == ["rowid", "conversation", *columns_of(MessageRow)]
    assert set(columns_of(ConversationRow)) <= set(columns_in(database, "conversation"))
    assert tuple(DETAILS) == DETAIL_TABLES


def test_every_message_has_a_row_and_so_has_the_title() -> None:
    for conversation in sample_conversations():
        documents = sum(made.is_own for made in numbered_documents(conversation))
        assert len(entry_of(conversation).messages) == len(conversation.messages) + documents + 1


def test_a_conversation_has_one_row() -> None:
    conversation = conversation_with(
        message("user", Text(text="When is high tide?\nToday, I mean.")),
        message(
            "assistant",
            ToolCall(id="c1", name="task", status="failed", subagent=SubAgent(name="scout")),
            ToolCall(id="c2", name="read", status="complete"),
            FileEdit(path="/a.py"),
        ),
        message("tool", ToolResult(call_id="c2", is_error=True)),
        title=None,
        native_id="tides",
        application="Code",
        workspace=Workspace(folder="/home/ana/tides", repository="ana/tides", branch="main"),
        started_at=NOON,
        turns=[
            Turn(
                index=0,
                model=Model(id="copilot/auto", name="auto", resolved="tern-4"),
                mode=Mode(kind="agent"),
                custom_agent=CustomAgent(name="pilot"),
                agent=Agent(id="github.copilot.agent"),
                skills=[Skill(name="tables", is_loaded=True, evidence="tool call"), Skill(name="maps", file="/m.md")],
                error=TurnError(message="Rate limit"),
            )
        ],
        marks=["damaged"],
    )

    entry = concluded_entry(conversation)

    assert asdict(entry.row) == {
        "id": "vscode:tides",
        "native_id": "tides",
        "source": "vscode-session",
        "title": "When is high tide?",
        "title_origin": "first prompt",
        "assistant": None,
        "application": "Code",
        "location": None,
        "workspace": "/home/ana/tides",
        "repository": "ana/tides",
        "branch": "main",
        "started_at": "2026-05-04T12:00:00.000Z",
        "updated_at": None,
        "turns": 1,
        "messages": 3,
        "tool_calls": 2,
        "edits": 1,
        "errors": 3,
        "failed_calls": 2,
        "command_errors": 0,
        "models": '["tern-4"]',  # what ran
        "modes": '["agent","pilot"]',
        "agents": '["pilot","github.copilot.agent","scout"]',
        "skills": '["tables"]',
        "marks": '["damaged"]',
        "is_empty": 0,
        "digest": entry.digest,
    }
    assert plain(entry.skills) == [(0, 0, "tables", None, 1, "tool call"), (1, 0, "maps", "/m.md", 0, None)]


def test_a_conversation_with_only_a_memory_is_not_empty() -> None:
    entry = entry_of(conversation_with(turns=[], messages=[], documents=[MemoryDocument(text="Use tabs.")]))

    assert entry.row.is_empty == 0


def test_making_an_entry_changes_nothing_in_the_conversation() -> None:
    made = conversation_with(message("assistant", ToolCall(id="c1", name="read", status="complete"), turn=0))
    before = msgspec.json.encode(made)

    entry_of(made)

    assert msgspec.json.encode(made) == before


def test_a_conversation_without_content_is_empty() -> None:
    entry = entry_of(Conversation(id="vscode:empty", source="vscode-session"))

    assert entry.row.is_empty == 1
    assert plain(entry.messages) == [(0, "title", None, None, None, None, None, "(untitled)", *[None] * 6)]


def test_a_message_gets_its_mode_and_model_from_its_turn() -> None:
    conversation = conversation_with(
        message("user", Text(text="Go"), turn=0, created_at=NOON),
        message("assistant", Text(text="Gone"), turn=0, model="tern-5", parent_call_id="c1"),
        turns=[Turn(index=0, mode=Mode(kind="ask"), model=Model(id="copilot/tern-4", name="tern-4"))],
    )

    entry = entry_of(conversation)

    assert [row[:7] for row in plain(entry.messages)] == [
        (0, "user", 0, "2026-05-04T12:00:00.000Z", "ask", "tern-4", None),
        (1, "assistant", 0, None, "ask", "tern-5", "c1"),
        (2, "title", None, None, None, None, None),
    ]
    assert entry.text_bytes == len("Go" + "Gone" + "Tides")


def test_a_turn_has_one_row() -> None:
    turn = Turn(
        index=3,
        request_id="request_1",
        status="complete",
        agent=Agent(id="workspace", name="workspace"),
        command="explain",
        mode=Mode(kind="ask"),
        model=Model(id="copilot/auto", name="auto", resolved="tern-4"),
        timing=Timing(started_at=NOON, elapsed_ms=1700, first_progress_ms=200, waited_ms=30),
        duration=Duration(elapsed_ms=1500, waiting_ms=30, working_ms=1470),
        vote=Vote(is_up=False, reason="incorrect"),
    )

    [row] = entry_of(conversation_with(turns=[turn])).turns

    told = (3, "request_1", "complete", "workspace", None, "explain", "ask", "auto", "tern-4")
    more = (None, None, "incorrect", None, None, 0, 0, None, None, None, None, 1470, 1, None, None, None)
    assert astuple(row) == (*told, "2026-05-04T12:00:00.000Z", 1500, 200, 30, None, -1, *more)


def test_the_row_of_a_turn_has_the_models_of_its_answers_without_those_of_sub_agents() -> None:
    conversation = conversation_with(
        Message(role="user", turn=0, model="kelp-1", parts=[Text(text="When is low tide?")]),
        Message(role="assistant", turn=0, model="tern-4", parts=[Text(text="At six.")]),
        Message(role="assistant", turn=0, model="gull-2", parent_call_id="c1", parts=[Text(text="A sub-agent's.")]),
        Message(role="assistant", turn=0, model="tern-4-mini", parts=[Text(text="Or at seven.")]),
        Message(role="assistant", turn=1, parts=[Text(text="Nobody knows.")]),
        turns=[Turn(index=0), Turn(index=1)],
    )

    assert [row.answer_models for row in entry_of(conversation).turns] == ['["tern-4","tern-4-mini"]', None]


def test_the_row_of_a_call_includes_its_result() -> None:
    conversation = conversation_with(
        message(
            "assistant",
            Text(text="Let me look."),
            ToolCall(id="c1", name="read", arguments='{"port":"Ö"}', origin="mcp", server="tides", started_at=NOON),
            ToolCall(id="c2", name="write"),
            turn=0,
        ),
        message("tool", ToolResult(call_id="c1", text="Öst", is_error=True), turn=0),
    )

    assert plain(concluded_entry(conversation).tool_calls) == [
        (0, 1, 0, "c1", "read", "mcp", "tides", "2026-05-04T12:00:00.000Z", 13, 4, *[None] * 8, "failed", "Öst"),
        (0, 2, 0, "c2", "write", None, None, None, None, None, *[None] * 8, "unknown", None),
    ]


def test_the_row_of_a_call_includes_its_agent_and_outcome() -> None:
    conversation = conversation_with(
        message("assistant", ToolCall(id="c1", name="task", subagent=SubAgent(name="scout", elapsed_ms=90)), turn=0),
        message(
            "assistant",
            ToolCall(id="c2", name="bash", started_at=NOON, approval=Approval(kind="granted", detail="session")),
            Terminal(call_id="c2", command="cd tides && git push", exit_code=128),
            turn=0,
            parent_call_id="c1",
        ),
        message("tool", ToolResult(call_id="c2", text="done"), turn=0, created_at=NOON + timedelta(seconds=2)),
        turns=[Turn(index=0, custom_agent=CustomAgent(name="pilot"))],
    )

    [started, within] = [row[-10:-2] for row in plain(concluded_entry(conversation).tool_calls)]

    assert started == (90, None, None, "pilot", "scout", None, None, None)
    assert within == (2000, "granted", "session", "scout", None, "c1", '["git push"]', 128)


def test_a_prompt_that_is_sent_again_is_a_retry() -> None:
    conversation = conversation_with(
        *(
            message("user", Text(text=text), turn=turn)
            for turn, text in enumerate(("High?", "High? ", "Low?", "High?"))
        ),
        turns=[Turn(index=index) for index in range(4)],
    )

    assert [row.is_retry for row in entry_of(conversation).turns] == [0, 1, 0, 0]


def test_shares_of_prompts_and_relations_have_rows() -> None:
    conversation = conversation_with(
        turns=[Turn(index=0, usage=[Usage(by_category=[PromptShare(category="Tools", label="MCP", percent=12.5)])])],
        relations=[Relation(kind="fork", other_id="vscode:other", reason="copied")],
    )

    entry = entry_of(conversation)

    assert plain(entry.shares) == [(0, 0, "Tools", "MCP", 12.5)]
    assert plain(entry.relations) == [(0, "fork", "vscode:other", "copied")]


def test_edits_come_from_answers_and_from_the_editing_history() -> None:
    conversation = conversation_with(
        message("assistant", FileEdit(path="/a.py", added=2, removed=1, position=0, call_id="c1"), turn=0),
        message("assistant", FileEdit(uri="untitled:1", action="create", position=4), turn=0),
        turns=[Turn(index=0, undone_from=3)],
        file_changes=[
            FileChange(uri="file:///a.py", path="/a.py", request_id="r1", turn=0, added=2, removed=1),
            FileChange(uri="file:///a.py", path="/a.py", request_id="r1", turn=0, checkpoint="stop", added=1),
            FileChange(uri="file:///b.py", request_id="r1", checkpoint="stop", is_undone=True),
        ],
    )

    assert plain(entry_of(conversation).file_edits) == [
        (0, 0, 0, "/a.py", "edit", 2, 1, 0, "answer", "c1", None, "Python", None, 0),
        (1, 1, 0, "untitled:1", "create", None, None, 1, "answer", None, "undone", None, None, 1),
        (2, None, 0, "/a.py", "edit", 2, 1, 0, "snapshot", None, None, "Python", None, 1),
        (3, None, None, "file:///b.py", "edit", None, None, 1, "snapshot", None, "undone", "Python", None, 1),
    ]


def test_rows_of_traces_include_the_position_in_the_file() -> None:
    traces = [
        Provenance(source="chat-export", path="/a.json"),
        Provenance(source="chat-replay", path="/b.json", role="copy", pointer="/prompts/0"),
        Provenance(
            source="vscode-state", path="/c.vscdb", role="index", table="ItemTable", row="chat.index", marks=["torn"]
        ),
    ]

    assert plain(entry_of(conversation_with(provenance=traces)).traces) == [
        (0, "chat-export", "/a.json", "lead", None, None),
        (1, "chat-replay", "/b.json", "copy", "/prompts/0", None),
        (2, "vscode-state", "/c.vscdb", "index", "ItemTable chat.index", "torn"),
    ]


# --- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (None, None),
        (NOON, "2026-05-04T12:00:00.000Z"),
        (NOON.replace(microsecond=123999), "2026-05-04T12:00:00.123Z"),
        (NOON.replace(microsecond=9), "2026-05-04T12:00:00.000Z"),
        (NOON.astimezone(timezone(timedelta(hours=5, minutes=30))), "2026-05-04T12:00:00.000Z"),
        (datetime(2026, 5, 4, 12, 0, 1, 500), "2026-05-04T12:00:01.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_times_are_written_alike(time: datetime | None, text: str | None) -> None:
    assert time_text(time) == text


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_texts_compare_as_times_do(first: datetime, second: datetime) -> None:
    one, other = time_text(first), time_text(second)
    assert one is not None
    assert other is not None
    if first <= second:
        assert one <= other


def conversation_with(*messages: Message, **facts: Any) -> Conversation:
    return Conversation(
        **{"id": "vscode:tides", "source": "vscode-session", "title": "Tides", "messages": list(messages), **facts}
    )


def message(role: Role, *parts: AnyPart, **facts: Any) -> Message:
    return Message(role=role, parts=list(parts), **facts)
