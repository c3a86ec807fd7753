"""Spans as conversations: what an agent, its tools and its sub-agents did, and the database that keeps it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Attachment, Conversation, Hook, Notice, Prompt, Thinking, Unknown, parts_of, prose_of
from copilog.sources.base import Found, Probe
from copilog.sources.extension.agent_traces import AgentTraces
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    any_cell,
    below,
    calls_in,
    codes,
    database_from,
    execute,
    index,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    results_in,
    spoiled,
)

SOURCE = AgentTraces()
SESSION = "7d1f0000-0000-4000-8000-00000000000d"
CLI_SESSION = "5a3e0c11-0000-4000-8000-000000000001"
FERRY = DATA / "agent_traces" / "ferry.sql"

Json = dict[str, Any]

EMPTY = """
    CREATE TABLE spans (span_id TEXT PRIMARY KEY, trace_id TEXT, parent_span_id TEXT, name TEXT, start_time_ms INTEGER,
        end_time_ms INTEGER, status_code INTEGER, status_message TEXT, operation_name TEXT, conversation_id TEXT);
    CREATE TABLE span_attributes (span_id TEXT, key TEXT, value TEXT, PRIMARY KEY (span_id, key));
    CREATE TABLE span_events (id INTEGER PRIMARY KEY, span_id TEXT, name TEXT, timestamp_ms INTEGER, attributes TEXT);
"""


@pytest.fixture
def ferry(tmp_path: Path) -> Path:
    return database_from(FERRY, tmp_path / "globalStorage" / "github.copilot-chat" / "agent-traces.db")


@pytest.fixture
def session(ferry: Path) -> Conversation:
    return read_one(SOURCE, Found(ferry, SOURCE.name, SESSION))[0]


def traces(folder: Path, *spans: Json) -> Path:
    """Make a database with these spans: id, parent, operation, at, and attributes; `asked` is an event."""
    path = database_from(EMPTY, folder / "agent-traces.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, span in enumerate(spans):
            start = 1777888800000 + span.get("at", number * 100)
            row: tuple[Any, ...] = (
                span["id"],
                "t1",
                span.get("parent"),
                span.get("name", span["op"]),
                start,
                start + 50,
            )
            row += (span.get("status", 1), span.get("error"), span["op"], span.get("session", "s1"))
            connection.execute("INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            for key, value in span.get("attributes", {}).items():
                text = value if isinstance(value, str) else json.dumps(value)
                connection.execute("INSERT INTO span_attributes VALUES (?, ?, ?)", (span["id"], key, text))
            if "asked" in span:
                event = (span["id"], "user_message", start, json.dumps({"content": span["asked"]}))
                connection.execute(
                    "INSERT INTO span_events (span_id, name, timestamp_ms, attributes) VALUES (?, ?, ?, ?)", event
                )
    return path


def agent(span_id: str = "a1", **fields: Any) -> Json:
    return {"id": span_id, "op": "invoke_agent", **fields}


def chat(span_id: str, text: str = "", *calls: tuple[str, str], parent: str | None = "a1", **fields: Any) -> Json:
    parts: list[Json] = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": call, "name": name, "arguments": {}} for call, name in calls]
    attributes = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts}])}
    return {"id": span_id, "op": "chat", "parent": parent, **fields, "attributes": attributes | fields.get("more", {})}


def tool(span_id: str, name: str, parent: str = "a1", **attributes: Any) -> Json:
    return {
        "id": span_id,
        "op": "execute_tool",
        "parent": parent,
        "attributes": {"gen_ai.tool.name": name, **attributes},
    }


# --- where it is ------------------------------------------------------------------------------------------------


def test_the_database_is_in_the_global_folder_of_the_extension(ferry: Path) -> None:
    storage = StorageFolder(ferry.parent.parent, "global", "Code", None)

    assert [(trace.path, trace.native_id) for trace in SOURCE.locate(storage)] == [(ferry, None)]


def test_a_database_of_spans_is_recognized_by_name_or_tables(ferry: Path, tmp_path: Path) -> None:
    renamed = ferry.rename(tmp_path / "copilot-agent-traces.db")

    assert SOURCE.claims(Probe(renamed))
    assert not SOURCE.claims(Probe(database_from("CREATE TABLE spans (a)", tmp_path / "other.db")))


# --- sessions ---------------------------------------------------------------------------------------------------


def test_the_index_lists_the_sessions_and_counts_all_rows(ferry: Path) -> None:
    stubs, ledger = index(SOURCE, ferry)

    assert [(stub.id, stub.marks) for stub in stubs] == [
        (f"vscode:{SESSION}", ["stub", "inside"]),
        (f"cli:{CLI_SESSION}", ["stub", "inside"]),
    ]
    assert stubs[0].updated_at == datetime(2026, 5, 4, 10, 0, 9, tzinfo=UTC)
    assert (ledger.seen, ledger.used, codes(ledger)) == (94, 94, [])


def test_reading_the_file_gives_what_reading_each_session_gives(ferry: Path) -> None:
    everything, ledger = read(SOURCE, ferry)

    assert everything == [
        read_one(SOURCE, Found(ferry, SOURCE.name, native_id))[0] for native_id in (SESSION, CLI_SESSION)
    ]
    assert ledger.seen == 94
    assert ledger.parts.seen == 6


# --- turns ------------------------------------------------------------------------------------------------------


def test_messages_of_a_turn_are_in_order_of_time_with_sub_agents_below_their_call(session: Conversation) -> None:
    assert session.marks == ["trace"]
    assert [(message.role, message.parent_call_id, prose_of(message.parts)) for message in session.messages] == [
        ("system", None, ""),
        ("user", None, "Is the ferry late?"),
        ("assistant", None, "I will ask the harbour."),
        ("user", "call_f1", "When does the ferry leave?"),
        ("tool", None, ""),
        ("assistant", "call_f1", "At ten."),
        ("tool", None, ""),
        ("system", None, ""),
        ("assistant", None, "No, it leaves at ten."),
    ]
    assert [part.text for part in parts_of(session) if isinstance(part, Thinking)] == ["Two things to do."]


def test_the_sent_prompt_is_stored_beside_the_users_text(session: Conversation) -> None:
    prompts = [(part.scope, part.text) for part in parts_of(session) if isinstance(part, Prompt)]

    assert prompts[0] == ("system", "You are a harbour pilot.")
    assert prompts[1][0] == "turn"
    assert "<userRequest>\nIs the ferry late?" in prompts[1][1]


def test_calls_have_outcome_and_result(session: Conversation) -> None:
    subagent, failed = calls_in(session)

    assert (subagent.id, subagent.native_ids, subagent.status) == ("call_f1", ["call_f1__vscode-1"], "complete")
    assert subagent.subagent is not None
    assert (subagent.subagent.name, subagent.subagent.description) == ("Harbour", "Knows the harbour")
    assert (subagent.subagent.prompt, subagent.subagent.result) == ("When does the ferry leave?", "At ten.")
    assert (failed.name, failed.status, failed.origin) == ("read_file", "failed", "internal")
    assert [(result.call_id, result.text, result.is_error) for result in results_in(session)] == [
        ("call_f2", "no such file", True),
        ("call_f1", "At ten.", False),
    ]


def test_usage_is_recorded_by_call_and_as_the_agents_total(session: Conversation) -> None:
    total, first, nested, last = session.turns[0].usage

    assert (total.scope, total.input, total.output) == ("turn", 5200, 90)
    assert (first.scope, first.input, first.cache_read, first.cache_write) == ("call", 2200, 2000, 100)
    assert (first.reasoning, first.credits, first.model) == (12, 1.5, "large-model-2026")
    assert first.extra == {"first_token_ms": 350, "elapsed_ms": 1900.0}
    assert (nested.extra or {})["parent_call_id"] == "call_f1"
    assert last.output == 50
    assert [((used.extra or {})["helper"], used.input) for used in session.usage] == [("title", 80)]


def test_the_agents_span_gives_fields_of_the_turn(session: Conversation) -> None:
    [turn] = session.turns

    assert turn.agent is not None
    assert turn.mode is not None
    assert turn.model is not None
    assert (turn.agent.name, turn.agent.extension_version) == ("GitHub Copilot Chat", "0.59.0")
    assert (turn.mode.name, turn.model.id, turn.model.resolved) == ("Harbour", "auto", "large-model-2026")
    assert (turn.status, turn.timing.first_progress_ms, turn.timing.elapsed_ms) == ("complete", 350, 9000.0)
    assert session.workspace is not None
    assert (session.workspace.branch, session.workspace.commit) == ("main", "a1b2c3d4")
    assert session.extra is not None
    assert [(it.kind, it.title, it.text) for it in session.documents] == [("helper", "title", "The late ferry")]
    assert session.extra["tools"] == [[{"type": "function", "name": "read_file"}]]


def test_a_failed_hook_blocks(session: Conversation) -> None:
    [hook] = [part for part in parts_of(session) if isinstance(part, Hook)]

    assert (hook.type, hook.is_blocking, hook.message) == ("PostToolUse", True, "stop it")


def test_a_session_of_the_cli_is_recognized_by_its_agent(ferry: Path) -> None:
    conversation, _ = read_one(SOURCE, Found(ferry, SOURCE.name, CLI_SESSION))

    assert conversation.id == f"cli:{CLI_SESSION}"
    assert prose_by_role(conversation) == [("user", "List the ports")]
    assert conversation.turns[0].status == "cancelled"


def test_without_content_the_numbers_and_calls_are_still_there(tmp_path: Path) -> None:
    path = database_from(DATA / "agent_traces" / "without_content.sql", tmp_path / "agent-traces.db")

    conversation, _ = read_one(SOURCE, path)

    assert [(call.id, call.name, call.status) for call in calls_in(conversation)] == [
        ("call_1", "list_dir", "complete")
    ]
    assert [(used.input, used.output) for used in conversation.turns[0].usage] == [(700, 9)]


# --- odd traces -------------------------------------------------------------------------------------------------


def test_each_agent_is_a_turn_and_other_spans_belong_to_the_turn_before(tmp_path: Path) -> None:
    hook = {"id": "h1", "op": "execute_hook", "at": 250, "attributes": {"copilot_chat.hook_type": "Stop"}}
    path = traces(
        tmp_path,
        agent("a1", asked="one"),
        chat("c1", "first"),
        hook,
        agent("a2", asked="two", at=300),
        chat("c2", "second", parent="a2", at=310),
    )

    conversation, _ = read_one(SOURCE, path)

    assert [(message.turn, message.role) for message in conversation.messages] == [
        (0, "user"),
        (0, "assistant"),
        (0, "system"),
        (1, "user"),
        (1, "assistant"),
    ]


def test_spans_without_an_agent_span_are_still_a_turn(tmp_path: Path) -> None:
    path = traces(tmp_path, chat("c1", "one", parent="lost"), chat("c2", "two", parent="lost"))

    conversation, _ = read_one(SOURCE, path)

    assert len(conversation.turns) == 1
    assert [words for _, words in prose_by_role(conversation)] == ["one", "two"]
    assert conversation.turns[0].status == "complete"


def test_the_users_text_is_read_from_a_prompt_that_only_the_model_received(tmp_path: Path) -> None:
    sent = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "<userRequest>\nhi\n</userRequest>"}]}])
    path = traces(tmp_path, agent(), chat("c1", "hello", more={"gen_ai.input.messages": sent}))

    assert prose_by_role(read_one(SOURCE, path)[0]) == [("user", "hi"), ("assistant", "hello")]


def test_a_result_without_a_span_is_taken_from_the_next_prompt(tmp_path: Path) -> None:
    heard = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "t1", "response": [{"text": "found"}]}]}]
    path = traces(
        tmp_path,
        agent(asked="go"),
        chat("c1", "", ("t1", "grep")),
        chat("c2", "done", more={"gen_ai.input.messages": json.dumps(heard)}),
    )

    conversation, _ = read_one(SOURCE, path)

    assert [(result.call_id, result.text) for result in results_in(conversation)] == [("t1", "found")]
    assert [message.role for message in conversation.messages] == ["user", "assistant", "tool", "assistant"]


def test_a_sub_agent_without_its_call_does_not_become_a_turn(tmp_path: Path) -> None:
    inner = agent(
        "a2", parent="lost-tool", at=150, session="sub", attributes={"copilot_chat.parent_chat_session_id": "s1"}
    )
    path = traces(tmp_path, agent("a1", asked="go"), chat("c1", "main"), inner, chat("c2", "inner", parent="a2"))

    conversation, _ = read_one(SOURCE, path)

    assert len(conversation.turns) == 1
    assert [prose_of(message.parts) for message in below(conversation, "lost-tool")] == ["inner"]


def test_sub_agents_may_have_sub_agents(tmp_path: Path) -> None:
    path = traces(
        tmp_path,
        agent("a1", asked="go"),
        chat("c1", "", ("t1", "runSubagent")),
        tool("f1", "runSubagent", **{"gen_ai.tool.call.id": "t1"}),
        agent("a2", parent="f1"),
        chat("c2", "", ("t2", "runSubagent"), parent="a2"),
        tool("f2", "runSubagent", parent="a2", **{"gen_ai.tool.call.id": "t2"}),
        agent("a3", parent="f2"),
        chat("c3", "deep", parent="a3"),
    )

    conversation, _ = read_one(SOURCE, path)

    assert [prose_of(message.parts) for message in below(conversation, "t2")] == ["deep"]
    assert len(below(conversation, "t1")) == 1


def test_cycles_of_parent_spans_are_cut(tmp_path: Path) -> None:
    path = traces(tmp_path, agent("a1", parent="c1"), chat("c1", "round", parent="a1"), agent("a9", parent="a9"))

    assert read(SOURCE, path)[1].balances()


def test_parts_of_all_kinds_are_read_and_the_unknown_ones_are_counted(tmp_path: Path) -> None:
    parts = [
        {"type": "reasoning", "content": "hm"},
        {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aGk=", "width": 2},
        {"type": "uri", "modality": "document", "mime_type": None, "uri": "https://example.com/a.pdf"},
        {"type": "song", "tune": "la"},
        7,
    ]
    output = {"gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": "stop"}])}
    path = traces(tmp_path, agent(), {"id": "c1", "op": "chat", "parent": "a1", "attributes": output})

    conversation, ledger = read_one(SOURCE, path)

    image, document = [part for part in parts_of(conversation) if isinstance(part, Attachment)]
    assert (image.type, image.data, image.extra) == ("image", b"hi", {"width": 2})
    assert document.place is not None
    assert document.place.uri == "https://example.com/a.pdf"
    assert [part.raw for part in parts_of(conversation) if isinstance(part, Unknown)] == [parts[3]]
    assert (ledger.parts.seen, ledger.parts.used, ledger.parts.unknown) == (5, 4, {"part:song": 1})
    assert codes(ledger) == ["bad-part"]


def test_spans_of_other_operations_are_in_extra(tmp_path: Path) -> None:
    path = traces(
        tmp_path,
        agent(asked="go"),
        {"id": "e1", "op": "content_event", "parent": "a1", "attributes": {"copilot_chat.markdown_content": "**hi**"}},
        {"id": "m1", "op": "embeddings", "parent": "a1", "attributes": {"gen_ai.usage.input_tokens": "12"}},
        {"id": "x1", "op": "juggle", "parent": "a1", "attributes": {"balls": "3"}},
    )

    conversation, ledger = read_one(SOURCE, path)

    assert [part.text for part in parts_of(conversation) if isinstance(part, Notice)] == ["**hi**"]
    assert [(used.input, (used.extra or {})["operation"]) for used in conversation.turns[0].usage] == [
        (12, "embeddings")
    ]
    assert ledger.unknown == {"operation:juggle": 1}


def test_spans_without_a_session_form_their_own_conversation(tmp_path: Path) -> None:
    path = traces(tmp_path, chat("c1", "alone", parent=None, session=None))

    assert read_one(SOURCE, path)[0].id == "vscode:trace-t1"


# --- damage -----------------------------------------------------------------------------------------------------


def test_rows_without_a_span_are_reported(tmp_path: Path) -> None:
    path = traces(tmp_path, agent(asked="go"))
    execute(
        path,
        "INSERT INTO span_attributes VALUES ('gone', 'key', 'value')",
        "INSERT INTO span_events VALUES (9, 'gone', 'user_message', 1, '{}')",
        "INSERT INTO spans VALUES (NULL, 't', NULL, 'x', 1, 2, 0, NULL, 'chat', 's1')",
    )

    _, ledger = read_one(SOURCE, path)

    assert [(bad.table, bad.code) for bad in ledger.bad] == [("spans", "bad-record"), ("span_events", "bad-record")]
    assert codes(ledger)[-1] == "bad-record"


def test_a_database_without_spans_is_reported(tmp_path: Path) -> None:
    path = database_from("CREATE TABLE other (a)", tmp_path / "agent-traces.db")

    assert codes(read(SOURCE, path)[1]) == ["unreadable-database"]


@given(data=st.data())
def test_cells_of_any_type_are_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("cells") / "agent-traces.db"
    cell = st.one_of(any_cell, st.sampled_from(["a1", "c1", "chat", "invoke_agent", "execute_tool", "user_message"]))
    key = st.sampled_from(["gen_ai.operation.name", "gen_ai.output.messages", "gen_ai.usage.input_tokens", "x"])
    tables = {
        "spans": "span_id, trace_id, parent_span_id, name, start_time_ms, end_time_ms, status_code, operation_name",
        "span_attributes": "span_id, key, value",
        "span_events": "span_id, name, timestamp_ms, attributes",
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for table, columns in tables.items():
            connection.execute(f"CREATE TABLE {table} ({columns})")
            width = columns.count(",") + 1
            for _ in range(data.draw(st.integers(0, 4))):
                row = data.draw(st.lists(cell, min_size=width, max_size=width))
                if table == "span_attributes":
                    row[1] = data.draw(key)
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * width)})", row)

    read_or_refuse(SOURCE, path)


@given(data=st.data())
def test_a_damaged_database_is_read_or_refused(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "damaged-traces"
    sound = folder / "sound.db"
    if not sound.exists():
        database_from(FERRY, sound)
    path = folder / "agent-traces.db"
    path.write_bytes(data.draw(spoiled(sound.read_bytes())))

    read_or_refuse(SOURCE, path)
