"""The JSON output of Copilot CLI, captured: the same events, and many that pass."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from pathlib import Path

from copilog.diagnostics import Ledger
from copilog.model import Confirmation, Conversation, Text, Thinking, ToolCall, ToolResult
from copilog.sources.base import Found, Probe
from copilog.sources.cli.events import stream_messages
from tests.sources.cli_builders import (
    SESSION,
    SOURCE,
    Log,
    log_path,
    notice,
    only,
    parts_like,
    read_path,
    write_log,
)

RESULT = {
    "type": "result",
    "timestamp": "2026-06-02T08:10:00.000Z",
    "sessionId": SESSION,
    "exitCode": 0,
    "usage": {"premiumRequests": 3, "codeChanges": {"linesAdded": 2, "linesRemoved": 1, "filesModified": ["/x"]}},
}


def read_stream(tmp_path: Path, stream: Log, *, has_result: bool = True) -> tuple[Conversation, Ledger]:
    path = tmp_path / "out.json"
    lines = [*stream.lines(), json.dumps(RESULT)] if has_result else stream.lines()
    path.write_text("\n".join(lines) + "\n")
    probe = Probe(path)
    assert SOURCE.claims(probe)
    (conversation,), ledger = read_path(path, SOURCE.native_id(probe))
    return conversation, ledger


def opened() -> Log:
    stream = Log().pass_by("session.mcp_server_status_changed", serverName="docs", status="pending")
    return stream.pass_by("session.tools_updated", model="opus")


def test_a_stream_has_no_beginning_but_an_end(tmp_path: Path) -> None:
    stream = opened().ask("hi").say("hello")

    conversation, ledger = read_stream(tmp_path, stream)

    assert (conversation.id, conversation.native_id, conversation.marks) == (f"cli:{SESSION}", SESSION, [])
    assert (conversation.extra or {})["is_stream"] is True
    assert (conversation.extra or {})["code_changes"] == {"added": 2, "removed": 1, "files": ["/x"]}
    assert [turn.status for turn in conversation.turns] == ["complete"]
    assert (notice(conversation, "result").data or {})["exitCode"] == 0
    (bill,) = conversation.usage
    assert (bill.premium_requests, bill.source) == (3, "result")
    assert conversation.messages[-2].model == "opus"
    assert (ledger.used, ledger.notes) == (5, [])


def test_pieces_of_a_complete_message_are_ignored(tmp_path: Path) -> None:
    stream = opened().ask().pass_by("assistant.message_start", messageId="m1")
    for piece in ("hel", "lo"):
        stream.pass_by("assistant.message_delta", messageId="m1", deltaContent=piece)
    for piece in ("Hm", "."):
        stream.pass_by("assistant.reasoning_delta", reasoningId="r1", deltaContent=piece)
    stream.pass_by("assistant.tool_call_delta", toolCallId="c1", toolName="view", inputDelta='{"pa')
    request = {"toolCallId": "c1", "name": "view", "arguments": {"path": "x"}}
    stream.say("hello", messageId="m1", reasoningText="Hm.", toolRequests=[request])
    stream.pass_by("assistant.reasoning", reasoningId="r1", content="Hm.")
    stream.begin("c1", "view").pass_by("tool.execution_partial_result", toolCallId="c1", partialOutput="so f")
    stream.end("c1", "so far")

    conversation, ledger = read_stream(tmp_path, stream)

    assert ledger.ignored == {"streaming-delta": 7}
    assert [part.text for part in parts_like(conversation, Text)] == ["why?", "hello"]
    assert (only(conversation, Thinking).id, only(conversation, ToolCall).status) == ("r1", "complete")
    assert only(conversation, ToolResult).text == "so far"


def test_pieces_without_a_complete_message_are_used(tmp_path: Path) -> None:
    stream = opened().ask("one").pass_by("assistant.reasoning_delta", reasoningId="r1", deltaContent="Let me")
    for piece in ("I will ", "now"):
        stream.pass_by("assistant.message_delta", messageId="m1", deltaContent=piece)
    stream.pass_by("assistant.message_start", messageId="m2")
    for piece in ('{"path":', '"/ho'):
        stream.pass_by("assistant.tool_call_delta", toolCallId="c9", toolName="view", inputDelta=piece)
    stream.call("c1", "bash", {"command": "make"}).begin("c1", "bash")
    for output in ("a", "ab", "abc", "then another"):
        stream.pass_by("tool.execution_partial_result", toolCallId="c1", partialOutput=output)
    stream.add("abort", {"reason": "user_initiated"}).ask("two")

    conversation, ledger = read_stream(tmp_path, stream, has_result=False)

    assert ledger.ignored == {}
    assert [part.text for part in parts_like(conversation, Text)] == ["one", "I will now", "two"]
    assert only(conversation, Thinking).text == "Let me"
    calls = {call.id: (call.status, call.arguments) for call in parts_like(conversation, ToolCall)}
    assert calls == {"c9": ("cancelled", '{"path":"/ho'), "c1": ("cancelled", '{"command":"make"}')}
    assert only(conversation, ToolResult).text == "abcthen another"
    partial = [message for message in conversation.messages if (message.extra or {}).get("is_partial")]
    assert [message.turn for message in partial] == [0, 0, 0, 0]
    assert conversation.turns[0].status == "cancelled"


def test_streamed_output_missing_in_the_result_is_stored_beside_it(tmp_path: Path) -> None:
    stream = opened().ask().begin("c1", "bash")
    for piece in ("line one of many\n", "line two of many\n"):
        stream.pass_by("tool.execution_partial_result", toolCallId="c1", partialOutput=piece)
    stream.end("c1", "Output too large to read at once. Saved to: /tmp/out.txt")

    result = only(read_stream(tmp_path, stream)[0], ToolResult)

    assert result.text == "Output too large to read at once. Saved to: /tmp/out.txt"
    assert result.display == "line one of many\nline two of many\n"


def test_signals_without_text_are_ignored_and_others_stored(tmp_path: Path) -> None:
    stream = (
        opened()
        .pass_by("session.background_tasks_changed")
        .pass_by("assistant.streaming_delta", totalResponseSizeBytes=9)
    )
    stream.pass_by("session.usage_info", currentTokens=7)

    conversation, ledger = read_stream(tmp_path, stream)

    assert ledger.ignored == {"empty-signal": 1, "progress": 1}
    assert notice(conversation, "usage-info").data == {"currentTokens": 7}


def test_a_stream_has_the_usage_of_each_model_call(tmp_path: Path) -> None:
    stream = opened().ask().say(outputTokens=5, model="opus")
    numbers = {"inputTokens": 100, "outputTokens": 5, "cacheReadTokens": 90, "reasoningTokens": 2, "cost": 1}
    stream.pass_by("assistant.usage", model="opus", initiator="agent", **numbers)
    stream.pass_by("assistant.usage", model="opus", inputTokens=50, outputTokens=1)

    conversation, _ = read_stream(tmp_path, stream)

    of_message, first, second = conversation.turns[0].usage
    assert (of_message.source, first.source, first.input, first.reasoning) == (
        "assistant.message",
        "assistant.usage",
        100,
        2,
    )
    assert (first.premium_requests, first.extra, second.input) == (1, {"initiator": "agent"}, 50)
    total = conversation.usage[0]
    assert (total.source, total.input, total.output, total.cache_read) == ("assistant.usage", 150, 6, 90)


def test_a_question_and_its_answer_are_one_part(tmp_path: Path) -> None:
    stream = opened().ask().pass_by("user_input.requested", requestId="q1", question="Which?", choices=["a", "b"])
    stream.pass_by("user_input.completed", requestId="q1", answer="b")
    stream.pass_by("exit_plan_mode.requested", requestId="q2", summary="The plan", actions=["go"])
    stream.pass_by("exit_plan_mode.completed", requestId="q2", approved=False)
    stream.pass_by("elicitation.requested", requestId="q3", message="Sure?")
    stream.pass_by("command.completed", requestId="unknown", word="x")

    conversation, _ = read_stream(tmp_path, stream)

    made = [
        (part.type, part.message, part.options, part.answer, part.state)
        for part in parts_like(conversation, Confirmation)
    ]
    assert made == [
        ("questions", "Which?", ["a", "b"], "b", "answered"),
        ("plan", "The plan", ["go"], None, "rejected"),
        ("elicitation", "Sure?", [], None, "unanswered"),
    ]
    assert conversation.turns[0].timing.waited_ms == 2000


def test_a_stream_names_skills_titles_and_rounds(tmp_path: Path) -> None:
    stream = opened()
    skills = [{"name": "invoices", "path": "/home/ana/SKILL.md", "description": "Writes them"}, {"odd": 1}]
    stream.pass_by("session.skills_loaded", skills=skills).pass_by("session.title_changed", title="The cart")
    stream.ask().add("assistant.turn_start", {"turnId": "0"})
    stream.pass_by("model.call_start", turnId="0", model="opus-2", previousResponseId="p0").say("hi")

    conversation, _ = read_stream(tmp_path, stream)

    (turn,) = conversation.turns
    assert [(skill.name, skill.is_loaded, skill.file) for skill in turn.skills] == [
        ("invoices", False, "/home/ana/SKILL.md")
    ]
    assert conversation.title == "The cart"
    assert (turn.rounds[0].model, turn.rounds[0].extra) == ("opus-2", {"previousResponseId": "p0"})
    assert (conversation.messages[-2].model, conversation.messages[-2].model_source) == (
        "opus-2",
        "assistant.turn_start",
    )


def test_a_stream_that_was_cut_off_has_an_id_of_its_own(tmp_path: Path) -> None:
    stream = opened().ask("hi").say("hello")

    once, _ = read_stream(tmp_path, stream, has_result=False)
    again, _ = read_stream(tmp_path, stream, has_result=False)

    assert once.native_id is None
    assert once.id == again.id
    assert len(once.id) > len("cli:")


# --- messages, turn by turn ---------------------------------------------------------------------------------------


def test_streamed_messages_are_those_of_the_conversation(tmp_path: Path) -> None:
    log = Log().start().add("session.info", {"message": "hello"}).ask("one").run("c1", "bash", {"command": "ls"})
    log.say("first").add("assistant.turn_end").shut_down().add("session.resume").ask("two")
    log.call("c2", "view").add("assistant.turn_end").end("c2").say("second").add("assistant.turn_end").ask("three")
    path = write_log(tmp_path, log)
    (conversation,), _ = read_path(path)
    ledger = Ledger(path=str(path))

    messages = list(stream_messages(Found(path, SOURCE.name, SESSION), ledger))

    assert messages == conversation.messages
    assert ledger.balances()


def test_a_message_is_yielded_before_the_rest_is_read(tmp_path: Path) -> None:
    path = log_path(tmp_path)
    log = Log().start().ask("one").add("assistant.turn_start").say("first").add("assistant.turn_end")
    path.write_text("\n".join(log.lines()) + "\n")
    messages = stream_messages(Found(path, SOURCE.name, SESSION), Ledger())

    first_two = list(itertools.islice(messages, 2))

    assert [message.role for message in first_two] == ["user", "assistant"]


def test_streaming_does_not_hold_earlier_messages(tmp_path: Path) -> None:
    def peak_bytes(turns: int) -> int:
        log = Log().start()
        for number in range(turns):
            log.ask("x" * 2000).run(f"c{number}", "bash", {"command": "y" * 2000}, content="z" * 4000).say("done")
        path = write_log(tmp_path, log)
        tracemalloc.start()
        for _ in stream_messages(Found(path, SOURCE.name, SESSION), Ledger()):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    few, many = peak_bytes(20), peak_bytes(400)

    assert many - few < 400 * 2000  # of 400 turns with 10,000 characters each
