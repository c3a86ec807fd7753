"""Spans as VS Code writes them: calls of its own without a session, and prompts that repeat the conversation."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from copilog.diagnostics import Ledger
from copilog.model import Conversation, ToolResult, Turn, parts_of, prose_of
from copilog.model.recorded_names import LEFT_OUT
from copilog.sources.extension.span_conversations import conversation_of, sessions_of
from copilog.sources.extension.span_trees import PromptedTurn, mark_left_out
from copilog.sources.extension.spans import AGENT, CHAT, INPUT, OPERATION, OUTPUT, TOOL, Span, SpanEvent

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SESSION = "7d1f0000-0000-4000-8000-00000000000d"


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def chat(name: str, minute: float, sent: list[str], answer: str, **attributes: Any) -> Span:
    at = NOON + timedelta(minutes=minute)
    span = Span(name, "chat m", trace_id=f"trace {name}", started_at=at, ended_at=at + timedelta(seconds=2))
    span.attributes = {
        OPERATION: CHAT,
        INPUT: json.dumps([message("user", text) for text in sent]),
        OUTPUT: json.dumps([message("assistant", answer)]),
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 1,
        **attributes,
    }
    return span


def turn(number: int, prompt: str, *before: str) -> list[Span]:
    """Make an agent and its one call of a model, which is sent the prompts before, too."""
    at = NOON + timedelta(minutes=number)
    agent = Span(f"agent {number}", "invoke_agent", trace_id=f"trace {number}", started_at=at, ended_at=at)
    agent.attributes = {OPERATION: AGENT, "copilot_chat.chat_session_id": SESSION}
    agent.events = [SpanEvent("user_message", at, {"content": prompt})]
    tagged = [f"<userRequest>\n{text}\n</userRequest>" for text in (*before, prompt)]
    call = chat(f"chat {number}", number, ["<environment_info>\nLinux\n</environment_info>", *tagged], "Done.")
    call.parent_id, call.trace_id = agent.id, agent.trace_id
    return [agent, call]


def conversations(spans: list[Span]) -> dict[str, Conversation]:
    return {
        name: conversation_of(session, Ledger(), "agent-traces", "trace")
        for name, session in sessions_of(spans).items()
    }


def test_vs_codes_own_model_calls_are_helpers_grouped_by_day() -> None:
    wrapper = {"gen_ai.agent.name": "copilotLanguageModelWrapper"}
    own = [
        chat("a", 1, ["Write progress messages."], "Looking", **wrapper),
        chat("b", 2, ["Write more."], "More", **wrapper),
        chat("c", 24 * 60, ["Write others."], "Others", **wrapper),
    ]
    made = conversations([*turn(0, "How deep is it?"), *own])

    assert list(made) == [SESSION, "helpers-only-2026-05-04", "helpers-only-2026-05-05"]
    first = made["helpers-only-2026-05-04"]
    assert (first.id, first.marks, first.turns) == ("vscode:helpers-only-2026-05-04", ["trace", "helpers-only"], [])
    assert [(usage.input, usage.output) for usage in first.usage] == [(10, 1), (10, 1)]
    assert [document.text for document in first.documents] == [
        "Write progress messages.\n\nLooking",
        "Write more.\n\nMore",
    ]
    assert first.started_at == NOON + timedelta(minutes=1)


def test_a_model_call_without_session_and_helper_is_its_own_conversation() -> None:
    made = conversations([chat("a", 1, ["How deep?"], "Deep.")])

    assert [(name, len(one.turns)) for name, one in made.items()] == [("trace-trace a", 1)]


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ('{"node":{"type":1,"ctor":2,"children":[{"type":2,"text":"7 m","lineBreakBefore":true}]}}', "7 m"),
        ('{"node":{"depth":7}}', '{"node":{"depth":7}}'),
        ('{"node":{"type":1,"ctor', '{"node":{"type":1,"ctor'),
    ],
)
def test_a_result_that_is_a_tree_of_texts_is_read_as_text(recorded: str, expected: str) -> None:
    spans = turn(1, "How deep is it?")
    run = Span("run", "execute_tool read_file", parent_id="agent 1", started_at=NOON + timedelta(minutes=2))
    run.attributes = {
        OPERATION: TOOL,
        "gen_ai.tool.name": "read_file",
        "gen_ai.tool.call.id": "call_1",
        "gen_ai.tool.call.result": recorded,
    }
    made = conversations([*spans, run])[SESSION]

    assert [part.text for part in parts_of(made) if isinstance(part, ToolResult)] == [expected]


def left_out(made: Conversation) -> list[str]:
    marked = {one.index for one in made.turns if (one.extra or {}).get(LEFT_OUT)}
    return [prose_of(said.parts) for said in made.messages if said.role == "user" and said.turn in marked]


def test_turns_that_a_later_prompt_lacks_are_marked() -> None:
    spans = [
        *turn(1, "Question one"),
        *turn(2, "Question two", "Question one"),
        *turn(3, "Question three", "Question one", "Question two"),
        *turn(4, "A better question", "Question one"),
    ]
    assert left_out(conversations(spans)[SESSION]) == ["Question two", "Question three"]


@pytest.mark.parametrize(
    ("prompts", "sent", "marked"),
    [
        (["go", "go"], ["go"], [0]),
        (["go", "go", "go"], ["go"], [0, 1]),
        (["go", "on", "go", "go"], ["go", "on", "go"], [2]),
        (["go", "go", "on"], ["go", "on"], [0]),
        (["go", "on"], ["go", "on"], []),
        (["go", "on"], ["<conversation-summary>\nAll so far\n</conversation-summary>", "on"], []),
        (["go", "on"], ["said in other words"], []),
        (["go", "on"], None, []),
    ],
)
def test_of_equal_prompts_the_last_one_was_sent(prompts: list[str], sent: list[str] | None, marked: list[int]) -> None:
    turns = [Turn(index=index) for index in range(len(prompts))]
    asked = [PromptedTurn(one, prompt, None) for one, prompt in zip(turns, prompts, strict=True)]

    mark_left_out([*asked[:-1], asked[-1]._replace(sent=sent)])

    assert [one.index for one in turns if one.extra == {LEFT_OUT: True}] == marked
