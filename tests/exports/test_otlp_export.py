"""OpenTelemetry spans: read by OpenTelemetry's own types, by the conventions, and by copilog as they were."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from copilog.exports.otlp_json import Clock
from copilog.exports.writing import NothingToWrite
from copilog.model import (
    Attachment,
    Branch,
    Conversation,
    Message,
    Prompt,
    ResultItem,
    Text,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
)
from tests.exports.conversations import (
    a_conversation,
    at,
    corpus_conversations,
    exported,
    hostile_conversations,
    left_out_of,
    read_back,
    sample_conversations,
    with_subagent,
)
from tests.exports.round_trips import callers_in, recorded_in, story_of

Json = dict[str, Any]

TEXT_PART: Json = {
    "type": "object",
    "required": ["type", "content"],
    "properties": {"type": {"enum": ["text", "reasoning"]}, "content": {"type": "string"}},
}
CALL_PART: Json = {
    "type": "object",
    "required": ["type", "name"],
    "properties": {"type": {"const": "tool_call"}, "id": {"type": "string"}, "name": {"type": "string"}},
}
RESPONSE_PART: Json = {
    "type": "object",
    "required": ["type", "response"],
    "properties": {"type": {"const": "tool_call_response"}, "id": {"type": "string"}},
}
MEDIA_PART: Json = {
    "type": "object",
    "required": ["type", "modality"],
    "properties": {"type": {"enum": ["blob", "uri"]}, "modality": {"const": "image"}},
    "anyOf": [{"required": ["content"]}, {"required": ["uri"]}],
}
MESSAGES: Json = {  # after the published description of gen_ai.input.messages and gen_ai.output.messages
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["role", "parts"],
        "properties": {
            "role": {"enum": ["system", "user", "assistant", "tool"]},
            "parts": {"type": "array", "items": {"oneOf": [TEXT_PART, CALL_PART, RESPONSE_PART, MEDIA_PART]}},
            "finish_reason": {"enum": ["stop", "length", "content_filter", "tool_call", "error"]},
        },
    },
}
REQUIRED = {
    "invoke_agent": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.conversation.id"},
    "chat": {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.conversation.id", "gen_ai.output.messages"},
    "execute_tool": {"gen_ai.operation.name", "gen_ai.tool.name", "gen_ai.tool.call.id"},
}


def documents(conversations: list[Conversation], folder: Path) -> list[Json]:
    path = folder / "all.otlp.jsonl"
    exported(conversations, "otlp", path)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def as_proto(document: Json) -> TracesData:
    """Parse a document with OpenTelemetry's types; bytes are hex digits in OTLP and base64 in protobuf's own JSON."""
    copied: Json = json.loads(json.dumps(document))
    for span in spans_in(copied):
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    parsed = TracesData()
    json_format.ParseDict(copied, parsed)  # an unknown field is an error
    return parsed


def spans_in(document: Json) -> list[Json]:
    return [span for group in document["resourceSpans"] for scope in group["scopeSpans"] for span in scope["spans"]]


def attributes_of(span: Json) -> Json:
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def check_document(document: Json) -> None:
    """Assert that OpenTelemetry's types read a document, and that its spans follow the conventions."""
    parsed = as_proto(document)
    spans: list[ProtoSpan] = [
        span for group in parsed.resource_spans for scope in group.scope_spans for span in scope.spans
    ]
    assert {len(span.trace_id) for span in spans} == {16}
    assert {len(span.span_id) for span in spans} == {8}
    assert {len(span.parent_span_id) for span in spans} <= {0, 8}
    assert len({span.span_id for span in spans}) == len(spans)
    for span, raw in zip(spans, spans_in(document), strict=True):
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        assert isinstance(raw["startTimeUnixNano"], str)
        found = attributes_of(raw)
        assert found.keys() >= REQUIRED[found["gen_ai.operation.name"]]
        assert span.kind == (3 if found["gen_ai.operation.name"] == "chat" else 1)
        assert (span.status.code == 2) == ("error.type" in found)
        for key in ("gen_ai.input.messages", "gen_ai.output.messages"):
            if key in found:
                jsonschema.validate(json.loads(found[key]), MESSAGES)


def carried(whole: Conversation, caller: str | None = None) -> list[Json]:
    """What spans carry of a conversation: no notices, no results without a call or without a text."""
    told = story_of(whole, caller, notices=False)
    calls = {call[0] for turn in told for answer in turn["answers"] for call in answer["calls"]}
    for turn in told:
        turn["results"] = [(name, text) for name, text, _ in turn["results"] if name in calls and text]
        del turn["system"]
    return [turn for turn in told if any(turn.values())]


def check_round_trip(whole: Conversation, folder: Path) -> None:
    try:
        documents_made = documents([whole], folder)
    except NothingToWrite:
        assert carried(whole) == []
        return
    for document in documents_made:
        check_document(document)
    main = read_back(folder / "all.otlp.jsonl")[0]
    told, expected = carried(main), carried(whole)
    for turn, one in zip(told, expected, strict=False):
        turn["user"] = turn["user"] if one["user"] else []  # a prompt that nobody typed comes back as typed
    assert told == expected, whole.id
    assert recorded_in(main) == pytest.approx(recorded_in(whole)), whole.id
    system = "\n".join(text for turn in story_of(main) for text in turn["system"])
    assert all(text in system for turn in story_of(whole) for text in turn["system"]), whole.id
    for caller in callers_in(whole):
        told = [turn["answers"] for turn in carried(whole, caller)]
        assert [turn["answers"] for turn in carried(main, caller)] == told, whole.id
        assert recorded_in(main, caller) == pytest.approx(recorded_in(whole, caller)), whole.id


def test_sample_round_trip(tmp_path: Path) -> None:
    for whole in [*sample_conversations(), with_subagent()]:
        check_round_trip(whole, tmp_path)


@pytest.mark.corpus
def test_corpus_round_trip(tmp_path: Path, corpus: Path) -> None:
    for whole in corpus_conversations(corpus):
        check_round_trip(whole, tmp_path)


def test_many_conversations_in_one_file_come_back_under_their_ids(tmp_path: Path) -> None:
    whole = [each for each in sample_conversations() if carried(each) and each.native_id is not None]
    documents(whole, tmp_path)
    read = {each.id: carried(each) for each in read_back(tmp_path / "all.otlp.jsonl")}
    assert read == {each.id: carried(each) for each in whole}


def test_hostile_texts_give_documents_that_can_be_read(tmp_path: Path) -> None:
    for whole in hostile_conversations():
        [document] = documents([whole], tmp_path)
        check_document(document)
        [read] = read_back(tmp_path / "all.otlp.jsonl")
        assert [turn["results"] for turn in carried(read)] == [turn["results"] for turn in carried(whole)]


def test_ids_title_and_workspace_come_back(tmp_path: Path) -> None:
    documents([a_conversation()], tmp_path)
    [read] = read_back(tmp_path / "all.otlp.jsonl")
    assert (read.id, read.title) == ("vscode:one", "Tide file")
    assert (read.turns[0].request_id, read.turns[0].status) == ("request-1", "complete")
    assert read.workspace is not None
    assert (read.workspace.folder, read.workspace.branch) == ("/home/ana/tides", "main")
    times = [message.created_at for message in read.messages if message.role != "system"]
    assert times == [at(0), at(1), at(2), at(5)]


def test_a_turn_is_a_trace_of_an_agent_with_chats_and_tools_below(tmp_path: Path) -> None:
    [document] = documents([with_subagent()], tmp_path)
    by_id = {span["spanId"]: span for span in spans_in(document)}
    above = {
        span["name"]: by_id[span["parentSpanId"]]["name"] if "parentSpanId" in span else None for span in by_id.values()
    }
    assert above == {
        "invoke_agent": None,
        "chat gpt-5": "invoke_agent",
        "execute_tool read_file": "invoke_agent",
        "execute_tool runSubagent": "invoke_agent",
        "invoke_agent Scout": "execute_tool runSubagent",
        "chat gpt-5-mini": "invoke_agent Scout",
        "execute_tool grep": "invoke_agent Scout",
    }
    assert len({span["traceId"] for span in by_id.values()}) == 1


def test_tokens_are_on_each_chat_or_their_sum_on_the_agent(tmp_path: Path) -> None:
    def tokens(document: Json) -> Json:
        return {
            span["name"]: found["gen_ai.usage.input_tokens"]
            for span in spans_in(document)
            if "gen_ai.usage.input_tokens" in (found := attributes_of(span))
        }

    whole = a_conversation()
    assert tokens(documents([whole], tmp_path)[0]) == {"invoke_agent": "1200"}
    whole.turns[0].usage = [Usage(input=number, output=1, scope="call") for number in (5, 7)]
    document = documents([whole], tmp_path)[0]
    assert tokens(document) == {"chat gpt-5": "7"}
    assert recorded_in(read_back(tmp_path / "all.otlp.jsonl")[0])["input"] == 12


def test_each_chat_has_what_was_sent_since_the_one_before_it(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[1].parts.append(Attachment(type="image", mime_type="image/png", data=b"png"))
    picture_of_tool = ResultItem(mime_type="image/png", data=b"png")
    whole.messages[3].parts = [ToolResult(call_id="call-1", text="12 lines", items=[picture_of_tool])]
    [document] = documents([whole], tmp_path)
    chats = [attributes_of(span) for span in spans_in(document) if span["name"].startswith("chat")]
    first, second = (json.loads(chat["gen_ai.input.messages"]) for chat in chats)
    assert [part["type"] for part in first[0]["parts"]] == ["text", "blob"]
    response = {"type": "tool_call_response", "id": "call-1", "response": "12 lines"}
    picture = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "cG5n"}
    assert second == [{"role": "tool", "parts": [response, picture]}]
    assert json.loads(chats[0]["gen_ai.system_instructions"]) == [{"type": "text", "content": "You answer briefly."}]


def test_a_later_turn_does_not_make_earlier_ones_look_dropped(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns.append(Turn(index=1))
    whole.messages += [
        Message(role="user", turn=1, created_at=at(6), parts=[Text(text="And now?")]),
        Message(role="assistant", turn=1, created_at=at(7), parts=[Text(text="Now it is done.")]),
    ]
    documents([whole], tmp_path)
    [read] = read_back(tmp_path / "all.otlp.jsonl")
    assert [(turn.extra or {}).get("left_out_of_later_prompts") for turn in read.turns] == [None, None]


def test_each_end_of_a_branched_conversation_is_a_document(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.turns.append(Turn(index=1, branch=Branch(leaves_from=None, trace="b.json"), request_id="r2"))
    whole.messages.append(Message(role="user", turn=1, parts=[Text(text="Other")]))
    made = documents([whole], tmp_path)
    assert [attributes_of(spans_in(each)[0])["gen_ai.conversation.id"] for each in made] == ["one", "one~r2"]


def test_a_denied_call_has_no_execution_and_a_failed_one_an_error(tmp_path: Path) -> None:
    whole = a_conversation()
    parts = whole.messages[2].parts
    parts[-1:] = [ToolCall(id="call-1", name="read", status="failed"), ToolCall(id="x", name="rm", status="denied")]
    whole.messages[3].parts = [ToolResult(call_id="call-1", text="no such file", is_error=True)]
    [document] = documents([whole], tmp_path)
    tools = [span for span in spans_in(document) if span["name"].startswith("execute_tool")]
    assert [(span["name"], span["status"]["code"]) for span in tools] == [("execute_tool read", 2)]


def test_what_spans_do_not_carry_is_counted(tmp_path: Path) -> None:
    whole = a_conversation()
    whole.messages[3].parts.append(ToolResult(call_id="missing", text="?"))
    whole.messages[1].parts.append(Prompt(text="<context>c</context>", scope="conversation"))
    whole.turns.append(Turn(index=1, superseded="undone"))
    done = exported([whole], "otlp", tmp_path / "all.otlp.jsonl")
    assert left_out_of(done) == {"results of tools without a call": 1, "turns that no longer count": 1}


def test_times_increase_even_where_none_is_recorded() -> None:
    clock = Clock()
    times = [clock.at(moment) for moment in (None, None, at(5), at(3), None)]
    assert times == sorted(set(times))
    assert times[2] == int(at(5).timestamp()) * 10**9
