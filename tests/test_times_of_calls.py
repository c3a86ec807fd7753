"""How long a tool call took is known in a united conversation, whichever trace recorded it."""

from __future__ import annotations

from copilog import identity
from copilog.model import Conversation, Message, Text, ToolCall, Turn
from copilog.store.details import call_rows
from copilog.store.texts import Calls
from tests.sources.cli_builders import only


def trace_of(source: str, elapsed_ms: float | None = None) -> Conversation:
    call = ToolCall(id="call_1", name="read_file", status="complete", elapsed_ms=elapsed_ms)
    asked = Message(role="user", turn=0, parts=[Text(text="Read it")])
    answer = Message(role="assistant", turn=0, parts=[call])
    turn = Turn(index=0, request_id="r1")
    return Conversation(id="vscode:s1", native_id="s1", source=source, turns=[turn], messages=[asked, answer])


def test_a_call_has_the_time_of_the_trace_that_recorded_it() -> None:
    merged = identity.merge([trace_of("vscode-session"), trace_of("transcripts", elapsed_ms=250.0)])

    assert only(merged, ToolCall).elapsed_ms == 250.0
    assert [row.elapsed_ms for row in call_rows(merged, Calls(merged))] == [250.0]
