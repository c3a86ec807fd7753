"""Texts of spans, agent trajectories and extracted lines: what people and models wrote is shown, and accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from copilog.model import Conversation, Prompt, ToolCall, parts_of
from copilog.sources.extension.otel_files import OtelFile
from copilog.sources.replay.atif import Atif
from tests.leaf_walks import terminal, walked
from tests.sources.extension_builders import read_one, write_lines

Json = dict[str, Any]
SESSION = "11111111-2222-4333-8444-555555555555"
ASKED, SENT, AGAIN = "Mend the leaking pump", "Mend whatever leaks in the garden", "Now look at the hose as well"
PATCH = "*** Begin Patch\n*** Update File: /garden/pump.py\n-old valve\n+new valve\n*** End Patch"


def span(number: int, operation: str, above: int | None = None, **attributes: Any) -> Json:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "name": operation,
        "_spanContext": {"traceId": "t1", "spanId": f"span-{number}"},
        "parentSpanContext": None if above is None else {"spanId": f"span-{above}"},
        "startTime": [1771000000 + number, 0],
        "endTime": [1771000001 + number, 0],
        "attributes": {"gen_ai.operation.name": operation, "copilot_chat.chat_session_id": SESSION, **named},
        "events": [],
        "status": {"code": 1},
    }


def trace(asked: str, *requests: str, arguments: str = PATCH, ran_with: str = PATCH) -> list[Json]:
    """Return one turn: its prompt, the request that model calls record, a tool call and its execution."""
    call = {"type": "tool_call", "id": "call_1", "name": "apply_patch", "arguments": arguments}
    top = span(0, "invoke_agent")
    top["events"] = [{"name": "user_message", "time": [1771000000, 0], "attributes": {"content": asked}}]
    made = [top]
    for number, request in enumerate(requests, 1):
        made.append(span(number, "chat", 0, copilot_chat__user_request=request))
    made[1]["attributes"]["gen_ai.output.messages"] = json.dumps([{"role": "assistant", "parts": [call]}])
    tool = {"gen_ai__tool__name": "apply_patch", "gen_ai__tool__call__id": "call_1"}
    return [*made, span(9, "execute_tool", 0, **tool, gen_ai__tool__call__arguments=ran_with)]


def read_trace(folder: Path, *spans: Json) -> tuple[Path, Conversation]:
    path = write_lines(folder / "spans.jsonl", spans)
    return path, read_one(OtelFile(), path)[0]


def call_of(conversation: Conversation) -> ToolCall:
    [call] = [part for part in parts_of(conversation) if isinstance(part, ToolCall)]
    return call


def test_a_request_that_differs_from_the_prompt_is_stored_with_it(tmp_path: Path) -> None:
    path, read = read_trace(tmp_path, *trace(ASKED, SENT, AGAIN, ASKED))

    assert [part.text for part in parts_of(read) if isinstance(part, Prompt)] == [SENT, AGAIN]
    assert walked(path).unaccounted == {}


def test_a_request_equal_to_the_prompt_is_stored_once(tmp_path: Path) -> None:
    _, read = read_trace(tmp_path, *trace(ASKED, ASKED, f"{ASKED}\n"))

    assert not [part for part in parts_of(read) if isinstance(part, Prompt)]


def test_invalid_arguments_and_the_arguments_that_a_call_ran_with_are_both_shown(tmp_path: Path) -> None:
    path, read = read_trace(tmp_path, *trace(ASKED, ASKED, ran_with=PATCH.replace("new", "newer")))

    assert call_of(read).arguments == PATCH
    assert walked(path).unaccounted == {}
    words = " ".join(terminal(read).split())
    assert "+new valve" in words
    assert "+newer valve" in words


def test_arguments_that_differ_only_in_format_are_stored_once(tmp_path: Path) -> None:
    spaced, bare = '{"path": "/garden", "deep": {"a": 1}}', '{"deep":{"a":1},"path":"/garden"}'
    for given, ran_with in ((spaced, bare), (PATCH, PATCH + "\n"), (spaced, spaced[:20] + "[truncated]")):
        _, read = read_trace(tmp_path, *trace(ASKED, ASKED, arguments=given, ran_with=ran_with))

        assert call_of(read).notes == {}


def test_notes_of_an_agent_trajectory_are_shown(tmp_path: Path) -> None:
    notes = "Stopped because the pump was switched off"
    path = tmp_path / "run.trajectory.json"
    steps = [{"step_id": 1, "source": "user", "message": ASKED}]
    path.write_text(
        json.dumps({"schema_version": "ATIF-v1.5", "session_id": SESSION, "agent": {}, "notes": notes, "steps": steps})
    )

    read, _ = read_one(Atif(), path)

    assert [(document.kind, document.text) for document in read.documents] == [("notes", notes)]
    assert walked(path).unaccounted == {}
    assert notes in terminal(read)


def test_names_of_merged_fields_of_an_extracted_line_are_kinds(tmp_path: Path) -> None:
    messages = [{"role": "user", "content": ASKED}, {"role": "tool", "content": SENT, "tool_call_id": "c1"}]
    line: Json = {"conversation_id": SESSION, "messages": messages, "metadata": {}}
    line["messages"][1]["merged"] = ["tool_call_id"]

    leaves = walked(write_lines(tmp_path / "lines.jsonl", [line]))

    assert leaves.unaccounted == {}
    assert leaves.reasons["kind"] == 1
