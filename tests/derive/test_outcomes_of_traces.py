"""Records of another trace about how a call ended count, whichever trace leads."""

from __future__ import annotations

import pytest

from copilog.derive import conclude
from copilog.identity import merge
from copilog.model import Conversation, Message, Provenance, Text, ToolCall, ToolResult, Turn


def trace(source: str, call: ToolCall, *results: ToolResult) -> Conversation:
    messages = [
        Message(role="user", parts=[Text(text="What is in the table?")], turn=0),
        Message(role="assistant", parts=[call], turn=0),
        *(Message(role="tool", parts=[result], turn=0) for result in results),
    ]
    return Conversation(
        id="vscode:1",
        native_id="1",
        source=source,
        turns=[Turn(index=0, request_id="r1", status="complete")],
        messages=messages,
        provenance=[Provenance(source=source, path=f"/home/ana/{source}/1.jsonl")],
    )


@pytest.mark.parametrize("is_turned", [False, True])
def test_failure_that_only_a_transcript_records_is_a_failure(is_turned: bool) -> None:
    ended = ToolCall(id="c1", name="read_file", status="complete", native="toolInvocationSerialized")
    failed = ToolCall(id="c1", name="read_file", status="failed")
    traces = [
        trace("vscode-session-log", ended, ToolResult(call_id="c1", text="1. low water")),
        trace("transcripts", failed),
    ]

    merged = merge(traces[::-1] if is_turned else traces)
    conclude(merged)

    (call,) = [part for message in merged.messages for part in message.parts if isinstance(part, ToolCall)]
    assert call.outcome is not None
    assert (call.outcome.kind, call.outcome.evidence) == ("failed", ["transcripts"])
    assert call.outcome.against == ["result: succeeded"]
