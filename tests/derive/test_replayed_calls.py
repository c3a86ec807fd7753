"""What each call of a model sends again, worked out by hand: 400 letters are 100 rough tokens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from copilog.derive.replayed_calls import CONTEXT_LIMIT, HIDDEN_RESULT, Replay, replayed, rough_tokens
from copilog.model import (
    AnyPart,
    Compaction,
    Conversation,
    Message,
    Notice,
    Prompt,
    SubAgent,
    Text,
    Thinking,
    Timing,
    ToolCall,
    ToolResult,
    Turn,
)

START = datetime(2026, 11, 16, 12, tzinfo=UTC)


def letters(tokens: float) -> str:
    return "x" * round(tokens * 4)


def message(role: str, *parts: AnyPart, turn: int = 0, parent: str | None = None, model: str = "gpt-5") -> Message:
    return Message(role=role, parts=list(parts), turn=turn, parent_call_id=parent, model=model)  # type: ignore[arg-type]


def asked(tokens: float, turn: int = 0) -> Message:
    return message("user", Text(text=letters(tokens)), turn=turn)


def answered(tokens: float, turn: int = 0, model: str = "gpt-5") -> Message:
    return message("assistant", Text(text=letters(tokens)), turn=turn, model=model)


def calling(call_id: str, tokens: float, turn: int = 0, parent: str | None = None) -> Message:
    return message("assistant", ToolCall(id=call_id, name="", arguments=letters(tokens)), turn=turn, parent=parent)


def gave(call_id: str, tokens: float, turn: int = 0, parent: str | None = None) -> Message:
    return message("tool", ToolResult(call_id=call_id, text=letters(tokens)), turn=turn, parent=parent)


def calls_of(*messages: Message, turns: list[Turn] | None = None, native: str = "cli:1") -> list[Replay]:
    indexes = sorted({message.turn for message in messages if message.turn is not None})
    turns = turns or [Turn(index=index) for index in indexes]
    return replayed(Conversation(id=native, source="made-up", turns=turns, messages=list(messages)))


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), (None, 0), ("abcdefgh", 2), ("日本", 2), ("é", 0.625), ("\ud800", 1)]
)
def test_a_wide_character_is_a_token_and_four_letters_are_one(text: str | None, size: float) -> None:
    assert rough_tokens(text) == size


def test_each_round_sends_the_prompt_and_all_results_before_it() -> None:
    (turn,) = calls_of(asked(10), calling("a", 5), gave("a", 100), calling("b", 5), gave("b", 200), answered(20))

    assert (turn.calls, turn.acting) == (3, 2)
    assert turn.context == 10 + (10 + 5 + 100) + (10 + 5 + 100 + 5 + 200)
    assert turn.last_context == 320
    assert turn.written == 5 + 5 + 20
    assert (turn.kept_calls, turn.kept_context) == (2, 10 + 115)  # what the call before had sent


def test_a_later_turn_sends_the_earlier_ones_without_their_thinking() -> None:
    thought = message("assistant", Thinking(text=letters(50)), Text(text=letters(20)))
    first, second = calls_of(asked(10), thought, asked(30, turn=1), answered(5, turn=1))

    assert first.written == 70
    assert second.context == 10 + 20 + 30


def test_what_was_sent_around_a_prompt_counts_instead_of_the_prompt() -> None:
    prompt = message(
        "user", Text(text=letters(10)), Prompt(text=letters(25)), Prompt(text=letters(7), scope="conversation")
    )
    (turn,) = calls_of(prompt, answered(1))

    assert turn.context == 32


def test_a_compaction_leaves_its_summary_and_what_came_after_it_began() -> None:
    begins = message("system", Notice(topic="compaction-start"))
    ends = message("system", Compaction(text=letters(8)))
    (turn,) = calls_of(
        asked(100), calling("a", 10), gave("a", 500), begins, calling("b", 20), gave("b", 30), ends, answered(1)
    )

    assert turn.last_context == 8 + 20 + 30
    assert turn.kept_calls == 2
    assert turn.kept_context == 100 + 0  # the call after the compaction repeats nothing but the fixed part


def test_a_superseded_turn_is_counted_and_not_sent_again() -> None:
    turns = [Turn(index=0), Turn(index=1, superseded="removed"), Turn(index=2)]
    messages = [asked(10), answered(10), asked(100, 1), answered(100, 1), asked(5, 2), answered(1, 2)]
    first, removed, last = calls_of(*messages, turns=turns)

    assert (first.context, removed.context, last.context) == (10, 120, 25)


def test_a_turn_that_a_fork_copied_is_sent_again_and_not_counted() -> None:
    turns = [Turn(index=0, copied_from="cli:0"), Turn(index=1)]
    (own,) = calls_of(asked(10), answered(10), asked(5, 1), answered(1, 1), turns=turns)

    assert (own.turn, own.context) == (1, 25)


@pytest.mark.parametrize(("minutes", "model", "kept"), [(5, "gpt-5", 1), (15, "gpt-5", 0), (5, "gpt-4.1", 0)])
def test_a_prompt_is_kept_for_some_minutes_and_by_its_own_model(minutes: int, model: str, kept: int) -> None:
    turns = [
        Turn(index=0, timing=Timing(started_at=START, completed_at=START)),
        Turn(index=1, timing=Timing(started_at=START + timedelta(minutes=minutes))),
    ]
    _, second = calls_of(asked(10), answered(10), asked(5, 1), answered(1, 1, model), turns=turns)

    assert second.kept_calls == kept


def test_a_subagent_has_a_conversation_of_its_own() -> None:
    start = ToolCall(id="s", name="", arguments=letters(3), subagent=SubAgent(prompt=letters(40)))
    main, sub = calls_of(
        asked(10),
        message("assistant", start),
        calling("a", 5, parent="s"),
        gave("a", 60, parent="s"),
        calling("b", 5, parent="s"),
        gave("s", 20),
        answered(1),
    )

    assert (main.calls, main.context) == (2, 10 + 33)
    assert (sub.parent, sub.calls, sub.context) == ("s", 2, 40 + 105)


def test_tools_of_a_subagent_without_results_are_two_to_a_call() -> None:
    start = ToolCall(id="s", name="", arguments="", subagent=SubAgent(prompt=letters(40)))
    tools = [ToolCall(id=f"t{number}", name="") for number in range(3)]
    _, sub = calls_of(asked(10), message("assistant", start, Text(text="x")), message("assistant", *tools, parent="s"))

    assert sub.calls == sub.acting == 2
    assert sub.context == 40 + (40 + 2 * HIDDEN_RESULT)


def test_a_conversation_is_sent_up_to_a_limit() -> None:
    (turn,) = calls_of(asked(3 * CONTEXT_LIMIT), answered(1))

    assert turn.context == CONTEXT_LIMIT


def test_the_kind_is_the_cli_an_agent_or_a_chat_without_tools() -> None:
    assert [one.kind for one in calls_of(asked(1), answered(1))] == ["cli"]
    assert [one.kind for one in calls_of(asked(1), answered(1), native="vscode:1")] == ["chat"]
    assert [one.kind for one in calls_of(asked(1), calling("a", 1), native="vscode:1")] == ["agent"]
