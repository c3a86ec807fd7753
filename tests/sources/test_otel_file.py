"""Files of the OpenTelemetry exporter: spans, log records and metrics mixed, in the older and the newer form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copilog.model import Confirmation, Conversation
from copilog.sources.base import Found, Probe
from copilog.sources.extension.agent_traces import AgentTraces
from copilog.sources.extension.otel_files import OtelFile
from copilog.sources.roots import StorageFolder
from tests.sources.extension_builders import (
    DATA,
    calls_in,
    codes,
    database_from,
    index,
    lost_texts,
    prose_by_role,
    read,
    read_one,
    read_or_refuse,
    spoiled,
    with_other_values,
    write_lines,
)

SOURCE = OtelFile()
NEWER, OLDER = DATA / "otel_file" / "ferry.jsonl", DATA / "otel_file" / "ferry_older.jsonl"
SESSION = "7d1f0000-0000-4000-8000-00000000000d"

Json = dict[str, Any]


def span(**fields: Any) -> Json:
    made: Json = {"traceId": "t1", "spanId": "c1", "name": "chat m", "startTime": [1777888800, 0], "attributes": {}}
    return made | fields


# --- where it is ------------------------------------------------------------------------------------------------


def test_files_are_located_in_the_folder_of_the_cli(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "otel" / "run.jsonl", [span()])

    assert [trace.path for trace in SOURCE.locate(StorageFolder(tmp_path, "copilot-home", None, None))] == [path]
    assert list(SOURCE.locate(StorageFolder(tmp_path, "workspace", None, None))) == []


def test_spans_of_older_cli_releases_are_read(tmp_path: Path) -> None:
    tokens = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.cache_read_input_tokens": 5,
        "gen_ai.usage.cache_creation_input_tokens": 3,
        "gen_ai.usage.reasoning_output_tokens": 2,
    }
    asked = {"github.copilot.permission.kind": "shell", "github.copilot.permission.result": "approved"}
    path = write_lines(
        tmp_path / "run.jsonl",
        [span(attributes=tokens), span(spanId="p1", name="permission", parentSpanId="c1", attributes=asked)],
    )

    conversation, ledger = read_one(SOURCE, path)

    [usage] = conversation.turns[0].usage
    assert (usage.input, usage.cache_read, usage.cache_write, usage.reasoning) == (9, 5, 3, 2)
    parts = [part for message in conversation.messages for part in message.parts]
    asked_for = [(part.title, part.answer) for part in parts if isinstance(part, Confirmation)]
    assert (asked_for, ledger.unknown) == ([("shell", "approved")], {})


def test_the_server_of_a_call_and_the_model_of_a_sub_agent_are_read(tmp_path: Path) -> None:
    def named(operation: str, **attributes: Any) -> Json:
        return {"gen_ai.operation.name": operation, "gen_ai.conversation.id": "s1", **attributes}

    parameters = "github.copilot.tool.parameters."
    request = {"type": "tool_call", "id": "c2", "name": "sea-depth", "arguments": {}, "mcp_server_name": "sea"}
    said = json.dumps([{"role": "assistant", "parts": [request]}])
    task = {"gen_ai.tool.name": "task", "gen_ai.tool.call.id": "c1", "gen_ai.tool.type": "function"}
    served = {"gen_ai.tool.name": "weather-wind", "gen_ai.tool.call.id": "c3", "gen_ai.tool.type": "function"}
    served |= {f"{parameters}mcp_server_name": "weather", f"{parameters}mcp_tool_name": "wind"}
    announced = {"gen_ai.tool.name": "sea-depth", "gen_ai.tool.call.id": "c2", "gen_ai.tool.type": "function"}
    path = write_lines(
        tmp_path / "run.jsonl",
        [
            span(spanId="a1", name="invoke_agent", attributes=named("invoke_agent")),
            span(parentSpanId="a1", attributes=named("chat", **{"gen_ai.output.messages": said})),
            span(spanId="x1", parentSpanId="a1", attributes=named("execute_tool", **task)),
            span(spanId="x2", parentSpanId="a1", attributes=named("execute_tool", **announced)),
            span(spanId="x3", parentSpanId="a1", attributes=named("execute_tool", **served)),
            span(spanId="a2", parentSpanId="x1", name="invoke_agent diver", attributes=named("invoke_agent")),
            span(spanId="h2", parentSpanId="a2", attributes=named("chat", **{"gen_ai.response.model": "gull-2"})),
        ],
    )
    conversation, _ = read_one(SOURCE, path)

    calls = {call.id: call for call in calls_in(conversation)}
    assert {(name, call.server, call.origin) for name, call in calls.items()} == {
        ("c1", None, "internal"),
        ("c2", "sea", "mcp"),
        ("c3", "weather", "mcp"),
    }
    assert calls["c3"].tool_id == "wind"
    assert calls["c1"].subagent is not None
    assert (calls["c1"].subagent.name, calls["c1"].subagent.model) == ("diver", "gull-2")


def test_files_are_recognized_by_their_first_line(tmp_path: Path) -> None:
    mine: list[Json] = [
        span(),
        {"_spanContext": {"spanId": "x"}},
        {"hrTime": [1, 2], "body": ""},
        {"scopeMetrics": [], "resource": {}},
    ]
    others: list[Json] = [
        {"resourceSpans": []},
        {"traceId": "t", "spanId": "s"},
        {"type": "user.message", "data": {}},
        {},
    ]

    def is_claimed(value: Json) -> bool:
        return SOURCE.claims(Probe(write_lines(tmp_path / "copilot.log", [value])))

    assert [is_claimed(value) for value in mine] == [True] * 4
    assert [is_claimed(value) for value in others] == [False] * 4


# --- content ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [NEWER, OLDER], ids=["newer", "older"])
def test_spans_in_a_file_read_the_same_as_in_the_database(path: Path, tmp_path: Path) -> None:
    database = database_from(DATA / "agent_traces" / "ferry.sql", tmp_path / "agent-traces.db")

    mine, ledger = read(SOURCE, path)
    theirs, _ = read(AgentTraces(), database)

    assert [prose_by_role(conversation) for conversation in mine] == [
        prose_by_role(conversation) for conversation in theirs
    ]
    assert [conversation.id for conversation in mine] == [conversation.id for conversation in theirs]
    assert [_numbers(conversation) for conversation in mine] == [_numbers(conversation) for conversation in theirs]
    assert (ledger.seen, ledger.used) == (14, 11)
    assert ledger.ignored == {"log-record": 1, "empty-record": 1, "metrics": 1}
    assert codes(ledger) == []


def _numbers(conversation: Conversation) -> list[Any]:
    return [(used.model, used.input, used.output, used.credits) for turn in conversation.turns for used in turn.usage]


def test_log_records_with_a_session_are_read() -> None:
    conversation, _ = read_one(SOURCE, Found(NEWER, SOURCE.name, SESSION))

    assert conversation.extra is not None
    assert [event["name"] for event in conversation.extra["events"]] == ["copilot_chat.session.start"]


def test_the_index_lists_the_sessions_and_reading_one_counts_nothing_again() -> None:
    stubs, ledger = index(SOURCE, NEWER)

    assert [stub.native_id for stub in stubs] == [SESSION, "5a3e0c11-0000-4000-8000-000000000001"]
    assert ledger.seen == 14
    assert read_one(SOURCE, Found(NEWER, SOURCE.name, SESSION))[1].seen == 0


def test_all_content_of_spans_is_read() -> None:
    spans = [json.loads(line) for line in NEWER.read_text(encoding="utf-8").splitlines()]
    spans = [value for value in spans if "spanId" in value]
    ids = {value[key] for value in spans for key in ("spanId", "traceId")}
    parents = {value.get("parentSpanContext", {}).get("spanId", "") for value in spans}
    kinds = {"chat", "invoke_agent", "execute_tool", "execute_hook", "user_message", "system", "title-1"}
    names = {value["name"] for value in spans}

    lost = lost_texts(spans, read(SOURCE, NEWER)[0], *ids, *parents, *kinds, *names)

    assert lost == ["runSubagent-Harbour"]  # the label; the agent's own name is stored


def test_a_session_of_the_cli_is_recognized_by_its_service(tmp_path: Path) -> None:
    resource = {"attributes": {"service.name": "github-copilot"}}
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s1"}
    path = write_lines(tmp_path / "otel.jsonl", [span(attributes=attributes, resource=resource)])

    assert read_one(SOURCE, path)[0].id == "cli:s1"


def test_a_span_that_was_exported_twice_is_read_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "otel.jsonl", [span(), span()])

    assert read(SOURCE, path)[1].ignored == {"duplicate-span": 1}


def test_metrics_among_the_spans_are_skipped(tmp_path: Path) -> None:
    metric = {"type": "metric", "name": "gen_ai.client.token.usage", "unit": "{token}", "dataPoints": [{"value": 3}]}
    path = write_lines(tmp_path / "otel.jsonl", [span(), metric, metric])

    ledger = read(SOURCE, path)[1]

    assert (ledger.used, ledger.ignored, ledger.bad) == (1, {"metrics": 2}, [])


# --- damage -----------------------------------------------------------------------------------------------------


def test_a_broken_line_loses_only_itself(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "otel.jsonl", [span(), {"name": "no span"}, [1]])
    path.write_bytes(path.read_bytes() + b'{"traceId": "t1", "spa')

    conversations, ledger = read(SOURCE, path)

    assert len(conversations) == 1
    assert [(bad.line, bad.code) for bad in ledger.bad] == [(2, "bad-record"), (3, "bad-record"), (4, "torn-tail")]


@pytest.mark.parametrize("path", [NEWER, OLDER], ids=["newer", "older"])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(
    path: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    copy = tmp_path_factory.getbasetemp() / f"damaged-{path.name}"
    spoil = data.draw(st.sampled_from([spoiled, with_other_values]))
    copy.write_bytes(data.draw(spoil(path.read_bytes())))

    read_or_refuse(SOURCE, copy)
