"""What only the prompt of a later call of a model repeats: turns and answers whose own records are lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from copilog.identity import merge
from copilog.model import Conversation, Message, Prompt, Text, Thinking, ToolCall, Turn, parts_of
from copilog.sources.extension.debug_logs import DebugLogs
from copilog.sources.extension.otel_files import OtelFile
from tests.sources.extension_builders import calls_in, lost_texts, prose_by_role, read_one, results_in, write_lines
from tests.sources.test_debug_logs import asked, chat, log

Json = dict[str, Any]
PROMPTS = ["Are the lights green?", "And the buoys?"]
KINDS = ("reasoning", "tool_call", "tool_call_response")
DEBUG, OTEL = DebugLogs(), OtelFile()


def message(role: str, *parts: Json | str) -> Json:
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


SYSTEM = message("system", "You are the pilot of the harbour.")
EARLIER = [
    message("user", "<userRequest>\nAre the lights green?\n</userRequest>"),
    message(
        "assistant",
        {"type": "reasoning", "content": "The list of lights will say."},
        "I look at the list of lights.",
        {"type": "tool_call", "id": "h1", "name": "read_file", "arguments": {"filePath": "/x/lights.md"}},
    ),
    message("tool", {"type": "tool_call_response", "id": "h1", "response": "All of the lights are green."}),
    message("assistant", "They are green, all of them."),
]
NOW = message("user", "<context>It is June.</context>\n<userRequest>\nAnd the buoys?\n</userRequest>")


def sent(entries: list[Json], *messages: Json, cut_at: int | None = None) -> list[Json]:
    """Return the entries of a call of a model, with the prompt that was sent."""
    text = json.dumps(messages)
    entries[0]["attrs"]["inputMessages"] = text if cut_at is None else f"{text[:cut_at]}[truncated]"
    return entries


def debug_log(folder: Path, *messages: Json, cut_at: int | None = None) -> Path:
    call = sent(chat("l1", 2000, "The buoys are red now."), *messages, cut_at=cut_at)
    return log(folder, asked("And the buoys?", 1000), *call)


def span_file(folder: Path, *messages: Json, **of_agent: str) -> Path:
    shared = {"traceId": "t1", "startTime": [1777888801, 0], "endTime": [1777888802, 0], "status": {"code": 1}}
    session = {"gen_ai.conversation.id": "s1"}
    output = json.dumps([message("assistant", "The buoys are red now.")])
    call = {
        **session, "gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": output,
    }  # fmt: skip
    agent = {**session, "gen_ai.operation.name": "invoke_agent", **of_agent}
    events = [{"name": "user_message", "attributes": {"content": "And the buoys?"}, "time": [1777888800, 0]}]
    return write_lines(
        folder / "run.jsonl",
        [
            {**shared, "spanId": "c1", "parentSpanId": "a1", "name": "chat m", "attributes": call},
            {**shared, "spanId": "a1", "name": "invoke_agent", "attributes": agent, "events": events},
        ],
    )


def prompts_in(conversation: Conversation) -> list[str]:
    return [text for role, text in prose_by_role(conversation) if role == "user"]


def test_turns_before_the_first_entry_are_read_from_its_prompt(tmp_path: Path) -> None:
    for source, path in (
        (DEBUG, debug_log(tmp_path, SYSTEM, *EARLIER, NOW)),
        (OTEL, span_file(tmp_path, SYSTEM, *EARLIER, NOW)),
    ):
        conversation, ledger = read_one(source, path)

        assert conversation.turns[0].extra == {"from_history": True}
        assert [(message.turn, message.role) for message in conversation.messages if message.role != "system"] == [
            *((0, role) for role in ("user", "assistant", "tool", "assistant")), (1, "user"), (1, "assistant"),
        ]  # fmt: skip
        assert prompts_in(conversation) == PROMPTS
        assert [call.id for call in calls_in(conversation)] == ["h1"]
        assert [result.text for result in results_in(conversation)] == ["All of the lights are green."]
        assert [part.text for part in parts_of(conversation) if isinstance(part, Thinking)] != []
        assert lost_texts([SYSTEM, *EARLIER, NOW], [conversation], *KINDS) == []
        contexts = [
            part for part in parts_of(conversation) if isinstance(part, Prompt) and part.scope == "conversation"
        ]
        assert (contexts, ledger.parts.unknown) == ([], {})


def test_turn_that_is_known_is_not_read_again(tmp_path: Path) -> None:
    first = sent(chat("l0", 100, "They are green, all of them."), SYSTEM, EARLIER[0])
    call = sent(chat("l1", 2000, "The buoys are red now."), SYSTEM, EARLIER[0], EARLIER[-1], NOW)
    for entry in first:
        entry["parentSpanId"] = "agent0"
    path = log(tmp_path, asked("Are the lights green?", 50, "agent0"), *first, asked("And the buoys?", 1000), *call)

    conversation, _ = read_one(DEBUG, path)

    assert [turn.extra for turn in conversation.turns] == [None, None]
    assert [text for role, text in prose_by_role(conversation) if role == "assistant"] == [
        "They are green, all of them.", "The buoys are red now.",
    ]  # fmt: skip


def test_answers_before_the_first_entry_of_a_turn_are_read_from_its_prompt(tmp_path: Path) -> None:
    conversation, _ = read_one(DEBUG, debug_log(tmp_path, NOW, *EARLIER[1:]))

    assert len(conversation.turns) == 1
    roles = [message.role for message in conversation.messages]
    assert roles == ["user", "assistant", "tool", "assistant", "assistant"]
    assert lost_texts([NOW, *EARLIER[1:]], [conversation], *KINDS) == []


@pytest.mark.parametrize("end", ["All of the lights", "They are green, all"])
def test_prompt_whose_end_is_missing_is_that_of_earlier_turns(tmp_path: Path, end: str) -> None:
    whole = json.dumps([SYSTEM, *EARLIER, NOW])

    path = debug_log(tmp_path, SYSTEM, *EARLIER, NOW, cut_at=whole.index(end) + len(end))
    conversation, _ = read_one(DEBUG, path)

    assert prompts_in(conversation) == PROMPTS
    results = [result.text for result in results_in(conversation)]
    assert end in "".join([*(text for _, text in prose_by_role(conversation)), *results])


def test_lost_turn_is_one_with_that_of_the_session(tmp_path: Path) -> None:
    trace, _ = read_one(DEBUG, debug_log(tmp_path, SYSTEM, *EARLIER, NOW))
    call = ToolCall(id="h1", name="read_file")
    session = Conversation(
        id=trace.id,
        source="vscode-session",
        turns=[Turn(index=0, request_id="r0"), Turn(index=1, request_id="r1")],
        messages=[
            Message(role="user", turn=0, parts=[Text(text="Are the lights green?")]),
            Message(role="assistant", turn=0, parts=[call, Text(text="They are green, all of them.")]),
            Message(role="user", turn=1, parts=[Text(text="And the buoys?")]),
            Message(role="assistant", turn=1, parts=[Text(text="The buoys are red now.")]),
        ],
    )

    merged = merge([session, trace])

    assert [turn.request_id for turn in merged.turns] == ["r0", "r1"]
    assert [result.text for result in results_in(merged)] == ["All of the lights are green."]


def test_request_that_only_the_agents_span_names_is_kept(tmp_path: Path) -> None:
    path = span_file(tmp_path, NOW, **{"copilot_chat.user_request": "Tell me of the buoys of Hull"})

    conversation, _ = read_one(OTEL, path)

    contexts = [part.text for part in parts_of(conversation) if isinstance(part, Prompt)]
    assert "Tell me of the buoys of Hull" in contexts


def test_request_that_only_the_span_of_a_sub_agent_names_is_a_note_of_its_call(tmp_path: Path) -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "runSubagent",
        "gen_ai.tool.call.id": "t",
    }
    shared = {"traceId": "t1", "startTime": [1777888801, 0], "endTime": [1777888802, 0], "status": {"code": 1}}
    agent = {"gen_ai.operation.name": "invoke_agent", "copilot_chat.user_request": "Look at the buoys"}
    path = span_file(tmp_path, NOW)
    spans = [json.loads(line) for line in path.read_text().splitlines()]
    tool = {
        **shared,
        "spanId": "e1",
        "parentSpanId": "a1",
        "name": "execute_tool runSubagent",
        "attributes": attributes,
    }
    inner = {**shared, "spanId": "a2", "parentSpanId": "e1", "name": "invoke_agent", "attributes": agent}
    path = write_lines(path, [*spans, tool, inner])

    [call] = calls_in(read_one(OTEL, path)[0])

    assert call.notes == {"prompt it ran with": "Look at the buoys"}
